"""Only regular files of a limited size are read: a pipe blocks a reader, a device never ends."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import augerino as ag
from augerino.app.cli import main
from augerino.runtime import files
from tests.report.runs import augmentation, make_run, tiny_model


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own_and_within_seconds(tmp_path, monkeypatch):
    if not hasattr(os, "mkfifo"):
        pytest.skip("needs pipes with names")
    monkeypatch.chdir(tmp_path)

    def late(_number, _frame):
        raise TimeoutError("a read has blocked")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def replace(path: Path, kind: str) -> None:
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")


KINDS = pytest.mark.parametrize("kind", ["pipe", "endless device"])


@KINDS
def test_only_regular_files_are_opened(kind):
    replace(Path("file"), kind)
    with pytest.raises(OSError, match="not a regular file"):
        files.open_regular("file")
    with pytest.raises(OSError, match="not a regular file"):
        files.open_regular(".")


def test_a_file_above_the_limit_is_not_read():
    Path("file").write_bytes(b"12345")
    assert files.read_bytes("file", 5) == b"12345"
    with pytest.raises(OSError, match="it has 5 bytes, more than 4"):
        files.read_bytes("file", 4)


@KINDS
def test_the_report_of_a_run_with_a_pipe_is_one_line(kind, capsys):
    make_run(Path("run"))
    assert main(["report", "run"]) == 0
    replace(Path("run/history.json"), kind)
    capsys.readouterr()
    assert main(["report", "run"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "run/history.json: it is not a regular file" in said


@KINDS
@pytest.mark.parametrize("name", ["config.json", "policy.json", "model.safetensors"])
def test_a_saved_model_with_a_pipe_is_rejected(kind, name):
    ag.save_pretrained(tiny_model(augmentation()), "model")
    replace(Path("model", name), kind)
    with pytest.raises(ag.InputError, match=r"not a regular file|it has no config\.json"):
        ag.from_pretrained("model")


@KINDS
@pytest.mark.parametrize("name", ["data.npz", "data.npy", "data.csv", "data.tar", "data.xyz"])
def test_data_that_are_no_file_are_rejected(kind, name, capsys):
    replace(Path(name), kind)
    assert main(["learn", name]) == 2
    assert "neither a file nor a folder" in capsys.readouterr().err


@KINDS
def test_a_picture_that_is_no_file_is_rejected(kind, capsys):
    for label in ("a", "b"):
        Path("data", label).mkdir(parents=True)
        for i in range(6):
            Image.fromarray(np.full((12, 12), 10 * i, np.uint8)).save(f"data/{label}/{i}.png")
    replace(Path("data/a/3.png"), kind)
    assert main(["learn", "data"]) == 2
    assert "not a regular file" in capsys.readouterr().err
