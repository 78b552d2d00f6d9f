"""Hugging Face datasets on disk: what `save_to_disk` writes, and parquet files. Read by pyarrow: nothing is executed."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from augerino.data.readers import archives, array_files, streams
from augerino.data.readers.archives import ArrayHeader
from augerino.data.readers.naming import (
    INPUT_NAMES,
    PARTS,
    TARGET_NAMES,
    choose_parts,
    parts_by_name,
    shown,
    some,
)
from augerino.data.readers.raw import RawDataset, ReadOptions
from augerino.data.readers.row_groups import RowGroups, image_file, reading, row_groups
from augerino.data.readers.streams import Pictures
from augerino.errors import InputError

Column = tuple[str, str]  # part, name


def is_dataset(folder: Path) -> bool:
    """Whether a folder is one of `save_to_disk`, or holds parquet files at its top or in `data`."""
    marks = ("dataset_dict.json", "state.json")
    return (
        any((folder / mark).is_file() for mark in marks)
        or any(folder.glob("*.parquet"))
        or any(folder.glob("data/*.parquet"))
    )


def read(path: Path, options: ReadOptions) -> RawDataset:
    """Reads a dataset of images and labels, or of arrays."""
    _need_pyarrow()
    root = path if path.is_dir() else path.parent
    files = _find_files(path)
    tables, features = {}, {}
    notes: list[str] = []
    test, unused = choose_parts(list(files))
    if test == "validation":
        notes.append("There is no test part: the validation part is used for testing.")
    if unused:
        notes.append(f"Parts that are not used: {some(unused)}.")
    train = "train" if "train" in files else next(iter(files))
    parts = [train] + ([test] if test is not None and train == "train" else [])
    for part in parts:
        tables[part] = Table(root, files[part])
        features[part] = tables[part].features()
    names = [name for part in parts for name in files[part]]
    raw = RawDataset("images", None, None, (), notes=notes, root=root, files=names)
    columns = tables[train].names()
    image = _image_column(tables[train].schema, features[train])
    if image is None:
        return _read_arrays(shown(path), tables, features[train], options, raw)
    target = _target_column(shown(path), columns, image, options)
    large = any(tables[part].large for part in parts)
    pictures = (
        RowGroups(root, names, image)
        if large
        else ArrowPictures([tables[part] for part in parts], image)
    )
    loaded = streams.load(pictures, options)
    raw.inputs, raw.shape = loaded.images, loaded.form.shape
    raw.notes += loaded.notes
    targets = [to_numpy(tables[part].column(target), target) for part in parts]
    raw.targets = np.concatenate(targets)[loaded.kept]
    raw.class_names = _class_names(features[train], target)
    if len(parts) > 1:
        raw.test = loaded.kept >= len(targets[0])
    return raw


class Table:
    """The rows of one part. Arrow files are mapped, not read; parquet files are read as they are, images still encoded.

    What goes to a worker process is where the files are; they are opened there again.
    """

    def __init__(self, root: Path, files: list[str]) -> None:
        self.root, self.files = root, files
        self._table: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_table": None}

    @property
    def table(self) -> Any:
        if self._table is None:
            self._table = self._read(None)
        return self._table

    def _read(self, columns: list[str] | None) -> Any:
        import pyarrow as pa

        with reading(self.root):
            table = pa.concat_tables(
                [_open_table(self.root / name, columns) for name in self.files]
            )
            for column in table.columns:
                for chunk in column.chunks:
                    chunk.validate(
                        full=True
                    )  # offsets of a damaged file would lead outside of memory
            return table

    @cached_property
    def large(self) -> bool:
        """Whether this is parquet with images that are more than is held in memory: a column of it is read when asked for."""
        if not all(name.endswith(".parquet") for name in self.files):
            return False
        if _image_column(self.schema, self.features()) is None:
            return False
        return (
            sum(group.bytes for name in self.files for group in row_groups(self.root, name))
            > streams.MEMORY
        )

    @cached_property
    def schema(self) -> Any:
        import pyarrow.parquet as pq

        if self._table is None and self.files[0].endswith(".parquet"):
            with reading(self.root):
                return pq.read_schema(self.root / self.files[0])
        return self.table.schema

    def names(self) -> list[str]:
        return list(self.schema.names)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def column(self, name: str) -> Any:
        if name not in self.names():
            raise InputError(
                f"All parts of {shown(self.root)} must have the column '{shown(name)}'."
            )
        return self._read([name]).column(name) if self.large else self.table.column(name)

    def features(self) -> dict[str, dict[str, Any]]:
        """What the `datasets` package wrote about the columns, if it did."""
        text = (self.schema.metadata or {}).get(b"huggingface", b"{}")
        try:
            features = json.loads(text)["info"]["features"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return {}
        return (
            {name: value for name, value in features.items() if isinstance(value, dict)}
            if isinstance(features, dict)
            else {}
        )


class ArrowPictures(Pictures):
    """The images in a column of tables, one table behind the other."""

    def __init__(self, tables: list[Table], column: str) -> None:
        self.tables, self.column = tables, column
        self.ends = np.cumsum([len(table) for table in tables])

    def __len__(self) -> int:
        return int(self.ends[-1])

    def _place(self, i: int) -> tuple[Table, int]:
        which = int(np.searchsorted(self.ends, i, side="right"))
        return self.tables[which], i - (int(self.ends[which - 1]) if which else 0)

    def name(self, i: int) -> str:
        table, row = self._place(i)
        return f"row {row} of {table.files[0]}"

    def open(self, i: int) -> BinaryIO:
        table, row = self._place(i)
        return image_file(table.column(self.column)[row].as_py(), table.root, self.name(i))


def _need_pyarrow() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise InputError(
            'Hugging Face datasets and parquet files need an extra: pip install "augerino[hf]".'
        ) from error


def _find_files(path: Path) -> dict[str, list[str]]:
    """The data files of every part, by their names below the folder."""
    if path.is_file():
        return {"train": [path.name]}
    if (path / "dataset_dict.json").is_file():
        splits = _json(path / "dataset_dict.json").get("splits", [])
        places = {
            str(name): path / str(name)
            for name in splits
            if isinstance(name, str) and re.fullmatch(r"[\w.-]+", name)
        }
    elif (path / "state.json").is_file():
        places = {"train": path}
    else:
        return _find_parquet(path)
    found: dict[str, list[str]] = {}
    for name, place in places.items():
        listed = _json(place / "state.json").get("_data_files", [])
        names = (
            [str(entry.get("filename", "")) for entry in listed if isinstance(entry, dict)]
            if isinstance(listed, list)
            else []
        )
        if not names or any(Path(file).name != file for file in names):
            raise InputError(f"{shown(place / 'state.json')} names no data files beside it.")
        found[PARTS.get(name.lower(), name)] = [
            os.path.relpath(place / file, path) for file in names
        ]
    if not found:
        raise InputError(f"{shown(path / 'dataset_dict.json')} names no parts.")
    if len(found) > 1 and "train" not in found:
        raise InputError(
            f"{shown(path)} has no part called train, but: {some(list(found))}; give the path of one of them."
        )
    return found


def _find_parquet(folder: Path) -> dict[str, list[str]]:
    files = sorted([*folder.glob("*.parquet"), *folder.glob("data/*.parquet")])
    found = parts_by_name([os.path.relpath(file, folder) for file in files])
    if len(found) > 1 and "train" not in found:
        raise InputError(
            f"{shown(folder)} has no parquet file for training, but for: {some(list(found))}."
        )
    return found


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{shown(path)} is not a readable JSON file: {error}.") from error
    return value if isinstance(value, dict) else {}


def _open_table(path: Path, columns: list[str] | None) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.is_file():
        raise InputError(f"The dataset names a file that is not there: {shown(path)}.")
    if path.suffix == ".parquet":
        described = pq.ParquetFile(path).metadata
        if columns is None:
            archives.check_memory(
                path,
                sum(
                    described.row_group(i).total_byte_size for i in range(described.num_row_groups)
                ),
            )
        return pq.read_table(path, columns=columns)
    mapped = pa.memory_map(str(path))
    try:
        return pa.ipc.open_stream(mapped).read_all()
    except pa.ArrowInvalid:
        return pa.ipc.open_file(mapped).read_all()


def _image_column(schema: Any, features: Mapping[str, dict[str, Any]]) -> str | None:
    """The column of images: marked as such, or holding encoded bytes."""
    import pyarrow as pa

    def encoded(name: str) -> bool:
        kind = schema.field(name).type
        if pa.types.is_struct(kind):
            return "bytes" in [field.name for field in kind]
        return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))

    names = list(schema.names)
    marked = [
        name for name in names if features.get(name, {}).get("_type") == "Image" and encoded(name)
    ]
    return next(iter(marked or [name for name in names if encoded(name)]), None)


def _target_column(path: str, names: list[str], image: str | None, options: ReadOptions) -> str:
    if options.target is not None:
        if options.target in names:
            return options.target
        raise InputError(
            f"{path} has no column '{shown(options.target)}' for --target, but: {some(names)}."
        )
    by_alias = {name.lower(): name for name in reversed(names) if name != image}
    known = next((by_alias[alias] for alias in TARGET_NAMES if alias in by_alias), None)
    if known is not None:
        return known
    others = [name for name in names if name != image]
    if len(others) == 1:
        return others[0]
    if others:
        raise InputError(
            f"{path} has several columns that could be the target: choose with --target, one of {some(others)}."
        )
    raise InputError(f"{path} has images but no column of targets.")


def _class_names(features: Mapping[str, dict[str, Any]], target: str) -> tuple[str, ...]:
    names = features.get(target, {}).get("names")
    return tuple(shown(name) for name in names) if isinstance(names, list) else ()


def _read_arrays(
    path: str,
    tables: dict[str, Table],
    features: Mapping[str, dict[str, Any]],
    options: ReadOptions,
    raw: RawDataset,
) -> RawDataset:
    """Columns of numbers as the arrays of an archive: x_train, y_train, and so on."""
    names = list(next(iter(tables.values())).names())
    inputs = next((name for alias in INPUT_NAMES for name in names if name.lower() == alias), None)
    if inputs is None:
        raise InputError(
            f"{path} has no column of images, nor one called {some(list(INPUT_NAMES[:4]))}, but: {some(names)}."
        )
    target = _target_column(path, names, inputs, options)
    suffixes = dict(zip(tables, ("train", "test"), strict=False))
    arrays = {
        f"{role}_{suffixes[part]}": to_numpy(table.column(name), name)
        for part, table in tables.items()
        for role, name in (("x", inputs), ("y", target))
    }
    raw.class_names = _class_names(features, target)
    headers = {name: ArrayHeader(array.shape, array.dtype) for name, array in arrays.items()}
    plain = replace(options, target=None)  # the target has been chosen by its column name
    return array_files.read_arrays(
        path, headers, lambda wanted: {name: arrays[name] for name in wanted}, plain, raw
    )


def to_numpy(column: Any, name: str) -> np.ndarray:
    """A column of numbers, strings, or lists of numbers all of the same lengths, as one array."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    shape = [len(array)]
    while True:
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        if array.null_count:
            raise InputError(
                f"The column '{shown(name)}' has empty cells: fill them, or remove those rows."
            )
        if not (
            pa.types.is_list(array.type)
            or pa.types.is_large_list(array.type)
            or pa.types.is_fixed_size_list(array.type)
        ):
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
            f"The column '{shown(name)}' must hold numbers or strings, but holds {kind}."
        )
    return np.asarray(array.to_numpy(zero_copy_only=False)).reshape(shape)
