"""Molecules as padded arrays, and what must hold of them."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from augerino.errors import InputError


def check_molecules(
    path: str, arrays: Mapping[str, np.ndarray], quantities: Iterable[str] = ()
) -> None:
    """Refuses molecules that cannot be, in a sentence that says which one is wrong and how.

    Args:
        path: for the sentence.
        arrays: positions (N, P, 3), charges (N, P), num_atoms (N,), and any others of length N.
        quantities: names of arrays that must hold one finite number a molecule.
    """
    for fault in _faults(arrays, quantities):
        raise InputError(f"{path}: {fault}.")


def _faults(arrays: Mapping[str, np.ndarray], quantities: Iterable[str]) -> Iterator[str]:
    """What is wrong, the first things first: what comes later may rely on what came before."""
    positions, charges, count = (arrays[name] for name in ("positions", "charges", "num_atoms"))
    n = len(positions) if positions.ndim else 0
    if n == 0:
        yield "there are no molecules"
    if positions.ndim != 3 or positions.shape[2] != 3 or positions.dtype.kind not in "fiu":
        yield f"positions should be numbers (N, P, 3), but are {positions.dtype} {positions.shape}"
    if charges.shape != positions.shape[:2] or charges.dtype.kind not in "iuf":
        yield f"charges should be numbers {positions.shape[:2]}, as positions are, but are {charges.dtype} {charges.shape}"
    for name, array in arrays.items():
        if array.shape[:1] != (n,):
            yield f"'{name}' should have one row for each of {n} molecules, but has shape {array.shape}"
    if count.ndim != 1 or count.dtype.kind not in "iu":
        yield f"num_atoms should be integers ({n},), but are {count.dtype} {count.shape}"
    if (count < 1).any():
        yield f"molecule {_first(count < 1)} has no atoms"
    room = charges.shape[1]
    if (count > room).any():
        i = _first(count > room)
        yield f"molecule {i} should have {count[i]} atoms, but there is room for {room}"
    there = np.arange(room) < count[:, None]
    wrong = ((charges > 0) != there).any(1)
    if wrong.any():
        i = _first(wrong)
        yield f"molecule {i} has {count[i]} atoms, but charges for {int((charges[i] > 0).sum())}, or not in front"
    wrong = (~np.isfinite(positions) & there[..., None]).any((1, 2))
    if wrong.any():
        yield f"molecule {_first(wrong)} has positions that are not finite"
    for name in quantities:
        array = arrays[name]
        if array.ndim != 1 or array.dtype.kind not in "fiu":
            yield f"'{name}' should be one number a molecule, but is {array.dtype} {array.shape}"
        if not np.isfinite(array).all():
            yield f"'{name}' of molecule {_first(~np.isfinite(array))} is not finite"


def _first(wrong: np.ndarray) -> int:
    return int(np.flatnonzero(wrong)[0])
