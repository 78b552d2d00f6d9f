"""The command as one of the processes that torchrun started: the first one prints, and an error is told once."""

import contextlib
import datetime
import os
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from augerino.errors import InputError, NonFiniteLoss, ProcessLost
from augerino.runtime import distributed

_PATIENCE = datetime.timedelta(seconds=20)  # for another process to say what is wrong


def run(words: list[str], command: Callable[[list[str]], int]) -> int:
    """Runs the command together with the other processes and returns its exit code.

    torchrun ends all processes as soon as one of them fails. So whoever finds an error first tells it, and the others
    wait until it has been told.
    """
    try:
        store = distributed.join()
    except (RuntimeError, ValueError) as error:
        sys.stderr.write(
            f"augerino: the processes cannot be brought together: {str(error).splitlines()[0]}\n"
        )
        return 1
    first = distributed.is_first()
    try:
        with _silence(not first), _told_to_end():
            if words[:1] not in (["learn"], ["--help"], ["-h"], []):
                raise InputError(
                    f"torchrun is for learn alone: run `augerino {words[0]}` as one process."
                )
            code = command(words)
    except (InputError, NonFiniteLoss, ProcessLost) as error:
        _tell(store, f"augerino: {error}\n")
        return 2 if isinstance(error, InputError) else 1
    except SystemExit as end:  # wrong options, of which the first process has told
        if end.code:
            _tell(store, "") if first else _wait(store)
        raise
    except KeyboardInterrupt:
        if first:
            raise
        return 130
    except RuntimeError as error:
        if not distributed.is_lost(error):
            raise
        _tell(store, "augerino: another process of this job ended.\n")
        return 1
    if code == 0:
        distributed.leave()
    return code


def _tell(store: Any, sentence: str) -> None:
    """Prints a sentence, unless another process has told one already."""
    try:
        told = store.add("told", 1) > 1
    except RuntimeError:  # whoever kept the store is gone
        told = False
    if told:
        _wait(store)
        return
    sys.stderr.write(sentence)
    sys.stderr.flush()
    with contextlib.suppress(RuntimeError):
        store.set("told in full", "yes")


def _wait(store: Any) -> None:
    with contextlib.suppress(RuntimeError):
        store.wait(["told in full"], _PATIENCE)


@contextlib.contextmanager
def _silence(silent: bool) -> Iterator[None]:
    if not silent:
        yield
        return
    with (
        open(os.devnull, "w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        yield


@contextlib.contextmanager
def _told_to_end() -> Iterator[None]:
    """Turns torchrun's signal to end, which comes when another process has failed, into an error that can be told."""

    def end(number: int, frame: FrameType | None) -> None:
        raise ProcessLost("Another process of this job ended, or all were told to end.")

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    except Exception:
        signal.signal(
            signal.SIGTERM, signal.SIG_IGN
        )  # what went wrong is still to be told, and then this process ends
        raise
    signal.signal(signal.SIGTERM, before)
