"""Every experiment runs in its quick preset, on tiny data made here, and can be interrupted."""

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

import augerino as ag
from augerino.app import catalogue
from augerino.app.cli import main
from augerino.paper.experiments.settings import ImageSettings, Row
from augerino.paper.experiments.training import (
    COORDINATES,
    ReleasedPenalty,
    make_augmentation,
    train_row,
)
from augerino.runtime import trials as runner
from augerino.runtime.trials import check_trial_names, mean_sd, trial_name

FIGURES = {
    "rotmnist": {"data.png", "distributions.png", "bounds.png", "orbit.png", "memorising.png"},
    "mario": {
        f"{kind}-{data}.png"
        for kind in ("data", "distributions", "starts", "orbit")
        for data in ("own", "released")
    },
    "olivetti": {"data.png", "bounds.png", "orbit.png", "predicted.png"},
    "why": {"profile.png"},
    "camvid": {
        "data.png",
        "samples.png",
        "spreads.png",
        "losses.png",
        "equivariance.png",
        "turning.png",
    },
    "qm9": {"errors.png", "bounds.png", "haar.png"},
    "cifar10": {"accuracy.png", "ranges.png", "weights.png", "tolerances.png", "gallery.png"},
    "stl10": {"accuracy.png", "ranges.png", "weights.png", "gallery.png"},
    "recovery": {"settings.png", *(f"intervals-{name}.png" for name in ag.benchmark.CONTESTANTS)},
    "payoff": {"payoff.png"},
    "flatness": {"violins.png", "spectra.png", "rays.png", "weights.png"},
}
TINY = {
    "rotmnist": ["--n-train", "64", "--n-test", "20", "--epochs", "1"],
    "mario": ["--n-train", "64", "--n-test", "20"],
    "olivetti": ["--batch-size", "64"],
    "why": ["--n-train", "64", "--epochs", "1", "--n-items", "8", "--n-points", "4"],
    "camvid": [
        "--n-train",
        "4",
        "--n-test",
        "2",
        "--batch-size",
        "2",
        "--epochs",
        "1",
        "--n-items",
        "1",
    ],
    "cifar10": ["--sizes", "80", "--sweep-size", "80", "--n-test", "20"],
    "stl10": [
        "--n-train",
        "80",
        "--n-test",
        "20",
        "--n-synthetic",
        "80",
        "--synthetic-epochs",
        "1",
    ],
    "flatness": [
        "--n-train",
        "80",
        "--n-test",
        "20",
        "--n-train-measured",
        "12",
        "--n-eigenvalues",
        "3",
        "--n-directions",
        "1",
    ],
    "qm9": ["--n-train", "64", "--batch-size", "16", "--n-test", "8"],
    "recovery": ["--steps", "2", "--max-items", "64", "--width", "2"],
    "payoff": ["--max-steps", "2", "--max-test", "20"],
}


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A folder with small archives of the right shape, and nothing in the cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AUGERINO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(
        "augerino.data.downloads._download", lambda *_: (_ for _ in ()).throw(OSError("offline"))
    )
    folder, rng = tmp_path / "data", np.random.default_rng(0)
    folder.mkdir()
    digits, labels = (
        rng.integers(0, 256, (100, 28, 28), dtype=np.uint8),
        (np.arange(100) % 10).astype(np.uint8),
    )
    np.savez(
        folder / "mnist.npz", x_train=digits, y_train=labels, x_test=digits[:40], y_test=labels[:40]
    )
    for name, side in (("cifar10", 32), ("stl10", 96)):
        photographs = rng.integers(0, 256, (100, side, side, 3), dtype=np.uint8)
        np.savez(
            folder / f"{name}.npz",
            x_train=photographs,
            y_train=labels,
            x_test=photographs[:20],
            y_test=labels[:20],
        )
    np.savez(folder / "olivetti.npz", images=rng.integers(0, 256, (400, 64, 64), dtype=np.uint8))
    atoms, split = (
        rng.integers(1, 6, 80),
        (np.arange(80) >= 64).astype(np.uint8) + (np.arange(80) >= 72),
    )
    there = np.arange(5) < atoms[:, None]
    np.savez(
        folder / "qm9_small.npz",
        **{
            "positions": (rng.normal(size=(80, 5, 3)) * there[..., None]).astype(np.float32),
            "num_atoms": atoms,
            "split": split,
        },
        **{
            "charges": np.where(there, rng.choice([1, 6, 7, 8, 9], (80, 5)), 0),
            "homo": rng.normal(size=80),
            "lumo": rng.normal(size=80),
        },
    )
    np.savez(
        folder / "mario_iggy.npz", mario=rng.random((1, 3, 32, 32)), iggy=rng.random((1, 3, 32, 32))
    )
    scenes = {
        f"x_{part}": rng.integers(0, 256, (6, 36, 48, 3), dtype=np.uint8)
        for part in ("train", "val", "test")
    }
    labels = {
        f"y_{part}": rng.integers(0, 12, (6, 36, 48), dtype=np.uint8)
        for part in ("train", "val", "test")
    }
    np.savez(folder / "camvid_small.npz", **scenes, **labels)
    return folder


