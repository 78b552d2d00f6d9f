"""Reading `.npz` and `.npy` files without pickles, and without believing a header before it is checked."""

import io
import math
import os
import tokenize
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from augerino.data.readers.naming import shown
from augerino.errors import InputError

LONGEST_HEADER = 2**16  # bytes of an array's header; numpy itself writes a few hundred


class ArrayHeader(NamedTuple):
    """Shape and type of an array that has not been read yet."""

    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def size_in_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def read_npz(path: Path, wanted: Mapping[str, tuple[int | None, ...]]) -> dict[str, np.ndarray]:
    """The wanted arrays of an archive, each read once; None in a shape stands for any length."""
    headers = npz_headers(path)
    missing = sorted(set(wanted) - set(headers))
    if missing:
        raise InputError(
            f"{path} has no array '{missing[0]}'; it holds: {', '.join(headers) or 'nothing'}."
        )
    for name, shape in wanted.items():
        got = headers[name].shape
        if len(got) != len(shape) or any(
            want not in (None, have) for want, have in zip(shape, got, strict=False)
        ):
            said = "(" + ", ".join("any" if want is None else str(want) for want in shape) + ")"
            raise InputError(
                f"The array '{name}' in {path} should have shape {said}, but has {got}."
            )
    return load_npz(path, list(wanted))


def npz_headers(path: Path) -> dict[str, ArrayHeader]:
    """Shape and type of every array of an archive, by name; what is no array is passed over."""
    with (
        _reading(path, "a readable .npz archive"),
        open(path, "rb") as file,
        zipfile.ZipFile(file) as archive,
    ):
        found = {}
        for info in archive.infolist():
            if info.filename.endswith(".npy"):
                with archive.open(info) as member:
                    found[info.filename.removesuffix(".npy")] = _header(
                        member, info.file_size, info.filename
                    )
        return found


def load_npz(path: Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Arrays of an archive whose headers have been read, refused where they would not fit into memory."""
    with (
        _reading(path, "a readable .npz archive"),
        open(path, "rb") as file,
        zipfile.ZipFile(file) as archive,
    ):
        check_memory(path, sum(archive.getinfo(f"{name}.npy").file_size for name in names))
        arrays = {}
        for name in names:
            info = archive.getinfo(f"{name}.npy")
            with archive.open(info) as member:
                _header(member, info.file_size, info.filename)
            with archive.open(info) as member:
                arrays[name] = _check_text(
                    np.lib.format.read_array(member, allow_pickle=False), info.filename
                )
                if member.read(1):  # reading to the end is what compares the checksum
                    raise ValueError(f"'{info.filename}' is longer than it says")
        return arrays


def npy_header(path: Path) -> ArrayHeader:
    """Shape and type of the array in a `.npy` file."""
    with _reading(path, "a readable .npy file"), open(path, "rb") as file:
        return _header(file, path.stat().st_size, path.name)


def load_npy(path: Path) -> np.ndarray:
    """The array in a `.npy` file."""
    check_memory(path, npy_header(path).size_in_bytes)
    with _reading(path, "a readable .npy file"), open(path, "rb") as file:
        return _check_text(np.lib.format.read_array(file, allow_pickle=False), path.name)


def check_memory(path: Path, size: int) -> None:
    """Refuses what would take more than half of the machine's memory."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on every platform
        memory = 16 * 2**30
    if size > memory // 2:
        raise InputError(
            f"{shown(path)} unpacks to {size / 1e9:.1f} GB, more than half of this machine's memory ({memory / 1e9:.1f} GB): "
            "make it smaller, or give the data as a folder of images, which is read as needed."
        )


@contextmanager
def _reading(path: Path, what: str) -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # numpy warns of headers of old versions, which it reads all the same
        try:
            yield
        except InputError:
            raise
        except (
            Exception
        ) as error:  # a damaged file leads zipfile and numpy to raise whatever they may
            if isinstance(error, OSError) and (
                error.filename or isinstance(error, PermissionError)
            ):
                raise InputError(f"{shown(path)} cannot be read: {error.strerror}.") from error
            if isinstance(error, tokenize.TokenError):
                error = ValueError("the header of an array is damaged")
            lines = (str(error) or type(error).__name__).splitlines()
            raise InputError(
                f"{shown(path)} is not {what}: {shown(lines[0]).rstrip('.')}."
            ) from error


def _header(file: IO[bytes], size: int, name: str) -> ArrayHeader:
    """Reads the header of an array and compares what it claims with the bytes there are."""
    counted = _Counting(file)
    version = np.lib.format.read_magic(counted)
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise ValueError(f"'{name}' is of an unknown version")
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, _, dtype = read(counted)
    if dtype.hasobject:
        raise ValueError(
            f"'{name}' holds Python objects, which only executing it could read: save numbers or strings"
        )
    if dtype.kind not in "biufcSU":
        raise ValueError(f"'{name}' holds neither numbers nor strings, but {dtype}")
    if any(side < 0 for side in shape):
        raise ValueError(f"'{name}' claims the shape {shape}")
    header = ArrayHeader(tuple(int(side) for side in shape), dtype)
    if counted.count + header.size_in_bytes != size:
        raise ValueError(
            f"'{name}' claims the shape {header.shape} of {dtype}, {header.size_in_bytes} bytes, but holds {size - counted.count}"
        )
    return header


def _check_text(array: np.ndarray, name: str) -> np.ndarray:
    """Refuses strings of characters that do not exist, from which numpy would make strings that break Python."""
    if array.dtype.kind == "U":
        codes = np.frombuffer(
            array.tobytes(), dtype=np.dtype("u4").newbyteorder(array.dtype.byteorder)
        )
        if ((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes <= 0xDFFF))).any():
            raise ValueError(f"'{name}' holds characters that do not exist")
    return array


class _Counting(io.RawIOBase):
    """A file that counts what is read from it: members of an archive do not all say where they are."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.count = file, 0

    def read(self, size: int = -1, /) -> bytes:
        if (
            not 0 <= size <= LONGEST_HEADER
        ):  # numpy reads as much as a header claims before it looks at it
            raise ValueError(f"it has an array whose header claims {size} bytes")
        data = self.file.read(size)
        self.count += len(data)
        return data
