"""Data that fits in memory: checked once at the door, then served in shuffled batches without worker processes."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import torch
from torch import Generator, Tensor

from augerino.errors import InputError

Task = Literal["classification", "regression"]


class Batches:
    """Batches of two tensors, drawn in a new random order at every pass.

    Args:
        x: inputs, (N, ...).
        y: targets, (N, ...).
        batch_size: items per batch; the last may be smaller, but a lone last item joins the batch before it, since batch
            norm cannot train on one.
        shuffle: whether the order is random.
        generator: what the order is drawn from; the global one by default.

    Example:
        >>> [len(x) for x, y in Batches(torch.zeros(10, 2), torch.zeros(10), batch_size=4)]
        [4, 4, 2]
    """

    def __init__(
        self, x: Tensor, y: Tensor, batch_size: int, *, shuffle: bool = True, generator: Generator | None = None
    ) -> None:
        if batch_size < 1:
            raise InputError(f"batch_size must be at least 1, but got {batch_size}.")
        self.x, self.y, self.batch_size, self.shuffle, self.generator = x, y, batch_size, shuffle, generator

    def __len__(self) -> int:
        n, size = len(self.x), self.batch_size
        lone = size > 1 and n > 1 and n % size == 1
        return -(-n // size) - lone

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        n = len(self.x)
        order = torch.randperm(n, generator=self.generator) if self.shuffle else torch.arange(n)
        for i in range(len(self)):
            items = order[i * self.batch_size : (i + 1) * self.batch_size if i + 1 < len(self) else n]
            yield self.x[items], self.y[items]


def as_tensor(value: Any, what: str) -> Tensor:
    """A tensor from a tensor or a numpy array of numbers."""
    if isinstance(value, Tensor):
        return value
    try:
        return torch.from_numpy(np.ascontiguousarray(value))
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be a tensor or an array of numbers, but got {type(value).__name__}: {error}.") from error


def check(x: Any, y: Any, *, task: Task | None = None) -> tuple[Tensor, Tensor, Task]:
    """Checks a pair of inputs and targets and returns them as float inputs, targets, and the task they make.

    uint8 images become floats in [0, 1]. Integer targets make a classification, floating ones a regression.
    """
    x, y = as_tensor(x, "The inputs"), as_tensor(y, "The targets")
    if x.dim() == 0 or y.dim() == 0 or len(x) != len(y):
        raise InputError(f"There must be one target per input, but inputs are {tuple(x.shape)} and targets {tuple(y.shape)}.")
    if x.numel() == 0:
        raise InputError(f"The dataset is empty: its inputs have shape {tuple(x.shape)}.")
    x = x.float() / 255 if x.dtype == torch.uint8 else x
    x = x if x.is_floating_point() else x.float()
    bad = ~x.flatten(1).isfinite().all(dim=1) if x.dim() > 1 else ~x.isfinite()
    if bad.any():
        first = int(bad.nonzero()[0])
        count = f"{int(bad.sum())} of {len(x)} inputs"
        raise InputError(f"{count} hold NaN or Inf (the first is number {first}): remove or repair them.")
    task = task or ("regression" if y.is_floating_point() else "classification")
    return x, check_classes(y) if task == "classification" else check_values(y), task


def check_classes(y: Tensor) -> Tensor:
    """Class labels as int64, after making sure that they are 0, 1, ..., K - 1 with K >= 2."""
    if y.dim() != 1 or y.is_floating_point():
        raise InputError(f"Class labels must be integers, one per input, but came as {tuple(y.shape)} of {y.dtype}.")
    y = y.long()
    if int(y.min()) < 0:
        raise InputError(f"Class labels must be 0, 1, 2, ..., but the lowest is {int(y.min())}.")
    present = y.unique()
    if len(present) < 2:
        raise InputError(f"There is only one class ({int(present[0])}) in the data: nothing can be told apart.")
    if len(present) != int(y.max()) + 1:
        missing = next(i for i, label in enumerate(present.tolist()) if i != label)
        top = int(y.max())
        raise InputError(f"Class labels must be 0 to {top} without gaps, but no item has label {missing}: renumber them.")
    return y


def check_values(y: Tensor) -> Tensor:
    """Regression targets as float32 (N, outputs)."""
    y = y.float()
    if not y.isfinite().all():
        raise InputError("The targets hold NaN or Inf: remove or repair those items.")
    return y[:, None] if y.dim() == 1 else y
