"""Hugging Face datasets on disk, from `save_to_disk` or as parquet files, read by pyarrow."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from augerino.data.readers import array_files, arrow, streams
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
from augerino.data.readers.row_groups import RowGroups
from augerino.data.readers.streams import Pictures
from augerino.errors import InputError
from augerino.runtime.files import LARGEST_JSON, read_bytes


def is_dataset(folder: Path) -> bool:
    """Whether a folder was written by `save_to_disk`, or it or its `data` has parquet files."""
    saved = any((folder / name).is_file() for name in ("dataset_dict.json", "state.json"))
    return saved or any(folder.glob("*.parquet")) or any(folder.glob("data/*.parquet"))


def read(path: Path, options: ReadOptions) -> RawDataset:
    """Reads a dataset of images and labels, or of arrays."""
    _need_pyarrow()
    root = path if path.is_dir() else path.parent
    files = _find_files(path)
    notes: list[str] = []
    test, unused = choose_parts(list(files))
    if test == "validation":
        notes.append("There is no test part: the validation part is used for testing.")
    if unused:
        notes.append(f"Parts that are not used: {some(unused)}.")
    train = "train" if "train" in files else next(iter(files))
    parts = [files[train]]
    if test is not None and train == "train":
        parts.append(files[test])
    names = [name for part in parts for name in part]
    raw = RawDataset(
        kind="images", inputs=None, targets=None, shape=(), notes=notes, root=root, files=names
    )
    schema = arrow.read_schema(root, names[0])
    features = _features(schema)
    image = _image_column(schema, features)
    if image is None:
        return _read_arrays(shown(path), parts, schema=schema, options=options, raw=raw)
    target = _target_column(shown(path), names=list(schema.names), image=image, options=options)
    if all(name.endswith(".parquet") for name in names):
        pictures: Pictures = RowGroups(root, names, image)
    else:
        pictures = arrow.ArrowPictures(root, names, image)
    loaded = streams.load(pictures, options)
    raw.inputs = loaded.images
    raw.shape = loaded.form.shape
    raw.notes += loaded.notes
    targets = [arrow.to_numpy(arrow.read_column(root, part, target), target) for part in parts]
    raw.targets = np.concatenate(targets)[loaded.kept]
    raw.class_names = _class_names(features, target)
    if len(parts) > 1:
        raw.test = loaded.kept >= len(targets[0])
    return raw


def _need_pyarrow() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise InputError(
            'Hugging Face datasets and parquet files need an extra: pip install "augerino[hf]".'
        ) from error


def _find_files(path: Path) -> dict[str, list[str]]:
    """Part -> paths of its data files, relative to the folder."""
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
        entries = _json(place / "state.json").get("_data_files", [])
        if not isinstance(entries, list):
            entries = []
        names = [str(entry.get("filename", "")) for entry in entries if isinstance(entry, dict)]
        if not names or any(Path(file).name != file for file in names):
            raise InputError(f"{shown(place / 'state.json')} lists no data files beside it.")
        found[PARTS.get(name.lower(), name)] = [
            os.path.relpath(place / file, path) for file in names
        ]
    if not found:
        raise InputError(f"{shown(path / 'dataset_dict.json')} lists no parts.")
    if len(found) > 1 and "train" not in found:
        raise InputError(
            f"{shown(path)} has no part called train, but: {some(list(found))}; "
            "give the path of one of them."
        )
    return found


def _find_parquet(folder: Path) -> dict[str, list[str]]:
    paths = sorted([*folder.glob("*.parquet"), *folder.glob("data/*.parquet")])
    found = parts_by_name([os.path.relpath(path, folder) for path in paths if path.is_file()])
    if len(found) > 1 and "train" not in found:
        raise InputError(
            f"{shown(folder)} has no parquet file for training, but files for: {some(list(found))}."
        )
    return found


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(read_bytes(path, LARGEST_JSON))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{shown(path)} is not a readable JSON file: {error}.") from error
    return value if isinstance(value, dict) else {}


def _features(schema: Any) -> dict[str, dict[str, Any]]:
    """Metadata of the columns written by the `datasets` package; empty if there are none."""
    text = (schema.metadata or {}).get(b"huggingface", b"{}")
    try:
        features = json.loads(text)["info"]["features"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    if not isinstance(features, dict):
        return {}
    return {name: value for name, value in features.items() if isinstance(value, dict)}


def _image_column(schema: Any, features: Mapping[str, dict[str, Any]]) -> str | None:
    """Name of the column of images: marked in the metadata, or the first of encoded bytes."""
    import pyarrow as pa

    def encoded(name: str) -> bool:
        kind = schema.field(name).type
        if pa.types.is_struct(kind):
            return "bytes" in [field.name for field in kind]
        return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))

    candidates = [name for name in schema.names if encoded(name)]
    marked = [name for name in candidates if features.get(name, {}).get("_type") == "Image"]
    return next(iter(marked or candidates), None)


def _target_column(path: str, *, names: list[str], image: str | None, options: ReadOptions) -> str:
    """Name of the column of targets: the one given, one with a usual name, or the only other."""
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
            f"{path} has several columns that could be the target: "
            f"choose with --target, one of {some(others)}."
        )
    raise InputError(f"{path} has images but no column of targets.")


def _class_names(features: Mapping[str, dict[str, Any]], target: str) -> tuple[str, ...]:
    names = features.get(target, {}).get("names")
    if not isinstance(names, list):
        return ()
    return tuple(shown(name) for name in names)


def _read_arrays(
    path: str, parts: list[list[str]], *, schema: Any, options: ReadOptions, raw: RawDataset
) -> RawDataset:
    """Reads columns of numbers as named arrays: x_train, y_train, x_test and y_test."""
    names = list(schema.names)
    inputs = next((name for alias in INPUT_NAMES for name in names if name.lower() == alias), None)
    if inputs is None:
        raise InputError(
            f"{path} has no column of images, nor one called {some(list(INPUT_NAMES[:4]))}, "
            f"but: {some(names)}."
        )
    target = _target_column(path, names=names, image=inputs, options=options)
    arrays = {}
    for part, files in zip(("train", "test"), parts, strict=False):
        for role, name in (("x", inputs), ("y", target)):
            column = arrow.read_column(raw.root, files, name)
            arrays[f"{role}_{part}"] = arrow.to_numpy(column, name)
    raw.class_names = _class_names(_features(schema), target)
    headers = {name: ArrayHeader(array.shape, array.dtype) for name, array in arrays.items()}
    return array_files.read_arrays(
        path,
        headers,
        load=lambda wanted: {name: arrays[name] for name in wanted},
        options=replace(options, target=None),  # the target has been chosen by its column name
        raw=raw,
    )
