"""The lock of a run folder: a second writer is rejected, the lock of a dead owner replaced."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import augerino as ag
from augerino.app import run_lock
from augerino.app.cli import main
from augerino.app.run_folder import RunFolder
from augerino.runtime import files

HOLD = """
import sys, time
from pathlib import Path
from augerino.app import run_lock
with run_lock.hold(Path(sys.argv[1])):
    print("holds", flush=True)
    time.sleep(60)
"""
QUICK = ["--epochs", "1", "--coordinates", "rotate", "--no-baseline"]


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "holds\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def write_owner(folder: Path, **changes) -> None:
    """Writes the owner file of a process that was killed."""
    owner = {
        "pid": 2**22 + 1,
        "host": run_lock.Owner.current().host,
        "since": "2026-01-01T00:00:00+00:00",
        "boot": run_lock._boot_id(),
    }
    (folder / run_lock.OWNER_NAME).write_text(json.dumps(owner | changes))


def test_a_second_process_is_rejected_with_the_name_of_the_first(tmp_path, holder):
    with pytest.raises(
        ag.InputError, match=rf"being written by process {holder.pid} on .* \(since 20.*stop it"
    ):
        run_lock.hold(tmp_path).__enter__()
    with pytest.raises(ag.InputError, match="being written by"):  # not even so: it is alive
        run_lock.hold(tmp_path, take_over=True).__enter__()
    assert holder.poll() is None and (tmp_path / run_lock.OWNER_NAME).exists()


def test_the_lock_of_a_killed_process_is_taken_over_with_a_message(tmp_path, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    said = []
    with run_lock.hold(tmp_path, say=said.append):
        assert json.loads((tmp_path / run_lock.OWNER_NAME).read_text())["pid"] == os.getpid()
    assert len(said) == 1 and f"from process {holder.pid} on " in said[0] and "has ended" in said[0]
    assert list(tmp_path.iterdir()) == []


def test_data_workers_that_outlive_a_killed_run_do_not_keep_its_lock(tmp_path):
    code = HOLD.replace(
        '    print("holds"',
        '    import os\n    if os.fork() == 0:\n        time.sleep(20)\n    print("holds"',
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == "holds\n"
        process.kill()
        process.wait()
        with run_lock.hold(tmp_path):
            pass
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()


def test_one_process_does_not_hold_it_twice(tmp_path):
    with run_lock.hold(tmp_path):
        with pytest.raises(ag.InputError, match="already being written by this process"):
            run_lock.hold(tmp_path).__enter__()
        code = (
            "import sys, pathlib\n"
            "from augerino.app import run_lock\n"
            "run_lock.hold(pathlib.Path(sys.argv[1])).__enter__()"
        )
        second = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True
        )
        assert "InputError" in second.stderr, "the failed attempt must not release the lock"
    with run_lock.hold(tmp_path):
        pass


def test_an_owner_on_another_machine_blocks_until_take_over(tmp_path):
    write_owner(tmp_path, host="elsewhere", boot="another")
    with pytest.raises(
        ag.InputError,
        match=r"locked by process \d+ on elsewhere .* If that process has ended, add --take-over",
    ):
        run_lock.hold(tmp_path).__enter__()
    said = []
    with run_lock.hold(tmp_path, take_over=True, say=said.append):
        pass
    assert "from process" in said[0] and "elsewhere" in said[0]


def test_another_container_on_this_machine_counts_as_local(tmp_path):
    if not run_lock._boot_id():
        pytest.skip("this system has no boot id")
    write_owner(tmp_path, host="0123456789ab")
    with run_lock.hold(tmp_path):
        pass


NO_LOCKS = """
import errno, fcntl
def flock(file, operation):
    raise OSError(errno.ENOSYS, "flock is not implemented")
