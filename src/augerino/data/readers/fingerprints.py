"""A digest that says whether two runs saw the same data."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from augerino.data.readers.naming import shown
from augerino.errors import InputError

WHOLE = 2**30  # bytes up to which all contents are read
SAMPLE = 1000  # files whose contents count beyond that
_CHUNK = 2**20


def fingerprint(root: Path, names: Sequence[str]) -> tuple[str, str | None]:
    """SHA-256 of files and, where it does not cover all their contents, a note that says so.

    One file counts by its contents alone, several by name, size and contents in the order of their names. Above 1 GB in
    all, only about 1,000 files evenly spread over that order count with their contents, and of long ones only both ends.
    """
    names = sorted(names)
    try:
        sizes = [(root / name).stat().st_size for name in names]
        whole = sum(sizes) <= WHOLE
        step = 1 if whole else max(1, len(names) // SAMPLE)
        digest = hashlib.sha256()
        for i, (name, size) in enumerate(zip(names, sizes, strict=True)):
            if len(names) > 1:
                digest.update(f"{name}\0{size}\0".encode("utf-8", "surrogateescape"))
            if i % step == 0:
                _add(
                    digest,
                    root / name,
                    size,
                    WHOLE if whole else max(WHOLE // SAMPLE, WHOLE // len(names)),
                )
    except OSError as error:
        raise InputError(
            f"{shown(error.filename or root)} cannot be read: {error.strerror}."
        ) from error
    note = None
    if not whole:
        count = len(range(0, len(names), step))
        what = (
            f"names and sizes of all {len(names)} files and the contents of {count}"
            if len(names) > 1
            else "both ends of the file"
        )
        note = f"The fingerprint covers {what}."
    return f"sha256:{digest.hexdigest()}", note


def _add(digest: "hashlib._Hash", path: Path, size: int, most: int) -> None:
    """Adds a file's contents; of one with more bytes than wanted its size and its two ends."""
    with open(path, "rb") as file:
        if size > most:
            digest.update(f"{size}\0".encode())
            digest.update(file.read(most // 2))
            file.seek(-(most // 2), 2)
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
