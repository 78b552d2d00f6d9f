"""STL-10 (Coates, Lee, Ng 2011): 96×96 photographs of ten kinds of things, few of them labelled."""

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from augerino.data import downloads as cache
from augerino.data.readers import tarballs
from augerino.data.readers.naming import shown
from augerino.errors import InputError
from augerino.paper.datasets.labelled import Labelled, labels, read_npz

CLASSES = ("airplane", "bird", "car", "cat", "deer", "dog", "horse", "monkey", "ship", "truck")
MEAN, STD = (
    (0.485, 0.456, 0.406),
    (0.229, 0.224, 0.225),
)  # ImageNet's, where the images come from, as in the released code
SIDE = 96
_PIXELS = 3 * SIDE * SIDE
_FILES = {
    "train_X.bin": 5_000 * _PIXELS,
    "train_y.bin": 5_000,
    "test_X.bin": 8_000 * _PIXELS,
    "test_y.bin": 8_000,
}
_REMOTE = cache.Remote(
    "stl10_binary.tar.gz",
    ["http://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz"],
    md5="91f7769df0f17e558f3565bffb0c7dfb",
)


def stl10(folder: str | Path | None = None) -> Labelled:
    """The 5,000 + 8,000 labelled images, or the subset of `stl10.npz`; from a folder or the cache, or downloaded (2.6 GB).

    Takes, in this order: `stl10.npz` (x_train (N, 96, 96, 3) bytes, y_train (N,), 0 to 9, x_test, y_test); the four files of
    the binary version, here or in the folder stl10_binary; stl10_binary.tar.gz.
    """
    for place in ([Path(folder)] if folder is not None else []) + [cache.cache_folder()]:
        if (place / "stl10.npz").is_file():
            return read_npz(place / "stl10.npz", SIDE)
        root = next(
            (root for root in (place, place / "stl10_binary") if (root / "train_X.bin").is_file()),
            None,
        )
        if root is not None:
            return _join({name: _content(root / name) for name in _FILES})
        if (place / _REMOTE.name).is_file():
            return _join(tarballs.read_members(place / _REMOTE.name, _FILES))
    return _join(tarballs.read_members(cache.fetch(_REMOTE), _FILES))


def _content(path: Path) -> bytes:
    try:
        if path.stat().st_size > _FILES[path.name]:
            raise InputError(
                f"{shown(path)} is no file of STL-10: it has {path.stat().st_size} bytes."
            )
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{shown(path)} cannot be read: {error.strerror or error}.") from error


def _join(contents: dict[str, bytes]) -> Labelled:
    parts: list[Tensor] = []
    for part in ("train", "test"):
        pixels = contents[f"{part}_X.bin"]
        if not pixels or len(pixels) % _PIXELS:
            raise InputError(
                f"{part}_X.bin of STL-10 should have {_PIXELS} bytes an image, but has {len(pixels)} in all."
            )
        # Channel by channel and, in each, column by column.
        x = np.frombuffer(pixels, dtype=np.uint8).reshape(-1, 3, SIDE, SIDE).swapaxes(2, 3).copy()
        y = (
            np.frombuffer(contents[f"{part}_y.bin"], dtype=np.uint8).astype(np.int64) - 1
        )  # the files count from 1
        parts += [
            torch.from_numpy(x),
            labels(y, len(x), f"{part}_y.bin of STL-10, counted from 0,"),
        ]
    return Labelled(*parts)


def reduced(images: Tensor, factor: int) -> Tensor:
    """Images made smaller by a whole factor: the mean of each block.   (N, C, H, W) bytes -> (N, C, H // factor, W // factor)"""
    if factor == 1:
        return images
    return torch.cat(
        [F.avg_pool2d(part.float(), factor).round().to(torch.uint8) for part in images.split(200)]
    )
