"""Files that are whole or not there: write beside, flush to disk, rename."""

import contextlib
import json
import os
import re
from pathlib import Path
from typing import Any

from augerino.errors import InputError


def write_atomically(path: str | Path, data: bytes) -> None:
    """Replaces a file in one step: a reader, or a crash at any moment, meets the old content or the new, never a part."""
    path = Path(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(beside, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException as error:  # an interrupt leaves nothing behind either
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        if isinstance(error, OSError):
            reason = error.strerror or error
            raise InputError(
                f"Cannot write {path}: {reason}. What was there before is unchanged: mend that, then go on."
            ) from error
        raise
    if os.name == "posix":
        with contextlib.suppress(
            OSError
        ):  # some file systems refuse to sync a folder; the file itself is safe
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)  # so that the rename itself outlives a power cut
            finally:
                os.close(folder)


def is_left_over(path: Path) -> bool:
    """Whether a file is what a process that was killed while writing left behind: never whole, of use to nobody."""
    return re.fullmatch(r"\..+\.\d+\.tmp", path.name) is not None


def write_json(path: str | Path, value: Any) -> None:
    """Writes a value as indented JSON, atomically."""
    write_atomically(path, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


def read_json(path: str | Path, what: str) -> Any:
    """Reads a JSON file, or says in one sentence why that did not work."""
    try:
        return json.loads(Path(path).read_bytes())
    except OSError as error:
        raise InputError(f"Cannot read the {what} {path}: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path} is not a readable {what}: {error}. Restore it from a copy or make it anew."
        ) from error
