"""Images in parquet files that are more than memory holds: a row group is read when an image of it is asked for."""

import io
import os
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from augerino.data.readers.naming import shown
from augerino.data.readers.pictures import UnreadableImage
from augerino.data.readers.streams import Pictures, open_file
from augerino.errors import InputError

LARGEST = 2**30  # bytes of one row group


class RowGroup(NamedTuple):
    """Some neighbouring rows of a parquet file."""

    file: str
    number: int
    first: int  # row of the file
    rows: int
    bytes: int


class RowGroups(Pictures):
    """The images in a column of parquet files, of which a few row groups are in memory.

    What goes to a worker process is where the files are; it reads row groups of its own.
    """

    shard_ends: np.ndarray
    n_mixed = 2  # row groups, unlike shards, have to be in memory to be mixed

    def __init__(self, root: Path, files: list[str], column: str) -> None:
        self.root, self.column = root, column
        self.groups = [group for file in files for group in row_groups(root, file)]
        self.shard_ends = np.cumsum([group.rows for group in self.groups])
        self._read: OrderedDict[int, Any] = OrderedDict()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_read": OrderedDict()}

    def __len__(self) -> int:
        return int(self.shard_ends[-1])

    def _place(self, i: int) -> tuple[int, int]:
        shard = int(np.searchsorted(self.shard_ends, i, side="right"))
        return shard, i - (int(self.shard_ends[shard - 1]) if shard else 0)

    def name(self, i: int) -> str:
        shard, row = self._place(i)
        group = self.groups[shard]
        return f"row {group.first + row} of {group.file}"

    def open(self, i: int) -> BinaryIO:
        shard, row = self._place(i)
        return image_file(self._rows(shard)[row].as_py(), self.root, self.name(i))

    def _rows(self, shard: int) -> Any:
        rows = self._read.pop(shard, None)
        if rows is None:
            import pyarrow.parquet as pq

            group = self.groups[shard]
            with reading(self.root):
                rows = (
                    pq.ParquetFile(self.root / group.file)
                    .read_row_group(group.number, columns=[self.column])
                    .column(0)
                )
                for chunk in rows.chunks:
                    chunk.validate(
                        full=True
                    )  # offsets of a damaged file would lead outside of memory
        self._read[shard] = rows  # the one used last stands last
        while len(self._read) > self.n_mixed:
            self._read.popitem(last=False)
        return rows


def row_groups(root: Path, file: str) -> list[RowGroup]:
    """The row groups of a parquet file, by its footer alone; refuses one that would not fit into memory."""
    import pyarrow.parquet as pq

    if not (root / file).is_file():
        raise InputError(f"The dataset names a file that is not there: {shown(root / file)}.")
    with reading(root):
        about = pq.ParquetFile(root / file).metadata
        described = [about.row_group(i) for i in range(about.num_row_groups)]
    firsts = np.cumsum([0, *(group.num_rows for group in described)]).tolist()
    groups = [
        RowGroup(file, i, firsts[i], group.num_rows, group.total_byte_size)
        for i, group in enumerate(described)
    ]
    large = next((group for group in groups if group.bytes > LARGEST), None)
    if large is not None:
        raise InputError(
            f"{shown(file)} has a row group of {large.bytes / 2**20:.0f} MB, but {LARGEST // 2**20} MB are read at a time: write "
            "it with smaller row groups."
        )
    return [group for group in groups if group.rows > 0]


def image_file(value: Any, root: Path, name: str) -> BinaryIO:
    """The encoded image in a cell: its bytes, or the file that it names below the dataset."""
    data, path = (
        (value.get("bytes"), value.get("path")) if isinstance(value, dict) else (value, None)
    )
    if isinstance(data, bytes):
        return io.BytesIO(data)
    if (
        isinstance(path, str)
        and not os.path.isabs(path)
        and ".." not in Path(path).parts
        and "\0" not in path
    ):
        return open_file(root / path, path)
    raise UnreadableImage(f"{shown(name)} holds no image.")


@contextmanager
def reading(root: Path) -> Iterator[None]:
    """Says in one sentence what a damaged file led pyarrow to raise."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        lines = (str(error) or type(error).__name__).splitlines()
        raise InputError(
            f"{shown(root)} is not a readable dataset: {shown(lines[0]).rstrip('.')}."
        ) from error