fcntl.flock = flock
"""


class TestOnAFileSystemWithoutLocks:
    @pytest.fixture(autouse=True)
    def _no_locks(self, monkeypatch):
        def flock(file, operation):
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

        monkeypatch.setattr("fcntl.flock", flock)

    @pytest.fixture
    def holder(self, tmp_path):
        process = subprocess.Popen(
            [sys.executable, "-c", NO_LOCKS + HOLD, str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None and process.stdout.readline() == "holds\n"
        yield process
        process.kill()
        process.wait()
        process.stdout.close()

    def test_a_living_owner_is_rejected(self, tmp_path, holder):
        for take_over in (False, True):
            with pytest.raises(ag.InputError, match=f"being written by process {holder.pid} "):
                run_lock.hold(tmp_path, take_over=take_over).__enter__()

    def test_a_dead_owner_is_replaced(self, tmp_path, holder):
        holder.kill()
        holder.wait()
        with run_lock.hold(tmp_path):
            pass
        assert list(tmp_path.iterdir()) == []

    def test_one_process_does_not_hold_it_twice(self, tmp_path):
        with (
            run_lock.hold(tmp_path),
            pytest.raises(ag.InputError, match="already being written by this process"),
        ):
            run_lock.hold(tmp_path).__enter__()
        assert list(tmp_path.iterdir()) == []

    def test_a_remote_owner_blocks_until_take_over(self, tmp_path):
        write_owner(tmp_path, host="elsewhere", boot="another")
        (tmp_path / run_lock.LOCK_NAME).write_text("1\nelsewhere\n")
        with pytest.raises(ag.InputError, match="being written by process"):
            run_lock.hold(tmp_path).__enter__()
        with run_lock.hold(tmp_path, take_over=True):
            pass
        assert list(tmp_path.iterdir()) == []

    def test_an_empty_marker_of_an_interrupted_start_is_ignored(self, tmp_path):
        (tmp_path / run_lock.LOCK_NAME).write_text("")
        with run_lock.hold(tmp_path):
            pass


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"pid": "1"}',
        '{"pid": -1, "host": "a", "since": "b", "boot": "c"}',
        "[" * 9999,
    ],
)
def test_a_damaged_owner_file_is_ignored(tmp_path, content):
    (tmp_path / run_lock.OWNER_NAME).write_text(content)
    with run_lock.hold(tmp_path):
        pass


@pytest.mark.parametrize("name", run_lock.NAMES)
def test_a_lock_that_is_a_symbolic_link_is_rejected(tmp_path, name):
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).symlink_to(tmp_path / "precious")
    with pytest.raises(ag.InputError, match="Cannot write into the run folder"):
        run_lock.hold(tmp_path / "run").__enter__()
    assert (tmp_path / "precious").read_text() == "precious"


def test_control_characters_in_an_owner_file_are_not_printed(tmp_path):
    write_owner(tmp_path, host="a\x1b[2Jb\nc", boot="another")
    with pytest.raises(ag.InputError) as caught:
        run_lock.hold(tmp_path).__enter__()
    assert "\x1b" not in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC])
def test_a_folder_that_cannot_be_written_raises(tmp_path, monkeypatch, number):
    def fail(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "open" if number == errno.EROFS else "fsync", fail)
    with pytest.raises(ag.InputError, match=f"Cannot write .*: {os.strerror(number)}"):
        run_lock.hold(tmp_path).__enter__()
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []


class TestRunFolder:
    def test_the_writer_removes_temporary_files_of_a_killed_process_and_nothing_else(
        self, tmp_path
    ):
        (tmp_path / "model").mkdir()
        for name in (
            ".checkpoint.safetensors.123.tmp",
            "model/.config.json.4.tmp",
            ".mine.tmp",
            "notes.tmp",
            "a.5.tmp",
        ):
            (tmp_path / name).write_text("x")
        with RunFolder(tmp_path).writing():
            pass
        assert sorted(path.name for path in tmp_path.rglob("*.tmp")) == [
            ".mine.tmp",
            "a.5.tmp",
            "notes.tmp",
        ]

    @pytest.mark.parametrize(
        "name", ["figures", "checkpoint.safetensors", "figures/ranges.png", "model/config.json"]
    )
    def test_a_link_out_of_the_folder_is_rejected(self, tmp_path, name):
        link = tmp_path / "run" / name
        link.parent.mkdir(parents=True)
        link.symlink_to(tmp_path / "elsewhere")
        with pytest.raises(
            ag.InputError, match=f"{name} is a link that leads out of the run folder"
        ):
            RunFolder(tmp_path / "run").writing().__enter__()
        assert [path for path in (tmp_path / "run").rglob("*") if not path.is_dir()] == [link]

    def test_the_folder_of_a_run_killed_at_its_start_can_be_used_again(self, tmp_path):
        write_owner(tmp_path)
        (tmp_path / ".config.json.77.tmp").write_text("{")
        with RunFolder.create(tmp_path, "run").writing():
            assert not files.is_left_over(next(tmp_path.iterdir()))
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("begin", "again"),
    [
        (["learn", *QUICK], ["learn", "--resume", "run"]),
        (["run", "why", "--epochs", "1"], ["run", "--resume", "run"]),
    ],
)
def test_both_commands_reject_a_folder_that_another_process_writes(
    tmp_path, monkeypatch, capsys, begin, again
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("augerino.data.synthetic.embedded.N_TRAIN", 64)
    monkeypatch.setattr(
        "augerino.app.learn.write_outcome", lambda outcome: Path("run/result.json").write_text("{}")
    )
    Path("run").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, "run"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == "holds\n"
        assert main([*begin, "--out", "run"]) == 2
        assert f"run is being written by process {process.pid}" in capsys.readouterr().err
        assert sorted(path.name for path in Path("run").iterdir()) == sorted(run_lock.NAMES)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    capsys.readouterr()
    assert main([*begin, "--out", "run"]) == 0
    assert f"Taking over run from process {process.pid}" in capsys.readouterr().out
    Path("run/result.json").unlink()
    write_owner(Path("run"), host="elsewhere", boot="another")
    assert main(again) == 2 and "--take-over" in capsys.readouterr().err
    assert main([*again, "--take-over"]) == 0
    assert not any(Path("run", name).exists() for name in run_lock.NAMES)


def test_take_over_needs_resume(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["learn", *QUICK, "--take-over"]) == 2
    assert "--take-over needs --resume" in capsys.readouterr().err and not any(tmp_path.iterdir())


def test_a_worker_of_trials_ends_with_the_run_that_started_it(tmp_path):
    code = (
        "import sys, time\n"
        "from concurrent.futures import ProcessPoolExecutor\n"
        "from multiprocessing import get_context\n"
        "from augerino.runtime.trials import _prepare_worker\n"
        "import os\n"
        "if __name__ == '__main__':\n"
        "    spawn = get_context('spawn')\n"
        "    pool = ProcessPoolExecutor(1, mp_context=spawn, initializer=_prepare_worker)\n"
        "    print(pool.submit(os.getpid).result(), flush=True)\n"
        "    time.sleep(60)\n"
    )
    (tmp_path / "script.py").write_text(code)
    process = subprocess.Popen(
        [sys.executable, tmp_path / "script.py"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    worker = int(process.stdout.readline())
    process.kill()
    process.wait()
    process.stdout.close()
    deadline = time.monotonic() + 30
    while Path(f"/proc/{worker}").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not Path(f"/proc/{worker}").exists()
