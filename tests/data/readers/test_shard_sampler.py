"""Orders of sharded data: a pass reads everything once, and few shards are read by two readers."""

import numpy as np
import pytest
import torch

from augerino.data.readers.shard_sampler import ShardSampler


def shards_of(*lengths):
    return np.repeat(np.arange(len(lengths)), lengths)


def passes(shards, size, **readers):
    """The same pass as each of the processes makes it."""
    processes = readers.get("processes", 1)
    found = []
    for process in range(processes):
        torch.manual_seed(0)
        found.append(list(ShardSampler(shards, size, process=process, **readers)))
    return found


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_one_reader_reads_everything_once_but_a_lone_last_sample(size):
    shards = shards_of(5, 1, 9, 4)
    (batches,) = passes(shards, size)
    seen = [item for batch in batches for item in batch]
    lone = size > 1 and len(shards) > size and len(shards) % size == 1
    assert len(seen) == len(set(seen)) == len(shards) - lone
    assert all(len(batch) == size for batch in batches[:-1]) and len(batches) == len(
        ShardSampler(shards, size)
    )


def test_passes_differ_and_a_seed_repeats_them():
    sampler = ShardSampler(shards_of(10, 10, 10), 5)
    torch.manual_seed(1)
    first, second = list(sampler), list(sampler)
    torch.manual_seed(1)
    assert list(sampler) == first != second


UNEVEN = (6, 9, 5, 8, 7, 10, 4, 6, 9, 5, 8, 7)  # 84 samples


@pytest.mark.parametrize("size", [6, 8, 50, 100])
@pytest.mark.parametrize("processes", [1, 2, 3])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_several_readers_read_everything_once(size, processes, workers):
    found = passes(shards_of(*UNEVEN), size, processes=processes, workers=workers)
    assert len({len(batches) for batches in found}) == 1
    seen = sorted(item for batches in found for batch in batches for item in batch)
    n_last = sum(UNEVEN) % size
    n_dropped = n_last if size < sum(UNEVEN) and n_last < 2 * processes else 0  # for batch norm
    assert len(seen) == len(set(seen)) == sum(UNEVEN) - n_dropped
    for step, batches in enumerate(zip(*found, strict=True)):
        whole = size if (step + 1) * size <= sum(UNEVEN) else n_last
        sizes = [len(batch) for batch in batches]
        assert sum(sizes) == whole and max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("processes", [1, 2, 3])
@pytest.mark.parametrize("workers", [1, 2])
def test_readers_share_only_the_shards_at_their_borders(processes, workers):
    shards = shards_of(*UNEVEN)
    found = passes(shards, 6, processes=processes, workers=workers)
    readers = [
        {int(shard) for batch in batches[worker::workers] for shard in shards[batch]}
        for batches in found
        for worker in range(workers)
    ]
    n_shared = sum(len(reader) for reader in readers) - len(UNEVEN)
    assert 0 <= n_shared < len(readers)


def test_readers_of_equal_shards_have_shards_of_their_own():
    shards = shards_of(*[6] * 12)
    found = passes(shards, 6, processes=2, workers=2)
    readers = [
        {int(shard) for batch in batches[worker::2] for shard in shards[batch]}
        for batches in found
        for worker in range(2)
    ]
    assert [len(reader) for reader in readers] == [3] * 4 and len(set().union(*readers)) == 12


def test_every_sample_of_an_indivisible_batch_is_assigned():
    found = passes(shards_of(8, 8, 8), 5, processes=3)
    assert [len(batches[0]) for batches in found] == [2, 2, 1]


def test_only_a_few_shards_are_open_at_a_time():
    shards = shards_of(*[20] * 10)
    (batches,) = passes(shards, 10, n_mixed=2)
    order = shards[np.concatenate(batches)]
    windows = [set(order[i : i + 40].tolist()) for i in range(0, 200, 40)]
    assert all(len(window) == 2 for window in windows) and len(set().union(*windows)) == 10


def test_fewer_shards_than_processes_are_cut():
    found = passes(shards_of(30), 6, processes=3)
    items = [set(np.concatenate(batches).tolist()) for batches in found]
    assert sum(map(len, items)) == len(set().union(*items)) == 30
