"""Reading of `.npz` and `.npy` files without pickles; headers are validated before use."""

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
    """Reads arrays of an archive by name and shape; None in a shape matches any length."""
    headers = npz_headers(path)
    missing = sorted(set(wanted) - set(headers))
    if missing:
        raise InputError(
            f"{path} has no array '{missing[0]}'; it contains: {', '.join(headers) or 'nothing'}."
        )
    for name, shape in wanted.items():
        got = headers[name].shape
        if len(got) != len(shape) or any(
            want not in (None, have) for want, have in zip(shape, got, strict=False)
        ):
            expected = ", ".join("any" if want is None else str(want) for want in shape)
            raise InputError(
                f"The array '{name}' in {path} should have shape ({expected}), but has {got}."
            )
    return load_npz(path, list(wanted))


def npz_headers(path: Path) -> dict[str, ArrayHeader]:
    """Name -> shape and type of every array in an archive; ignores other members."""
    with (
        _reading(path, "a readable .npz archive"),
        open(path, "rb") as file,
        zipfile.ZipFile(file) as archive,
    ):
        found = {}
        for info in archive.infolist():
            if info.filename.endswith(".npy"):
                name = info.filename.removesuffix(".npy")
                with archive.open(info) as member:
                    found[name] = _header(member, info.file_size, info.filename)
        return found


def load_npz(path: Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Loads arrays of an archive; raises an error if they would not fit into memory."""
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
                array = np.lib.format.read_array(member, allow_pickle=False)
                arrays[name] = _check_text(array, info.filename)
                if member.read(1):  # zipfile compares the checksum at the end of the member
                    raise ValueError(f"'{info.filename}' is longer than its header declares")
        return arrays


def npy_header(path: Path) -> ArrayHeader:
    """Shape and type of the array in a `.npy` file."""
    with _reading(path, "a readable .npy file"), open(path, "rb") as file:
        return _header(file, path.stat().st_size, path.name)


def load_npy(path: Path) -> np.ndarray:
    """Loads the array in a `.npy` file."""
    check_memory(path, npy_header(path).size_in_bytes)
    with _reading(path, "a readable .npy file"), open(path, "rb") as file:
        return _check_text(np.lib.format.read_array(file, allow_pickle=False), path.name)


def check_memory(path: Path, size: int) -> None:
    """Raises an error if `size` bytes are more than half of the machine's memory."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on every platform
        memory = 16 * 2**30
    if size > memory // 2:
        raise InputError(
            f"{shown(path)} unpacks to {size / 1e9:.1f} GB, more than half of this machine's "
            f"memory ({memory / 1e9:.1f} GB): make it smaller, or provide the data as a folder of "
            "images, which is read as needed."
        )


@contextmanager
def _reading(path: Path, what: str) -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy warns of headers of old versions but reads them
        try:
            yield
        except InputError:
            raise
        except Exception as error:  # zipfile and numpy may raise any exception for a damaged file
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
    """Reads the header of an array and checks it against the number of bytes in the file."""
    counted = _Counting(file)
    version = np.lib.format.read_magic(counted)
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise ValueError(f"'{name}' is of an unknown version")
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(counted)
    else:
        shape, _, dtype = np.lib.format.read_array_header_2_0(counted)
    if dtype.hasobject:
        raise ValueError(
            f"'{name}' contains Python objects, and loading them would execute code: "
            "save numbers or strings"
        )
    if dtype.kind not in "biufcSU":
        raise ValueError(f"'{name}' contains neither numbers nor strings, but {dtype}")
    if any(side < 0 for side in shape):
        raise ValueError(f"the header of '{name}' declares the shape {shape}")
    header = ArrayHeader(tuple(int(side) for side in shape), dtype)
    if counted.count + header.size_in_bytes != size:
        raise ValueError(
            f"the header of '{name}' declares the shape {header.shape} of {dtype}, "
            f"{header.size_in_bytes} bytes, but the file has {size - counted.count}"
        )
    return header


def _check_text(array: np.ndarray, name: str) -> np.ndarray:
    """Rejects invalid code points, from which numpy would create invalid Python strings."""
    if array.dtype.kind == "U":
        code_type = np.dtype("u4").newbyteorder(array.dtype.byteorder)
        codes = np.frombuffer(array.tobytes(), dtype=code_type)
        is_surrogate = (codes >= 0xD800) & (codes <= 0xDFFF)
        if ((codes > 0x10FFFF) | is_surrogate).any():
            raise ValueError(f"'{name}' contains invalid Unicode characters")
    return array


class _Counting(io.RawIOBase):
    """A file that counts the bytes read, since not all members of an archive support `tell`."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.count = 0

    def read(self, size: int = -1, /) -> bytes:
        # numpy reads the declared length of a header without checking it.
        if not 0 <= size <= LONGEST_HEADER:
            raise ValueError(f"it has an array whose header declares a length of {size} bytes")
        data = self.file.read(size)
        self.count += len(data)
        return data
