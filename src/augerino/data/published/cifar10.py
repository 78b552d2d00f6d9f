"""CIFAR-10 (Krizhevsky 2009): 32×32 photographs in ten classes."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from augerino.data import downloads
from augerino.data.published.array_pickles import read_arrays
from augerino.data.published.image_split import ImageSplit, check_labels, read_npz
from augerino.data.published.lookup import first_with, read_bytes, search_folders
from augerino.data.readers import tarballs
from augerino.errors import InputError

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
# Mean and standard deviation of each channel of the training images in [0, 1].
MEAN = (0.4914, 0.4822, 0.4465)
STD = (0.2470, 0.2435, 0.2616)
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
_LARGEST = 64 << 20  # bytes; the original files have 31 million
_REMOTE = downloads.Remote(
    "cifar-10-binary.tar.gz",
    ["https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"],
    "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
)

Part = tuple[Tensor, Tensor]
Reader = Callable[[bytes, str], Part]


def cifar10(folder: str | Path | None = None) -> ImageSplit:
    """The 50,000 + 10,000 images, or the subset in `cifar10.npz`.

    Searches the folder, then the cache, for these forms in order; downloads the data if none is
    found:

    - `cifar10.npz` with x_train (N, 32, 32, 3) bytes, y_train (N,), x_test, y_test;
    - the binary version: its files, its folder, or cifar-10-binary.tar.gz;
    - the Python version likewise. Its pickles are read without executing them.
    """
    for place in search_folders(folder):
        if (place / "cifar10.npz").is_file():
            return read_npz(place / "cifar10.npz", SIDE)
        found = _read_version(
            place, "cifar-10-batches-bin", _REMOTE.name, suffix=".bin", read=read_binary
        )
        if found is None:
            found = _read_version(
                place, "cifar-10-batches-py", "cifar-10-python.tar.gz", suffix="", read=read_python
            )
        if found is not None:
            return found
    return _read_tarball(downloads.fetch(_REMOTE), ".bin", read_binary)


def _read_version(
    place: Path, subfolder: str, archive: str, *, suffix: str, read: Reader
) -> ImageSplit | None:
    """One of the published versions, from its files or its archive; None if it is not there."""
    root = first_with(f"{_BATCHES[0]}{suffix}", (place, place / subfolder))
    if root is not None:
        paths = {name: root / f"{name}{suffix}" for name in _BATCHES}
        contents = {name: read_bytes(path, _LARGEST, "CIFAR-10") for name, path in paths.items()}
        return _join(contents, read)
    if (place / archive).is_file():
        return _read_tarball(place / archive, suffix, read)
    return None


def _read_tarball(path: Path, suffix: str, read: Reader) -> ImageSplit:
    members = tarballs.read_members(path, {f"{name}{suffix}": _LARGEST for name in _BATCHES})
    return _join({name: members[f"{name}{suffix}"] for name in _BATCHES}, read)


def _join(contents: dict[str, bytes], read: Reader) -> ImageSplit:
    *train, test = [read(content, name) for name, content in contents.items()]
    return ImageSplit(
        x_train=torch.cat([x for x, _ in train]),
        y_train=torch.cat([y for _, y in train]),
        x_test=test[0],
        y_test=test[1],
    )


def read_binary(content: bytes, name: str) -> Part:
    """Images and labels of the binary version: per image one byte of label and 3,072 of pixels."""
    if not content or len(content) % (1 + _PIXELS):
        raise InputError(
            f"{name} of CIFAR-10 should have {1 + _PIXELS} bytes per image, "
            f"but has {len(content)} in all."
        )
    rows = np.frombuffer(content, dtype=np.uint8).reshape(-1, 1 + _PIXELS)
    return _images(rows[:, 1:]), check_labels(rows[:, 0], len(rows), f"{name} of CIFAR-10")


def read_python(content: bytes, name: str) -> Part:
    """Images and labels of the Python version: a dictionary of `data` (N, 3072) and `labels`."""
    source = f"{name} of CIFAR-10"
    found = read_arrays(content, source)
    data = found.get("data")
    labels = found.get("labels")
    if not isinstance(data, np.ndarray) or data.ndim != 2 or data.shape[1] != _PIXELS:
        raise InputError(f"{source} should hold data of {_PIXELS} bytes per image, but does not.")
    if not isinstance(labels, list) or not all(_is_small_integer(label) for label in labels):
        raise InputError(f"{source} should hold a list of labels, but does not.")
    return _images(data), check_labels(np.array(labels, dtype=np.int64), len(data), source)


def _is_small_integer(value: object) -> bool:
    return isinstance(value, int) and abs(value) < 256


def _images(rows: np.ndarray) -> Tensor:
    return torch.from_numpy(rows.reshape(-1, 3, SIDE, SIDE).copy())
