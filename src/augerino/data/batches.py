"""Batches of data in memory, without worker processes, and validation of any loader's batches."""

import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch import Generator, Tensor

from augerino import tree
from augerino.data.arrays import IGNORE, to_float, validate_batch
from augerino.errors import InputError
from augerino.runtime import distributed


class Batches:
    """Batches of inputs and targets in memory, in a new random order at every pass.

    Args:
        x: inputs, (N, ...), or a tree of them.
        y: targets, (N, ...).
        batch_size: samples per batch. The last batch may be smaller; a single remaining sample
            joins the batch before it, since batch norm cannot train on one.
        shuffle: whether the order is random.
        generator: generator of the order; the global one by default.
        items: indices of the samples to use; all by default.
        shared: each of several processes yields its slice of every batch. They must draw the same
            order.

    Example:
        >>> [len(x) for x, y in Batches(torch.zeros(10, 2), torch.zeros(10), batch_size=4)]
        [4, 4, 2]
    """

    def __init__(
        self,
        x: Any,
        y: Tensor,
        batch_size: int,
        *,
        shuffle: bool = True,
        generator: Generator | None = None,
        items: Tensor | None = None,
        shared: bool = False,
    ) -> None:
        if batch_size < 1:
            raise InputError(f"batch_size must be at least 1, but got {batch_size}.")
        self.x = x
        self.y = y
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.generator = generator
        self.items = torch.arange(len(y)) if items is None else items
        self.shared = shared

    def only(
        self, items: Tensor, *, batch_size: int | None = None, shuffle: bool = True
    ) -> "Batches":
        """Batches of the samples with indices `items`; does not copy the data."""
        return Batches(
            self.x,
            self.y,
            batch_size=batch_size or self.batch_size,
            shuffle=shuffle,
            items=items,
            shared=self.shared and shuffle,
        )

    def __len__(self) -> int:
        processes = 1
        if self.shared:
            processes = distributed.world()
        return count_batches(len(self.items), self.batch_size, processes)

    def __iter__(self) -> Iterator[tuple[Any, Tensor]]:
        n = len(self.items)
        n_batches = len(self)
        order = self.items
        if self.shuffle:
            order = order[torch.randperm(n, generator=self.generator)]
        for i in range(n_batches):
            start = i * self.batch_size
            end = start + self.batch_size
            if i + 1 == n_batches:
                end = n
            indices = order[start:end]
            if self.shared:
                indices = indices[distributed.rank() :: distributed.world()]
            yield tree.take(self.x, indices), self.y[indices]


def count_batches(n_items: int, batch_size: int, processes: int = 1) -> int:
    """Number of batches that give every process at least two samples, as batch norm needs.

    Example:
        >>> count_batches(10, 4), count_batches(9, 4), count_batches(10, 4, processes=2)
        (3, 2, 2)
    """
    n_last = n_items % batch_size
    fewest = processes * min(2, batch_size // processes)
    n_batches = -(-n_items // batch_size)
    if n_items > batch_size and 0 < n_last < fewest:
        return n_batches - 1
    return n_batches


_FORWARDED = (
    "generator",
    "sampler",
    "batch_sampler",
    "dataset",
    "persistent_workers",
    "shared",
)


class CheckedBatches:
    """A loader that validates and converts the batches of another; exposes its generators.

    Args:
        batches: any loader of (input, target) pairs.
        labels: all targets, if the data are in memory and have been validated as a whole.
        training: warns if every batch has a single class, since batch norm cannot train on these.
    """

    def __init__(
        self, batches: Any, labels: Tensor | None = None, *, training: bool = True
    ) -> None:
        self.batches = batches
        self.labels = labels
        self.training = training
        self._n_outputs: int | None = None
        self._differing = False

    def expect(self, *, n_outputs: int, differing: bool = False) -> None:
        """Requires class labels below `n_outputs` in all later batches.

        With `differing`, a whole pass must also have at least two classes. Regression targets must
        have at least two values; this is checked for data in memory only.
        """
        self._n_outputs = n_outputs
        self._differing = differing
        if self.labels is None:
            return
        self._check_seen(self._check_labels(self.labels))
        if (
            differing
            and self.labels.is_floating_point()
            and bool((self.labels == self.labels[0]).all())
        ):
            raise InputError(
                f"All targets are the same ({self.labels[0].tolist()}): "
                "there is nothing to predict."
            )

    def only(self, items: Tensor, **options: Any) -> "CheckedBatches":
        """Batches of the samples with indices `items`, as `Batches.only`."""
        batches = self.batches.only(items, **options)
        some = CheckedBatches(batches, self.labels, training=self.training)
        some._n_outputs = self._n_outputs
        some._differing = self._differing
        return some

    def _check_labels(self, y: Tensor) -> set[int]:
        if y.is_floating_point():
            return set()
        if y.dim() > 1:
            y = y[y != IGNORE]
        if self._n_outputs is not None and y.numel() and int(y.max()) >= self._n_outputs:
            raise InputError(
                f"The network has {self._n_outputs} classes, "
                f"but the data contain label {int(y.max())}."
            )
        return set(y.unique().tolist())

    def _check_seen(self, classes: set[int]) -> None:
        if self._differing and len(classes) == 1:
            raise InputError(
                f"There is only one class ({classes.pop()}) in the data: "
                "classification needs at least two."
            )

    def __len__(self) -> int:
        return len(self.batches)

    def __getattr__(self, name: str) -> Any:
        if name in _FORWARDED:
            return getattr(self.batches, name)
        raise AttributeError(name)

    def __iter__(self) -> Iterator[tuple[Any, Tensor]]:
        if self.labels is not None:
            for x, y in self.batches:
                yield tree.map(to_float, x), y
            return
        seen: set[int] = set()
        mixed = False
        for batch in self.batches:
            if not isinstance(batch, list | tuple) or len(batch) != 2:
                raise InputError(
                    f"The data must yield (input, target) pairs, but yielded a {_form(batch)}."
                )
            x, y = validate_batch(*batch)
            labels = self._check_labels(y)
            seen |= labels
            mixed = mixed or len(labels) > 1 or len(y) == 1
            yield x, y
        self._check_seen(seen)
        if self.training and len(seen) > 1 and not mixed:
            warnings.warn(
                "Every batch contains a single class, so batch norm normalizes each class "
                "separately and the network forgets one class while it trains on the next. "
                "Shuffle the loader.",
                stacklevel=2,
            )


def _form(batch: Any) -> str:
    name = type(batch).__name__
    if isinstance(batch, list | tuple):
        return f"{name} of {len(batch)}"
    return name
