"""Columns of arrow and parquet files, read by pyarrow without executing code."""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from augerino.data.readers import archives
from augerino.data.readers.naming import shown
from augerino.data.readers.pictures import UnreadableImage
from augerino.data.readers.streams import Pictures, open_file
from augerino.errors import InputError


def read_schema(root: Path, file: str) -> Any:
    """The columns of a file and their types."""
    import pyarrow.parquet as pq

    _check_file(root / file)
    with reading(root):
        if file.endswith(".parquet"):
            return pq.read_schema(root / file)
        return _map_arrow(root / file).schema


def read_column(root: Path, files: list[str], name: str) -> Any:
    """Reads one column of several files as one chunked array.

    Arrow files are memory-mapped; of parquet files, only this column is read.
    """
    import pyarrow as pa

    chunks = []
    for file in files:
        if name not in read_schema(root, file).names:
            raise InputError(f"All files of {shown(root)} must have the column '{shown(name)}'.")
        with reading(root):
            if file.endswith(".parquet"):
                column = _read_parquet(root / file, name)
            else:
                column = _map_arrow(root / file).column(name)
            validate(column)
        chunks += column.chunks
    with reading(root):
        return pa.chunked_array(chunks, type=column.type)


class ArrowPictures(Pictures):
    """The images in a column of memory-mapped arrow files. Each worker process maps them itself."""

    def __init__(self, root: Path, files: list[str], column: str) -> None:
        self.root = root
        self.files = files
        self.column = column
        self._columns: list[Any] | None = None
        self.ends = np.cumsum([len(column) for column in self._map()])

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_columns": None}

    def _map(self) -> list[Any]:
        if self._columns is None:
            self._columns = [read_column(self.root, [file], self.column) for file in self.files]
        return self._columns

    def __len__(self) -> int:
        return int(self.ends[-1])

    def _locate(self, i: int) -> tuple[int, int]:
        file = int(np.searchsorted(self.ends, i, side="right"))
        start = int(self.ends[file - 1]) if file else 0
        return file, i - start

    def name(self, i: int) -> str:
        file, row = self._locate(i)
        return f"row {row} of {self.files[file]}"

    def open(self, i: int) -> BinaryIO:
        file, row = self._locate(i)
        return image_file(self._map()[file][row].as_py(), self.root, self.name(i))


def image_file(value: Any, root: Path, name: str) -> BinaryIO:
    """Opens the encoded image in a cell: its bytes, or a file below the folder of the dataset."""
    data = value
    path = None
    if isinstance(value, dict):
        data = value.get("bytes")
        path = value.get("path")
    if isinstance(data, bytes):
        return io.BytesIO(data)
    if isinstance(path, str) and _is_below(path):
        return open_file(root / path, path)
    raise UnreadableImage(f"{shown(name)} contains no image.")


def _is_below(path: str) -> bool:
    """Whether a relative path stays below the folder that it is joined to."""
    return not os.path.isabs(path) and ".." not in Path(path).parts and "\0" not in path


def validate(column: Any) -> None:
    """Raises a pyarrow error for offsets that point outside of memory, as in a damaged file."""
    for chunk in column.chunks:
        chunk.validate(full=True)


@contextmanager
def reading(root: Path) -> Iterator[None]:
    """Converts any error of pyarrow on a damaged file to an `InputError`."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        lines = (str(error) or type(error).__name__).splitlines()
        raise InputError(
            f"{shown(root)} is not a readable dataset: {shown(lines[0]).rstrip('.')}."
        ) from error


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise InputError(f"The dataset refers to a missing file: {shown(path)}.")


def _map_arrow(path: Path) -> Any:
    import pyarrow as pa

    mapped = pa.memory_map(str(path))
    try:
        return pa.ipc.open_stream(mapped).read_all()
    except pa.ArrowInvalid:
        return pa.ipc.open_file(mapped).read_all()


def _read_parquet(path: Path, name: str) -> Any:
    """Reads one column of a parquet file; raises an error if it would not fit into memory."""
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    n_bytes = 0
    for i in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(i)
        for j in range(group.num_columns):
            column = group.column(j)
            if column.path_in_schema == name or column.path_in_schema.startswith(f"{name}."):
                n_bytes += column.total_uncompressed_size
    archives.check_memory(path, n_bytes)
    return file.read(columns=[name]).column(name)


def to_numpy(column: Any, name: str) -> np.ndarray:
    """Converts a column of numbers, strings, or (nested) lists of equal lengths to one array."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        if array.num_chunks:
            array = pa.concat_arrays(array.chunks)
        else:
            array = pa.array([], array.type)
    shape = [len(array)]
    while True:
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        if array.null_count:
            raise InputError(
                f"The column '{shown(name)}' has empty cells: fill them, or remove those rows."
            )
        is_list = (
            pa.types.is_list(array.type)
            or pa.types.is_large_list(array.type)
            or pa.types.is_fixed_size_list(array.type)
        )
        if not is_list:
            break
        lengths = pc.unique(pc.list_value_length(array)).to_pylist()
        if len(lengths) != 1:
            raise InputError(f"The lists in the column '{shown(name)}' must all be of one length.")
        shape.append(lengths[0])
        array = array.flatten()
    kind = array.type
    if pa.types.is_dictionary(kind):
        array = array.dictionary_decode()
        kind = array.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return np.array([shown(word) for word in array.to_pylist()]).reshape(shape)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise InputError(
            f"The column '{shown(name)}' must contain numbers or strings, but contains {kind}."
        )
    return np.asarray(array.to_numpy(zero_copy_only=False)).reshape(shape)
