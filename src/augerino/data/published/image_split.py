"""Train and test images with class labels, as read from CIFAR-10 and STL-10."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from augerino.data.readers import archives
from augerino.data.readers.naming import shown
from augerino.errors import InputError

CLASSES = 10


class ImageSplit(NamedTuple):
    """Images (N, 3, side, side), bytes, and labels (N,), 0 to 9, for training and testing."""

    x_train: Tensor
    y_train: Tensor
    x_test: Tensor
    y_test: Tensor

    def subset(self, train: int | None, test: int | None, seed: int) -> "ImageSplit":
        """`train` random training images, and the first `test` test images; None takes all.

        With the same seed a larger subset starts with the images of a smaller one.
        """
        _check_count("train", train, len(self.y_train))
        _check_count("test", test, len(self.y_test))
        generator = torch.Generator().manual_seed(seed)
        chosen = torch.randperm(len(self.y_train), generator=generator)[:train]
        return ImageSplit(
            x_train=self.x_train[chosen],
            y_train=self.y_train[chosen],
            x_test=self.x_test[:test],
            y_test=self.y_test[:test],
        )


def _check_count(part: str, requested: int | None, available: int) -> None:
    if requested is not None and not 1 <= requested <= available:
        raise InputError(
            f"There are {available} images to {part} on, but {requested} were requested."
        )


def read_npz(path: Path, side: int) -> ImageSplit:
    """Reads x_train (N, side, side, 3), y_train (N,), x_test and y_test from an archive."""
    image = (None, side, side, 3)
    label = (None,)
    arrays = archives.read_npz(
        path, {"x_train": image, "y_train": label, "x_test": image, "y_test": label}
    )
    parts = []
    for part in ("train", "test"):
        x = arrays[f"x_{part}"]
        y = arrays[f"y_{part}"]
        if x.dtype != np.uint8 or not len(x):
            raise InputError(
                f"The array 'x_{part}' in {shown(path)} should hold images as bytes, "
                f"but is {x.shape} of {x.dtype}."
            )
        parts.append(torch.from_numpy(x).permute(0, 3, 1, 2).contiguous())
        parts.append(check_labels(y, len(x), f"y_{part} in {shown(path)}"))
    return ImageSplit(*parts)


def check_labels(y: np.ndarray, n_images: int, name: str) -> Tensor:
    """Labels as a tensor (n_images,), after checking that all are integers from 0 to 9."""
    values = f"{y.dtype}"
    if y.dtype.kind in "ui" and y.size:
        low = int(y.min())
        high = int(y.max())
        if y.shape == (n_images,) and low >= 0 and high < CLASSES:
            return torch.from_numpy(y.astype(np.int64))
        values = f"{low} to {high}"
    raise InputError(
        f"There should be a label of 0 to {CLASSES - 1} for each of {n_images} images, "
        f"but {name} holds {y.size} of {values}."
    )
