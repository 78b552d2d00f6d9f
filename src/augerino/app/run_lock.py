"""A lock that allows one process at a time to write into a run folder.

`filelock` holds the lock for as long as the process lives; forked and spawned workers do not
inherit it. Some network file systems keep locks local to each machine. The owner is therefore also
written to `lock.json`, and a folder whose owner runs on another machine stays locked until the user
confirms with `--take-over` that this process has ended.
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

from filelock import BaseFileLock, FileLock, SoftFileLock, Timeout

from augerino.errors import InputError
from augerino.runtime import files

LOCK_NAME = ".lock"
OWNER_NAME = "lock.json"
NAMES = (LOCK_NAME, OWNER_NAME)
_TIMEOUT = 0.2  # seconds; long enough to retry when the previous owner removes the file just now
_MAX_OWNER_BYTES = 4096
_UNSUPPORTED = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)  # file systems without locks


@dataclass(frozen=True)
class Owner:
    """The process that writes to a folder; `boot` identifies the boot of its machine, if known."""

    pid: int
    host: str
    since: str
    boot: str

    @classmethod
    def current(cls) -> "Owner":
        """This process."""
        now = datetime.datetime.now().astimezone()
        return cls(
            pid=os.getpid(),
            host=socket.gethostname(),
            since=now.isoformat(timespec="seconds"),
            boot=_boot_id(),
        )

    @property
    def is_local(self) -> bool:
        """Whether it ran on this machine; containers share the boot, but not the host name."""
        if self.host == socket.gethostname():
            return True
        return bool(self.boot) and self.boot == _boot_id()

    @property
    def is_current(self) -> bool:
        """Whether it is this process."""
        return self.is_local and self.pid == os.getpid()

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} (since {self.since})"


@contextmanager
def hold(
    folder: Path, *, take_over: bool = False, say: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Holds the lock of a run folder, or raises `InputError` if another process holds it.

    Args:
        folder: a run folder.
        take_over: whether to ignore an owner on another machine, which cannot be checked from here.
        say: called with a message when the lock of a process that has ended is taken over.
    """
    for name in NAMES:
        if (folder / name).is_symlink():
            raise InputError(
                f"Cannot write into the run folder {folder}: {name} is a symbolic link. Remove it."
            )
    lock = _acquire(folder, take_over=take_over)
    try:
        previous = _read_owner(folder)
        if previous is not None:
            _check_ended(previous, folder, take_over=take_over)
            if say is not None:
                say(f"Taking over {folder} from {previous}, which has ended.")
        files.write_json(folder / OWNER_NAME, asdict(Owner.current()))
    except BaseException:
        _release(lock)
        raise
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            (folder / OWNER_NAME).unlink()
        _release(lock)


def _acquire(folder: Path, *, take_over: bool) -> BaseFileLock:
    lock = FileLock(folder / LOCK_NAME, timeout=_TIMEOUT, fallback_to_soft=False)
    try:
        try:
            lock.acquire()
            return lock
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise
        return _acquire_marker(folder, take_over=take_over)
    except Timeout as error:
        raise _locked(folder, _read_owner(folder)) from error
    except OSError as error:
        raise InputError(
            f"Cannot write into the run folder {folder}: {error.strerror or error}. "
            "Check its permissions, or choose another folder."
        ) from error


def _acquire_marker(folder: Path, *, take_over: bool) -> SoftFileLock:
    """Acquires a marker file, for file systems without locks.

    `filelock` replaces the marker of a local process that has ended.
    """
    path = folder / LOCK_NAME
    owner = _read_owner(folder)
    is_placeholder = path.exists() and path.stat().st_size == 0  # left by the attempt to lock it
    is_abandoned = take_over and owner is not None and not owner.is_local
    if is_placeholder or is_abandoned:
        path.unlink(missing_ok=True)
    lock = SoftFileLock(path, timeout=_TIMEOUT)
    lock.acquire()
    return lock


def _release(lock: BaseFileLock) -> None:
    path = Path(lock.lock_file)
    is_marker = isinstance(lock, SoftFileLock)  # which its own release removes
    # Unlinked before the release: afterwards the file may belong to the next process.
    if not is_marker and os.name != "nt":
        path.unlink(missing_ok=True)
    lock.release()
    if not is_marker and os.name == "nt":  # where an open file cannot be removed
        with contextlib.suppress(OSError):
            path.unlink()


def _check_ended(owner: Owner, folder: Path, *, take_over: bool) -> None:
    """Raises if the owner may still run; a local one has ended, as it no longer holds the lock."""
    if owner.is_local or take_over:
        return
    raise InputError(
        f"{folder} is locked by {owner}, which cannot be checked from this machine. "
        "If that process has ended, add --take-over."
    )


def _locked(folder: Path, owner: Owner | None) -> InputError:
    if owner is not None and owner.is_current:
        return InputError(f"{folder} is already being written by this process.")
    name = "another process" if owner is None else str(owner)
    return InputError(
        f"{folder} is being written by {name}. "
        "Wait until it ends, stop it, or choose another folder."
    )


def _read_owner(folder: Path) -> Owner | None:
    """The owner that `lock.json` names, or None if it is missing or damaged."""
    try:
        with (folder / OWNER_NAME).open("rb") as file:
            found: Any = json.loads(file.read(_MAX_OWNER_BYTES))
        pid = found["pid"]
        texts = [found[name] for name in ("host", "since", "boot")]
    except (ValueError, TypeError, KeyError, RecursionError, OSError):
        return None
    if type(pid) is not int or not 0 < pid < 2**31:
        return None
    if not all(isinstance(text, str) for text in texts):
        return None
    return Owner(pid, *(_printable(text[:100]) for text in texts))


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)


def _boot_id() -> str:
    """Identifies the current boot of this machine; empty where the system does not provide it."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
