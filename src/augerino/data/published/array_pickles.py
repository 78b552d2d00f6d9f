"""Reads dictionaries of byte arrays from pickles without executing code.

A pickle is a program that imports and calls functions. Here the three names that an array needs
are replaced by classes that only record their arguments, and every other name is rejected. The
array is then built from the recorded bytes, after checking that their number fits the shape.
"""

import io
import math
import pickle
import pickletools
from typing import Any

import numpy as np

from augerino.data.readers.naming import shown
from augerino.errors import InputError

# Largest index in a pickle's memo. The unpickler allocates memory for all smaller ones too.
LARGEST_MEMO_INDEX = 2**16
_BYTE_TYPES = (b"u1", "u1", b"|u1", "|u1")


class _Recorded:
    """Replaces numpy.ndarray and numpy.dtype: records its arguments and state, nothing else."""

    def __init__(self, *arguments: Any) -> None:
        self.arguments = arguments
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def array(self) -> np.ndarray:
        """The recorded array; raises `ValueError` unless it is a row-major array of bytes."""
        _, shape, dtype, column_major, content = self.state
        if (
            not isinstance(dtype, _Recorded)
            or dtype.arguments[0] not in _BYTE_TYPES
            or column_major
        ):
            raise ValueError("it holds an array of another type than bytes")
        if not isinstance(content, bytes) or not all(_is_size(side) for side in shape):
            raise ValueError("it holds a damaged array")
        if math.prod(shape) != len(content):
            raise ValueError(
                f"it holds an array of shape {tuple(shape)}, but {len(content)} bytes for it"
            )
        return np.frombuffer(content, dtype=np.uint8).reshape(shape)


def _is_size(value: object) -> bool:
    return isinstance(value, int) and value >= 0


class _Array(_Recorded):
    """Replaces numpy's function that creates an empty array; its state is the content."""


class _ArraysOnly(pickle.Unpickler):
    _NAMES = {  # noqa: RUF012
        ("numpy.core.multiarray", "_reconstruct"): _Array,
        ("numpy._core.multiarray", "_reconstruct"): _Array,
        ("numpy", "ndarray"): _Recorded,
        ("numpy", "dtype"): _Recorded,
    }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._NAMES:
            raise ValueError(
                f"it imports {shown(module)}.{shown(name)}, which no array of bytes needs"
            )
        return self._NAMES[module, name]


def read_arrays(content: bytes, name: str) -> dict[str, Any]:
    """Reads a dictionary whose values may be byte arrays from a pickle of Python 2 or 3.

    Keys are converted to text.

    Args:
        content: bytes of the file.
        name: name of the file, for error messages.
    """
    try:
        _check_memory(content)
        found = _ArraysOnly(io.BytesIO(content), encoding="bytes").load()
        if not isinstance(found, dict):
            raise ValueError("it holds no dictionary")
        arrays = {}
        for key, value in found.items():
            arrays[_text(key)] = value.array() if isinstance(value, _Array) else value
        return arrays
    except Exception as error:  # a damaged pickle can raise any exception
        reason = shown((str(error) or type(error).__name__).splitlines()[0]).rstrip(".")
        raise InputError(f"{shown(name)} is not a pickle of byte arrays: {reason}.") from error


def _check_memory(content: bytes) -> None:
    """Rejects a pickle whose memo would need much memory."""
    for code, argument, _ in pickletools.genops(content):
        if code.name in ("PUT", "BINPUT", "LONG_BINPUT") and (argument or 0) > LARGEST_MEMO_INDEX:
            raise ValueError("it allocates more memory than byte arrays need")


def _text(key: Any) -> str:
    if isinstance(key, bytes):
        return key.decode("utf-8", "backslashreplace")
    return str(key)
