"""Image files in a folder: one subfolder per class, or a table with one row per file."""

import csv
import os
from pathlib import Path

import numpy as np

from augerino.data.readers import streams
from augerino.data.readers.naming import (
    FILE_NAMES,
    PARTS,
    TABLES,
    TARGET_NAMES,
    choose_parts,
    shown,
    some,
)
from augerino.data.readers.pictures import EXTENSIONS
from augerino.data.readers.raw import RawDataset, ReadOptions
from augerino.data.readers.streams import Files
from augerino.errors import InputError
from augerino.runtime.files import is_run_folder


def entries(folder: Path) -> list[os.DirEntry[str]]:
    """Entries of a folder, sorted by name, without hidden files and run folders."""
    try:
        with os.scandir(folder) as found:
            visible = [e for e in found if not e.name.startswith((".", "__MACOSX"))]
            read = [e for e in visible if not (is_folder(e) and is_run_folder(e.path))]
            return sorted(read, key=lambda entry: entry.name)
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
        names: names of the files, relative to root.
        targets: one per file.
        tests: whether each file is in the test part; None if there is no test part.
        notes: notes to put before those on the images.
        options: options of the reader.
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


def find_tables(root: Path) -> list[tuple[bool | None, Path]]:
    """Pairs (is_test, table) of a folder or its train and test folders; empty without tables."""
    for name in TABLES:
        if (root / name).is_file():
            return [(None, root / name)]
    parts = part_folders(root, [])
    tables = [
        (test, place / name) for test, place in parts for name in TABLES if (place / name).is_file()
    ]
    if len(parts) > 1 and len(tables) == len(parts):
        return tables
    return []


def read_tables(
    root: Path, tables: list[tuple[bool | None, Path]], options: ReadOptions
) -> RawDataset:
    """Reads the images listed in tables, with a class or a regression target for each."""
    names: list[str] = []
    targets: list[str] = []
    tests: list[bool | None] = []
    notes: list[str] = []
    for test, table in tables:
        files, values, words = _read_table(table, options)
        keep = list(range(len(files)))
        marks: list[bool | None] = [test] * len(files)
        if words is not None and test is None:
            keep, marks = _parts(table, words, notes)
        names += [os.path.relpath(table.parent / files[i], root) for i in keep]
        targets += [values[i] for i in keep]
        tests += [marks[i] for i in keep]
    distinct, counts = np.unique(names, return_counts=True)
    repeated = distinct[counts > 1].tolist()
    if repeated:
        raise InputError(
            f"Every file must have one row in {tables[0][1].name}, "
            f"but some have more: {some(repeated)}."
        )
    if not options.skip_bad:
        missing = [name for name in names if not (root / name).is_file()]
        if missing:
            raise InputError(f"{shown(tables[0][1])} lists missing files: {some(missing)}.")
    table_names = " and ".join(os.path.relpath(table, root) for _, table in tables)
    notes.insert(0, f"Targets are read from {table_names}.")
    raw = load_files(root, names, targets=parse(targets), tests=tests, notes=notes, options=options)
    raw.files += [os.path.relpath(table, root) for _, table in tables]
    return raw


def parse(words: list[str]) -> np.ndarray:
    """Converts words to int64 if all are integers, to float64 if all are numbers, else to strings.

    Example:
        >>> [parse(words).dtype.kind for words in (["1", "2"], ["1", "2.5"], ["1", "two"])]
        ['i', 'f', 'U']
    """
    for kind, dtype in ((int, np.int64), (float, np.float64)):
        try:
            return np.array([kind(word) for word in words], dtype=dtype)
        except (ValueError, OverflowError):
            continue
    return np.array([shown(word) for word in words])


def _read_table(table: Path, options: ReadOptions) -> tuple[list[str], list[str], list[str] | None]:
    """Reads the columns of files, of targets and, if there is one, of parts."""
    try:
        with open(table, encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            delimiter = max(",;\t", key=first.count)
            file.seek(0)
            rows = [
                row
                for row in csv.reader(file, delimiter=delimiter)
                if any(cell.strip() for cell in row)
            ]
    except OSError as error:
        raise InputError(f"{shown(table)} cannot be read: {error.strerror}.") from error
    except (csv.Error, UnicodeError) as error:
        raise InputError(f"{shown(table)} is not a readable table of text: {error}.") from error
    if not rows:
        raise InputError(f"{shown(table)} is empty: give it the columns file and label.")
    head = [cell.strip().lower() for cell in rows[0]]
    body = rows[1:]
    if len(head) == 2 and head[0].endswith(EXTENSIONS):  # a table without a header
        head = ["file", "label"]
        body = rows
    if not body:
        raise InputError(f"{shown(table)} has a header but no rows.")
    file_column = next((head.index(name) for name in FILE_NAMES if name in head), None)
    if file_column is None:
        raise InputError(
            f"{shown(table)} needs a column of files, called one of {', '.join(FILE_NAMES)}, "
            f"but has: {some(head)}."
        )
    target_column = _target_column(table, head, file_column, options)
    for number, row in enumerate(body, start=1 + (body is not rows)):
        if len(row) != len(head) or not row[file_column].strip() or "\0" in row[file_column]:
            raise InputError(
                f"Row {number} of {shown(table)} must have {len(head)} cells, "
                f"one of them a file, but has: {some(row)}."
            )
        if not row[target_column].strip():
            raise InputError(
                f"Row {number} of {shown(table)} has no {shown(head[target_column])}: "
                "fill it in, or remove the row."
            )
    files = [row[file_column].strip() for row in body]
    targets = [row[target_column].strip() for row in body]
    if "split" not in head:
        return files, targets, None
    part_column = head.index("split")
    return files, targets, [row[part_column].strip().lower() for row in body]


def _target_column(table: Path, head: list[str], file_column: int, options: ReadOptions) -> int:
    if options.target is not None:
        if options.target.lower() in head:
            if head.index(options.target.lower()) == file_column:
                raise InputError(
                    f"--target {shown(options.target)} names the column of files in "
                    f"{shown(table)}: choose another."
                )
            return head.index(options.target.lower())
        raise InputError(
            f"{shown(table)} has no column '{shown(options.target)}' for --target, "
            f"but: {some(head)}."
        )
    known = next((head.index(name) for name in (*TARGET_NAMES, "value") if name in head), None)
    if known is not None:
        return known
    others = [i for i, name in enumerate(head) if i != file_column and name != "split"]
    if len(others) == 1:
        return others[0]
    if others:
        raise InputError(
            f"{shown(table)} has several columns that could be the target: "
            f"choose with --target, one of {some([head[i] for i in others])}."
        )
    raise InputError(
        f"{shown(table)} has no column of targets beside the files: add one called label or target."
    )


def _parts(table: Path, words: list[str], notes: list[str]) -> tuple[list[int], list[bool | None]]:
    """Indices of the rows to use, and for every row whether it is a test row."""
    unknown = sorted(set(words) - set(PARTS))
    if unknown:
        raise InputError(
            f"The column 'split' of {shown(table)} must be train, validation or test, "
            f"but has: {some(unknown)}."
        )
    parts = [PARTS[word] for word in words]
    test, unused = choose_parts(sorted(set(parts)))
    if "train" not in parts:
        raise InputError(f"The column 'split' of {shown(table)} has no row for training.")
    if unused:
        notes.append(f"The validation part ({parts.count('validation')} samples) is not used.")
    marks: list[bool | None] = [None] * len(parts)
    if test is not None:
        marks = [part == test for part in parts]
    return [i for i, part in enumerate(parts) if part in ("train", test)], marks
