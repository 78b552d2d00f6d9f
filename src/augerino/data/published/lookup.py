"""Finds the files of a dataset in the user's folder or in the cache."""

import errno
from collections.abc import Iterable
from pathlib import Path

from augerino.data import downloads
from augerino.data.readers.naming import shown
from augerino.errors import InputError
from augerino.runtime import files


def search_folders(folder: str | Path | None) -> list[Path]:
    """The folders to search, in order: the user's, if any, then the cache."""
    if folder is None:
        return [downloads.cache_folder()]
    return [Path(folder), downloads.cache_folder()]


def first_with(file: str, folders: Iterable[Path]) -> Path | None:
    """The first of several folders that has a file of this name."""
    return next((folder for folder in folders if (folder / file).is_file()), None)


def read_bytes(path: Path, largest: int, dataset: str) -> bytes:
    """The content of a file of a dataset; larger files than expected are rejected unread."""
    try:
        return files.read_bytes(path, largest)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise InputError(
                f"{shown(path)} is not a file of {dataset}: {error.strerror}."
            ) from error
        raise InputError(f"{shown(path)} cannot be read: {error.strerror or error}.") from error
