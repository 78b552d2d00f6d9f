"""One writer for a run folder: a lock file that says who holds it, and that a dead process does not hold for ever.

Two things decide together. The operating system's record lock (`fcntl.lockf`) is held by one process for as long as it lives:
unlike `flock` it is not handed on to forked data workers, which outlive a killed parent by seconds, and NFS knows it. But an
NFS mount may keep such locks to its own machine, and some file systems have none. So the file also names its owner, and an
owner on another machine, whom nobody here can ask, is believed.
"""

import contextlib
import datetime
import errno
import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from augerino.errors import InputError

NAME = "lock.json"
_LONGEST = 4096  # bytes of a lock that are read
_held: set[Path] = set()  # by this process, to which the system would grant its own lock again


@dataclass(frozen=True)
class Owner:
    """Who writes into a folder: a process, its machine, since when, and in which life of that machine (empty if unknown)."""

    pid: int
    host: str
    since: str
    boot: str

    @classmethod
    def myself(cls) -> "Owner":
        now = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
        return cls(os.getpid(), socket.gethostname(), now, _boot())

    @property
    def is_here(self) -> bool:
        """Whether it is, or was, on this machine; containers on one machine have several names and one boot."""
        return self.host == socket.gethostname() or (bool(self.boot) and self.boot == _boot())

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} (since {self.since})"


@contextmanager
def hold(
    folder: Path, *, take_over: bool = False, say: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Keeps every other process from writing into a folder; refuses, in one sentence, where one does.

    Args:
        folder: a run folder.
        take_over: also where the lock is of another machine, whose processes cannot be seen from here.
        say: is told, in one sentence, that a lock was taken over and from whom.
    """
    path = folder.resolve() / NAME
    if path in _held:
        raise InputError(
            f"{folder} is being written by this very process: wait for the other run to end."
        )
    file, new, certain = _open(path, folder)
    try:
        before = _read(file)
        if before is not None:
            _judge(before, folder, certain=certain, take_over=take_over)
            if say is not None:
                say(
                    f"Taking {folder} over from {before}, which {'has ended' if before.is_here else 'is said to have ended'}."
                )
        elif not certain and not new:
            raise InputError(
                f"{folder} has a lock that names nobody: make sure that no process writes there and delete {path}."
            )
        _write(file, path)
    except BaseException:
        os.close(file)
        raise
    _held.add(path)
    try:
        yield
    finally:
        _held.discard(path)
        with contextlib.suppress(OSError):  # while we have it: later it might be the next one's
            path.unlink()
        os.close(file)
        if os.name == "nt":  # which removes nothing that is open
            path.unlink(missing_ok=True)


def _open(path: Path, folder: Path) -> tuple[int, bool, bool]:
    """The lock file, locked; whether we made it; and whether the system can tell that nobody else on this machine has it."""
    while True:
        file, new = _open_or_make(path, folder)
        try:
            certain = _lock(file)
        except BlockingIOError as error:
            owner = _read(file)
            os.close(file)
            raise _busy(folder, owner) from error
        if not certain or _is_still(path, file):
            return file, new, certain
        os.close(file)  # its owner removed it after we had opened it: take the next one


def _open_or_make(path: Path, folder: Path) -> tuple[int, bool]:
    flags = (
        os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    )  # a link would lead out of the folder
    try:
        try:
            return os.open(path, flags | os.O_EXCL, 0o666), True
        except FileExistsError:
            return os.open(path, flags, 0o666), False
    except OSError as error:
        raise InputError(
            f"Cannot write into the run folder {folder}: {error.strerror or error}."
        ) from error


def _lock(file: int) -> bool:
    """Takes the system's lock. True if that worked, BlockingIOError if somebody has it, False where there are none to take."""
    try:
        import fcntl
    except ImportError:  # not on every platform
        return False
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):  # which of the two depends on the system
            raise BlockingIOError from error
        return False  # a file system without locks
    return True


def _is_still(path: Path, file: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(file))
    except FileNotFoundError:
        return False


def _judge(owner: Owner, folder: Path, *, certain: bool, take_over: bool) -> None:
    """Refuses where the owner may be alive."""
    if owner.is_here:
        if not certain and _may_be_alive(owner):
            raise _busy(folder, owner)
    elif not take_over:
        raise InputError(
            f"{folder} is locked by {owner}, which cannot be asked from here: make sure that it has ended, then add --take-over."
        )


def _may_be_alive(owner: Owner) -> bool:
    if owner.boot != _boot():  # the machine has been started anew since
        return False
    if os.name != "posix":  # os.kill would end it
        return True
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # there, but not ours
        return True
    return True


def _busy(folder: Path, owner: Owner | None) -> InputError:
    who = "another process" if owner is None else str(owner)
    return InputError(
        f"{folder} is being written by {who}: wait until it has ended, stop it, or choose another folder."
    )


def _read(file: int) -> Owner | None:
    """Who stands in the file; nobody where it is new, or was never written to its end."""
    try:
        found: Any = json.loads(
            os.pread(file, _LONGEST, 0) if hasattr(os, "pread") else os.read(file, _LONGEST)
        )
        pid, *words = (found[name] for name in ("pid", "host", "since", "boot"))
    except (ValueError, TypeError, KeyError, RecursionError, OSError):
        return None
    if (
        type(pid) is not int
        or not 0 < pid < 2**31
        or not all(isinstance(word, str) for word in words)
    ):
        return None
    return Owner(
        pid, *("".join(c if c.isprintable() else "?" for c in word[:100]) for word in words)
    )


def _write(file: int, path: Path) -> None:
    try:
        os.ftruncate(file, 0)
        os.lseek(file, 0, os.SEEK_SET)
        os.write(file, json.dumps(asdict(Owner.myself())).encode())
        os.fsync(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            path.unlink()
        raise InputError(
            f"Cannot write into the run folder {path.parent}: {error.strerror or error}."
        ) from error


def _boot() -> str:
    """Names the machine's present life; empty where the system does not tell."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
