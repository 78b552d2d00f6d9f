"""Dictionaries of byte arrays from pickles, without executing anything.

A pickle is a program: it names functions and calls them. Here the three names that an array needs stand for classes of our
own, which only note what they are given; every other name is refused. Numpy sees bytes whose number fits the shape, and no more.
"""

import io
import math
import pickle
import pickletools
from typing import Any

import numpy as np

from augerino.data.readers.naming import shown
from augerino.errors import InputError

LARGEST_NOTE = (
    2**16
)  # of the numbers under which a pickle keeps what it comes back to: for each below it, memory is set aside


class _Noted:
    """Stands for numpy.ndarray and numpy.dtype: takes whatever it is made from and does nothing with it."""

    def __init__(self, *arguments: Any) -> None:
        self.arguments = arguments
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def array(self) -> np.ndarray:
        """The array that was noted, if it is one of bytes."""
        _, shape, kind, in_columns, content = self.state
        if (
            not isinstance(kind, _Noted)
            or kind.arguments[0] not in (b"u1", "u1", b"|u1", "|u1")
            or in_columns
        ):
            raise ValueError("it holds an array of something else than bytes")
        if not isinstance(content, bytes) or any(
            not isinstance(side, int) or side < 0 for side in shape
        ):
            raise ValueError("it holds a damaged array")
        if math.prod(shape) != len(content):
            raise ValueError(
                f"it holds an array that claims the shape {tuple(shape)} with {len(content)} bytes"
            )
        return np.frombuffer(content, dtype=np.uint8).reshape(shape)


class _Array(_Noted):
    """Stands for numpy's function that makes an empty array, which is then given its content."""


class _ArraysOnly(pickle.Unpickler):
    _NAMES = {  # noqa: RUF012
        ("numpy.core.multiarray", "_reconstruct"): _Array,
        ("numpy._core.multiarray", "_reconstruct"): _Array,
        ("numpy", "ndarray"): _Noted,
        ("numpy", "dtype"): _Noted,
    }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._NAMES:
            raise ValueError(
                f"it asks for {shown(module)}.{shown(name)}, which no array of bytes needs"
            )
        return self._NAMES[module, name]


def read_arrays(content: bytes, name: str) -> dict[str, Any]:
    """A dictionary with byte arrays among its values, from a pickle as Python 2 or 3 wrote it; keys become text.

    Args:
        content: of the file.
        name: of the file, for messages.
    """
    try:
        puts = ("PUT", "BINPUT", "LONG_BINPUT")
        if any(
            code.name in puts and (note or 0) > LARGEST_NOTE
            for code, note, _ in pickletools.genops(content)
        ):
            raise ValueError("it sets aside more memory than byte arrays need")
        found = _ArraysOnly(io.BytesIO(content), encoding="bytes").load()
        if not isinstance(found, dict):
            raise ValueError("it holds no dictionary")
        return {
            _text(key): value.array() if isinstance(value, _Array) else value
            for key, value in found.items()
        }
    except Exception as error:  # a damaged pickle raises whatever it may
        reason = shown((str(error) or type(error).__name__).splitlines()[0]).rstrip(".")
        raise InputError(f"{shown(name)} is not a pickle of byte arrays: {reason}.") from error


def _text(key: Any) -> str:
    return key.decode("utf-8", "backslashreplace") if isinstance(key, bytes) else str(key)