@pytest.mark.parametrize("name", [entry.name for entry in catalogue.ENTRIES])
def test_the_quick_preset_ends_with_a_table_and_figures(name, data, capsys):
    assert main(["run", name, "--data", str(data), "--out", "run", *TINY[name]]) == 0
    shown = capsys.readouterr().out
    assert "measured" in shown and "paper" in shown and "preset quick. Changed settings: " in shown
    assert {p.name for p in Path("run/figures").iterdir()} == FIGURES[name]
    result = json.loads(Path("run/result.json").read_text())
    assert result["preset"] == "quick" and result["changed"] and len(result["table"]) >= 3
    assert str(data) not in Path("run/result.json").read_text()
    experiment = catalogue.find(name)
    kind = type(experiment.presets["quick"])
    ran = kind(
        **{
            key: tuple(value) if isinstance(value, list) else value
            for key, value in result["settings"].items()
        }
    )
    assert len(list(Path("run/trials").iterdir())) == len(experiment.rows(ran))


def test_finished_trials_are_not_run_again(data, capsys, monkeypatch):
    main(["run", "why", "--out", "run", *TINY["why"], "--seeds", "2"])
    trials = {p.name: p.read_text() for p in Path("run/trials").iterdir()}
    (kept,) = Path("run/trials").glob("*-0.json")
    for path in Path("run/trials").glob("*-1.json"):
        path.unlink()
    before = kept.stat().st_mtime_ns
    result = json.loads(Path("run/result.json").read_text())
    assert main(["run", "--resume", "run"]) == 0
    assert result.keys() == json.loads(Path("run/result.json").read_text()).keys()
    assert "1 trainings, " in capsys.readouterr().out and kept.stat().st_mtime_ns == before
    again = {p.name: json.loads(p.read_text()) for p in Path("run/trials").iterdir()}
    for name, text in trials.items():
        assert (
            again[name]["profile"] == json.loads(text)["profile"]
        )  # the same seed gives the same answer


@pytest.mark.parametrize(
    "content", ["[]", "{}", '{"row": "x", "seed": 0, "seconds": 1}', '{"row": 5}', "{"]
)
def test_an_error_names_a_file_that_is_not_a_trial(data, capsys, content):
    main(["run", "why", "--out", "run", *TINY["why"], "--seeds", "1"])
    (path,) = Path("run/trials").iterdir()
    kept = json.loads(path.read_text())
    capsys.readouterr()
    for text in (content, json.dumps({name: kept[name] for name in ("row", "seed", "seconds")})):
        path.write_text(text)
        assert main(["run", "--resume", "run"]) == 2
        said = capsys.readouterr().err
        assert "trials" in said and said.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [("seeds", "many"), ("seeds", 0), ("epochs", None), ("jobs", 1.5), ("lr", "x"), ("unknown", 1)],
)
def test_settings_of_the_wrong_type_are_named(tmp_path, monkeypatch, capsys, name, value):
    monkeypatch.chdir(tmp_path)
    Path("run").mkdir()
    settings = {**runner.settings_json(catalogue.find("why").presets["quick"]), name: value}
    config = {
        "experiment": "why",
        "preset": "quick",
        "changed": {},
        "settings": settings,
        "data": None,
    }
    Path("run/config.json").write_text(json.dumps(config))
    assert main(["run", "--resume", "run"]) == 2
    said = capsys.readouterr().err
    assert name in said and said.count("\n") == 1


def test_an_interruption_keeps_finished_work_and_prints_how_to_resume(data, capsys, monkeypatch):
    experiment = catalogue.find("why")
    calls = []

    def interrupted(settings, row, seed, folder):
        calls.append(seed)
        if seed == 1:
            raise KeyboardInterrupt
        return experiment.trial(settings, row, seed, folder)

    broken = runner.dataclasses.replace(experiment, trial=interrupted)
    monkeypatch.setattr("augerino.paper.experiments.why.EXPERIMENT", broken)
    assert main(["run", "why", "--out", "run", *TINY["why"], "--seeds", "3"]) == 130
    assert (
        "augerino run --resume run" in capsys.readouterr().out
        and len(list(Path("run/trials").iterdir())) == 1
    )


