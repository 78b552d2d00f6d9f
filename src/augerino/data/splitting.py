"""Splitting of a raw dataset into a training and a test part, and validation of both."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from augerino import tree
from augerino.data.readers import masks
from augerino.data.readers.naming import some
from augerino.data.readers.raw import RawDataset
from augerino.data.readers.streams import ImageStream
from augerino.errors import InputError

FEWEST = 3  # one test sample and two training samples, since batch norm needs two


def mark_test_part(raw: RawDataset, fraction: float, seed: int) -> np.ndarray:
    """Selects the samples of the test part, (N,) bool.

    Splits off a fraction if the data have no test part. Adds notes on the split to `raw`.
    """
    classes_in_masks = None
    if raw.task == "segmentation":
        classes_in_masks = _classes_in_masks(raw)
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
        test = split_off_by_content(classes_in_masks, fraction, seed)
        balance = ", every class left in training"
    elif raw.task == "classification":
        test = split_off_by_class(
            raw.targets.numpy(), raw.class_names, fraction=fraction, seed=seed
        )
        balance = ", every class represented"
    else:
        test = split_off(_count(raw), fraction, seed)
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
    kept = np.arange(n)
    if isinstance(raw.inputs, ImageStream):
        kept = raw.inputs.order
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


def split_off(n: int, fraction: float, seed: int) -> np.ndarray:
    """Selects a random fraction of n samples for testing: at least 1, at most n - 2.

    returns (n,) bool, True for test samples

    Example:
        >>> int(split_off(10, 0.2, seed=0).sum())
        2
    """
    _check_split(n, fraction)
    n_test = _clip(round(fraction * n), n - 2)
    test = np.zeros(n, dtype=bool)
    test[_random(seed).permutation(n)[:n_test]] = True
    return test


def split_off_by_class(
    y: np.ndarray, names: Sequence[str], fraction: float, seed: int
) -> np.ndarray:
    """Selects a random fraction of every class for testing.

    Every class has at least one sample in each part.

    Args:
        y: labels 0, ..., K - 1, (n,).
        names: class names, for error messages.
        fraction: fraction of the samples to select, between 0 and 1.
        seed: seed of a private generator.

    Returns:
        (n,) bool, True for test samples.

    Example:
        >>> test = split_off_by_class(np.repeat([0, 1], [10, 2]), ("a", "b"), 0.2, seed=0)
        >>> int(test[:10].sum()), int(test[10:].sum())
        (2, 1)
    """
    _check_split(len(y), fraction)
    random = _random(seed)
    test = np.zeros(len(y), dtype=bool)
    for label in range(len(names)):
        indices = np.flatnonzero(y == label)
        if len(indices) < 2:
            raise InputError(
                f"The class '{names[label]}' has only one sample, but training and testing need "
                "one each: add samples, remove the class, provide a test part, or, if the labels "
                "are quantities, use --task regression."
            )
        n_test = _clip(round(fraction * len(indices)), len(indices) - 1)
        test[random.permutation(indices)[:n_test]] = True
    return test


def split_off_by_content(held: np.ndarray, fraction: float, seed: int) -> np.ndarray:
    """Selects a random fraction of samples with several classes each for testing.

    Every class stays in at least one training sample. Samples without any class stay in the
    training part, since they cannot be evaluated.

    Args:
        held: whether each sample contains each class, (n, K) bool.
        fraction: fraction of the samples, between 0 and 1; fewer are selected if classes are rare.
        seed: seed of a private generator.

    Returns:
        (n,) bool, True for test samples.

    Example:
        >>> held = np.array([[True, True], [True, False], [True, False], [False, False]])
        >>> split_off_by_content(held, 0.5, seed=0).tolist()
        [False, True, True, False]
    """
    n = len(held)
    _check_split(n, fraction)
    remaining = held.sum(axis=0)
    n_test = _clip(round(fraction * n), n - 2)
    test = np.zeros(n, dtype=bool)
    for i in _random(seed).permutation(n):
        if test.sum() < n_test and held[i].any() and (remaining[held[i]] > 1).all():
            test[i] = True
            remaining = remaining - held[i]
    if not test.any():
        raise InputError(
            "No sample can be split off for testing, since each one contains a class that no other "
            "has: add samples, or provide a test part."
        )
    return test


def _check_split(n: int, fraction: float) -> None:
    if not 0 < fraction < 1:
        raise InputError(
            f"The fraction of the test part must lie between 0 and 1, but got {fraction}."
        )
    if n < FEWEST:
        raise InputError(
            f"There are too few samples to split off a test part: {n}, "
            f"but at least {FEWEST} are needed."
        )


def _clip(count: int, most: int) -> int:
    return min(max(count, 1), most)


def _random(seed: int) -> np.random.Generator:
    if seed < 0:
        raise InputError(f"seed must be a non-negative integer, but got {seed}.")
    return np.random.default_rng(seed)
