"""Images in parquet files, read one row group at a time."""

from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from augerino.data.readers import arrow
from augerino.data.readers.naming import shown
from augerino.data.readers.sharded import ShardedPictures
from augerino.errors import InputError

LARGEST = 2**30  # largest number of bytes in one row group


class RowGroup(NamedTuple):
    """Consecutive rows of a parquet file."""

    file: str
    number: int
    first: int  # row of the file
    n_rows: int
    n_bytes: int


class RowGroups(ShardedPictures):
    """The images in a column of parquet files."""

    n_open = 2
    n_mixed = 2  # unlike tar files, row groups must be in memory to be mixed

    def __init__(self, root: Path, files: list[str], column: str) -> None:
        self.root = root
        self.column = column
        self.groups = [group for file in files for group in row_groups(root, file)]
        super().__init__(
            [group.n_rows for group in self.groups],
            n_bytes=sum(group.n_bytes for group in self.groups),
        )

    def open_shard(self, number: int) -> Any:
        import pyarrow.parquet as pq

        group = self.groups[number]
        with arrow.reading(self.root):
            file = pq.ParquetFile(self.root / group.file)
            rows = file.read_row_group(group.number, columns=[self.column]).column(0)
            arrow.validate(rows)
        return rows

    def name(self, i: int) -> str:
        shard, row = self.locate(i)
        group = self.groups[shard]
        return f"row {group.first + row} of {group.file}"

    def open(self, i: int) -> BinaryIO:
        shard, row = self.locate(i)
        return arrow.image_file(self.shard(shard)[row].as_py(), self.root, self.name(i))


def row_groups(root: Path, file: str) -> list[RowGroup]:
    """The row groups of a parquet file, from its footer; rejects groups that are too large."""
    import pyarrow.parquet as pq

    with arrow.reading(root):
        metadata = pq.ParquetFile(root / file).metadata
        described = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    firsts = np.cumsum([0, *(group.num_rows for group in described)]).tolist()
    groups = [
        RowGroup(
            file=file,
            number=i,
            first=firsts[i],
            n_rows=group.num_rows,
            n_bytes=group.total_byte_size,
        )
        for i, group in enumerate(described)
    ]
    large = next((group for group in groups if group.n_bytes > LARGEST), None)
    if large is not None:
        raise InputError(
            f"{shown(file)} has a row group of {large.n_bytes / 2**20:.0f} MB, "
            f"but the limit is {LARGEST // 2**20} MB: write it with smaller row groups."
        )
    return [group for group in groups if group.n_rows > 0]
