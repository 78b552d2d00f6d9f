"""Selected files of a `.tar.gz`, read into memory; nothing is written to disk."""

import gzip
import tarfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import IO, Any

from augerino.data.readers.archives import check_memory
from augerino.data.readers.naming import shown, some
from augerino.errors import InputError

MOST_AT_ONCE = 2**16  # largest number of bytes per read


class Careful:
    """A file for `tarfile` that limits each read, since a damaged header may declare gigabytes."""

    def __init__(self, file: Any) -> None:
        self.seek = file.seek
        self.tell = file.tell
        self._read = file.read

    def read(self, size: int) -> bytes:
        if size > MOST_AT_ONCE:
            raise tarfile.ReadError("a name of more than 64 kB")
        return self._read(size)


def read_members(path: Path, wanted: Mapping[str, int]) -> dict[str, bytes]:
    """Reads the wanted files, by their names without folders; stops when all are found.

    Args:
        path: path of the archive.
        wanted: name -> largest size in bytes.
    """
    check_memory(path, sum(wanted.values()))
    found: dict[str, bytes] = {}
    try:
        # Decompressed here, because tarfile does not notice a truncated compressed stream.
        with gzip.open(path) as plain, _open(plain) as archive:
            for member in archive:
                archive.members.clear()  # type: ignore[attr-defined]  # tarfile would keep them all
                name = PurePosixPath(member.name).name
                if not member.isfile() or name not in wanted or name in found:
                    continue
                content = archive.extractfile(member)
                if content is None:
                    continue
                if member.size > wanted[name]:
                    raise InputError(
                        f"{name} in {shown(path)} has {member.size} bytes, "
                        f"but should have {wanted[name]} at most."
                    )
                found[name] = _read(content)
                if len(found) == len(wanted):
                    return found
    except (tarfile.TarError, EOFError, OSError) as error:
        reason = str(error).rstrip(".") or type(error).__name__
        raise InputError(
            f"{shown(path)} is not a complete archive: {reason}. Remove it and download it again."
        ) from error
    raise InputError(f"{shown(path)} lacks {some([name for name in wanted if name not in found])}.")


def _read(content: IO[bytes]) -> bytes:
    parts = []
    while part := content.read(MOST_AT_ONCE):
        parts.append(part)
    return b"".join(parts)


def _open(plain: gzip.GzipFile) -> tarfile.TarFile:
    careful: Any = Careful(plain)
    return tarfile.open(fileobj=careful, mode="r:")
