"""`open_dataset`: opens a path, or an embedded dataset by name, as a `Dataset`."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from augerino.data import splitting
from augerino.data.arrays import IGNORE, Kind, Task
from augerino.data.dataset import Dataset
from augerino.data.readers import (
    array_files,
    ase_files,
    folders,
    huggingface,
    masks,
    tar_shards,
)
from augerino.data.readers.naming import shown
from augerino.data.readers.pictures import Size, parse_size
from augerino.data.readers.raw import Progress, RawDataset, ReadOptions
from augerino.data.readers.targets import interpret_targets
from augerino.data.synthetic.embedded import EMBEDDED
from augerino.errors import InputError
from augerino.runtime.files import is_run_folder

FULLY_HASHED = 2**30  # total bytes up to which all contents are hashed
HASHED_FILES = 1000  # files whose contents are hashed in larger datasets
_CHUNK = 2**20
_KINDS = ("images", "masks", "points", "signals", "values")
_TASKS = ("classification", "regression", "segmentation")


def open_dataset(
    path: str | Path,
    *,
    size: int | str | Size | None = None,
    task: Task | None = None,
    kind: Kind | None = None,
    target: str | None = None,
    ignore: int | None = None,
    seed: int = 0,
    test_fraction: float = 0.2,
    skip_bad: bool = False,
    standardize: bool = False,
    on_progress: Progress | None = None,
) -> Dataset:
    """Reads a dataset in any supported format (see docs/data.md), or draws an embedded one.

    Args:
        path: a folder, an `.npz` or `.npy` file, a table of image files, a Hugging Face dataset on
            disk, tar shards, a file of molecules; or "letters", "sprites", "signals",
            "clouds".
        size: resizes all images to N×N, or to (H, W).
        task: overrides the task detected from the targets.
        kind: overrides the kind detected from the shape of the inputs.
        target: name of the array or column to predict, needed if there are several.
        ignore: class number of mask pixels to ignore; 255 by default.
        seed: seed of the split, if there is no test part, and of embedded data.
        test_fraction: fraction of the samples to hold out, if there is no test part.
        skip_bad: skips unreadable images instead of raising an error.
        standardize: standardizes regression targets by the mean and standard deviation of the
            training part.
        on_progress: called with the number of files done and their total, in every pass over them.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     x, y = np.zeros((10, 8, 8, 3), dtype=np.uint8), np.arange(10) % 2
        ...     np.savez(Path(folder, "data.npz"), x=x, y=y)
        ...     data = open_dataset(Path(folder, "data.npz"))
        >>> data.task, data.shape, data.n_test
        ('classification', (3, 8, 8), 2)
    """
    if task not in (None, *_TASKS):
        raise InputError(
            f"The task must be classification, regression or segmentation, but got '{task}'."
        )
    if kind not in (None, *_KINDS):
        raise InputError(
            f"The kind must be images, masks, points, signals or values, but got '{kind}'."
        )
    options = ReadOptions(
        size=parse_size(size),
        task=task,
        kind=kind,
        target=target,
        ignore=IGNORE if ignore is None else ignore,
        skip_bad=skip_bad,
        on_progress=on_progress,
    )
    if str(path) in EMBEDDED and not Path(path).exists():
        given = {"size": size, "task": task, "kind": kind, "target": target, "ignore": ignore}
        for option, value in given.items():
            if value is not None:
                raise InputError(
                    f"--{option} is for your own data; '{path}' is embedded: leave it out."
                )
        return EMBEDDED[str(path)](seed)
    raw = _read(_check_path(path), options)
    if kind is not None and raw.kind != kind:
        raise InputError(f"{shown(path)} contains {raw.kind}, which cannot be read as {kind}.")
    if ignore is not None and raw.kind != "masks":
        raise InputError(
            f"--ignore is for masks, but {shown(path)} contains {raw.kind}: leave it out."
        )
    raw = interpret_targets(raw, task, options.ignore)
    return _build(path, raw, test_fraction=test_fraction, seed=seed, standardize=standardize)


def _build(
    path: str | Path, raw: RawDataset, *, test_fraction: float, seed: int, standardize: bool
) -> Dataset:
    """Splits a raw dataset with interpreted targets into its two parts."""
    assert raw.task is not None
    test = splitting.mark_test_part(raw, test_fraction, seed)
    y = raw.targets
    if standardize and raw.task == "regression":
        y = splitting.standardize(y, ~test, raw)
    digest, note = fingerprint(raw.root, raw.files)
    if note:
        raw.notes.append(note)
    train = splitting.take_part(raw.inputs, y, ~test)
    return Dataset(
        name=Path(path).stem or "run",
        kind=raw.kind,
        task=raw.task,
        train=train,
        test=splitting.take_part(raw.inputs, y, test),
        class_names=raw.class_names,
        n_outputs=len(raw.class_names) or _count_targets(train),
        shape=raw.shape,
        path=str(path),
        fingerprint=digest,
        notes=tuple(raw.notes),
    )


def _count_targets(part: Any) -> int:
    """Number of values in one regression target."""
    if isinstance(part, tuple):
        _, targets = part
        first: Tensor = targets[0]
    else:
        _, first = part[0]
    return first.numel()


def _check_path(path: str | Path) -> Path:
    try:
        place = Path(path).expanduser()
        exists = place.exists()
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{shown(path)} cannot be read: {reason}.") from error
    if not exists:
        raise InputError(
            f"There is no file or folder '{shown(path)}': give the path of your data, "
            f"or the name of an embedded dataset, {', '.join(EMBEDDED)}."
        )
    if not (place.is_file() or place.is_dir()):
        raise InputError(f"{shown(path)} cannot be read: it is neither a file nor a folder.")
    if not os.access(place, os.R_OK):
        raise InputError(f"{shown(path)} cannot be read: no permission.")
    if is_run_folder(place):
        raise InputError(
            f"{shown(path)} is the folder of a run, not data. Give the path of your data, "
            f"or resume the run with --resume {shown(path)}."
        )
    return place


def _has_mask_pairs(place: Path) -> bool:
    """Whether a folder, or one of its train and test folders, has images and masks."""
    if masks.find_pairs(place):
        return True
    parts_inside = [folder for test, folder in folders.part_folders(place, []) if test is not None]
    return any(masks.find_pairs(folder) for folder in parts_inside)


def _has_image_folders(place: Path) -> bool:
    return any(folders.images_below(folder, place) for folder in folders.subfolders(place).values())


def _read(place: Path, options: ReadOptions) -> RawDataset:
    """Reads a path with the reader of its format."""
    if place.is_dir():
        return _read_folder(place, options)
    if not place.is_file():
        raise InputError(f"{shown(place)} is neither a file nor a folder.")
    if place.stat().st_size == 0:
        raise InputError(f"{shown(place)} is an empty file.")
    match place.suffix.lower():
        case ".npz":
            return array_files.read_npz(place, options)
        case ".npy":
            return array_files.read_npy(place, options)
        case ".csv":
            return folders.read_tables(place.parent, [(None, place)], options)
        case ".parquet":
            return huggingface.read(place, options)
        case ".tar":
            return tar_shards.read(place, options)
        case ending if ending in ase_files.ENDINGS:
            return ase_files.read(place, options)
    raise InputError(
        f"{shown(place)} has an unsupported format: give a folder of images, an .npz, an .npy, "
        "a .csv with a column of image files, a .parquet, a .tar of images and labels, "
        "or molecules as .xyz, .extxyz or .db."
    )


def _read_folder(place: Path, options: ReadOptions) -> RawDataset:
    if huggingface.is_dataset(place):
        return huggingface.read(place, options)
    if (place / "x.npy").is_file():
        return array_files.read_npy(place, options)
    if _has_mask_pairs(place):
        return masks.read_pairs(place, options)
    if tables := folders.find_tables(place):
        return folders.read_tables(place, tables, options)
    if tar_shards.find_shards(place) and not _has_image_folders(place):
        return tar_shards.read(place, options)
    return folders.read_classes(place, options)


def fingerprint(root: Path, names: Sequence[str]) -> tuple[str, str | None]:
    """SHA-256 of files, and a note if it does not cover all their contents.

    A single file is hashed by its contents; several files by names, sizes and contents, sorted by
    name. Above 1 GB in total, only the contents of about 1,000 evenly spaced files are hashed, and
    only both ends of long ones.
    """
    names = sorted(names)
    try:
        sizes = [(root / name).stat().st_size for name in names]
        whole = sum(sizes) <= FULLY_HASHED
        step = 1
        most = FULLY_HASHED
        if not whole:
            step = max(1, len(names) // HASHED_FILES)
            most = max(FULLY_HASHED // HASHED_FILES, FULLY_HASHED // len(names))
        digest = hashlib.sha256()
        for i, (name, size) in enumerate(zip(names, sizes, strict=True)):
            if len(names) > 1:
                digest.update(f"{name}\0{size}\0".encode("utf-8", "surrogateescape"))
            if i % step == 0:
                _add(digest, root / name, size=size, most=most)
    except OSError as error:
        raise InputError(
            f"{shown(error.filename or root)} cannot be read: {error.strerror}."
        ) from error
    note = None
    if not whole:
        covered = "both ends of the file"
        if len(names) > 1:
            n_read = len(range(0, len(names), step))
            covered = f"names and sizes of all {len(names)} files and the contents of {n_read}"
        note = f"The fingerprint covers {covered}."
    return f"sha256:{digest.hexdigest()}", note


def _add(digest: "hashlib._Hash", path: Path, *, size: int, most: int) -> None:
    """Hashes the contents of a file, or its size and both ends if it has more than `most` bytes."""
    with open(path, "rb") as file:
        if size > most:
            digest.update(f"{size}\0".encode())
            digest.update(file.read(most // 2))
            file.seek(-(most // 2), 2)
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
