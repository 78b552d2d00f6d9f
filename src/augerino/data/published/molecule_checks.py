"""Validates molecules that are stored as padded arrays."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from augerino.errors import InputError


def check_molecules(
    path: str, arrays: Mapping[str, np.ndarray], quantities: Iterable[str] = ()
) -> None:
    """Raises `InputError` with the first invalid molecule and the reason.

    Args:
        path: path of the file, for the error message.
        arrays: positions (N, P, 3), charges (N, P), num_atoms (N,), and any others of length N.
        quantities: names of arrays that must hold one finite number per molecule.
    """
    for fault in _faults(arrays, quantities):
        raise InputError(f"{path}: {fault}.")


def _faults(arrays: Mapping[str, np.ndarray], quantities: Iterable[str]) -> Iterator[str]:
    """Descriptions of all faults; a later check may assume that the earlier ones passed."""
    positions = arrays["positions"]
    charges = arrays["charges"]
    count = arrays["num_atoms"]
    n = len(positions) if positions.ndim else 0
    if n == 0:
        yield "there are no molecules"
    if positions.ndim != 3 or positions.shape[2] != 3 or positions.dtype.kind not in "fiu":
        yield f"positions should be numbers (N, P, 3), but are {positions.dtype} {positions.shape}"
    if charges.shape != positions.shape[:2] or charges.dtype.kind not in "iuf":
        yield (
            f"charges should be numbers {positions.shape[:2]}, as positions are, "
            f"but are {charges.dtype} {charges.shape}"
        )
    for name, array in arrays.items():
        if array.shape[:1] != (n,):
            yield (
                f"'{name}' should have one row for each of {n} molecules, "
                f"but has shape {array.shape}"
            )
    if count.ndim != 1 or count.dtype.kind not in "iu":
        yield f"num_atoms should be integers ({n},), but are {count.dtype} {count.shape}"
    if (count < 1).any():
        yield f"molecule {_first(count < 1)} has no atoms"
    size = charges.shape[1]
    if (count > size).any():
        i = _first(count > size)
        yield f"molecule {i} should have {count[i]} atoms, but the arrays hold only {size}"
    is_atom = np.arange(size) < count[:, None]
    wrong = ((charges > 0) != is_atom).any(1)
    if wrong.any():
        i = _first(wrong)
        n_charges = int((charges[i] > 0).sum())
        yield (
            f"molecule {i} has {count[i]} atoms and {n_charges} charges, but the charges of its "
            "atoms should come first, and zeros after them"
        )
    wrong = (~np.isfinite(positions) & is_atom[..., None]).any((1, 2))
    if wrong.any():
        yield f"molecule {_first(wrong)} has positions that are not finite"
    for name in quantities:
        array = arrays[name]
        if array.ndim != 1 or array.dtype.kind not in "fiu":
            yield f"'{name}' should be one number per molecule, but is {array.dtype} {array.shape}"
        if not np.isfinite(array).all():
            yield f"'{name}' of molecule {_first(~np.isfinite(array))} is not finite"


def _first(wrong: np.ndarray) -> int:
    return int(np.flatnonzero(wrong)[0])
