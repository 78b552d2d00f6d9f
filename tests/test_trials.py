"""Packing trials loses nothing; the published tables can be recomputed from the packed trials."""

import dataclasses
import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.trials import PACKED, from_bytes, pack, to_bytes, unpack

from augerino.app.experiment import read_settings
from augerino.app.run_folder import RunFolder
from augerino.errors import InputError
from augerino.runtime.trials import load_trials, pending

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "docs" / "results"
WITHOUT_TRIALS = {"recovery", "recovery-informed"}  # their trials were never committed
TRIALS = [
    {"row": "Augerino, λ = 0.1", "seed": 1, "seconds": 1.5, "bounds": {"rotate": 0.1 + 0.2}},
    {"row": "θ from −45°", "seed": 0, "seconds": 2, "curves": [1e-300], "note": "a\nb\u2028c"},
    {"row": "no augmentation", "seed": 0, "seconds": 3.0, "accuracy": None},
]
NAMES = ["augerino--lambda---0-1-1", "no-augmentation-0", "theta-from--45-0"]
CONFIG = {"experiment": "why", "preset": "quick", "changed": {"seeds": 1}, "settings": {"seeds": 1}}
RESULT = {**CONFIG, "data": None, "table": []}


@pytest.fixture
def run(tmp_path):
    """A finished run whose trial files have a Greek letter in their names."""
    folder = tmp_path / "run"
    (folder / "trials").mkdir(parents=True)
    for number, trial in enumerate(TRIALS):
        (folder / "trials" / f"λ-{number}.json").write_text(json.dumps(trial))
    (folder / "result.json").write_text(json.dumps(RESULT))
    return folder


def test_unpacking_undoes_packing(run, tmp_path):
    packed = pack(run, tmp_path / "results")
    again = unpack(tmp_path / "results", tmp_path / "again", data="somewhere")
    paths = sorted((again / "trials").iterdir())
    assert [path.stem for path in paths] == NAMES
    trials = [json.loads(path.read_text()) for path in paths]
    assert trials == [TRIALS[0], TRIALS[2], TRIALS[1]]
    assert list(trials[0]) == list(TRIALS[0])  # keys keep their order
    assert RunFolder(again).read_config().items() >= {**CONFIG, "data": "somewhere"}.items()
    (again / "result.json").write_text(json.dumps(RESULT))
    assert pack(again, tmp_path / "repacked").read_bytes() == packed.read_bytes()


def test_the_bytes_depend_on_nothing_but_the_trials():
    packed = to_bytes(TRIALS)
    assert packed == to_bytes(reversed(TRIALS))
    assert packed[:4] == b"\x1f\x8b\x08\x00"  # no flags: no file name, no comment
    assert packed[4:8] == bytes(4)  # no time
    assert packed[9] == 255  # no operating system


def test_a_packed_file_has_a_trial_per_line_sorted_by_name():
    lines = gzip.decompress(to_bytes(TRIALS)).decode().split("\n")
    assert [json.loads(line) for line in lines[:-1]] == [TRIALS[0], TRIALS[2], TRIALS[1]]
    assert lines[-1] == "" and "λ = 0.1" in lines[0]
    assert list(from_bytes(to_bytes(TRIALS))) == NAMES


def test_invalid_folders_are_not_packed_or_unpacked(run, tmp_path):
    with pytest.raises(InputError, match="one trial 'augerino--lambda---0-1-1', but got two"):
        to_bytes([TRIALS[0], TRIALS[0]])
    with pytest.raises(InputError, match="is not empty"):
        unpack(RESULTS / "why", run)
    with pytest.raises(InputError, match=f"has no {PACKED}"):
        unpack(run, tmp_path / "new")
    (run / "result.json").unlink()
    with pytest.raises(InputError, match="finish it first"):
        pack(run, tmp_path / "results")
    assert not (tmp_path / "new").exists() and not (tmp_path / "results").exists()


def test_the_command_unpacks_and_packs_again(tmp_path):
    def call(*words):
        command = [sys.executable, "-m", "benchmarks.trials", *map(str, words)]
        subprocess.run(command, cwd=ROOT, check=True)

    call("unpack", RESULTS / "why", tmp_path / "run")
    (tmp_path / "run" / "result.json").write_bytes((RESULTS / "why" / "result.json").read_bytes())
    call("pack", tmp_path / "run", tmp_path / "results")
    packed = (tmp_path / "results" / PACKED).read_bytes()
    published = (RESULTS / "why" / PACKED).read_bytes()
    # Another version of zlib may compress to other bytes.
    assert gzip.decompress(packed) == gzip.decompress(published)


def test_every_published_table_has_its_trials():
    published = {path.parent.name for path in RESULTS.glob("*/result.json")}
    assert {path.parent.name for path in RESULTS.glob(f"*/{PACKED}")} == published - WITHOUT_TRIALS


@pytest.mark.parametrize("name", sorted(path.parent.name for path in RESULTS.glob(f"*/{PACKED}")))
def test_a_published_table_is_recomputed_from_its_trials(name, tmp_path):
    """Does what `augerino run --resume` does: no trial is pending, and the table is the same."""
    folder = RESULTS / name
    run = unpack(folder, tmp_path / "run")
    experiment, settings, _ = read_settings(RunFolder.open(run))
    assert pending(experiment, settings, run) == []
    trials = load_trials(experiment, settings, run)
    assert len(trials) == len(list((run / "trials").iterdir()))  # and no trial is of another run
    result = json.loads((folder / "result.json").read_text())
    lines = experiment.table(settings, trials)
    assert [dataclasses.asdict(line) for line in lines] == result["table"]
    assert round(sum(trial["seconds"] for trial in trials), 1) == result["seconds"]


def test_further_seeds_of_a_published_run_are_pending(tmp_path):
    seeds = json.loads((RESULTS / "stl10" / "result.json").read_text())["settings"]["seeds"]
    run = unpack(RESULTS / "stl10", tmp_path / "run", seeds=seeds + 1)
    experiment, settings, _ = read_settings(RunFolder.open(run))
    assert {seed for _, seed in pending(experiment, settings, run)} == {seeds}


def test_tracked_file_names_are_ascii():
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    command = ["git", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    assert [name.decode() for name in listed.split(b"\0") if not name.isascii()] == []
