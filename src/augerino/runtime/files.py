"""Atomic writing of files: write a temporary file, flush it to disk, rename it."""

import contextlib
import json
import os
import re
from pathlib import Path
from typing import Any

from augerino.errors import InputError

RUN_FORMAT = "augerino run"  # marks the configuration of a run folder
_LARGEST_CONFIG = 2**20  # bytes


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


def write_json(path: str | Path, value: Any) -> None:
    """Writes a value as indented JSON, atomically."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    write_atomically(path, f"{text}\n".encode())


def read_json(path: str | Path, what: str) -> Any:
    """Reads a JSON file.

    Args:
        path: the file.
        what: noun for the file in error messages, such as "policy".
    """
    try:
        return json.loads(Path(path).read_bytes())
    except OSError as error:
        raise InputError(f"Cannot read the {what} {path}: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path} is not a readable {what}: {error}. Restore it from a copy or create it again."
        ) from error


def is_run_folder(folder: str | Path) -> bool:
    """Whether a folder was created by `augerino learn` or `augerino run`."""
    path = Path(folder) / "config.json"
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST_CONFIG:
            return False
        config = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(config, dict) and config.get("format") == RUN_FORMAT
