"""MNIST (LeCun, Cortes, Burges), its rotated version as in the released code, and rotMNIST."""

import gzip
import math
import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from augerino.data import downloads
from augerino.data.readers import archives
from augerino.errors import InputError
from augerino.transforms import Affine2d

_MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
_FILES = {
    "x_train": (
        "train-images-idx3-ubyte.gz",
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    ),
    "y_train": (
        "train-labels-idx1-ubyte.gz",
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    ),
    "x_test": (
        "t10k-images-idx3-ubyte.gz",
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    ),
    "y_test": (
        "t10k-labels-idx1-ubyte.gz",
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    ),
}
_ROTATED = {
    "train": "mnist_all_rotation_normalized_float_train_valid.amat",
    "test": "mnist_all_rotation_normalized_float_test.amat",
}


class Digits(NamedTuple):
    """Images (N, 1, 28, 28) in [0, 1] and labels (N,), for training and testing."""

    x_train: Tensor
    y_train: Tensor
    x_test: Tensor
    y_test: Tensor


def mnist(folder: str | Path | None = None) -> Digits:
    """The 60,000 + 10,000 digits.

    Reads `mnist.npz` or the original IDX files from the folder or the cache, or downloads them.
    """
    path = downloads.find("mnist.npz", folder)
    if path is not None:
        image = (None, 28, 28)
        label = (None,)
        shapes = {"x_train": image, "y_train": label, "x_test": image, "y_test": label}
        arrays = archives.read_npz(path, shapes)
    else:
        arrays = {key: read_idx(_find_idx(key, folder)) for key in _FILES}
    return Digits(
        x_train=_images(arrays["x_train"]),
        y_train=torch.from_numpy(arrays["y_train"]).long(),
        x_test=_images(arrays["x_test"]),
        y_test=torch.from_numpy(arrays["y_test"]).long(),
    )


def _images(array: np.ndarray) -> Tensor:
    return torch.from_numpy(array).float()[:, None] / 255


def _find_idx(key: str, folder: str | Path | None) -> Path:
    name, sha256 = _FILES[key]
    path = downloads.find(name, folder)
    if path is not None:
        return path
    addresses = [mirror + name for mirror in _MIRRORS]
    return downloads.fetch(downloads.Remote(name, addresses, sha256))


def read_idx(path: Path) -> np.ndarray:
    """An array from a gzipped IDX file of unsigned bytes."""
    try:
        content = gzip.decompress(path.read_bytes())
        zero, kind, rank = struct.unpack(">HBB", content[:4])
        shape = struct.unpack(f">{rank}I", content[4 : 4 + 4 * rank])
        if zero or kind != 8:
            raise ValueError("its header is not that of unsigned bytes")
        return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * rank).reshape(shape).copy()
    except (OSError, EOFError, ValueError, struct.error) as error:
        raise InputError(f"{path} is not a readable IDX file: {error}.") from error


def rotate_once(x: Tensor, seed: int, extent: float = math.pi) -> tuple[Tensor, Tensor]:
    """Rotates every image by its own random angle within ±extent.

    x: (N, C, H, W)   returns rotated images (N, C, H, W) and angles in radians (N,)
    """
    generator = torch.Generator().manual_seed(seed)
    angles = (2 * torch.rand(len(x), generator=generator) - 1) * extent
    rotate = Affine2d("rotate")
    rotated = []
    for images, t in zip(x.split(1000), angles[:, None].split(1000), strict=True):
        rotated.append(rotate(images, t))
    return torch.cat(rotated), angles


def rotated_mnist(
    folder: str | Path | None = None,
    *,
    seed: int = 0,
    train: int | None = None,
    test: int | None = None,
) -> Digits:
    """MNIST with every image rotated once by a random angle, as in the released code.

    Args:
        folder: folder to search before the cache.
        seed: seed of the angles, and of the choice of training images.
        train: number of random training images; None takes all.
        test: number of test images, the first ones; None takes all.
    """
    digits = mnist(folder)
    generator = torch.Generator().manual_seed(seed)
    chosen = torch.randperm(len(digits.x_train), generator=generator)[:train]
    x_train, _ = rotate_once(digits.x_train[chosen], seed=2 * seed)
    x_test, _ = rotate_once(digits.x_test[:test], seed=2 * seed + 1)
    return Digits(
        x_train=x_train,
        y_train=digits.y_train[chosen],
        x_test=x_test,
        y_test=digits.y_test[:test],
    )


def canonical_rotated_mnist(folder: str | Path) -> Digits | None:
    """The 12,000 + 50,000 digits of Larochelle et al. (2007) from their two `.amat` files.

    None if the folder does not have both.
    """
    paths = {part: Path(folder) / name for part, name in _ROTATED.items()}
    if not all(path.is_file() for path in paths.values()):
        return None
    x_train, y_train = read_amat(paths["train"])
    x_test, y_test = read_amat(paths["test"])
    return Digits(x_train=x_train, y_train=y_train, x_test=x_test, y_test=y_test)


def read_amat(path: Path) -> tuple[Tensor, Tensor]:
    """Images (N, 1, 28, 28) and labels (N,) from lines of 784 intensities and a label.

    The files hold each image transposed.
    """
    try:
        rows = np.loadtxt(path, dtype=np.float32, ndmin=2)
        if rows.shape[1] != 785:
            raise ValueError(f"a line has {rows.shape[1]} numbers instead of 785")
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is not a readable .amat file of digits: {error}.") from error
    x = torch.from_numpy(rows[:, :784]).reshape(-1, 1, 28, 28).transpose(2, 3).contiguous()
    return x, torch.from_numpy(rows[:, 784]).long()
