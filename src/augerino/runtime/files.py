"""Atomic writing of files, and reading of regular files up to a size.

Writing: write a temporary file, flush it to disk, rename it. Reading: pipes and devices, on which a
read could block or never end, are rejected.
"""

import contextlib
import errno
import json
import os
import re
import stat
from pathlib import Path
from typing import Any, BinaryIO

from augerino.errors import InputError

RUN_FORMAT = "augerino run"  # marks the configuration of a run folder
LARGEST_JSON = 2**28  # bytes, 256 MB
LARGEST_WEIGHTS = 2**34  # bytes, 16 GB


def write_atomically(path: str | Path, data: bytes) -> None:
    """Replaces a file in one step.

    A reader, or a crash at any moment, finds either the old content or the new.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:  # an interrupt must not leave the temporary file either
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise InputError(
                f"Cannot write {path}: {error.strerror or error}. "
                "The previous content is unchanged: fix the cause, then continue."
            ) from error
        raise
    if os.name == "posix":
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Flushes a folder to disk, so that a rename in it survives a power failure."""
    with contextlib.suppress(OSError):  # not supported on some file systems; the file is safe
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def is_left_over(path: Path) -> bool:
    """Whether a file is the temporary file of a process that was killed while writing."""
    return re.fullmatch(r"\..+\.\d+\.tmp", path.name) is not None


def open_regular(path: str | Path) -> BinaryIO:
    """Opens a regular file for reading. Raises OSError for a folder, a pipe or a device."""
    return open(path, "rb", opener=_open_regular)


def _open_regular(path: str, flags: int) -> int:
    # Without O_NONBLOCK, opening a pipe would wait for a writer.
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", path)
    return descriptor


def read_bytes(path: str | Path, limit: int) -> bytes:
    """The content of a regular file. Raises OSError if it has more than `limit` bytes."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise OSError(errno.EFBIG, f"it has {size} bytes, more than {limit}", str(path))
        return file.read()


def write_json(path: str | Path, value: Any) -> None:
    """Writes a value as indented JSON, atomically."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    write_atomically(path, f"{text}\n".encode())


def read_json(path: str | Path, what: str) -> Any:
    """Reads a JSON file of at most 256 MB.

    Args:
        path: the file.
        what: noun for the file in error messages, such as "policy".
    """
    try:
        return json.loads(read_bytes(path, LARGEST_JSON))
    except OSError as error:
        raise InputError(f"Cannot read the {what} {path}: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path} is not a readable {what}: {error}. Restore it from a copy or create it again."
        ) from error


def is_run_folder(folder: str | Path) -> bool:
    """Whether a folder was created by `augerino learn` or `augerino run`."""
    try:
        config = json.loads(read_bytes(Path(folder) / "config.json", LARGEST_JSON))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(config, dict) and config.get("format") == RUN_FORMAT
