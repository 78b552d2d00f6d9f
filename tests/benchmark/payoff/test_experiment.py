"""The suite as a command: cells and contestants by name, stored trainings, one leaderboard."""

import json
from pathlib import Path

import pytest
import torch

from augerino.app.cli import main
from augerino.benchmark.payoff.experiment import (
    EXPERIMENT,
    Payoff,
    _packed,
    _unpacked,
    board,
    rows,
    trial,
)
from tests.benchmark.payoff.made import write_files

TINY = ["--max-steps", "1", "--max-test", "30"]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AUGERINO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("augerino.data.published.time_series._aeon_folders", list)


def results():
    found = json.loads(Path("run/result.json").read_text())["table"]
    return {line["row"]: line["measured"] for line in found}


def test_a_run_keeps_its_trainings_and_ends_with_a_leaderboard(capsys):
    words = ["run", "payoff", "--out", "run", "--cells", "signals,clouds", "--seeds", "2"]
    assert main([*words, "--contestants", "none,standard", *TINY]) == 0
    trials = [json.loads(path.read_text()) for path in Path("run/trials").iterdir()]
    assert len(trials) == 2 * 2 * 2 and {trial["seed"] for trial in trials} == {0, 1}
    lines = results()
    assert {"none", "standard"} <= set(lines) and "2 cells" in lines["none"]
    assert lines["signals-120, none"].count("%") == 1 and "over standard" in lines["none"]
    assert Path("run/figures/payoff.png").stat().st_size > 10_000
    (Path("run/trials") / "clouds-120--none-1.json").unlink()
    before = results()
    capsys.readouterr()
    assert main(["run", "--resume", "run"]) == 0
    assert "1 trainings, " in capsys.readouterr().out
    score = before["clouds-120, none"].partition(", cost")[0]
    assert results()["clouds-120, none"].startswith(score)  # all but the time repeats


def test_development_seeds_start_where_told():
    words = ["run", "payoff", "--out", "run", "--cells", "clouds", "--contestants", "none"]
    assert main([*words, "--first-seed", "100", "--seeds", "2", *TINY]) == 0
    names = {path.name for path in Path("run/trials").iterdir()}
    assert names == {"clouds-120--none-100.json", "clouds-120--none-101.json"}


def test_cells_whose_files_are_missing_are_left_out_with_the_reason(tmp_path):
    settings = Payoff(seeds=1, contestants=("none",), max_steps=1, max_test=20)
    write_files(tmp_path)
    (tmp_path / "cifar10.npz").unlink()
    chosen = [row for row in rows(settings) if row.cell in ("cifar10-1000", "mnist-300")]
    trials = [
        {"row": row.name, "seed": 0, **trial(settings, row, 0, str(tmp_path))} for row in chosen
    ]
    found = board(settings, trials)
    assert [entry.cell for entry in found.entries] == ["mnist-300"]
    assert list(found.skipped) == ["cifar10-1000, none"]
    assert "cifar10.npz is not there" in found.skipped["cifar10-1000, none"]


@pytest.mark.parametrize("is_regression", [False, True])
def test_items_come_back_from_a_file(is_regression):
    items = 7 * torch.rand(37) if is_regression else 100.0 * torch.randint(2, (37,))
    packed = json.loads(json.dumps(_packed(items, is_regression)))
    assert torch.allclose(_unpacked(packed), items, atol=1e-3)


def test_the_presets():
    quick, cpu, full = (rows(EXPERIMENT.presets[name]) for name in ("quick", "cpu", "full"))
    assert {row.cell for row in quick} == {"sprites-120", "signals-120", "clouds-120"}
    assert not any("layer13" in row.cell for row in cpu)
    assert {row.name for row in cpu} < {row.name for row in full}
    assert len({row.cell for row in cpu}) == 23


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--cells", "imagenet"], "No cell has the name or prefix 'imagenet'. There are: mnist"),
        (["--cells", "mnist-300"], "mnist-300 cannot be run. mnist.npz is not there"),
        (["--contestants", "best"], "There is no contestant 'best'. There are: none, standard"),
        (["--first-seed", "-1"], "first_seed must be at least 0, but got -1"),
        (["--max-steps", "0"], "max_steps must be at least 1, but got 0"),
        (["--preset", "paper"], "Unknown preset 'paper'. Choose one of: quick, cpu, full."),
    ],
)
def test_wrong_options_are_rejected(words, message, capsys):
    assert main(["run", "payoff", *words]) == 2
    error = capsys.readouterr().err
    assert message in error and "Traceback" not in error and not Path("runs").exists()
