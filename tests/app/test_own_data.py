"""`augerino learn PATH` on the files of a user, from the data to the report."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from augerino.app.cli import main
from augerino.data import open_dataset
from tests.data.made import mask_folder

QUICK = ["--epochs", "1", "--no-baseline", "--out", "run", "--batch-size", "16"]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("augerino.learning.outcome.EVIDENCE_ITEMS", 10)


def pictures(count=12, side=12, channels=3):
    return (np.random.default_rng(0).random((count, side, side, channels)) * 255).astype(np.uint8)


def result():
    return json.loads(Path("run/result.json").read_text())


def test_a_folder_of_images_by_class(capsys):
    for name in ("cats", "<b>dogs"):
        Path("data", name).mkdir(parents=True)
        for i, pixels in enumerate(pictures()):
            Image.fromarray(pixels).save(Path("data", name, f"{i}.png"))
    assert main(["learn", "data", *QUICK]) == 0
    assert "images of shape 3×12×12, classification, 2 classes" in capsys.readouterr().out
    assert result()["class_names"] == ["<b>dogs", "cats"]
    assert result()["data"]["fingerprint"].startswith("sha256:")
    assert "<b>dogs" not in Path("run/report.html").read_text()


def test_an_archive_with_a_regression(capsys):
    np.savez("data.npz", x=pictures(40), y=np.linspace(0, 1, 40))
    assert main(["learn", "data.npz", *QUICK]) == 0
    shown = capsys.readouterr().out
    assert "regression" in shown and "squared error" in shown
    assert result()["models"][0]["accuracy"] is None and result()["class_names"] == []


def test_images_with_masks(capsys):
    Path("data/images").mkdir(parents=True)
    Path("data/masks").mkdir()
    for i, pixels in enumerate(pictures(20)):
        Image.fromarray(pixels).save(f"data/images/{i}.png")
        Image.fromarray((pixels[..., 0] > 127).astype(np.uint8)).save(f"data/masks/{i}.png")
    assert main(["learn", "data", *QUICK, "--transforms", "affine,flip,color"]) == 0
    shown = capsys.readouterr().out
    assert "segmentation" in shown and "pixel accuracy" in shown
    scores = result()["models"][0]
    assert 0 <= scores["accuracy"] <= 1
    assert 0 <= scores["mean_iou"]["mean"] <= 1
    sentences = [c["sentence"] for c in result()["coordinates"]]
    assert not any("invariant" in sentence for sentence in sentences[:6])


def test_ignored_pixels_have_no_effect_on_the_scores(capsys):
    mask_folder(Path("data"), [[0, 1, 11]] * 12 + [[11]] * 8)
    assert main(["learn", "data", *QUICK[:-1], "2", "--ignore", "11"]) == 0
    shown = capsys.readouterr().out
    assert (
        "Pixels with the number 11 are ignored" in shown
        and "8 of 20 masks contain only ignored pixels" in shown
    )
    assert "mean IoU" in shown
    found = result()
    history = json.loads(Path("run/history.json").read_text())
    assert found["class_names"] == ["0", "1"] and "NaN" not in Path("run/result.json").read_text()
    assert all(math.isfinite(record["loss"]) for record in history)
    assert [row["class"] for row in found["per_class"]] == ["0", "1"]
    assert set(found["models"][0]["mean_iou"]) == {"mean", "low", "high"}


@pytest.mark.parametrize(
    ("numbers", "more", "message"),
    [
        ([[0, 1]] * 6, {"masks/02.png": (8, 12)}, "masks/02.png has 8×12 and images/02.png 12×12"),
        (
            [[0, 1, 5]] * 6,
            {"classes.txt": "a\nb\n"},
            "masks contain the number 5: name it, or --ignore it",
        ),
        ([[255]] * 6, {}, "Every pixel of every mask has the number 255"),
        ([[255]] * 6, {"classes.txt": "a\nb\n"}, "Every pixel of every mask has the number 255"),
        ([[1]] * 6, {"classes.txt": "a\nb\n"}, "contain only the class 'b'"),
        (
            [[0, 1]] * 6,
            {"masks/02.png": (12, 12, 3)},
            "masks/02.png must have one class number per pixel",
        ),
        ([[0], [1], [2]], {}, "each one contains a class that no other has"),
    ],
)
def test_masks_that_cannot_be_used_leave_no_run_folder(capsys, numbers, more, message):
    mask_folder(Path("data"), numbers)
    for name, content in more.items():
        if isinstance(content, str):
            Path("data", name).write_text(content)
        else:
            Image.fromarray(np.zeros(content, dtype=np.uint8)).save(Path("data", name))
    assert main(["learn", "data", *QUICK]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1 and not Path("run").exists()


def test_ignore_is_for_masks_alone(capsys):
    np.savez("data.npz", x=pictures(40), y=np.arange(40) % 2)
    for data in ("data.npz", "sprites"):
        assert main(["learn", data, *QUICK, "--ignore", "3"]) == 2
        assert "--ignore is for" in capsys.readouterr().err and not Path("run").exists()


def test_signals_and_flips_and_padded_clouds(capsys):
    rng = np.random.default_rng(0)
    np.savez(
        "signals.npz", x=rng.standard_normal((40, 2, 64)).astype(np.float32), y=np.arange(40) % 2
    )
    assert main(["learn", "signals.npz", *QUICK]) == 0
    assert [c["name"] for c in result()["coordinates"]] == ["time_shift", "gain"]
    np.savez("images.npz", x=pictures(40), y=np.arange(40) % 2)
    assert main(["learn", "images.npz", *QUICK[:-4], "--out", "flips", "--transforms", "flip"]) == 0
    flips = json.loads(Path("flips/result.json").read_text())["coordinates"]
    assert all(c["discrete"] for c in flips) and len(flips) == 2
    np.savez(
        "clouds.npz",
        positions=rng.standard_normal((40, 6, 3)).astype(np.float32),
        num_points=np.full(40, 4),
        y=np.arange(40) % 2,
    )
    assert main(["learn", "clouds.npz", *QUICK[:-4], "--out", "clouds"]) == 0


def test_molecules_with_one_of_several_properties(capsys):
    rng = np.random.default_rng(0)
    count = np.arange(40) % 5 + 1
    there = np.arange(6) < count[:, None]
    np.savez(
        "molecules.npz",
        positions=rng.standard_normal((40, 6, 3)) * there[..., None],
        charges=rng.choice([1, 6, 8], size=(40, 6)) * there,
        num_atoms=count,
        homo=-0.24 + 0.02 * rng.standard_normal(40),
        lumo=rng.standard_normal(40),
    )
    assert main(["learn", "molecules.npz", *QUICK]) == 2
    assert "--target, one of homo, lumo" in capsys.readouterr().err
    assert main(["learn", "molecules.npz", *QUICK, "--target", "homo"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert (
        "Points are atoms with the atomic numbers 1, 6, 8." in shown
        and "Targets are standardized: minus their mean (-0.2" in shown
    )
    assert {"rotate_x", "scale"} <= {c["name"] for c in result()["coordinates"]}


def test_a_folder_read_from_disk_has_the_same_samples_as_one_in_memory(monkeypatch):
    for name in ("a", "b"):
        Path("data", name).mkdir(parents=True)
        for i, pixels in enumerate(pictures(20)):
            Image.fromarray(pixels // (1 + (name == "b"))).save(Path("data", name, f"{i}.png"))
    assert main(["learn", "data", *QUICK]) == 0
    x, y = open_dataset("data").train
    monkeypatch.setattr("augerino.data.readers.streams.MEMORY", 1)
    stream = open_dataset("data").train
    assert not isinstance(stream, tuple)
    assert all((stream[i][0] == x[i]).all() and stream[i][1] == y[i] for i in range(len(y)))
    assert main(["learn", "data", *QUICK[:-4], "--batch-size", "16", "--out", "streamed"]) == 0
    streamed = json.loads(Path("streamed/result.json").read_text())
    assert streamed["data"]["train_items"] == result()["data"]["train_items"]
    assert streamed["data"]["fingerprint"] == result()["data"]["fingerprint"]


class TestRunFoldersInsideTheData:
    @pytest.fixture(autouse=True)
    def _data(self):
        for name in ("a", "b"):
            Path(name).mkdir()
            for i, pixels in enumerate(pictures()):
                Image.fromarray(pixels).save(Path(name, f"{i}.png"))

    def learn(self) -> Path:
        before = set(Path("runs").glob("*"))
        assert main(["learn", ".", "--epochs", "1", "--no-baseline", "--batch-size", "16"]) == 0
        (run,) = set(Path("runs").glob("*")) - before
        return run

    def test_a_run_is_announced_and_can_be_resumed(self, capsys):
        run = self.learn()
        assert "the run folder lies inside the data" in capsys.readouterr().out
        policy = (run / "policy.json").read_bytes()
        (run / "result.json").unlink()
        assert main(["learn", "--resume", str(run)]) == 0
        assert (run / "policy.json").read_bytes() == policy

    def test_the_next_run_reads_the_same_data(self):
        results = [json.loads((self.learn() / "result.json").read_text()) for _ in range(2)]
        assert [result["class_names"] for result in results] == [["a", "b"]] * 2
        assert results[0]["data"]["fingerprint"] == results[1]["data"]["fingerprint"]

    def test_a_run_folder_is_not_read_as_data(self, capsys):
        run = self.learn()
        capsys.readouterr()
        assert main(["learn", str(run)]) == 2
        assert "is the folder of a run, not data" in capsys.readouterr().err


def test_data_that_changed_are_not_resumed(capsys):
    np.savez("data.npz", x=pictures(40), y=np.arange(40) % 2)
    assert main(["learn", "data.npz", *QUICK]) == 0
    Path("run/result.json").unlink()
    np.savez("data.npz", x=pictures(44), y=np.arange(44) % 2)
    assert main(["learn", "--resume", "run"]) == 2
    assert "have changed since" in capsys.readouterr().err


def test_wrong_files_leave_no_run_folder(capsys):
    Path("data/a").mkdir(parents=True)
    Path("data/b").mkdir()
    for name in ("a", "b"):
        for i, pixels in enumerate(pictures(6)):
            Image.fromarray(pixels).save(f"data/{name}/{i}.png")
    Path("data/b/3.png").write_bytes(b"not a picture")
    assert main(["learn", "data", *QUICK]) == 2
    error = capsys.readouterr().err
    assert "3.png" in error and error.count("\n") == 1 and not Path("run").exists()
    assert main(["learn", "data", *QUICK, "--skip-bad"]) == 0
    assert any("3.png" in note for note in result()["data"]["notes"])
