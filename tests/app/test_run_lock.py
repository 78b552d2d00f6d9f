"""One writer for a run folder: the second is refused, the dead are recognised, other machines are believed."""

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


def left_by(folder: Path, **changes) -> None:
    """A lock as a process leaves it that did not end by itself."""
    owner = {
        "pid": 2**22 + 1,
        "host": run_lock.Owner.myself().host,
        "since": "2026-01-01T00:00:00+00:00",
        "boot": run_lock._boot(),
    }
    (folder / run_lock.NAME).write_text(json.dumps(owner | changes))


def test_the_second_is_refused_and_told_who_the_first_is(tmp_path, holder):
    with pytest.raises(
        ag.InputError, match=rf"being written by process {holder.pid} on .* \(since 20.*stop it"
    ):
        run_lock.hold(tmp_path).__enter__()
    with pytest.raises(ag.InputError, match="being written by"):  # not even so: it is alive
        run_lock.hold(tmp_path, take_over=True).__enter__()
    assert holder.poll() is None and (tmp_path / run_lock.NAME).exists()


def test_a_killed_one_is_taken_over_with_a_sentence(tmp_path, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    said = []
    with run_lock.hold(tmp_path, say=said.append):
        assert json.loads((tmp_path / run_lock.NAME).read_text())["pid"] == os.getpid()
    assert (
        len(said) == 1
        and f"over from process {holder.pid} on " in said[0]
        and "has ended" in said[0]
    )
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
        with pytest.raises(ag.InputError, match="this very process"):
            run_lock.hold(tmp_path).__enter__()
        code = "import sys, pathlib; from augerino.app import run_lock; run_lock.hold(pathlib.Path(sys.argv[1])).__enter__()"
        second = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True
        )
        assert "InputError" in second.stderr, "the refusal within must not have given the lock away"
    with run_lock.hold(tmp_path):
        pass


def test_one_of_another_machine_is_believed_until_told_otherwise(tmp_path):
    left_by(tmp_path, host="elsewhere", boot="another")
    with pytest.raises(
        ag.InputError,
        match=r"locked by process \d+ on elsewhere .* make sure that it has ended.* --take-over",
    ):
        run_lock.hold(tmp_path).__enter__()
    said = []
    with run_lock.hold(tmp_path, take_over=True, say=said.append):
        pass
    assert "is said to have ended" in said[0]


def test_another_container_on_this_machine_is_no_other_machine(tmp_path):
    if not run_lock._boot():
        pytest.skip("this system does not tell its boots apart")
    left_by(tmp_path, host="0123456789ab")
    with run_lock.hold(tmp_path):
        pass


class TestWithoutLocksOfTheSystem:
    @pytest.fixture(autouse=True)
    def _none(self, monkeypatch):
        monkeypatch.setattr(run_lock, "_lock", lambda file: False)

    def test_a_living_owner_is_refused(self, tmp_path):
        left_by(tmp_path, pid=os.getppid())
        with pytest.raises(ag.InputError, match="being written by"):
            run_lock.hold(tmp_path).__enter__()

    @pytest.mark.parametrize("changes", [{}, {"pid": os.getppid(), "boot": "of last week"}])
    def test_a_dead_one_or_one_of_before_the_last_start_is_taken_over(self, tmp_path, changes):
        left_by(tmp_path, **changes)
        with run_lock.hold(tmp_path):
            pass
        assert not (tmp_path / run_lock.NAME).exists()

    def test_one_that_names_nobody_is_left_to_the_user(self, tmp_path):
        (tmp_path / run_lock.NAME).write_text("")
        with pytest.raises(ag.InputError, match=r"names nobody: .* delete "):
            run_lock.hold(tmp_path).__enter__()


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
def test_a_damaged_lock_of_nobody_alive_is_no_obstacle(tmp_path, content):
    (tmp_path / run_lock.NAME).write_text(content)
    with run_lock.hold(tmp_path):
        pass


def test_a_lock_that_is_a_link_out_of_the_folder_is_refused(tmp_path):
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / run_lock.NAME).symlink_to(tmp_path / "precious")
    with pytest.raises(ag.InputError, match="Cannot write into the run folder"):
        run_lock.hold(tmp_path / "run").__enter__()
    assert (tmp_path / "precious").read_text() == "precious"


def test_a_name_in_a_lock_cannot_write_on_the_terminal(tmp_path):
    left_by(tmp_path, host="a\x1b[2Jb\nc", boot="another")
    with pytest.raises(ag.InputError) as caught:
        run_lock.hold(tmp_path).__enter__()
    assert "\x1b" not in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC])
def test_a_folder_that_cannot_be_written_is_said_so(tmp_path, monkeypatch, number):
    def fail(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "open" if number == errno.EROFS else "fsync", fail)
    with pytest.raises(
        ag.InputError, match=f"Cannot write into the run folder .*: {os.strerror(number)}"
    ):
        run_lock.hold(tmp_path).__enter__()
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []


class TestRunFolder:
    def test_the_writer_clears_what_a_killed_one_left_and_nothing_else(self, tmp_path):
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
    def test_a_link_out_of_the_folder_is_refused(self, tmp_path, name):
        link = tmp_path / "run" / name
        link.parent.mkdir(parents=True)
        link.symlink_to(tmp_path / "elsewhere")
        with pytest.raises(
            ag.InputError, match=f"{name} is a link that leads out of the run folder"
        ):
            RunFolder(tmp_path / "run").writing().__enter__()
        assert [path for path in (tmp_path / "run").rglob("*") if not path.is_dir()] == [link]

    def test_a_run_killed_before_it_began_leaves_a_name_that_can_be_used(self, tmp_path):
        left_by(tmp_path)
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
def test_both_commands_refuse_a_folder_that_another_process_writes(
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
        assert [path.name for path in Path("run").iterdir()] == [run_lock.NAME]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    capsys.readouterr()
    assert main([*begin, "--out", "run"]) == 0
    assert f"Taking run over from process {process.pid}" in capsys.readouterr().out
    Path("run/result.json").unlink()
    left_by(Path("run"), host="elsewhere", boot="another")
    assert main(again) == 2 and "--take-over" in capsys.readouterr().err
    assert main([*again, "--take-over"]) == 0 and not Path("run", run_lock.NAME).exists()


def test_taking_over_is_for_runs_that_are_gone_on_with(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["learn", *QUICK, "--take-over"]) == 2
    assert "add --resume" in capsys.readouterr().err and not any(tmp_path.iterdir())


def test_a_worker_of_trials_ends_with_the_run_that_started_it(tmp_path):
    code = (
        "import sys, time\n"
        "from concurrent.futures import ProcessPoolExecutor\nfrom multiprocessing import get_context\n"
        "from augerino.runtime.trials import _prepare_worker\n"
        "import os\n"
        "if __name__ == '__main__':\n"
        "    pool = ProcessPoolExecutor(1, mp_context=get_context('spawn'), initializer=_prepare_worker)\n"
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
