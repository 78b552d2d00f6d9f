"""Splitting of a raw dataset into a training and a test part, and validation of both."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from augerino import tree
from augerino.data import splitting
from augerino.data.readers import masks
from augerino.data.readers.naming import some
from augerino.data.readers.raw import RawDataset
from augerino.data.readers.streams import ImageStream
from augerino.errors import InputError


def mark_test_part(raw: RawDataset, fraction: float, seed: int) -> np.ndarray:
    """Selects the samples of the test part, (N,) bool.

    Splits off a fraction if the data have no test part. Adds notes on the split to `raw`.
    """
    classes_in_masks = _classes_in_masks(raw) if raw.task == "segmentation" else None
    test = raw.test
    if test is None:
        test = _split_off(raw, classes_in_masks, fraction, seed)
    else:
        _check_counts(test)
    if classes_in_masks is not None:
        trained = classes_in_masks[~test].any(axis=0)
        _compare_classes(trained, classes_in_masks[test].any(axis=0), raw)
    elif raw.task == "classification":
        labels = raw.targets.numpy()
        _compare_classes(_present(labels[~test], raw), _present(labels[test], raw), raw)
    return test


def _split_off(
    raw: RawDataset, classes_in_masks: np.ndarray | None, fraction: float, seed: int
) -> np.ndarray:
    if classes_in_masks is not None:
        test = splitting.split_off_by_content(classes_in_masks, fraction, seed)
        balance = ", every class left in training"
    elif raw.task == "classification":
        test = splitting.split_off_by_class(
            raw.targets.numpy(), raw.class_names, fraction=fraction, seed=seed
        )
        balance = ", every class represented"
    else:
        test = splitting.split_off(_count(raw), fraction, seed)
        balance = ""
    raw.notes.append(
        f"No test part given: {test.mean():.0%} ({test.sum()} of {len(test)}) split off "
        f"with seed {seed}{balance}."
    )
    return test


def standardize(y: Tensor, train: np.ndarray, raw: RawDataset) -> Tensor:
    """(y - mean) / deviation, both of the training part; predicting the mean then has a loss of 1.

    Adds a note on the mean and the standard deviation to `raw`.

    y: (N, n_outputs)   train: (N,) bool
    """
    exact = y.double()
    kept = exact[torch.from_numpy(train)]
    mean = kept.mean(0)
    deviation = kept.std(0, correction=0)
    if not (deviation > 0).any():
        raise InputError(
            f"All targets to train on are the same ({_numbers(mean)}): nothing to predict."
        )
    deviation = torch.where(deviation > 0, deviation, 1.0)
    raw.notes.append(
        f"Targets are standardized: minus their mean ({_numbers(mean)}), "
        f"divided by their standard deviation ({_numbers(deviation)})."
    )
    return ((exact - mean) / deviation).float()


def take_part(inputs: Any, y: Any, chosen: np.ndarray) -> Any:
    """The chosen samples: a pair in memory, or a stream.   chosen: (N,) bool"""
    if isinstance(inputs, ImageStream):
        if isinstance(y, Tensor):
            y = _by_picture(inputs, y)
        return ImageStream(inputs.pictures, form=inputs.form, targets=y, order=inputs.order[chosen])
    places = np.flatnonzero(chosen)
    first = int(places[0])
    last = int(places[-1]) + 1
    if last - first == len(places):  # a slice needs no copy
        return tree.map(lambda leaf: leaf[first:last], inputs), y[first:last]
    index = torch.from_numpy(places)
    return tree.map(lambda leaf: leaf[index], inputs), y[index]


def _count(raw: RawDataset) -> int:
    if isinstance(raw.inputs, ImageStream):
        return len(raw.inputs)
    return tree.batch_size(raw.inputs)


def _by_picture(stream: ImageStream, y: Tensor) -> Tensor:
    """Targets indexed by image, as a stream needs them; zero for skipped images."""
    by_picture = torch.zeros((len(stream.pictures), *y.shape[1:]), dtype=y.dtype)
    by_picture[torch.from_numpy(stream.order)] = y
    return by_picture


def _classes_in_masks(raw: RawDataset) -> np.ndarray:
    """Which classes each mask contains, (N, n_classes) bool; adds a note on masks without any."""
    n = _count(raw)
    kept = raw.inputs.order if isinstance(raw.inputs, ImageStream) else np.arange(n)
    classes_in = masks.which_classes(raw.targets, len(raw.class_names), kept)
    if empty := int((~classes_in.any(axis=1)).sum()):
        raw.notes.append(
            f"{empty} of {n} masks contain only ignored pixels: they do not affect the loss."
        )
    return classes_in


def _present(labels: np.ndarray, raw: RawDataset) -> np.ndarray:
    """Which classes occur, (n_classes,) bool."""
    return np.bincount(labels, minlength=len(raw.class_names)) > 0


def _check_counts(test: np.ndarray) -> None:
    n_train = int((~test).sum())
    n_test = int(test.sum())
    if n_train < 2 or n_test < 1:
        raise InputError(
            "There must be at least two training samples and one test sample, "
            f"but there are {n_train} and {n_test}."
        )


def _compare_classes(trained: np.ndarray, tested: np.ndarray, raw: RawDataset) -> None:
    """Rejects parts that cannot be trained on or evaluated.

    Adds a note on classes that only the training part has.

    trained, tested: classes in the two parts, (n_classes,) bool
    """
    names = raw.class_names
    if (new := tested & ~trained).any():
        unknown = [name for name, is_new in zip(names, new, strict=True) if is_new]
        raise InputError(
            "The test part has classes that the training part lacks, so they cannot be learned: "
            f"{some(unknown)}."
        )
    if raw.kind == "masks" and trained.sum() < 2:
        present = "ignored pixels only"
        if trained.any():
            present = f"only the class '{names[int(trained.argmax())]}'"
        raise InputError(
            f"The training masks contain {present}: segmentation needs at least two classes."
        )
    if raw.kind == "masks" and not tested.any():
        raise InputError(
            "Every pixel of the test masks is ignored, so a model cannot be evaluated: "
            "label some pixels."
        )
    if (lacking := trained & ~tested).any():
        missing = [name for name, lacks in zip(names, lacking, strict=True) if lacks]
        raw.notes.append(f"The test part lacks classes: {some(missing)}.")


def _numbers(values: Tensor) -> str:
    return some([f"{value:.6g}" for value in values.tolist()])
