"""Folders of images by class, as torchvision's ImageFolder reads them, with or without a part for testing."""

import os
from pathlib import Path

import numpy as np

from augerino.data.readers import streams
from augerino.data.readers.naming import PARTS, TABLES, choose_parts, shown, some
from augerino.data.readers.pictures import EXTENSIONS
from augerino.data.readers.raw import RawDataset, ReadOptions
from augerino.data.readers.streams import Files
from augerino.errors import InputError


def entries(folder: Path) -> list[os.DirEntry[str]]:
    """What a folder holds, sorted by name, without hidden files."""
    try:
        with os.scandir(folder) as found:
            return sorted(
                (entry for entry in found if not entry.name.startswith((".", "__MACOSX"))),
                key=lambda entry: entry.name,
            )
    except OSError as error:
        raise InputError(f"{shown(folder)} cannot be read: {error.strerror}.") from error


def subfolders(folder: Path) -> dict[str, Path]:
    """The folders in a folder, by name."""
    return {entry.name: Path(entry.path) for entry in entries(folder) if entry.is_dir()}


def images_below(folder: Path, root: Path) -> list[str]:
    """The names, below root, of all images in a folder and the folders in it. A folder that is linked twice counts once."""
    names: list[str] = []
    seen: set[tuple[int, int]] = set()
    waiting = [folder]
    while waiting:
        place = waiting.pop()
        try:
            status = place.stat()
        except OSError as error:
            raise InputError(f"{shown(place)} cannot be read: {error.strerror}.") from error
        if (status.st_dev, status.st_ino) in seen:
            continue
        seen.add((status.st_dev, status.st_ino))
        for entry in entries(place):
            if is_folder(entry):
                waiting.append(Path(entry.path))
            elif entry.name.lower().endswith(EXTENSIONS):
                names.append(os.path.relpath(entry.path, root))
    return sorted(names)


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry leads to a folder; a link in a ring leads nowhere."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def part_folders(root: Path, notes: list[str]) -> list[tuple[bool | None, Path]]:
    """The folders to read, each with whether it is for testing: train and test if there are such parts, else the folder itself.

    A folder called train that holds nothing but images is no part but a class, of vehicles.
    """
    named = {
        PARTS[name.lower()]: place
        for name, place in subfolders(root).items()
        if name.lower() in PARTS
    }
    if "train" not in named or not any(
        is_folder(entry) or entry.name in TABLES for entry in entries(named["train"])
    ):
        return [(None, root)]
    test, unused = choose_parts(list(named))
    if test == "validation":
        notes.append(f"There is no test folder: '{named['validation'].name}' is used for testing.")
    if unused:
        notes.append(f"The folder '{named['validation'].name}' is not used.")
    others = [name for name in subfolders(root) if name.lower() not in PARTS]
    if others:
        notes.append(f"Folders beside '{named['train'].name}' are not read: {some(others)}.")
    return [(False, named["train"]), *([(True, named[test])] if test is not None else [])]


def read_classes(root: Path, options: ReadOptions) -> RawDataset:
    """Reads a folder in which every class has a folder of its own; classes are ordered by name."""
    notes: list[str] = []
    names: list[str] = []
    labels: list[str] = []
    tests: list[bool | None] = []
    for test, place in part_folders(root, notes):
        empty, before = [], len(names)
        for label, folder in subfolders(place).items():
            inside = images_below(folder, root)
            names += inside
            labels += [label] * len(inside)
            tests += [test] * len(inside)
            if not inside:
                empty.append(label)
        if empty:
            notes.append(f"Folders without images are left out: {some(empty)}.")
        loose = [entry.name for entry in entries(place) if entry.name.lower().endswith(EXTENSIONS)]
        if len(names) == before and test is not None:
            raise InputError(
                f"{shown(place)} holds no images in folders of classes: fill it, or remove it."
            )
        if loose and names:
            notes.append(f"Images outside the folders of the classes are not read: {some(loose)}.")
    if not names:
        raise InputError(
            f"{shown(root)} holds no images in folders of classes: make one folder a class, or add labels.csv with the columns "
            "file and label, or give the folders images and masks, or an .npz of x and y."
        )
    return load_files(
        root, names, np.array([shown(label) for label in labels]), tests, notes, options
    )


def load_files(
    root: Path,
    names: list[str],
    targets: np.ndarray,
    tests: list[bool | None],
    notes: list[str],
    options: ReadOptions,
) -> RawDataset:
    """Decodes the named files, or makes a stream of them; targets and tests go by file."""
    loaded = streams.load(Files(root, names), options)
    test = None if None in tests or True not in tests else np.array(tests, dtype=bool)[loaded.kept]
    return RawDataset(
        kind="images",
        inputs=loaded.images,
        targets=targets[loaded.kept],
        shape=loaded.form.shape,
        test=test,
        notes=[*notes, *loaded.notes],
        root=root,
        files=[names[i] for i in loaded.kept.tolist()],
    )
