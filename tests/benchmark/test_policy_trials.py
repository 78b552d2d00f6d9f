"""Short trials beside full trainings: rows, file and published table."""

import dataclasses
from pathlib import Path

import pytest
from benchmarks import policy_trials

from augerino.benchmark.payoff import find
from augerino.errors import InputError

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "docs" / "results" / "policy-trials" / "rows.jsonl.gz"


def test_finished_policies_are_not_run_again(tmp_path, capsys):
    (cell,) = find(["sprites-120"])
    cell = dataclasses.replace(cell, steps=4)
    out = tmp_path / "trials.jsonl"
    policy_trials.run(cell, 100, out=out, lengths=[0.5], data=None)
    rows = policy_trials.read(out)
    assert [row["policy"] for row in rows][:3] == ["none", "shift", "flip + shift"]
    assert len(rows) == 10 and "base + photometric" in capsys.readouterr().out
    out.write_text("".join(out.read_text().splitlines(keepends=True)[:-1]))
    policy_trials.run(cell, 100, out=out, lengths=[0.5], data=None)
    assert policy_trials.read(out) == rows


def test_other_data_than_images_are_rejected(tmp_path):
    (cell,) = find(["signals-120"])
    with pytest.raises(InputError, match="are for images, but 'signals-120' has signals"):
        policy_trials.run(cell, 100, out=tmp_path / "x", lengths=[0.5], data=None)


def test_the_published_table_follows_from_the_published_rows():
    table = policy_trials.table(policy_trials.read(PUBLISHED))
    assert table in (ROOT / "docs" / "results.md").read_text()
