"""The front door for data of the user's: a path in, tensors or a dataset out, and what was made of it in words."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from augerino import tree
from augerino.data import splitting
from augerino.data.arrays import IGNORE, Kind, Task
from augerino.data.readers import (
    array_files,
    folders,
    huggingface,
    labels,
    listed,
    masks,
    molecule_files,
    shards,
)
from augerino.data.readers.fingerprints import fingerprint
from augerino.data.readers.found import Found, Progress, Request, shown, some
from augerino.data.readers.labels import Targets
from augerino.data.readers.sizes import Size, parse_size
from augerino.data.readers.streams import ImageStream
from augerino.errors import InputError


@dataclass(frozen=True)
class Source:
    """What a path holds: a training and a test part, what is in them, and what was decided on the way.

    A part in memory is a pair (x, y). Images are (N, C, H, W) of bytes, or floats in [0, 1] where files have more than 8 bits;
    masks (N, H, W) of bytes, 255 where nothing is to be learned; signals (N, C, T), point clouds (N, P, 3) and values (N, F) of
    floats; padded clouds a dict of positions, mask and, if given, charges. Labels are int64, quantities (N, outputs) float32.
    A part that is too large for that is a dataset of such pairs, one at a time, read from disk.
    """

    kind: Kind
    task: Task
    train: Any
    test: Any
    class_names: tuple[str, ...]  # empty for regression
    shape: tuple[int, ...]  # of one input, channel first
    notes: tuple[str, ...]  # what was detected or decided, one short sentence each
    fingerprint: str
    path: str


def open_source(
    path: str | Path,
    *,
    size: int | str | Size | None = None,
    task: Task | None = None,
    kind: Kind | None = None,
    target: str | None = None,
    ignore: int = IGNORE,
    seed: int = 0,
    test_share: float = 0.2,
    skip_bad: bool = False,
    standardize: bool = False,
    on_progress: Progress | None = None,
) -> Source:
    """Reads a dataset from a path, in whatever accepted form it is; docs/data.md lists them.

    Args:
        path: a folder, an `.npz` or `.npy` file, a table of image files, a Hugging Face dataset on disk, tar shards, or a file of
            molecules.
        size: brings all images to N×N, or to (H, W).
        task: classification, regression or segmentation, where the data do not say or say wrongly.
        kind: what the inputs are, where their shape does not say or says wrongly.
        target: the name of the array or column to be predicted, where there are several.
        ignore: the class number of masks at which nothing is to be learned.
        seed: of the split, where no test part is given.
        test_share: of the data, where no test part is given.
        skip_bad: leaves out images that cannot be read, instead of refusing them.
        standardize: takes quantities less their mean and in multiples of their deviation, both over the training part.
        on_progress: called with how many files are done, of how many, in every pass over them.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.savez(Path(folder, "data.npz"), x=np.zeros((10, 8, 8, 3), dtype=np.uint8), y=np.arange(10) % 2)
        ...     source = open_source(Path(folder, "data.npz"))
        >>> source.task, source.shape, len(source.test[1])
        ('classification', (3, 8, 8), 2)
    """
    place = _check_path(path)
    if task not in (None, "classification", "regression", "segmentation"):
        raise InputError(
            f"The task is classification, regression or segmentation, but got '{task}'."
        )
    if kind not in (None, "images", "masks", "points", "signals", "values"):
        raise InputError(f"The kind is images, masks, points, signals or values, but got '{kind}'.")
    found = _read(
        place, Request(parse_size(size), task, kind, target, ignore, skip_bad, on_progress)
    )
    if kind is not None and found.kind != kind:
        raise InputError(f"{shown(place)} holds {found.kind}, which cannot be read as {kind}.")
    targets = _understand(found, task, ignore)
    test = _split(found, targets, test_share, seed)
    y = (
        _standardized(targets.y, ~test, found)
        if standardize and targets.task == "regression"
        else targets.y
    )
    digest, note = fingerprint(found.root, found.files)
    return Source(
        kind=found.kind,
        task=targets.task,
        train=_part(found.inputs, y, ~test),
        test=_part(found.inputs, y, test),
        class_names=targets.class_names,
        shape=found.shape,
        notes=(*found.notes, *([note] if note else [])),
        fingerprint=digest,
        path=str(path),
    )


def _check_path(path: str | Path) -> Path:
    try:
        place = Path(path).expanduser()
        exists = place.exists()
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{shown(path)} cannot be read: {getattr(error, 'strerror', None) or error}."
        ) from error
    if not exists:
        raise InputError(
            f"There is no file or folder {shown(path)}: give the path of your data, or 'sprites', the embedded data."
        )
    if not os.access(place, os.R_OK):
        raise InputError(f"{shown(path)} cannot be read: no permission.")
    return place


def _read(place: Path, request: Request) -> Found:
    """Chooses the reader by what there is."""
    if place.is_dir():
        if huggingface.is_dataset(place):
            return huggingface.read(place, request)
        if (place / "x.npy").is_file():
            return array_files.read_npy(place, request)
        if masks.find_pairs(place) or any(
            masks.find_pairs(part)
            for test, part in folders.part_folders(place, [])
            if test is not None
        ):
            return masks.read_pairs(place, request)
        if tables := listed.find_tables(place):
            return listed.read_listed(place, tables, request)
        inside = folders.subfolders(place).values()
        if shards.find_shards(place) and not any(
            folders.images_below(folder, place) for folder in inside
        ):
            return shards.read(place, request)
        return folders.read_classes(place, request)
    if not place.is_file():
        raise InputError(f"{shown(place)} is neither a file nor a folder.")
    if place.stat().st_size == 0:
        raise InputError(f"{shown(place)} is an empty file.")
    match place.suffix.lower():
        case ".npz":
            return array_files.read_npz(place, request)
        case ".npy":
            return array_files.read_npy(place, request)
        case ".csv":
            return listed.read_listed(place.parent, [(None, place)], request)
        case ".parquet":
            return huggingface.read(place, request)
        case ".tar":
            return shards.read(place, request)
        case ending if ending in molecule_files.ENDINGS:
            return molecule_files.read(place, request)
    raise InputError(
        f"{shown(place)} is of no kind that is read: give a folder of images, an .npz, an .npy, a .csv that names images, a "
        ".parquet, a .tar of images and labels, or molecules as .xyz, .extxyz or .db."
    )


def _understand(found: Found, task: Task | None, ignore: int) -> Targets:
    if found.kind != "masks":
        targets = labels.understand(found.targets, task, found.class_names)
        if len(targets.y) == 0:
            raise InputError("The dataset is empty.")
        return targets
    if isinstance(found.targets, np.ndarray):
        y, names, notes = masks.number_array(found.targets, found.class_names, ignore)
        return Targets("segmentation", y, names, tuple(notes))
    return Targets("segmentation", found.targets, found.class_names, ())


def _split(found: Found, targets: Targets, share: float, seed: int) -> np.ndarray:
    """Which items are for testing, as given or drawn; adds notes on both."""
    n = (
        len(found.inputs)
        if isinstance(found.inputs, ImageStream)
        else tree.batch_size(found.inputs)
    )
    classes = targets.y.numpy() if targets.task == "classification" else None
    what = f"Taken as {targets.task}" + (
        f" of {len(targets.class_names)} classes" if targets.class_names else ""
    )
    found.notes += targets.notes
    found.notes.append(
        f"{what}: {some(list(targets.class_names), 10)}." if targets.class_names else f"{what}."
    )
    held = None
    if targets.task == "segmentation":
        kept = found.inputs.order if isinstance(found.inputs, ImageStream) else np.arange(n)
        held = masks.which_classes(targets.y, len(targets.class_names), kept)
        if empty := int((~held.any(axis=1)).sum()):
            found.notes.append(
                f"{empty} of {n} masks hold nothing but ignored pixels: they count nowhere."
            )
    if found.test is not None:
        test = found.test
        if test.all() or not test.any() or (~test).sum() < 2:
            raise InputError(
                f"There must be at least two items to train on and one to test, but there are {(~test).sum()} and {test.sum()}."
            )
        if classes is not None:
            held = classes[:, None] == np.arange(len(targets.class_names))
        if held is not None:
            _compare_classes(held, test, targets.class_names, found)
        return test
    every = ""
    if held is not None:
        test = splitting.split_off_by_content(held, share, seed)
        every = ", every class left in training"
        _compare_classes(held, test, targets.class_names, found)
    elif classes is not None:
        test = splitting.split_off_by_class(classes, targets.class_names, share, seed)
        every = ", every class represented"
    else:
        test = splitting.split_off(n, share, seed)
    found.notes.append(
        f"No test part given: {test.mean():.0%} ({test.sum()} of {n}) split off with seed {seed}{every}."
    )
    return test


def _standardized(y: Tensor, train: np.ndarray, found: Found) -> Tensor:
    """Quantities in a unit of their own, so that a loss of 1 is that of a constant guess, whatever they were measured in."""
    exact = y.double()
    mean, deviation = (
        exact[torch.from_numpy(train)].mean(0),
        exact[torch.from_numpy(train)].std(0, correction=0),
    )
    if not (deviation > 0).any():
        raise InputError(
            f"All targets to train on are the same ({some([f'{v:.6g}' for v in mean.tolist()])}): nothing to predict."
        )
    deviation = torch.where(deviation > 0, deviation, 1.0)
    means, deviations = (
        some([f"{value:.6g}" for value in values.tolist()]) for values in (mean, deviation)
    )
    found.notes.append(
        f"Targets are taken less their mean ({means}) and in units of their deviation ({deviations})."
    )
    return ((exact - mean) / deviation).float()


def _compare_classes(
    held: np.ndarray, test: np.ndarray, names: tuple[str, ...], found: Found
) -> None:
    """Refuses parts that nothing can be learned from or judged by.   held: which classes are in each item, (N, K)"""
    trained, tested = held[~test].any(axis=0), held[test].any(axis=0)
    if (new := tested & ~trained).any():
        raise InputError(
            "The test part has classes that the training part lacks, and that could not be learned: "
            f"{some([name for name, is_new in zip(names, new, strict=True) if is_new])}."
        )
    if found.kind == "masks" and trained.sum() < 2:
        there = (
            f"only the class '{names[int(trained.argmax())]}'"
            if trained.any()
            else "ignored pixels only"
        )
        raise InputError(
            f"The masks to train on hold {there}: nothing can be told apart, so label two classes at least."
        )
    if found.kind == "masks" and not tested.any():
        raise InputError(
            "Every pixel of the test part's masks is ignored, so nothing could be judged by them: label some."
        )
    if (lacking := trained & ~tested).any():
        missing = [name for name, lacks in zip(names, lacking, strict=True) if lacks]
        found.notes.append(f"The test part lacks classes: {some(missing)}.")


def _part(inputs: Any, y: Any, chosen: np.ndarray) -> Any:
    """The chosen items, as a pair in memory or as a dataset."""
    if isinstance(inputs, ImageStream):
        if isinstance(
            y, Tensor
        ):  # a stream goes by the numbers of its pictures, targets by what was kept of them
            by_picture = torch.zeros((len(inputs.pictures), *y.shape[1:]), dtype=y.dtype)
            by_picture[torch.from_numpy(inputs.order)] = y
            y = by_picture
        return ImageStream(inputs.pictures, inputs.form, y, inputs.order[chosen])
    places = np.flatnonzero(chosen)
    first, last = int(places[0]), int(places[-1]) + 1
    if last - first == len(places):  # neighbours need no copy
        return tree.map(lambda leaf: leaf[first:last], inputs), y[first:last]
    index = torch.from_numpy(places)
    return tree.map(lambda leaf: leaf[index], inputs), y[index]
