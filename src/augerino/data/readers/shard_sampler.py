"""Random orders for sharded data (tar files, parquet row groups), reading few shards at a time."""

import itertools
from collections.abc import Iterator

import numpy as np
import torch
from torch.utils.data import Sampler

from augerino.data.batches import count_batches

N_MIXED = 8  # shards whose samples are mixed


class ShardSampler(Sampler[list[int]]):
    """Batches of indices, drawn from a few shards at a time.

    At every pass the shards are shuffled and assigned to the processes, and within a process to its
    workers, which load batches in turn. Each of these readers mixes the samples of `n_mixed` of its
    shards at a time, so that every shard is read once, by one reader.

    A single reader yields every sample once. Several readers yield equally many batches, although
    shards differ in length: a reader with fewer samples repeats its first ones, and a reader with
    more drops its last ones.

    Args:
        shards: shard of each sample, (n,).
        batch_size: samples per batch, of all processes together.
        process: rank of this process.
        processes: number of processes.
        workers: number of workers of each process.
        n_mixed: number of shards whose samples are mixed.

    Example:
        >>> shards = np.repeat([0, 1, 2, 3], 4)
        >>> sampler = ShardSampler(shards, 4, process=1, processes=2, n_mixed=1)
        >>> [len(batch) for batch in sampler]
        [2, 2, 2, 2]
    """

    def __init__(
        self,
        shards: np.ndarray,
        batch_size: int,
        *,
        process: int = 0,
        processes: int = 1,
        workers: int = 1,
        n_mixed: int = N_MIXED,
    ) -> None:
        n_shards = len(np.unique(shards))
        self.n_readers = processes * (workers if n_shards >= processes * workers else 1)
        if n_shards < self.n_readers:  # split the data into as many shards as readers
            shards = np.arange(len(shards)) * self.n_readers // len(shards)
        self.indices = np.argsort(shards, kind="stable")
        self.shard_ends = np.cumsum(np.unique(shards, return_counts=True)[1])
        self.batch_size = batch_size
        self.process = process
        self.processes = processes
        self.n_mixed = n_mixed

    def __len__(self) -> int:
        if self.n_readers == 1:
            return count_batches(len(self.indices), self.batch_size)
        return max(1, len(self.indices) // self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        seed = int(torch.empty((), dtype=torch.int64).random_().item())  # as torch's samplers do
        order = np.random.default_rng(seed).permutation(len(self.shard_ends))
        n_own = self.n_readers // self.processes
        readers = [
            self._read(order[self.process * n_own + i :: self.n_readers], seed + i)
            for i in range(n_own)
        ]
        n_samples = len(range(self.process, self.batch_size, self.processes))
        for step in range(len(self)):
            yield list(itertools.islice(readers[step % n_own], n_samples))

    def _read(self, shards: np.ndarray, seed: int) -> Iterator[int]:
        """Yields the samples of some shards, mixing a few at a time.

        Repeats forever if there are several readers.
        """
        random = np.random.default_rng(seed)
        while True:
            for i in range(0, len(shards), self.n_mixed):
                mixed = [self._indices_of(shard) for shard in shards[i : i + self.n_mixed]]
                yield from random.permutation(np.concatenate(mixed)).tolist()
            if self.n_readers == 1:
                return

    def _indices_of(self, shard: int) -> np.ndarray:
        start = int(self.shard_ends[shard - 1]) if shard else 0
        return self.indices[start : int(self.shard_ends[shard])]
