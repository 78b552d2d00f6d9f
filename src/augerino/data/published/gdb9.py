"""Reads the published files of QM9 (Ramakrishnan et al. 2014).

They are an archive of text files, a list of molecules to exclude, and the energies of free atoms.
The lines of a text file are: the number of atoms; the word gdb, the number of the molecule and 15
properties; `element x y z charge` for each atom; frequencies and names, which are not read.
Exponents may be written as `1.5*^-6`.
"""

import bz2
import math
import tarfile
from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np

from augerino.data.readers.naming import shown
from augerino.data.readers.raw import Progress
from augerino.errors import InputError

ELEMENTS = {"H": 1, "C": 6, "N": 7, "O": 8, "F": 9}
PROPERTIES = (
    "a",
    "b",
    "c",
    "mu",
    "alpha",
    "homo",
    "lumo",
    "gap",
    "r2",
    "zpve",
    "u0",
    "u",
    "h",
    "g",
    "cv",
)
REFERENCES = ("zpve", "u0", "u", "h", "g", "cv")  # the columns of atomref.txt
_LARGEST = 1 << 20  # bytes of one text file; the largest of QM9 has about 4,000
_PROGRESS_INTERVAL = 1000  # files between two reports of progress


def read_archive(
    path: Path, excluded: Collection[int] = (), on_progress: Progress | None = None
) -> dict[str, np.ndarray]:
    """All molecules that are not excluded, sorted by number and padded with zeros.

    Args:
        path: `dsgdb9nsd.xyz.tar.bz2`, or an archive of the same form.
        excluded: numbers of molecules to skip.
        on_progress: called with the number of bytes read and the size of the archive.
    """
    numbers = []
    charges = []
    positions = []
    properties = []
    for name, text in _texts(path, on_progress):
        try:
            number, atoms, where, values = parse(text)
        except ValueError as error:
            raise InputError(
                f"{shown(name)} in {shown(path)} is not a molecule of QM9: {error}."
            ) from error
        if number not in excluded:
            numbers.append(number)
            charges.append(np.array(atoms, dtype=np.uint8))
            positions.append(np.array(where, dtype=np.float32))
            properties.append(values)
    if not numbers:
        raise InputError(
            f"{shown(path)} holds no molecules to use: it should hold text files named *.xyz."
        )
    order = np.argsort(numbers, kind="stable")
    largest = max(len(atoms) for atoms in charges)
    arrays: dict[str, np.ndarray] = {
        "positions": np.zeros((len(numbers), largest, 3), dtype=np.float32),
        "charges": np.zeros((len(numbers), largest), dtype=np.uint8),
        "num_atoms": np.array([len(charges[i]) for i in order], dtype=np.int64),
        "index": np.array(numbers, dtype=np.int64)[order],
    }
    for row, i in enumerate(order):
        arrays["positions"][row, : len(charges[i])] = positions[i]
        arrays["charges"][row, : len(charges[i])] = charges[i]
    table = np.array(properties, dtype=np.float64)[order]
    return arrays | {name: table[:, column] for column, name in enumerate(PROPERTIES)}


def _texts(path: Path, on_progress: Progress | None) -> Iterator[tuple[str, str]]:
    """Yields names and contents of the `.xyz` files of an archive, without unpacking it."""
    size = path.stat().st_size
    try:
        # Decompresses with bz2, because tarfile does not notice a truncated compressed stream.
        with (
            open(path, "rb") as file,
            bz2.open(file) as plain,
            tarfile.open(fileobj=plain, mode="r|") as archive,
        ):
            for count, member in enumerate(archive):
                archive.members = []  # type: ignore[attr-defined]  # frees the names read so far
                if not member.isfile() or not member.name.endswith(".xyz"):
                    continue
                content = archive.extractfile(member)
                if content is None:
                    continue
                if member.size > _LARGEST:
                    raise InputError(
                        f"{shown(member.name)} in {shown(path)} has {member.size} bytes, "
                        "too many for a molecule."
                    )
                yield member.name, content.read().decode("ascii", "backslashreplace")
                if on_progress is not None and count % _PROGRESS_INTERVAL == 0:
                    on_progress(file.tell(), size)
            plain.read()  # to the end, which verifies the checksum
    except (tarfile.TarError, EOFError, OSError) as error:
        raise InputError(
            f"{shown(path)} is not a complete archive of molecules: {str(error).rstrip('.')}. "
            "Remove it and download it again."
        ) from error
    if on_progress is not None:
        on_progress(size, size)


def parse(text: str) -> tuple[int, list[int], list[list[float]], list[float]]:
    """A molecule's number, atomic numbers, positions and properties.

    Example:
        >>> numbers = " ".join(str(i) for i in range(15))
        >>> parse(f"1\\ngdb 7 {numbers}\\nC 0.5 1.5*^-6 0 -0.1\\n")[:3]
        (7, [6], [[0.5, 1.5e-06, 0.0]])
    """
    lines = text.splitlines()
    if len(lines) < 2 or not lines[0].strip().isdigit():
        raise ValueError("it does not start with the number of atoms")
    count = int(lines[0])
    head = lines[1].split()
    if count < 1:
        raise ValueError("it has no atoms")
    if len(head) != 2 + len(PROPERTIES) or not head[1].isdigit():
        raise ValueError(
            f"its second line should be gdb, a number and {len(PROPERTIES)} properties"
        )
    rows = [line.split() for line in lines[2 : 2 + count]]
    if len(rows) < count or any(len(row) < 4 for row in rows):
        raise ValueError(f"it should have {count} atoms, but has fewer")
    unknown = [row[0] for row in rows if row[0] not in ELEMENTS]
    if unknown:
        raise ValueError(
            f"it has an atom '{shown(unknown[0])}', which is none of {', '.join(ELEMENTS)}"
        )
    number = int(head[1])
    atoms = [ELEMENTS[row[0]] for row in rows]
    positions = [[_number(value) for value in row[1:4]] for row in rows]
    properties = [_number(value) for value in head[2:]]
    return number, atoms, positions, properties


def _number(text: str) -> float:
    try:
        value = float(text.replace("*^", "e"))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"'{shown(text)}' is not a finite number")
    return value


def read_excluded(path: Path) -> frozenset[int]:
    """The numbers in `uncharacterized.txt`: molecules that failed a consistency check."""
    first_words = [line.split()[0] for line in _read(path).splitlines() if line.strip()]
    numbers = frozenset(int(word) for word in first_words if word.isdigit())
    if not numbers:
        raise InputError(f"{shown(path)} should list one number per line, but has none.")
    return numbers


def read_references(path: Path) -> dict[str, np.ndarray]:
    """Properties of free atoms from `atomref.txt`: one array each, indexed by atomic number."""
    table = {}
    for line in _read(path).splitlines():
        words = line.split()
        if len(words) == 1 + len(REFERENCES) and words[0] in ELEMENTS:
            try:
                table[words[0]] = [_number(word) for word in words[1:]]
            except ValueError as error:
                raise InputError(f"{shown(path)} is not a table of free atoms: {error}.") from error
    if set(table) != set(ELEMENTS):
        raise InputError(
            f"{shown(path)} should have a line for each of {', '.join(ELEMENTS)}, "
            f"but has {', '.join(table) or 'none'}."
        )
    energies = np.zeros((max(ELEMENTS.values()) + 1, len(REFERENCES)))
    for element, row in table.items():
        energies[ELEMENTS[element]] = row
    return {name: energies[:, column] for column, name in enumerate(REFERENCES)}


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii", "backslashreplace")
    except OSError as error:
        raise InputError(f"{shown(path)} cannot be read: {error.strerror or error}.") from error
