"""Images with a class each, in a part to train on and one to test on: what CIFAR-10 and STL-10 become, however they came."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from augerino.data.readers import archives
from augerino.data.readers.found import shown
from augerino.errors import InputError

CLASSES = 10


class Labelled(NamedTuple):
    """Images (N, 3, side, side), bytes, and labels (N,), 0 to 9, for training and for testing."""

    x_train: Tensor
    y_train: Tensor
    x_test: Tensor
    y_test: Tensor

    def subset(self, train: int | None, test: int | None, seed: int) -> "Labelled":
        """So many training images, another draw for every seed, and the first test images; None takes all."""
        for part, wanted, there in (
            ("train", train, len(self.y_train)),
            ("test", test, len(self.y_test)),
        ):
            if wanted is not None and not 1 <= wanted <= there:
                raise InputError(
                    f"There are {there} images to {part} on, but {wanted} were asked for."
                )
        order = torch.randperm(len(self.y_train), generator=torch.Generator().manual_seed(seed))[
            :train
        ]
        return Labelled(
            self.x_train[order], self.y_train[order], self.x_test[:test], self.y_test[:test]
        )


def read_npz(path: Path, side: int) -> Labelled:
    """The arrays x_train (N, side, side, 3), y_train (N,), x_test and y_test of an archive."""
    image, label = (None, side, side, 3), (None,)
    arrays = archives.read_npz(
        path, {"x_train": image, "y_train": label, "x_test": image, "y_test": label}
    )
    parts = []
    for part in ("train", "test"):
        x, y = arrays[f"x_{part}"], arrays[f"y_{part}"]
        if x.dtype != np.uint8 or not len(x):
            raise InputError(
                f"The array 'x_{part}' in {shown(path)} should hold images as bytes, but is {x.shape} of {x.dtype}."
            )
        parts += [
            torch.from_numpy(x).permute(0, 3, 1, 2).contiguous(),
            labels(y, len(x), f"y_{part} in {shown(path)}"),
        ]
    return Labelled(*parts)


def labels(y: np.ndarray, count: int, name: str) -> Tensor:
    """Class numbers, after making sure that there is one of 0 to 9 for each image."""
    if (
        y.shape != (count,)
        or y.dtype.kind not in "ui"
        or not count
        or int(y.min()) < 0
        or int(y.max()) >= CLASSES
    ):
        held = (
            f"{int(y.min())} to {int(y.max())}" if y.size and y.dtype.kind in "ui" else f"{y.dtype}"
        )
        raise InputError(
            f"There should be a label of 0 to {CLASSES - 1} for each of {count} images, but {name} holds {y.size} of {held}."
        )
    return torch.from_numpy(y.astype(np.int64))
