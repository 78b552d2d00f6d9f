"""Molecules in `.xyz`, `.extxyz` and `.db` files, read by ASE (Larsen et al. 2017)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from augerino.data.readers.archives import ArrayHeader
from augerino.data.readers.array_files import CHARGES, COUNTS, read_arrays
from augerino.data.readers.naming import INPUT_NAMES, shown
from augerino.data.readers.raw import RawDataset, ReadOptions
from augerino.errors import InputError

ENDINGS = (".xyz", ".extxyz", ".db")
_TAKEN = (*INPUT_NAMES, *COUNTS, *CHARGES)


def read(path: Path, options: ReadOptions) -> RawDataset:
    """Reads molecules as padded point clouds; properties that all of them have can be targets."""
    try:
        import ase  # noqa: F401
    except ImportError as error:
        raise InputError(
            f'Reading {shown(path)} needs ASE: pip install "augerino[molecules]".'
        ) from error
    raw = RawDataset(
        kind="points", inputs=None, targets=None, shape=(), root=path.parent, files=[path.name]
    )
    numbers: list[np.ndarray] = []
    positions: list[np.ndarray] = []
    properties: list[dict[str, Any]] = []
    n_periodic = 0
    try:
        for atoms, values in _molecules(path):
            numbers.append(np.asarray(atoms.numbers, dtype=np.int64))
            positions.append(np.asarray(atoms.positions, dtype=np.float64))
            properties.append(_scalars(values))
            n_periodic += bool(np.any(atoms.pbc))
    except Exception as error:  # ASE may raise any exception for a damaged file
        lines = (str(error) or type(error).__name__).splitlines()
        raise InputError(
            f"{shown(path)} is not a readable file of molecules: {shown(lines[0]).rstrip('.')}."
        ) from error
    if not numbers:
        raise InputError(f"{shown(path)} contains no molecules.")
    if n_periodic:
        raw.notes.append(
            f"{n_periodic} of {len(numbers)} molecules are in a periodic cell, which is not used."
        )
    arrays = _padded(numbers, positions)
    for name in properties[0]:
        if all(name in values for values in properties):
            column = np.array([values[name] for values in properties])
            if column.dtype.kind in "biufU":
                arrays[name] = column
    headers = {name: ArrayHeader(array.shape, array.dtype) for name, array in arrays.items()}
    return read_arrays(
        shown(path),
        headers,
        load=lambda names: {name: arrays[name] for name in names},
        options=options,
        raw=raw,
    )


def _scalars(values: dict[str, Any]) -> dict[str, Any]:
    """Properties of one number or string whose names have no other meaning."""
    return {
        str(name): value
        for name, value in values.items()
        if np.ndim(value) == 0 and str(name).lower() not in _TAKEN
    }


def _molecules(path: Path) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yields each molecule and its properties by name.

    The format is chosen by the extension alone, so that ASE tries no other format.
    """
    if path.suffix.lower() == ".db":
        from ase.db import connect

        with connect(str(path), type="db") as database:
            for row in database.select():
                energy = {"energy": row.energy} if "energy" in row else {}
                yield row.toatoms(), {**energy, **row.key_value_pairs}
        return
    from ase.io import iread

    for atoms in iread(str(path), index=":", format="extxyz"):
        computed = atoms.calc.results if atoms.calc is not None else {}
        yield atoms, {**computed, **atoms.info}


def _padded(numbers: list[np.ndarray], positions: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Positions (N, P, 3), charges (N, P) and num_atoms (N,), zero beyond the last atom."""
    count = np.array([len(atoms) for atoms in numbers])
    arrays: dict[str, np.ndarray] = {
        "positions": np.zeros((len(count), count.max(), 3), dtype=np.float32),
        "charges": np.zeros((len(count), count.max()), dtype=np.int64),
        "num_atoms": count,
    }
    for i, (atoms, places) in enumerate(zip(numbers, positions, strict=True)):
        arrays["positions"][i, : len(atoms)] = places
        arrays["charges"][i, : len(atoms)] = atoms
    return arrays
