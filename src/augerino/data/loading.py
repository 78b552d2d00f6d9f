"""Loaders and random samples of a pair of arrays, a torch `Dataset` or a `DataLoader`."""

from typing import Any

import torch
from torch import Tensor
from torch.utils import data as torch_data

from augerino import tree
from augerino.data import arrays
from augerino.data.batches import Batches, CheckedBatches
from augerino.data.readers.streams import ImageStream, StreamLoader
from augerino.errors import InputError
from augerino.runtime import distributed


def make_loader(
    data: Any,
    batch_size: int,
    *,
    shuffle: bool,
    workers: int = 0,
    shared: bool = False,
) -> CheckedBatches:
    """Creates a loader that validates its batches.

    Args:
        data: a pair (inputs, targets), a torch `Dataset` of such pairs, or a `DataLoader`.
        batch_size: samples per batch; ignored for a `DataLoader`.
        shuffle: draws a new order at every pass; ignored for a `DataLoader`.
        workers: worker processes that read a torch `Dataset`.
        shared: each of several training processes loads its slice of every batch.
    """
    if _is_pair(data):
        x, y = arrays.validate_arrays(*data)
        _check_count(len(y), shared)
        batches = Batches(x, y, batch_size, shuffle=shuffle, shared=shared)
        return CheckedBatches(batches, labels=y, training=shuffle)
    if isinstance(data, torch_data.IterableDataset):
        data = torch_data.DataLoader(data, batch_size, num_workers=workers)
    elif isinstance(data, torch_data.Dataset):
        count = len(data)  # type: ignore[arg-type]
        if count == 0:
            raise InputError("The dataset is empty.")
        _check_count(count, shared)
        data = StreamLoader(data, batch_size, shuffle=shuffle, num_workers=workers, shared=shared)
    if not isinstance(data, torch_data.DataLoader):
        raise InputError(
            "data must be a path, an ag.data.Dataset, a pair (inputs, targets), a torch Dataset "
            f"or a DataLoader, but is a {type(data).__name__}."
        )
    return CheckedBatches(data, training=shuffle)


def first_batch(loader: CheckedBatches) -> tuple[Any, Tensor]:
    """The first batch of a loader, or the first samples of data in memory.

    Leaves the random state unchanged.
    """
    if isinstance(loader.batches, Batches):
        start = slice(loader.batches.batch_size)
        return arrays.validate_batch(tree.take(loader.batches.x, start), loader.batches.y[start])
    with torch.random.fork_rng():
        batch = next(iter(loader), None)
    if batch is None:
        raise InputError("The data loader yields no batches.")
    return batch


def count_steps(loader: CheckedBatches) -> int:
    """Number of batches per epoch; raises an error if the loader has no length."""
    try:
        return len(loader)
    except TypeError as error:
        raise InputError(
            "learn needs data whose length is known, for its schedule: "
            "define __len__ on the Dataset of a stream, or use ag.fit."
        ) from error


def draw_samples(data: Any, count: int, seed: int = 0) -> tuple[Any, Tensor]:
    """Draws at most `count` random samples, as one validated batch.

    A `DataLoader` can only be read in its own order, so its first samples are returned.
    """
    if _is_pair(data):
        x, y = arrays.validate_arrays(*data)
        chosen = _draw_indices(len(y), count, seed)
        return arrays.validate_batch(tree.take(x, chosen), y[chosen])
    if isinstance(data, torch_data.Dataset) and not isinstance(data, torch_data.IterableDataset):
        chosen = _draw_indices(len(data), count, seed)  # type: ignore[arg-type]
        if isinstance(data, ImageStream):
            data = torch_data.DataLoader(data.only(chosen), count)
        else:
            data = torch_data.DataLoader(torch_data.Subset(data, chosen.tolist()), count)
    loader = make_loader(data, count, shuffle=False)
    batches: list[tuple[Any, Tensor]] = []
    n_read = 0
    with torch.random.fork_rng():
        for batch in loader:
            batches.append(batch)
            n_read += len(batch[1])
            if n_read >= count:
                break
    if not batches:
        raise InputError("The data loader yields no batches.")
    x = _concatenate([x for x, _ in batches])
    y = torch.cat([y for _, y in batches])
    return tree.take(x, slice(count)), y[:count]


def _is_pair(data: Any) -> bool:
    return isinstance(data, list | tuple) and len(data) == 2


def _draw_indices(n: int, count: int, seed: int) -> Tensor:
    return torch.randperm(n, generator=torch.Generator().manual_seed(seed))[:count]


def _concatenate(batches: list[Any]) -> Any:
    if isinstance(batches[0], dict):
        return {key: _concatenate([batch[key] for batch in batches]) for key in batches[0]}
    return torch.cat(batches)


def _check_count(n_samples: int, shared: bool) -> None:
    if shared and n_samples < distributed.world():
        raise InputError(
            f"There are {n_samples} samples for {distributed.world()} processes: "
            "start fewer processes, or provide more data."
        )
