"""CIFAR-10 (Krizhevsky 2009): 32×32 photographs of ten kinds of things."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from augerino.data import downloads as cache
from augerino.data.readers import tarballs
from augerino.data.readers.naming import shown
from augerino.errors import InputError
from augerino.paper.datasets.array_pickles import read_arrays
from augerino.paper.datasets.labelled import Labelled, labels, read_npz

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
MEAN, STD = (
    (0.4914, 0.4822, 0.4465),
    (0.2470, 0.2435, 0.2616),
)  # of the training images' channels, in [0, 1]
SIDE = 32
_PIXELS = 3 * SIDE * SIDE
_BATCHES = (
    "data_batch_1",
    "data_batch_2",
    "data_batch_3",
    "data_batch_4",
    "data_batch_5",
    "test_batch",
)
_LARGEST = 64 << 20  # bytes of one file; the real ones have 31 million
_REMOTE = cache.Remote(
    "cifar-10-binary.tar.gz",
    ["https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"],
    "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
)
_PYTHON = "cifar-10-python.tar.gz"

Part = tuple[Tensor, Tensor]


def cifar10(folder: str | Path | None = None) -> Labelled:
    """The 50,000 + 10,000 images, or the subset of `cifar10.npz`; from a folder or the cache, or downloaded.

    Takes, in this order: `cifar10.npz` (x_train (N, 32, 32, 3) bytes, y_train (N,), x_test, y_test); the binary version, as
    cifar-10-binary.tar.gz, its folder or its files; the Python version likewise, whose pickles are read without executing them.
    """
    for place in ([Path(folder)] if folder is not None else []) + [cache.cache_folder()]:
        if (place / "cifar10.npz").is_file():
            return read_npz(place / "cifar10.npz", SIDE)
        for below, archive, ending, read in (
            ("cifar-10-batches-bin", _REMOTE.name, ".bin", read_binary),
            ("cifar-10-batches-py", _PYTHON, "", read_python),
        ):
            root = next(
                (
                    root
                    for root in (place, place / below)
                    if (root / f"{_BATCHES[0]}{ending}").is_file()
                ),
                None,
            )
            if root is not None:
                return _join({name: _content(root / f"{name}{ending}") for name in _BATCHES}, read)
            if (place / archive).is_file():
                return _unpack(place / archive, ending, read)
    return _unpack(cache.fetch(_REMOTE), ".bin", read_binary)


def _content(path: Path) -> bytes:
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(
                f"{shown(path)} is no file of CIFAR-10: it has {path.stat().st_size} bytes."
            )
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{shown(path)} cannot be read: {error.strerror or error}.") from error


def _unpack(path: Path, ending: str, read: Callable[[bytes, str], Part]) -> Labelled:
    found = tarballs.read_members(path, {f"{name}{ending}": _LARGEST for name in _BATCHES})
    return _join({name: found[f"{name}{ending}"] for name in _BATCHES}, read)


def _join(contents: dict[str, bytes], read: Callable[[bytes, str], Part]) -> Labelled:
    parts = [read(content, name) for name, content in contents.items()]
    x_train, y_train = (torch.cat(tensors) for tensors in zip(*parts[:-1], strict=True))
    return Labelled(x_train, y_train, *parts[-1])


def read_binary(content: bytes, name: str) -> Part:
    """Images and labels of a file of the binary version: for each image a byte of label and 3,072 of red, green and blue."""
    if not content or len(content) % (1 + _PIXELS):
        raise InputError(
            f"{name} of CIFAR-10 should have {1 + _PIXELS} bytes an image, but has {len(content)} in all."
        )
    rows = np.frombuffer(content, dtype=np.uint8).reshape(-1, 1 + _PIXELS)
    return _images(rows[:, 1:]), labels(rows[:, 0], len(rows), f"{name} of CIFAR-10")


def read_python(content: bytes, name: str) -> Part:
    """Images and labels of a file of the Python version: a dictionary of `data` (N, 3072) and `labels`."""
    found = read_arrays(content, f"{name} of CIFAR-10")
    data, numbers = found.get("data"), found.get("labels")
    if not isinstance(data, np.ndarray) or data.ndim != 2 or data.shape[1] != _PIXELS:
        raise InputError(
            f"{name} of CIFAR-10 should hold data of {_PIXELS} bytes an image, but does not."
        )
    if not isinstance(numbers, list) or not all(
        isinstance(number, int) and abs(number) < 256 for number in numbers
    ):
        raise InputError(f"{name} of CIFAR-10 should hold a list of labels, but does not.")
    return _images(data), labels(
        np.array(numbers, dtype=np.int64), len(data), f"{name} of CIFAR-10"
    )


def _images(rows: np.ndarray) -> Tensor:
    return torch.from_numpy(rows.reshape(-1, 3, SIDE, SIDE).copy())
