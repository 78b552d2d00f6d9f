"""Molecules in `.xyz`, `.extxyz` and `.db` files, read by ASE (Larsen et al. 2017): atoms, and what is written beside them."""

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
    """Reads molecules as padded point clouds; a property that all of them have may be the target."""
    try:
        import ase  # noqa: F401
    except ImportError as error:
        raise InputError(
            f'Reading {shown(path)} needs ASE: pip install "augerino[molecules]".'
        ) from error
    raw = RawDataset("points", None, None, (), root=path.parent, files=[path.name])
    numbers, positions, properties, cells = [], [], [], 0
    try:
        for atoms, values in _molecules(path):
            numbers.append(np.asarray(atoms.numbers, dtype=np.int64))
            positions.append(np.asarray(atoms.positions, dtype=np.float64))
            properties.append(
                {
                    str(k): v
                    for k, v in values.items()
                    if np.ndim(v) == 0 and str(k).lower() not in _TAKEN
                }
            )
            cells += bool(np.any(atoms.pbc))
    except Exception as error:  # a damaged file leads ASE to raise whatever it may
        lines = (str(error) or type(error).__name__).splitlines()
        raise InputError(
            f"{shown(path)} is not a readable file of molecules: {shown(lines[0]).rstrip('.')}."
        ) from error
    if not numbers:
        raise InputError(f"{shown(path)} holds no molecules.")
    if cells:
        raw.notes.append(
            f"{cells} of {len(numbers)} molecules are in a periodic cell, which is not used."
        )
    arrays = _padded(numbers, positions)
    for name in properties[0]:
        if all(name in values for values in properties):
            column = np.array([values[name] for values in properties])
            if column.dtype.kind in "biufU":
                arrays[name] = column
    headers = {name: ArrayHeader(array.shape, array.dtype) for name, array in arrays.items()}
    return read_arrays(
        shown(path), headers, lambda names: {name: arrays[name] for name in names}, options, raw
    )


def _molecules(path: Path) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Each molecule and its properties by name. The format goes by the ending alone, so that nothing else is ever opened."""
    if path.suffix.lower() == ".db":
        from ase.db import connect

        with connect(str(path), type="db") as database:
            for row in database.select():
                yield (
                    row.toatoms(),
                    {**({"energy": row.energy} if "energy" in row else {}), **row.key_value_pairs},
                )
        return
    from ase.io import iread

    for atoms in iread(str(path), index=":", format="extxyz"):
        computed = atoms.calc.results if atoms.calc is not None else {}
        yield atoms, {**computed, **atoms.info}


def _padded(numbers: list[np.ndarray], positions: list[np.ndarray]) -> dict[str, np.ndarray]:
    count = np.array([len(atoms) for atoms in numbers])
    arrays: dict[str, np.ndarray] = {
        "positions": np.zeros((len(count), count.max(), 3), dtype=np.float32),
        "charges": np.zeros((len(count), count.max()), dtype=np.int64),
        "num_atoms": count,
    }
    for i, (atoms, places) in enumerate(zip(numbers, positions, strict=True)):
        arrays["positions"][i, : len(atoms)], arrays["charges"][i, : len(atoms)] = places, atoms
    return arrays
