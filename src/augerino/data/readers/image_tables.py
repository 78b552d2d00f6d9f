"""Images with targets in a table beside them: labels.csv with one row per file."""

import csv
import os
from pathlib import Path

import numpy as np

from augerino.data.readers.folders import load_files, part_folders
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
from augerino.errors import InputError


def find_tables(root: Path) -> list[tuple[bool | None, Path]]:
    """Pairs (is_test, table) of a folder or its train and test folders; empty without tables."""
    for name in TABLES:
        if (root / name).is_file():
            return [(None, root / name)]
    parts = part_folders(root, [])
    tables = [
        (test, place / name) for test, place in parts for name in TABLES if (place / name).is_file()
    ]
    return tables if len(parts) > 1 and len(tables) == len(parts) else []


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
    marks: list[bool | None] = [None if test is None else part == test for part in parts]
    return [i for i, part in enumerate(parts) if part in ("train", test)], marks
