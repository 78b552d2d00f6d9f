"""Batches for several processes that train one model: an order on which all agree, a share for each, noise of its own."""

from collections.abc import Iterator
from typing import Any

import torch

from augerino import tree
from augerino.runtime import distributed, rng


class Shares:
    """A loader of whole batches, of which this process sees its share.

    All processes draw the order of a pass from the random state of the first. Then each step has a seed of its own in each
    process: no two draw the same augmentations, and a training that is resumed at any step draws what it would have drawn.

    Args:
        batches: a loader of (input, target) batches, the same in every process. If its `shared` is true it reads its share
            only; of any other, whatever it reads for the other processes is thrown away.
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
            own = generator.get_state()
            distributed.copy_from_first(own)
            generator.set_state(own)
        rank, world = distributed.rank(), distributed.world()
        beside = torch.Generator()  # the state itself is left to the order
        beside.set_state(state)
        first_seed = int(torch.randint(2**32, (), generator=beside))
        sliced = not getattr(self.batches, "shared", False)
        for step, batch in enumerate(self.batches):
            if sliced and tree.batch_size(batch) < world:
                continue  # in all processes alike
            torch.manual_seed((first_seed + step * world + rank) % 2**32)
            yield tree.map(lambda leaf: leaf[rank::world], batch) if sliced else batch