def test_several_at_once(data, capsys):
    assert main(["run", "why", "--out", "run", *TINY["why"], "--seeds", "2", "--jobs", "2"]) == 0
    assert len(list(Path("run/trials").iterdir())) == 2


def test_without_the_released_sprites_the_rest_still_runs(data, capsys):
    (data / "mario_iggy.npz").unlink()
    assert main(["run", "mario", "--data", str(data), "--out", "run", *TINY["mario"]]) == 0
    assert "mario_iggy.npz not found" in Path("run/result.json").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["rotmnits"],
            "Unknown experiment 'rotmnits'. Choose one of: rotmnist, mario, olivetti, camvid, why, "
            "cifar10, stl10, flatness, qm9",
        ),
        (
            ["rotmnist", "--preset", "huge"],
            "Unknown preset 'huge'. Choose one of: quick, cpu, paper.",
        ),
        (["rotmnist"], "--data DIR"),
        (["olivetti"], "--data DIR"),
        (["cifar10"], "--data DIR"),
        (
            ["cifar10", "--tolerances", "0.01", "2"],
            "tolerances must lie between 0 and 1, but got 2.",
        ),
        (["stl10", "--tolerance", "0"], "tolerance must lie between 0 and 1, but got 0."),
        (["recovery", "--tolerances", "1.5"], "tolerances must lie between 0 and 1, but got 1.5."),
        (
            ["cifar10", "--data", "data", "--sizes", "1000"],
            "There are 100 images to train on, but 1000 were requested",
        ),
        (["stl10"], "--data DIR"),
        (
            ["flatness", "--data", "data", "--n-points", "1"],
            "n_points must be at least 2, but got 1",
        ),
        (
            ["flatness", "--data", "data", "--z", "0"],
            "z must be above 0, but got 0.0",
        ),
        (["camvid"], "CamVid was not found: give the folder"),
        (
            ["camvid", "--data", "nowhere"],
            "There is no folder nowhere. Pass the folder of the data with --data DIR.",
        ),
        (
            ["cifar10", "--data", "nowhere"],
            "There is no folder nowhere. Pass the folder of the data with --data DIR.",
        ),
        (["camvid", "--crop", "0"], "crop must be at least 1, but got 0"),
        (
            ["camvid", "--full-scene-fraction", "2"],
            "full_scene_fraction must lie between 0 and 1, but got 2.0",
        ),
        (
            ["recovery", "--reg-weights", "1e-6", "1e+6"],
            "differ in punctuation only: run them separately",
        ),
        (["--resume", "nowhere"], "not a run folder"),
        (["why", "--epochs", "0"], "epochs must be at least 1, but got 0"),
        ([], "Missing name of the experiment."),
    ],
)
def test_wrong_input_is_reported_in_one_line(words, message, data, capsys):
    assert main(["run", *words]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1 and "Traceback" not in error
    assert not Path("runs").exists()


def test_the_list_names_them_all_without_torch(capsys):
    assert main(["list"]) == 0
    shown = capsys.readouterr().out
    assert all(entry.name in shown and entry.section in shown for entry in catalogue.ENTRIES)


def test_the_papers_settings_are_the_papers():
    for name in ("rotmnist", "mario", "olivetti"):
        paper = catalogue.find(name).presets["paper"]
        assert (paper.epochs, paper.lr, paper.batch_size, paper.net, paper.width) == (
            200,
            0.01,
            128,
            "layer13",
            128,
        )
        assert paper.reg_weights == (0.01, 0.05, 0.1)


def test_a_row_by_probing_probes_and_has_no_gradient_of_its_bounds(monkeypatch):
    sizes = []
    monkeypatch.setattr(ag.Probe, "step", lambda self: sizes.append(len(self.y)))
    x, y = torch.rand(128, 1, 8, 8), torch.arange(128) % 2
    settings = ImageSettings(epochs=2, batch_size=32, net="small", width=4)
    model, history = train_row(
        settings, Row(name="x", kind="learned", method="probe"), 0, x, y, n_outputs=2
    )
    assert len(history.epochs) == 2 and sizes and set(sizes) == {round(0.15 * 128)}
    assert all(parameter.grad is None for parameter in model.augmentation.parameters())


def test_a_refit_retrains_on_the_learned_augmentation_with_rates():
    x, y = torch.rand(128, 1, 8, 8), torch.arange(128) % 2
    settings = ImageSettings(epochs=2, batch_size=32, net="small", width=4)
    row = Row(name="x", kind="learned", method="probe", refit=True)
    model, history = train_row(settings, row, 0, x, y, n_outputs=2)
    learned, _ = train_row(settings, dataclasses.replace(row, refit=False), 0, x, y, n_outputs=2)
    assert (
        model.augmentation.extent
        == learned.augmentation.extent
        == pytest.approx(history.epochs[-1].extent)
    )
    assert set(model.augmentation.distribution.rate.tolist()) == {
        21 / 256
    }  # nothing was known: half of the draws, a sixth each
    assert not torch.equal(model.net.head.weight, learned.net.head.weight)


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ("Augerino, λ = 0.1", "augerino--lambda---0-1-2"),
        ("θ from −45°", "theta-from--45-2"),
        ("Λ = 1", "lambda---1-2"),
        ("no augmentation", "no-augmentation-2"),
    ],
)
def test_the_name_of_a_trial_is_ascii(row, name):
    assert trial_name(row, 2) == name


