"""Encoded images in shards: files or row groups, of which a few are open at a time."""

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from augerino.data.readers.streams import Pictures


class ShardedPictures(Pictures):
    """Encoded images in shards; keeps the `n_open` most recently used shards open.

    Subclasses must implement `open_shard`, `name` and `open`, and `close_shard` if an open shard
    has a resource to free. A worker process receives a copy without open shards.

    Args:
        lengths: number of images in each shard.
        n_bytes: total size of all shards.
    """

    n_open: int
    shard_ends: np.ndarray

    def __init__(self, lengths: Sequence[int], n_bytes: int) -> None:
        self.shard_ends = np.cumsum(lengths, dtype=np.int64)
        self.n_bytes = n_bytes
        self._open: OrderedDict[int, Any] = OrderedDict()  # least recently used first

    @abstractmethod
    def open_shard(self, number: int) -> Any: ...

    def close_shard(self, opened: Any) -> None:
        """Frees the resources of an open shard."""

    def __len__(self) -> int:
        return int(self.shard_ends[-1])

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_open": OrderedDict()}

    def __del__(self) -> None:
        for opened in self.__dict__.get("_open", {}).values():
            self.close_shard(opened)

    def locate(self, i: int) -> tuple[int, int]:
        """The shard of image i, and its position in the shard."""
        shard = int(np.searchsorted(self.shard_ends, i, side="right"))
        start = int(self.shard_ends[shard - 1]) if shard else 0
        return shard, i - start

    def shard(self, number: int) -> Any:
        """Opens a shard unless it is open; closes the least recently used one beyond `n_open`."""
        opened = self._open.pop(number, None)
        if opened is None:
            opened = self.open_shard(number)
        self._open[number] = opened
        while len(self._open) > self.n_open:
            self.close_shard(self._open.popitem(last=False)[1])
        return opened
