"""Seeded random splits for data without a test part."""

from collections.abc import Sequence

import numpy as np

from augerino.errors import InputError

FEWEST = 3  # one to test and two to train on, since batch norm cannot train on one


def split_off(n: int, fraction: float, seed: int) -> np.ndarray:
    """Selects a random fraction of n samples for testing: at least 1, at most n - 2.

    returns (n,) bool, True for test samples

    Example:
        >>> int(split_off(10, 0.2, seed=0).sum())
        2
    """
    _check(n, fraction)
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
    _check(len(y), fraction)
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
        held: which classes each sample contains, (n, K) bool.
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
    _check(n, fraction)
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


def _check(n: int, fraction: float) -> None:
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
