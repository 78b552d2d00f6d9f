"""MNIST (LeCun, Cortes, Burges), its rotated version as the paper's released code makes it, and the canonical rotMNIST."""

import gzip
import math
import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from augerino.data import downloads as cache
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
    """Images (N, 1, 28, 28) in [0, 1] and labels (N,), for training and for testing."""

    x_train: Tensor
    y_train: Tensor
    x_test: Tensor
    y_test: Tensor


def mnist(folder: str | Path | None = None) -> Digits:
    """The 60,000 + 10,000 digits, from `mnist.npz` or the original IDX files in a folder or the cache, or downloaded."""
    found = cache.find("mnist.npz", folder)
    if found is not None:
        shapes = {
            "x_train": (None, 28, 28),
            "y_train": (None,),
            "x_test": (None, 28, 28),
            "y_test": (None,),
        }
        arrays = archives.read_npz(found, shapes)
    else:
        arrays = {}
        for key, (name, sha256) in _FILES.items():
            path = cache.find(name, folder) or cache.fetch(
                cache.Remote(name, [m + name for m in _MIRRORS], sha256)
            )
            arrays[key] = read_idx(path)
    images = {
        key: torch.from_numpy(arrays[key]).float()[:, None] / 255 for key in ("x_train", "x_test")
    }
    labels = {key: torch.from_numpy(arrays[key]).long() for key in ("y_train", "y_test")}
    return Digits(images["x_train"], labels["y_train"], images["x_test"], labels["y_test"])


def read_idx(path: Path) -> np.ndarray:
    """An array from a gzipped IDX file of unsigned bytes."""
    try:
        content = gzip.decompress(path.read_bytes())
        zero, kind, rank = struct.unpack(">HBB", content[:4])
        shape = struct.unpack(f">{rank}I", content[4 : 4 + 4 * rank])
        if zero or kind != 8:
            raise ValueError("it does not start as a file of unsigned bytes does")
        return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * rank).reshape(shape).copy()
    except (OSError, EOFError, ValueError, struct.error) as error:
        raise InputError(f"{path} is not a readable IDX file: {error}.") from error


def rotate_once(x: Tensor, seed: int, extent: float = math.pi) -> tuple[Tensor, Tensor]:
    """Turns every image once by an angle of its own within ±extent; returns the images and the angles."""
    generator = torch.Generator().manual_seed(seed)
    angles = (2 * torch.rand(len(x), generator=generator) - 1) * extent
    turn = Affine2d("rotate")
    turned = [
        turn(part, angle[:, None])
        for part, angle in zip(x.split(1000), angles.split(1000), strict=True)
    ]
    return torch.cat(turned), angles


def rotated_mnist(
    folder: str | Path | None = None,
    *,
    seed: int = 0,
    train: int | None = None,
    test: int | None = None,
) -> Digits:
    """MNIST with every image turned once by a random angle, as the paper's released code does.

    Args:
        folder: where the data may be.
        seed: of the angles, and of which images are drawn.
        train: how many training images to draw; None takes all.
        test: how many test images to take; None takes all.
    """
    digits = mnist(folder)
    order = torch.randperm(len(digits.x_train), generator=torch.Generator().manual_seed(seed))[
        :train
    ]
    x_train, _ = rotate_once(digits.x_train[order], seed=2 * seed)
    x_test, _ = rotate_once(digits.x_test[:test], seed=2 * seed + 1)
    return Digits(x_train, digits.y_train[order], x_test, digits.y_test[:test])


def canonical_rotated_mnist(folder: str | Path) -> Digits | None:
    """The 12,000 + 50,000 digits of Larochelle et al. (2007) from their two `.amat` files; None if the folder has none."""
    paths = {part: Path(folder) / name for part, name in _ROTATED.items()}
    if not all(path.is_file() for path in paths.values()):
        return None
    (x_train, y_train), (x_test, y_test) = (read_amat(path) for path in paths.values())
    return Digits(x_train, y_train, x_test, y_test)


def read_amat(path: Path) -> tuple[Tensor, Tensor]:
    """Images and labels from a text file of 784 intensities and a label a line. The files hold each image transposed."""
    try:
        rows = np.loadtxt(path, dtype=np.float32, ndmin=2)
        if rows.shape[1] != 785:
            raise ValueError(f"a line has {rows.shape[1]} numbers instead of 785")
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is not a readable .amat file of digits: {error}.") from error
    x = torch.from_numpy(rows[:, :784]).reshape(-1, 1, 28, 28).transpose(2, 3).contiguous()
    return x, torch.from_numpy(rows[:, 784]).long()
