"""What targets mean: classes or quantities, told apart by a rule, and classes numbered 0, 1, ..., K - 1."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from augerino.data.arrays import Task
from augerino.data.readers.found import shown, some
from augerino.errors import InputError

FEW = 20  # whole-numbered floats of at most this many values are classes


@dataclass(frozen=True)
class Targets:
    """Labels (N,) int64 with their names, or quantities (N, outputs) float32."""

    task: Task
    y: Tensor
    class_names: tuple[str, ...]
    notes: tuple[str, ...]


def understand(y: np.ndarray, task: Task | None = None, names: Sequence[str] = ()) -> Targets:
    """Reads targets as classes or as quantities.

    Strings, booleans, integers and rows with a single 1 among zeros are classes; so are floats that are all whole and take at
    most 20 values, no more than half as many as there are items. Other numbers are quantities. `task` overrides the rule, where
    it can. Classes are numbered in the order of their values; `names` are those of the labels 0, 1, ...

    Example:
        >>> understand(np.array(["dog", "cat", "dog"])).y.tolist()
        [1, 0, 1]
        >>> understand(np.array([0.5, 1.0, 2.0])).task
        'regression'
    """
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.dtype.kind == "S":
        y = np.char.decode(y, "utf-8", "backslashreplace")
    if y.dtype.kind not in "Ubiuf":
        raise InputError(f"Targets must be numbers or strings, but are of type {y.dtype}.")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        items = ~np.isfinite(y.reshape(len(y), -1)).all(axis=1)
        raise InputError(
            f"{int(items.sum())} of {len(y)} targets are NaN or Inf (the first is number {int(items.argmax())}): remove or "
            "repair those items."
        )
    notes: list[str] = []
    if task != "regression" and _is_one_hot(y):
        notes.append(f"Targets are rows of {y.shape[1]} with a single 1: its place is the class.")
        y = y.argmax(axis=1)
    if task is None:
        task = "classification" if _are_classes(y) else "regression"
        if y.dtype.kind == "f" and y.ndim == 1 and (y == np.floor(y)).all():
            values = f"Targets are floats, but whole numbers of {len(np.unique(y))} values"
            notes.append(f"{values}: taken as {_word(task)} unless --task says otherwise.")
    if task == "segmentation":
        raise InputError(
            f"Segmentation needs a mask of class numbers for every image, but targets have shape {y.shape}."
        )
    if task == "regression":
        if y.ndim > 1:
            notes.append(f"Targets are {y[0].size} quantities an item.")
        return Targets("regression", _quantities(y), (), tuple(notes))
    labels, class_names, more = _classes(y, tuple(names))
    return Targets("classification", torch.from_numpy(labels), class_names, (*notes, *more))


def _word(task: Task) -> str:
    return "classes" if task == "classification" else "quantities"


def _is_one_hot(y: np.ndarray) -> bool:
    return (
        y.ndim == 2
        and y.shape[1] > 1
        and y.dtype.kind in "biuf"
        and bool(((y == 0) | (y == 1)).all() and (y.sum(1) == 1).all())
    )


def _are_classes(y: np.ndarray) -> bool:
    if y.ndim > 1:
        return False
    if y.dtype.kind != "f":
        return True
    return bool((y == np.floor(y)).all()) and len(np.unique(y)) <= min(FEW, len(y) / 2)


def _quantities(y: np.ndarray) -> Tensor:
    try:
        values = y.astype(np.float64)
    except ValueError as error:
        raise InputError(
            f"Regression needs numbers as targets, but there are names: {some(np.unique(y).tolist())}."
        ) from error
    if not np.isfinite(values).all() or np.abs(values).max() > np.finfo(np.float32).max:
        raise InputError(
            "Targets must be finite numbers within the range of float32: remove or repair those items."
        )
    return torch.from_numpy(values.reshape(len(y), -1).astype(np.float32))


def _classes(
    y: np.ndarray, names: tuple[str, ...]
) -> tuple[np.ndarray, tuple[str, ...], list[str]]:
    if y.ndim > 1:
        raise InputError(
            f"Classification needs one label an item, but targets have shape {y.shape}: choose one, or --task regression."
        )
    if y.dtype.kind == "f":
        if not (y == np.floor(y)).all():
            raise InputError(
                f"Classes must be whole numbers or names, but targets hold {y[y != np.floor(y)][0]:g}: use --task regression."
            )
        if np.abs(y).max() > 2**53:
            raise InputError(
                f"Classes must be whole numbers of a moderate size, but targets hold {np.abs(y).max():g}."
            )
        y = y.astype(np.int64)
    values, labels = np.unique(y, return_inverse=True)
    if len(values) < 2:
        raise InputError(
            f"There is only one class ({shown(values[0])}) in the data: nothing can be told apart."
        )
    if y.dtype.kind == "U":
        return labels.astype(np.int64), tuple(shown(value) for value in values), []
    values = values.astype(np.int64)
    if names and (values[0] < 0 or values[-1] >= len(names)):
        raise InputError(
            f"There are {len(names)} class names, so labels must be 0 to {len(names) - 1}, but they go from {values[0]} to "
            f"{values[-1]}."
        )
    notes = []
    present = tuple(names[value] if names else str(value) for value in values)
    if values[0] != 0 or values[-1] != len(values) - 1:
        were = some([str(value) for value in values])
        notes.append(f"Labels {were} are renumbered 0 to {len(values) - 1}.")
    if len(names) > len(present):
        notes.append(
            f"Classes without any item are left out: {some([name for name in names if name not in present])}."
        )
    return labels.astype(np.int64), present, notes
