"""Images in one folder per class, as in torchvision's ImageFolder, with or without a test part."""

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
    """Entries of a folder, sorted by name, without hidden files."""
    try:
        with os.scandir(folder) as found:
            return sorted(
                (entry for entry in found if not entry.name.startswith((".", "__MACOSX"))),
                key=lambda entry: entry.name,
            )
    except OSError as error:
        raise InputError(f"{shown(folder)} cannot be read: {error.strerror}.") from error


def subfolders(folder: Path) -> dict[str, Path]:
    """Name -> path of the subfolders of a folder."""
    return {entry.name: Path(entry.path) for entry in entries(folder) if entry.is_dir()}


def images_below(folder: Path, root: Path) -> list[str]:
    """Paths, relative to root, of all images in a folder and its subfolders, sorted.

    A folder that is linked twice is read once.
    """
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
    """Whether an entry is a folder or a link to one; False for circular links."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def part_folders(root: Path, notes: list[str]) -> list[tuple[bool | None, Path]]:
    """The folders to read, as pairs (is_test, folder): train and test, or (None, root).

    A folder named train that contains only images is a class, not a part.
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
    parts: list[tuple[bool | None, Path]] = [(False, named["train"])]
    if test is not None:
        parts.append((True, named[test]))
    return parts


def read_classes(root: Path, options: ReadOptions) -> RawDataset:
    """Reads a folder with one subfolder of images per class; classes are ordered by name."""
    notes: list[str] = []
    names: list[str] = []
    labels: list[str] = []
    tests: list[bool | None] = []
    for test, place in part_folders(root, notes):
        empty: list[str] = []
        n_before = len(names)
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
        if len(names) == n_before and test is not None:
            raise InputError(
                f"{shown(place)} contains no images in class folders: add some, or remove it."
            )
        if loose and names:
            notes.append(f"Images outside the class folders are not read: {some(loose)}.")
    if not names:
        raise InputError(
            f"{shown(root)} contains no images in class folders: create one folder per class, "
            "or add labels.csv with the columns file and label, "
            "or provide the folders images and masks, or an .npz of x and y."
        )
    return load_files(
        root,
        names,
        targets=np.array([shown(label) for label in labels]),
        tests=tests,
        notes=notes,
        options=options,
    )


def load_files(
    root: Path,
    names: list[str],
    *,
    targets: np.ndarray,
    tests: list[bool | None],
    notes: list[str],
    options: ReadOptions,
) -> RawDataset:
    """Decodes image files into memory, or creates a stream of them.

    Args:
        root: folder of the dataset.
        names: of the files, relative to root.
        targets: one per file.
        tests: whether each file is in the test part; None if there is no test part.
        notes: notes to put before those on the images.
        options: of the reader.
    """
    loaded = streams.load(Files(root, names), options)
    test = None
    if None not in tests and True in tests:
        test = np.array(tests, dtype=bool)[loaded.kept]
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
