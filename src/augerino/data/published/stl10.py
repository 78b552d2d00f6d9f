"""STL-10 (Coates, Lee, Ng 2011): 96×96 photographs in ten classes, few of them labeled."""

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from augerino.data import downloads
from augerino.data.published.image_split import ImageSplit, check_labels, read_npz
from augerino.data.published.lookup import first_with, read_bytes, search_folders
from augerino.data.readers import tarballs
from augerino.errors import InputError

CLASSES = ("airplane", "bird", "car", "cat", "deer", "dog", "horse", "monkey", "ship", "truck")
# Mean and standard deviation of ImageNet, the source of the images, as in the released code.
MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)
SIDE = 96
_PIXELS = 3 * SIDE * SIDE
_FILES = {
    "train_X.bin": 5_000 * _PIXELS,
    "train_y.bin": 5_000,
    "test_X.bin": 8_000 * _PIXELS,
    "test_y.bin": 8_000,
}
_REMOTE = downloads.Remote(
    "stl10_binary.tar.gz",
    ["http://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz"],
    md5="91f7769df0f17e558f3565bffb0c7dfb",
)


def stl10(folder: str | Path | None = None) -> ImageSplit:
    """The 5,000 + 8,000 labeled images, or the subset in `stl10.npz`.

    Searches the folder, then the cache, for these forms in order; downloads the data (2.6 GB) if
    none is found:

    - `stl10.npz` with x_train (N, 96, 96, 3) bytes, y_train (N,) from 0 to 9, x_test, y_test;
    - the four files of the binary version, also in a subfolder stl10_binary;
    - stl10_binary.tar.gz.
    """
    for place in search_folders(folder):
        if (place / "stl10.npz").is_file():
            return read_npz(place / "stl10.npz", SIDE)
        root = first_with("train_X.bin", (place, place / "stl10_binary"))
        if root is not None:
            contents = {
                name: read_bytes(root / name, largest, "STL-10") for name, largest in _FILES.items()
            }
            return _join(contents)
        if (place / _REMOTE.name).is_file():
            return _join(tarballs.read_members(place / _REMOTE.name, _FILES))
    return _join(tarballs.read_members(downloads.fetch(_REMOTE), _FILES))


def _join(contents: dict[str, bytes]) -> ImageSplit:
    parts: list[Tensor] = []
    for part in ("train", "test"):
        pixels = contents[f"{part}_X.bin"]
        if not pixels or len(pixels) % _PIXELS:
            raise InputError(
                f"{part}_X.bin of STL-10 should have {_PIXELS} bytes per image, "
                f"but has {len(pixels)} in all."
            )
        # Channels are stored one after the other, each in column-major order.
        x = np.frombuffer(pixels, dtype=np.uint8).reshape(-1, 3, SIDE, SIDE).swapaxes(2, 3).copy()
        stored = np.frombuffer(contents[f"{part}_y.bin"], dtype=np.uint8)
        y = stored.astype(np.int64) - 1  # stored labels count from 1
        parts.append(torch.from_numpy(x))
        parts.append(check_labels(y, len(x), f"{part}_y.bin of STL-10, counted from 0,"))
    return ImageSplit(*parts)


def downscale_images(images: Tensor, factor: int) -> Tensor:
    """Mean of each factor × factor block.   (N, C, H, W) bytes -> (N, C, H//factor, W//factor)"""
    if factor == 1:
        return images
    parts = [F.avg_pool2d(part.float(), factor) for part in images.split(200)]
    return torch.cat([part.round().to(torch.uint8) for part in parts])
