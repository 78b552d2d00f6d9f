"""Random orders for data that are read best in lots: shards, or row groups, of which only a few are at hand at a time."""

import itertools
from collections.abc import Iterator

import numpy as np
import torch
from torch.utils.data import Sampler

from augerino.data.arrays import count_batches

MIXED = 8  # lots whose items are mixed


class NearbyBatches(Sampler[list[int]]):
    """Batches of items that lie near each other, by number.

    At every pass the lots are shuffled and dealt to the processes, and within each to its workers, which read batches in turn.
    Each of these readers mixes the items of a few of its lots at a time, so that a lot is read by one of them, once. Lots
    differ in length, but all readers have to read as often: one with fewer items begins again with its first, one with more
    leaves out its last, which another pass begins with. A single reader reads everything once.

    Args:
        lots: the number of each item's lot, (n,).
        size: items a batch, of all processes together.
        process, processes: which process this is, of how many.
        workers: that read in turn in each process.
        mixed: lots whose items are mixed; the fewer, the less is at hand at a time.

    Example:
        >>> lots = np.repeat([0, 1, 2, 3], 4)
        >>> batches = NearbyBatches(lots, 4, process=1, processes=2, mixed=1)
        >>> [len(batch) for batch in batches], sorted(lots[np.concatenate(list(batches))].tolist())[0] in lots
        ([2, 2, 2, 2], True)
    """

    def __init__(
        self,
        lots: np.ndarray,
        size: int,
        *,
        process: int = 0,
        processes: int = 1,
        workers: int = 1,
        mixed: int = MIXED,
    ) -> None:
        count = len(np.unique(lots))
        self.readers = processes * (workers if count >= processes * workers else 1)
        if count < self.readers:  # cut what there is, or some would have nothing to read
            lots = np.arange(len(lots)) * self.readers // len(lots)
        self.items = np.argsort(lots, kind="stable")
        self.ends = np.cumsum(np.unique(lots, return_counts=True)[1])
        self.size, self.process, self.processes, self.mixed = size, process, processes, mixed

    def __len__(self) -> int:
        if self.readers == 1:
            return count_batches(len(self.items), self.size)
        return max(1, len(self.items) // self.size)

    def __iter__(self) -> Iterator[list[int]]:
        seed = int(
            torch.empty((), dtype=torch.int64).random_().item()
        )  # as torch's samplers draw theirs
        order = np.random.default_rng(seed).permutation(len(self.ends))
        own = self.readers // self.processes
        mine = [
            self._read(order[self.process * own + i :: self.readers], seed + i) for i in range(own)
        ]
        share = len(range(self.process, self.size, self.processes))
        for step in range(len(self)):
            yield list(itertools.islice(mine[step % own], share))

    def _read(self, lots: np.ndarray, seed: int) -> Iterator[int]:
        """The items of some lots, a few lots mixed at a time; again and again, where there are several readers."""
        random = np.random.default_rng(seed)
        while True:
            for i in range(0, len(lots), self.mixed):
                starts = [
                    (int(self.ends[lot - 1]) if lot else 0, int(self.ends[lot]))
                    for lot in lots[i : i + self.mixed]
                ]
                near = np.concatenate([self.items[start:end] for start, end in starts])
                yield from random.permutation(near).tolist()
            if self.readers == 1:
                return