@pytest.mark.parametrize("name", [entry.name for entry in catalogue.ENTRIES])
def test_every_trial_of_a_preset_has_a_name_of_its_own(name):
    experiment = catalogue.find(name)
    for settings in experiment.presets.values():
        rows = experiment.rows(settings)
        check_trial_names(rows)
        names = {trial_name(row.name, seed) for row in rows for seed in range(12)}
        assert len(names) == 12 * len(rows) and all(map(str.isascii, names))


class TestReleasedRecipe:
    def test_its_start_in_our_units(self):
        bounds = make_augmentation(
            Row(name="x", kind="released", reg_weight=0.05, rotate_start=0.6567)
        ).extent
        assert tuple(bounds) == COORDINATES
        assert bounds["rotate"] == pytest.approx(0.6567) and bounds["scale"] == pytest.approx(
            0.00336, rel=0.01
        )
        assert bounds["translate_x"] == pytest.approx(0.000336, rel=0.01)

    def test_its_penalty_is_the_norm_of_full_widths_and_is_zero_beyond_ten(self):
        augmentation = ag.Augmentation(ag.Affine2d("rotate", "scale"), ag.Uniform([1.5, 2.0]))
        penalty = ReleasedPenalty(augmentation.names)
        assert penalty(augmentation).item() == pytest.approx(-5.0)
        augmentation.distribution.bound = [5.1, 2.0]
        assert penalty(augmentation).item() == 0


class TestRows:
    def test_fixed_and_empty_rows_learn_nothing(self):
        for kind in ("none", "fixed", "steerable"):
            assert not [
                p
                for p in make_augmentation(Row(name="x", kind=kind)).parameters()
                if p.requires_grad
            ]
        assert make_augmentation(Row(name="x", kind="fixed")).extent["rotate"] == pytest.approx(
            math.pi
        )

    def test_learned_rows_start_where_they_say(self):
        bounds = make_augmentation(
            Row(name="x", kind="learned", start=0.3, rotate_start=2.0), ("rotate", "scale")
        ).extent
        assert bounds == pytest.approx({"rotate": 2.0, "scale": 0.3})


def test_mean_and_standard_deviation_are_formatted_as_text():
    assert mean_sd([0.5, 0.7], 100, 1, " %") == "60.0 ± 14.1 %" and mean_sd([0.5]) == "0.50"


def test_a_profile_is_the_loss_and_its_exact_slope():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 3)).double()
    augmentation = ag.Augmentation(ag.Affine2d("rotate", "scale"), ag.Uniform([0.3, 0.1])).double()
    model = ag.InvariantModel(net, augmentation, average=ag.mean_log_prob)
    objective = ag.Objective(torch.nn.functional.nll_loss, augmentation, reg_weight=0.1)
    x, y = torch.rand(6, 1, 8, 8, dtype=torch.float64), torch.arange(6) % 3
    at = torch.tensor([0.5 - 1e-5, 0.5, 0.5 + 1e-5], dtype=torch.float64)
    found = ag.paper.diagnostics.profile(model, objective, x, y, "rotate", at)
    for name, values in (("loss_slope", found.loss), ("total_slope", found.total)):
        assert getattr(found, name)[1] == pytest.approx((values[2] - values[0]) / 2e-5, rel=1e-3)
    assert (
        augmentation.extent == pytest.approx({"rotate": 0.3, "scale": 0.1})
        and model.training
        and model.test_copies == 4
    )
    with pytest.raises(ag.InputError, match="no coordinate 'shear'"):
        ag.paper.diagnostics.profile(model, objective, x, y, "shear", at)
