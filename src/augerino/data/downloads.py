"""Files of public datasets: found in the user's folder, or downloaded once into a cache.

Downloads are resumable and verified by checksum.
"""

import hashlib
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from augerino.errors import InputError

CHUNK = 1 << 20


@dataclass(frozen=True)
class Remote:
    """A public file with its checksum: SHA-256, or MD5 if its authors published no other.

    MD5 detects damaged and replaced files; only the authors could have prepared a collision.

    Args:
        name: file name in the cache.
        urls: mirrors, tried in order.
        sha256: checksum; exactly one of the two is given.
        md5: checksum.
    """

    name: str
    urls: Sequence[str]
    sha256: str = ""
    md5: str = ""

    def __post_init__(self) -> None:
        assert bool(self.sha256) != bool(self.md5), "exactly one checksum is needed"


def cache_folder() -> Path:
    """The folder of downloads: $AUGERINO_CACHE, or the platform's cache folder for augerino."""
    if chosen := os.environ.get("AUGERINO_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "augerino"


def find(name: str, folder: str | Path | None) -> Path | None:
    """A file in the user's folder or in the cache; None if it is in neither."""
    places = [cache_folder()]
    if folder is not None:
        places.insert(0, Path(folder))
    for place in places:
        if (place / name).is_file():
            return place / name
    return None


def fetch(remote: Remote, *, progress: Callable[[int, int | None], None] | None = None) -> Path:
    """Downloads a file into the cache, unless it is cached; resumes an interrupted download.

    Args:
        remote: file to fetch.
        progress: called with the number of bytes so far and the total, if that is known.
    """
    path = cache_folder() / remote.name
    if path.is_file():
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"Cannot create the cache folder {path.parent}: {error.strerror}. "
            "Set AUGERINO_CACHE to another folder."
        ) from error
    algorithm = "SHA-256" if remote.sha256 else "MD5"
    checksum = remote.sha256 or remote.md5
    part = path.with_name(path.name + ".part")
    reasons = []
    for url in remote.urls:
        try:
            _download(url, part, progress)
        except (OSError, ValueError) as error:  # URLError is an OSError
            reasons.append(f"{url}: {getattr(error, 'reason', None) or error}")
            continue
        if _digest(part, algorithm.lower().replace("-", "")) == checksum:
            part.replace(path)
            return path
        part.unlink()
        reasons.append(f"{url}: not the expected file (its {algorithm} differs)")
    raise InputError(
        f"Could not download {remote.name} ({'; '.join(reasons)}). "
        f"Put the file into {path.parent}, or name the folder that contains it with --data DIR."
    )


def _download(url: str, part: Path, progress: Callable[[int, int | None], None] | None) -> None:
    request = urllib.request.Request(url)
    have = 0
    if part.exists():
        have = part.stat().st_size
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        response = urllib.request.urlopen(request, timeout=30)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # range not satisfiable: the partial file is already complete
            return
        raise
    with response:
        if have and response.status != 206:  # the server ignores ranges: start over
            have = 0
        length = response.headers.get("Content-Length")
        total = None
        if length:
            total = have + int(length)
        mode = "wb"
        if have:
            mode = "ab"
        with open(part, mode) as file:
            while chunk := response.read(CHUNK):
                file.write(chunk)
                have += len(chunk)
                if progress is not None:
                    progress(have, total)
    if total is not None and have < total:
        raise OSError(f"the connection ended after {have} of {total} bytes")


def _digest(path: Path, kind: str) -> str:
    digest = hashlib.new(kind, usedforsecurity=kind != "md5")
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
