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

    At every pass the shards are shuffled, laid end to end, and cut into one segment per reader: a
    worker of a process, or a process without workers. The workers of a process load its batches in
    turn. Each reader mixes the samples of `n_mixed` shards at a time. Only a shard at a cut is read
    by more than one reader.

    A pass yields every sample once, in equally many batches for every process. A last batch that is
    too small for batch norm is dropped (see `count_batches`).

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
        self.indices = np.argsort(shards, kind="stable")
        self.shard_ends = np.cumsum(np.unique(shards, return_counts=True)[1])
        self.batch_size = batch_size
        self.process = process
        self.processes = processes
        self.workers = workers
        self.n_mixed = n_mixed

    def __len__(self) -> int:
        return count_batches(len(self.indices), self.batch_size, self.processes)

    def __iter__(self) -> Iterator[list[int]]:
        seed = int(torch.empty((), dtype=torch.int64).random_().item())  # as torch's samplers do
        order = np.random.default_rng(seed).permutation(len(self.shard_ends))
        lengths = [
            int(self._slice_sizes(process)[worker :: self.workers].sum())
            for process in range(self.processes)
            for worker in range(self.workers)
        ]
        cuts = np.cumsum([0, *lengths]).tolist()
        first = self.process * self.workers
        readers = [
            self._read(self._segment(order, cuts[reader], cuts[reader + 1]), seed + reader)
            for reader in range(first, first + self.workers)
        ]
        for step, n_samples in enumerate(self._slice_sizes(self.process).tolist()):
            yield list(itertools.islice(readers[step % self.workers], n_samples))

    def _slice_sizes(self, process: int) -> np.ndarray:
        """Number of samples in the slice that a process takes of each batch, (batches,)."""
        sizes = np.full(len(self), self.batch_size)
        sizes[-1] = min(self.batch_size, len(self.indices) - self.batch_size * (len(self) - 1))
        return (sizes - process + self.processes - 1) // self.processes

    def _segment(self, order: np.ndarray, start: int, stop: int) -> list[np.ndarray]:
        """Samples start to stop of the shards laid end to end in this order, by shard."""
        pieces = []
        n_before = 0
        for shard in order:
            samples = self._indices_of(shard)
            piece = samples[max(start - n_before, 0) : max(stop - n_before, 0)]
            if len(piece):
                pieces.append(piece)
            n_before += len(samples)
        return pieces

    def _read(self, pieces: list[np.ndarray], seed: int) -> Iterator[int]:
        """Yields the samples of some shards, mixing a few shards at a time."""
        random = np.random.default_rng(seed)
        for i in range(0, len(pieces), self.n_mixed):
            yield from random.permutation(np.concatenate(pieces[i : i + self.n_mixed])).tolist()

    def _indices_of(self, shard: int) -> np.ndarray:
        start = int(self.shard_ends[shard - 1]) if shard else 0
        return self.indices[start : int(self.shard_ends[shard])]
