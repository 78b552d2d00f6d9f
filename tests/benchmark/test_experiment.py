"""The recovery benchmark as a command: problems by name, stored trainings, a leaderboard."""

import json
from pathlib import Path

import numpy as np
import pytest

from augerino.app.cli import main
from augerino.benchmark import experiment as recovery
from augerino.benchmark.experiment import EXPERIMENT, Recovery, chosen_names, rows, scores, table
from augerino.runtime.trials import trial_name

TINY = ["--steps", "2", "--max-items", "64", "--width", "2"]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AUGERINO_CACHE", str(tmp_path / "cache"))


def test_a_part_is_chosen_by_names_or_how_they_begin():
    settings = Recovery(
        problems=("none-time_shift,full-rotate",), contestants=("probe, none",), tolerances=(0.1,)
    )
    names = chosen_names(settings)
    assert (
        "none-time_shift-few" in names
        and "full-rotate-letters-clean" in names
        and "soft-time_shift-clean" not in names
    )
    assert {row.contestant for row in rows(settings)} == {"probe", "none"} and len(
        rows(settings)
    ) == 2 * len(names)


def test_every_training_has_a_file_of_its_own():
    names = [trial_name(row.name, 0) for row in rows(EXPERIMENT.presets["cpu"])]
    assert len(set(names)) == len(names)


def test_a_run_keeps_its_trainings_and_ends_with_a_leaderboard(capsys):
    words = [
        "run",
        "recovery",
        "--out",
        "run",
        "--problems",
        "none-time_shift",
        "--contestants",
        "released,none,start",
    ]
    assert main([*words, "--reg-weights", "0.1", "1.0", "--seeds", "2", *TINY]) == 0
    trials = [json.loads(path.read_text()) for path in Path("run/trials").iterdir()]
    assert len(trials) == 4 * 2 and {trial["problem"] for trial in trials} == {
        "none-time_shift-few"
    }
    lines = json.loads(Path("run/result.json").read_text())["table"]
    board = {line["row"]: line["measured"] for line in lines}
    assert set(board) == {
        "released, λ = 0.1",
        "released, λ = 1",
        "none",
        "start",
        "none-time_shift-few",
    }
    assert board["none"].startswith("overlap 1.000, F1 1.000") and board["start"].startswith(
        "overlap 0.700, F1 0.000"
    )
    assert (
        board["none-time_shift-few"].startswith("released ")
        and ", none 1.00, start 0.70; none: " in board["none-time_shift-few"]
    )
    (Path("run/trials") / "none-time-shift-few--none-0.json").unlink()
    capsys.readouterr()
    assert main(["run", "--resume", "run"]) == 0
    assert "1 trainings, " in capsys.readouterr().out


def test_hard_problems_without_their_file_are_not_scored():
    labels = (np.arange(60) % 10).astype(np.uint8)
    np.savez("mnist.npz", x_train=np.zeros((60, 28, 28), dtype=np.uint8), y_train=labels)
    settings = Recovery(
        problems=("full-rotate-digits", "soft-rotate_two-vehicles"),
        contestants=("widest",),
        hard=True,
        seeds=1,
    )
    settings.check()
    trials = [
        {"row": row.name, "seed": 0, **recovery.trial(settings, row, 0, ".")}
        for row in rows(settings)
    ]
    ((_, _, score),) = scores(settings, trials)
    assert [outcome.problem for outcome in score.outcomes] == [
        "full-rotate-digits-hard"
    ] and score.overlap.mean == 1
    assert "data file not found" in table(settings, trials)[-1].measured


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--problems", "soft-twist"],
            "No problem has the name or prefix 'soft-twist'. There are: soft-rotate",
        ),
        (["--problems", "full-rotate-digits"], "need --hard"),
        (["--contestants", "prob"], "There is no contestant 'prob'. There are: probe, squares"),
        (["--hard"], "need mnist.npz or cifar10.npz: give the folder"),
        (["--steps", "0"], "steps must be at least 1, but got 0"),
        (["--preset", "paper"], "Unknown preset 'paper'. Choose one of: quick, cpu."),
    ],
)
def test_wrong_options_are_rejected(words, message, capsys):
    assert main(["run", "recovery", *words]) == 2
    error = capsys.readouterr().err
    assert message in error and "Traceback" not in error and not Path("runs").exists()
