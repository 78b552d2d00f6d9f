"""Batches for several processes that train one model: one order, a slice of each batch per process, own random draws."""

from collections.abc import Iterator
from typing import Any

import torch

from augerino import tree
from augerino.runtime import distributed, rng


class ProcessSlices:
    """A loader of whole batches, of which this process yields its slice.

    All processes draw the order of a pass from the random state of the first. Then each step has its own seed in each
    process: no two draw the same augmentations, and a training resumed at any step draws as an uninterrupted one.

    Args:
        batches: a loader of (input, target) batches, the same in every process. If its `shared` is true it loads its slice
            only; any other loads whole batches, of which the slices of other processes are discarded.
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
                continue  # in all processes alike
            torch.manual_seed((first_seed + step * world + rank) % 2**32)
            yield tree.take(batch, slice(rank, None, world)) if is_whole else batch


def _draw_seed(state: torch.Tensor) -> int:
    """A seed drawn from a copy of the random state; the state itself is left for the order of the pass."""
    generator = torch.Generator()
    generator.set_state(state)
    return int(torch.randint(2**32, (), generator=generator))
