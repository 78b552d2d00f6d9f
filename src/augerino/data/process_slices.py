"""Batches for several processes that train one model.

All processes use the same order; each yields its slice of every batch and draws its own random
augmentations.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import BatchSampler, Sampler

from augerino import tree
from augerino.runtime import distributed, rng


class ProcessSlices:
    """Yields this process's slice of every batch of a loader.

    All processes draw the order of a pass from the random state of the first process. Each step
    then has a different seed in each process, so that no two draw the same augmentations. A
    training run resumed at any step draws the same ones as an uninterrupted run.

    Args:
        batches: a loader of (input, target) batches, the same in every process. If its attribute
            `shared` is true, it loads the slice of this process only. Otherwise it loads whole
            batches, and the slices of other processes are discarded.
    """

    def __init__(self, batches: Any) -> None:
        self.batches = batches

    def __len__(self) -> int:
        return len(self.batches)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.batches, name)

    def __iter__(self) -> Iterator[Any]:
        state = torch.get_rng_state()
        distributed.copy_from_first(state)
        torch.set_rng_state(state)
        for generator in rng.generators_of(self.batches):
            own_state = generator.get_state()
            distributed.copy_from_first(own_state)
            generator.set_state(own_state)
        first_seed = _draw_seed(state)
        rank = distributed.rank()
        world = distributed.world()
        is_whole = not getattr(self.batches, "shared", False)
        for step, batch in enumerate(self.batches):
            if is_whole and tree.batch_size(batch) < world:
                continue  # the same batch is skipped in all processes
            torch.manual_seed((first_seed + step * world + rank) % 2**32)
            if is_whole:
                yield tree.take(batch, slice(rank, None, world))
            else:
                yield batch


class ProcessSliceSampler(Sampler[list[int]]):
    """Yields this process's slice of every batch of indices, so that it loads no other samples.

    All processes must draw the same order.
    """

    def __init__(self, batches: BatchSampler) -> None:
        self.batches = batches

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[list[int]]:
        for batch in self.batches:
            yield batch[distributed.rank() :: distributed.world()]


def _draw_seed(state: torch.Tensor) -> int:
    """Draws a seed from a copy of the random state, which the order of the pass uses itself."""
    generator = torch.Generator()
    generator.set_state(state)
    return int(torch.randint(2**32, (), generator=generator))
