"""A killed run resumes to bit-identical results. A longer test: python -m benchmarks.kill"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be forked and killed")
def test_killed_runs_go_on_to_the_same_bits(tmp_path):
    """Two kills of each method at least, the first in the middle of writing a checkpoint."""
    words = [
        "--quick",
        "--kills",
        "2",
        "--commands",
        "probe,gradient",
        "--out",
        str(tmp_path / "found.json"),
    ]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.kill", *words],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["kills"] >= 4 and found["failed"] == 0
    for command in found["commands"].values():
        assert "write" in command["kills"][0]
