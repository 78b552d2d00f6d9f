"""Interpretation of targets as classes, numbered 0, ..., K - 1, or as regression targets."""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from augerino.data.arrays import Task
from augerino.data.readers import masks
from augerino.data.readers.naming import shown, some
from augerino.data.readers.raw import RawDataset
from augerino.errors import InputError

FEW = 20  # integer-valued floats with at most this many distinct values are classes


def interpret_targets(raw: RawDataset, task: Task | None, ignore: int) -> RawDataset:
    """Returns a copy with task, class names and targets as tensors; masks on disk stay there.

    Strings, booleans, integers and one-hot rows are classes. So are integer-valued floats with at
    most min(20, N / 2) distinct values. Other numbers are regression targets. `task` overrides the
    rule. Classes are numbered in the order of their values.

    Example:
        >>> y = np.array(["dog", "cat", "dog"])
        >>> raw = RawDataset("values", torch.zeros(3, 1), y, shape=(1,))
        >>> interpret_targets(raw, None, 255).targets.tolist()
        [1, 0, 1]
    """
    if raw.kind == "masks":
        found = _interpret_masks(raw, ignore)
    else:
        found = _interpret(raw, task)
    summary = f"Taken as {found.task}"
    if found.class_names:
        summary += f" of {len(found.class_names)} classes: {some(list(found.class_names), 10)}"
    return replace(found, notes=[*found.notes, f"{summary}."])


def _interpret_masks(raw: RawDataset, ignore: int) -> RawDataset:
    if not isinstance(raw.targets, np.ndarray):
        return replace(raw, task="segmentation")
    y, names, notes = masks.number_array(raw.targets, raw.class_names, ignore)
    return replace(
        raw, task="segmentation", targets=y, class_names=names, notes=[*raw.notes, *notes]
    )


def _interpret(raw: RawDataset, task: Task | None) -> RawDataset:
    if len(raw.targets) == 0:
        raise InputError("The dataset is empty.")
    y = _check_type(raw.targets)
    notes: list[str] = []
    if task != "regression" and _is_one_hot(y):
        notes.append(f"Targets are one-hot rows of {y.shape[1]}: converted to class numbers.")
        y = y.argmax(axis=1)
    if task is None:
        task = _detect_task(y)
        if y.dtype.kind == "f" and y.ndim == 1 and (y == np.floor(y)).all():
            n_values = len(np.unique(y))
            notes.append(
                f"Targets are integer-valued floats with {n_values} distinct values: "
                f"taken as {_word(task)}; override with --task."
            )
    if task == "segmentation":
        raise InputError(
            "Segmentation needs a mask of class numbers for every image, "
            f"but targets have shape {y.shape}."
        )
    targets: Tensor
    class_names: tuple[str, ...] = ()
    if task == "regression":
        if y.ndim > 1:
            notes.append(f"Targets are {y[0].size} quantities per sample.")
        targets = _quantities(y)
    else:
        labels, class_names, more = _classes(y, raw.class_names)
        targets = torch.from_numpy(labels)
        notes += more
    return replace(
        raw, task=task, targets=targets, class_names=class_names, notes=[*raw.notes, *notes]
    )


def _check_type(y: np.ndarray) -> np.ndarray:
    """Targets as numbers or strings, single columns flattened; rejects other types, NaN and Inf."""
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.dtype.kind == "S":
        y = np.char.decode(y, "utf-8", "backslashreplace")
    if y.dtype.kind not in "Ubiuf":
        raise InputError(f"Targets must be numbers or strings, but are of type {y.dtype}.")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        bad = ~np.isfinite(y.reshape(len(y), -1)).all(axis=1)
        raise InputError(
            f"{int(bad.sum())} of {len(y)} targets are NaN or Inf "
            f"(the first is number {int(bad.argmax())}): remove or repair those samples."
        )
    return y


def _word(task: Task) -> str:
    if task == "classification":
        return "classes"
    return "quantities"


def _is_one_hot(y: np.ndarray) -> bool:
    return (
        y.ndim == 2
        and y.shape[1] > 1
        and y.dtype.kind in "biuf"
        and bool(((y == 0) | (y == 1)).all() and (y.sum(1) == 1).all())
    )


def _detect_task(y: np.ndarray) -> Task:
    if _are_classes(y):
        return "classification"
    return "regression"


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
            f"Regression needs numbers as targets, but there are names: "
            f"{some(np.unique(y).tolist())}."
        ) from error
    if not np.isfinite(values).all() or np.abs(values).max() > np.finfo(np.float32).max:
        raise InputError(
            "Targets must be finite numbers within the range of float32: "
            "remove or repair those samples."
        )
    return torch.from_numpy(values.reshape(len(y), -1).astype(np.float32))


def _classes(
    y: np.ndarray, names: tuple[str, ...]
) -> tuple[np.ndarray, tuple[str, ...], list[str]]:
    """Labels 0, ..., K - 1, (N,) int64; the names of the K classes; notes."""
    if y.ndim > 1:
        raise InputError(
            f"Classification needs one label per sample, but targets have shape {y.shape}: "
            "choose one column, or use --task regression."
        )
    if y.dtype.kind == "f":
        if not (y == np.floor(y)).all():
            raise InputError(
                "Classes must be integers or names, "
                f"but targets contain {y[y != np.floor(y)][0]:g}: use --task regression."
            )
        if np.abs(y).max() > 2**53:
            raise InputError(
                "Class numbers must be at most 2**53 in absolute value, "
                f"but targets contain {np.abs(y).max():g}."
            )
        y = y.astype(np.int64)
    values, labels = np.unique(y, return_inverse=True)
    if len(values) < 2:
        raise InputError(
            f"There is only one class ({shown(values[0])}) in the data: "
            "classification needs at least two."
        )
    if y.dtype.kind == "U":
        return labels.astype(np.int64), tuple(shown(value) for value in values), []
    values = values.astype(np.int64)
    if names and (values[0] < 0 or values[-1] >= len(names)):
        raise InputError(
            f"There are {len(names)} class names, so labels must be 0 to {len(names) - 1}, "
            f"but they go from {values[0]} to {values[-1]}."
        )
    notes = []
    present = tuple(str(value) for value in values)
    if names:
        present = tuple(names[value] for value in values)
    if values[0] != 0 or values[-1] != len(values) - 1:
        before = some([str(value) for value in values])
        notes.append(f"Labels {before} are renumbered 0 to {len(values) - 1}.")
    if len(names) > len(present):
        empty = [name for name in names if name not in present]
        notes.append(f"Classes without any sample are left out: {some(empty)}.")
    return labels.astype(np.int64), present, notes
