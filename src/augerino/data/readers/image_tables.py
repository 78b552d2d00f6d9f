"""Images whose targets stand in a table beside them: labels.csv with one row a file."""

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
    """The tables of a folder, or of its parts, each with whether it is for testing; none if there is none."""
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
    """Reads the images that tables name, with a class or a quantity for each."""
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
    twice = [
        name for name, count in zip(*np.unique(names, return_counts=True), strict=True) if count > 1
    ]
    if twice:
        raise InputError(
            f"Every file has one row in {tables[0][1].name}, but some have more: {some(twice)}."
        )
    missing = (
        [name for name in names if not (root / name).is_file()] if not options.skip_bad else []
    )
    if missing:
        raise InputError(f"{shown(tables[0][1])} names files that are not there: {some(missing)}.")
    notes.insert(
        0,
        f"Targets are read from {' and '.join(os.path.relpath(table, root) for _, table in tables)}.",
    )
    raw = load_files(root, names, targets=parse(targets), tests=tests, notes=notes, options=options)
    raw.files += [os.path.relpath(table, root) for _, table in tables]
    return raw


def parse(words: list[str]) -> np.ndarray:
    """Words as whole numbers if all are, else as numbers if all are, else as they are.

    Example:
        >>> parse(["1", "2"]).dtype.kind, parse(["1", "2.5"]).dtype.kind, parse(["1", "two"]).dtype.kind
        ('i', 'f', 'U')
    """
    for kind in (int, float):
        try:
            return np.array(
                [kind(word) for word in words], dtype=np.int64 if kind is int else np.float64
            )
        except (ValueError, OverflowError):
            continue
    return np.array([shown(word) for word in words])


def _read_table(table: Path, options: ReadOptions) -> tuple[list[str], list[str], list[str] | None]:
    """The columns of files, of targets and, if there is one, of parts."""
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
    if len(head) == 2 and head[0].endswith(EXTENSIONS):  # a table without a head
        head, body = ["file", "label"], rows
    else:
        body = rows[1:]
    if not body:
        raise InputError(f"{shown(table)} has a head but no rows.")
    file_column = next((head.index(name) for name in FILE_NAMES if name in head), None)
    if file_column is None:
        raise InputError(
            f"{shown(table)} needs a column of files, called one of {', '.join(FILE_NAMES)}, but has: {some(head)}."
        )
    target_column = _target_column(table, head, file_column, options)
    for number, row in enumerate(body, start=1 + (body is not rows)):
        if len(row) != len(head) or not row[file_column].strip() or "\0" in row[file_column]:
            raise InputError(
                f"Row {number} of {shown(table)} must have {len(head)} cells, one of them a file, but has: {some(row)}."
            )
        if not row[target_column].strip():
            raise InputError(
                f"Row {number} of {shown(table)} has no {shown(head[target_column])}: fill it in, or remove the row."
            )
    part_column = head.index("split") if "split" in head else None
    return (
        [row[file_column].strip() for row in body],
        [row[target_column].strip() for row in body],
        None if part_column is None else [row[part_column].strip().lower() for row in body],
    )


def _target_column(table: Path, head: list[str], file_column: int, options: ReadOptions) -> int:
    if options.target is not None:
        if options.target.lower() in head:
            if head.index(options.target.lower()) == file_column:
                raise InputError(
                    f"--target {shown(options.target)} names the column of files in {shown(table)}: choose another."
                )
            return head.index(options.target.lower())
        raise InputError(
            f"{shown(table)} has no column '{shown(options.target)}' for --target, but: {some(head)}."
        )
    known = next((head.index(name) for name in (*TARGET_NAMES, "value") if name in head), None)
    if known is not None:
        return known
    others = [i for i, name in enumerate(head) if i != file_column and name != "split"]
    if len(others) == 1:
        return others[0]
    if others:
        raise InputError(
            f"{shown(table)} has several columns that could be the target: choose with --target, one of "
            f"{some([head[i] for i in others])}."
        )
    raise InputError(
        f"{shown(table)} has no column of targets beside the files: add one called label or target."
    )


def _parts(table: Path, words: list[str], notes: list[str]) -> tuple[list[int], list[bool | None]]:
    """Which rows are used, and which of all rows are for testing, by the column 'split'."""
    if not set(words) <= set(PARTS):
        odd = sorted(set(words) - set(PARTS))
        raise InputError(
            f"The column 'split' of {shown(table)} must say train, validation or test, but has: {some(odd)}."
        )
    parts = [PARTS[word] for word in words]
    test, unused = choose_parts(sorted(set(parts)))
    if "train" not in parts:
        raise InputError(f"The column 'split' of {shown(table)} has no row for training.")
    if unused:
        notes.append(f"The validation part ({parts.count('validation')} items) is not used.")
    marks: list[bool | None] = [None if test is None else part == test for part in parts]
    return [i for i, part in enumerate(parts) if part in ("train", test)], marks
