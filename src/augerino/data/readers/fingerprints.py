"""Digests of datasets, equal for equal data."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from augerino.data.readers.naming import shown
from augerino.errors import InputError

WHOLE = 2**30  # total bytes up to which all contents are hashed
SAMPLE = 1000  # files whose contents are hashed in larger datasets
_CHUNK = 2**20


def fingerprint(root: Path, names: Sequence[str]) -> tuple[str, str | None]:
    """SHA-256 of files, and a note if it does not cover all their contents.

    Of a single file the contents are hashed; of several, names, sizes and contents, sorted by name.
    Above 1 GB in total, only the contents of about 1,000 evenly spaced files are hashed, and only
    both ends of long ones.
    """
    names = sorted(names)
    try:
        sizes = [(root / name).stat().st_size for name in names]
        whole = sum(sizes) <= WHOLE
        step = 1 if whole else max(1, len(names) // SAMPLE)
        most = WHOLE if whole else max(WHOLE // SAMPLE, WHOLE // len(names))
        digest = hashlib.sha256()
        for i, (name, size) in enumerate(zip(names, sizes, strict=True)):
            if len(names) > 1:
                digest.update(f"{name}\0{size}\0".encode("utf-8", "surrogateescape"))
            if i % step == 0:
                _add(digest, root / name, size=size, most=most)
    except OSError as error:
        raise InputError(
            f"{shown(error.filename or root)} cannot be read: {error.strerror}."
        ) from error
    note = None
    if not whole:
        covered = "both ends of the file"
        if len(names) > 1:
            n_read = len(range(0, len(names), step))
            covered = f"names and sizes of all {len(names)} files and the contents of {n_read}"
        note = f"The fingerprint covers {covered}."
    return f"sha256:{digest.hexdigest()}", note


def _add(digest: "hashlib._Hash", path: Path, *, size: int, most: int) -> None:
    """Hashes the contents of a file, or its size and both ends if it has more than `most` bytes."""
    with open(path, "rb") as file:
        if size > most:
            digest.update(f"{size}\0".encode())
            digest.update(file.read(most // 2))
            file.seek(-(most // 2), 2)
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
