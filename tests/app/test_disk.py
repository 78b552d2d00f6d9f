"""A full or read-only disk: the last checkpoint survives, and the run can be resumed later."""

import errno
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from augerino.app import learn as learn_command
from augerino.app.cli import main
from augerino.training import checkpoint

LEARN = ["learn", "sprites", "--epochs", "4", "--coordinates", "rotate"]
LEARN += ["--no-baseline", "--width", "2"]
IN_A_SMALL_DISK = """
import subprocess, sys
from pathlib import Path
from augerino.training import checkpoint
from augerino.runtime import files
from augerino.app.cli import main
from augerino.app import learn
from augerino.data.synthetic import embedded
from augerino.training import state

disk = sys.argv[1]
embedded.N_TRAIN = 64
state.SAVE_TIME = float("inf")  # a checkpoint after every epoch

def write_outcome(outcome):
    files.write_json(outcome.folder.path / "result.json", outcome.learned.extent)

learn.write_outcome = write_outcome
words = "learn sprites --epochs 3 --coordinates rotate --no-baseline --width 8".split()
words += ["--trial-length", "0", "--out"]
assert main([*words, disk + "/whole"]) == 0
size = Path(disk, "whole", "checkpoint.safetensors").stat().st_size
# Leaves space for one more checkpoint, but not for two.
Path(disk, "filler").write_bytes(bytes(20 * 2**20 - 2 * size - 100_000))
print("codes", main([*words, disk + "/run"]))
print("records", len(checkpoint.load(disk + "/run/checkpoint.safetensors")["records"]))
print("files", sorted(path.name for path in Path(disk, "run").iterdir()))
subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
print("codes", main(["learn", "--resume", disk + "/run"]))
subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
Path(disk, "filler").unlink()
print("codes", main(["learn", "--resume", disk + "/run"]))
resumed = Path(disk, "run", "result.json").read_text()
print("same", resumed == Path(disk, "whole", "result.json").read_text())
"""


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("augerino.data.synthetic.embedded.N_TRAIN", 64)
    monkeypatch.setattr("augerino.training.state.SAVE_TIME", math.inf)  # after every epoch

    def write(outcome):
        (outcome.folder.path / "result.json").write_text(json.dumps(outcome.learned.extent))

    monkeypatch.setattr(learn_command, "write_outcome", write)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_a_failed_write_keeps_the_earlier_checkpoint_with_a_one_line_error(
    monkeypatch, capsys, number
):
    assert main([*LEARN, "--out", "whole"]) == 0
    real = os.fsync
    count = 0

    def fails(file):
        nonlocal count
        if os.readlink(f"/proc/self/fd/{file}").endswith(".tmp"):
            count += 1
            if count > 4:  # the lock, the configuration and two checkpoints are written
                raise OSError(number, os.strerror(number))
        real(file)

    if not Path("/proc/self/fd").exists():
        pytest.skip("the stand-in for a full disk needs /proc")
    capsys.readouterr()
    with monkeypatch.context() as full:
        full.setattr(os, "fsync", fails)
        assert main([*LEARN, "--out", "run"]) == 2
    said = capsys.readouterr().err
    assert (
        said.count("\n") == 1
        and "Cannot write run/checkpoint.safetensors" in said
        and os.strerror(number) in said
    )
    assert (
        "unchanged" in said and len(checkpoint.load("run/checkpoint.safetensors")["records"]) == 2
    )
    assert sorted(path.name for path in Path("run").iterdir()) == [
        "checkpoint.safetensors",
        "config.json",
    ]
    assert main(["learn", "--resume", "run"]) == 0
    assert Path("run/result.json").read_text() == Path("whole/result.json").read_text()


def test_a_figure_on_a_full_disk_is_a_one_line_error(monkeypatch, capsys):
    def full(outcome):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(learn_command, "write_outcome", full)
    assert main([*LEARN, "--out", "run"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "No space left on device" in said and "--resume" in said
    assert len(checkpoint.load("run/checkpoint.safetensors")["records"]) == 4


def test_another_error_of_the_system_keeps_its_traceback(monkeypatch):
    def broken(outcome):
        raise OSError(errno.EBADF, "a bug of ours")

    monkeypatch.setattr(learn_command, "write_outcome", broken)
    with pytest.raises(OSError, match="a bug of ours"):
        main([*LEARN, "--out", "run"])


def test_a_real_disk_of_twenty_megabytes(tmp_path):
    """In a mount namespace of its own, if the system allows it."""
    disk = tmp_path / "disk"
    disk.mkdir()
    unshare = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    mount = f"mount -t tmpfs -o size=20m tmpfs '{disk}'"
    if (
        shutil.which("unshare") is None
        or subprocess.run([*unshare, mount], capture_output=True).returncode
    ):
        pytest.skip("no small disk can be mounted here")
    (tmp_path / "script.py").write_text(IN_A_SMALL_DISK)
    run = f"{mount} && exec '{sys.executable}' '{tmp_path / 'script.py'}' '{disk}'"
    done = subprocess.run([*unshare, run], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shown = [
        line
        for line in done.stdout.splitlines()
        if line.startswith(("codes", "records", "files", "same"))
    ]
    assert shown == [
        "codes 2",
        "records 1",
        "files ['checkpoint.safetensors', 'config.json']",
        "codes 2",
        "codes 0",
        "same True",
    ]
    said = [line for line in done.stderr.splitlines() if line.startswith("augerino: ")]
    assert (
        "No space left on device" in said[0]
        and "Read-only file system" in said[1]
        and len(said) == 2
    )
    assert "Traceback" not in done.stderr
