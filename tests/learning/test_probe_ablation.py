"""The ablation of the probe's constants: its variants and its published table."""

import re
from pathlib import Path

import pytest
from benchmarks import probe_ablation

import augerino as ag

FOLDER = Path(__file__).parents[2] / "docs" / "results" / "probe-ablation"


def test_every_variant_is_valid_and_differs_from_the_default():
    for name, changes in probe_ablation.VARIANTS.items():
        is_default = ag.ProbeSettings(**changes) == ag.ProbeSettings()
        assert is_default == (name in {"default", "null"})


def test_the_published_differences_follow_from_the_published_trials():
    number = r"([+-]\d\.\d{3}) ± (\d\.\d{3})"
    trials = probe_ablation.read(FOLDER / "ablation.jsonl.gz")
    note = (FOLDER / "note.md").read_text()
    computed = []
    for part in dict.fromkeys(trial["part"] for trial in trials):
        rows = probe_ablation.table([trial for trial in trials if trial["part"] == part])
        computed += re.findall(rf"^\| ([\w-]+) \| (\d+) .*{number} \|$", rows, re.MULTILINE)
    published = re.findall(rf"^\| ([\w-]+) \| (\d+) .*?{number} \|", note, re.MULTILINE)
    assert len(published) > 50 and len(published) == len(computed)
    for (*name, mean, error), (*other_name, other_mean, other_error) in zip(
        sorted(published), sorted(computed), strict=True
    ):
        assert name == other_name
        # The published values were rounded twice.
        assert float(mean) == pytest.approx(float(other_mean), abs=0.0011)
        assert float(error) == pytest.approx(float(other_error), abs=0.0011)
