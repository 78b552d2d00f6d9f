"""Runs the command as one process of torchrun: the first one prints, errors are printed once."""

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
from augerino.runtime.printable import printable

_TIMEOUT = datetime.timedelta(seconds=20)  # for another process to print its error
_CLAIMED = "error claimed"
_PRINTED = "error printed"


def run(words: list[str], command: Callable[[list[str]], int]) -> int:
    """Runs the command together with the other processes and returns its exit code.

    torchrun ends all processes as soon as one of them fails. The first process to find an error
    therefore prints it, and the others wait until it has been printed.
    """
    try:
        store = distributed.join()
    except (RuntimeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        sys.stderr.write(f"augerino: Cannot connect the processes of torchrun: {reason}\n")
        return 1
    first = distributed.is_first()
    try:
        with _silence(not first), _catch_termination():
            if words[:1] not in (["learn"], ["--help"], ["-h"], []):
                raise InputError(
                    "torchrun works with `augerino learn` only. "
                    f"Run `augerino {words[0]}` without it."
                )
            code = command(words)
    except InputError as error:
        _print_once(store, f"augerino: {error}\n")
        return 2
    except (NonFiniteLoss, ProcessLost) as error:
        _print_once(store, f"augerino: {error}\n")
        return 1
    except SystemExit as end:  # wrong options: the option parser of the first process prints them
        if end.code and first:
            _print_once(store, "")
        elif end.code:
            _wait(store)
        raise
    except KeyboardInterrupt:
        if first:
            raise
        return 130
    except RuntimeError as error:
        if not distributed.is_lost(error):
            raise
        _print_once(store, "augerino: Another process of this job has ended.\n")
        return 1
    if code == 0:
        distributed.leave()
    return code


def _print_once(store: Any, message: str) -> None:
    """Prints a message, unless another process has already claimed to print one."""
    try:
        claimed = store.add(_CLAIMED, 1) > 1
    except RuntimeError:  # the process that hosts the store has ended
        claimed = False
    if claimed:
        _wait(store)
        return
    sys.stderr.write(printable(message))
    sys.stderr.flush()
    with contextlib.suppress(RuntimeError):
        store.set(_PRINTED, "yes")


def _wait(store: Any) -> None:
    with contextlib.suppress(RuntimeError):
        store.wait([_PRINTED], _TIMEOUT)


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
def _catch_termination() -> Iterator[None]:
    """Raises `ProcessLost` at SIGTERM, which torchrun sends when another process has failed."""

    def terminate(number: int, frame: FrameType | None) -> None:
        raise ProcessLost("Another process of this job has ended, or the job was terminated.")

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    except Exception:
        # The error is still to be printed; this process ends right after.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise
    signal.signal(signal.SIGTERM, before)
