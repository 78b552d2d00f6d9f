"""A test part split off from data that come without one: seeded, every class in both parts."""

from collections.abc import Sequence

import numpy as np

from augerino.errors import InputError

FEWEST = 3  # two to train on, since batch norm cannot train on one, and one to test


def split_off(n: int, share: float, seed: int) -> np.ndarray:
    """Marks a share of n items for testing, at least one, leaving at least two.   returns (n,) bool

    Example:
        >>> int(split_off(10, 0.2, seed=0).sum())
        2
    """
    _check_share(share)
    if n < FEWEST:
        raise InputError(
            f"There are too few data to split off a test part: {n}, but at least {FEWEST} are needed."
        )
    test = np.zeros(n, dtype=bool)
    test[_random(seed).permutation(n)[: min(max(round(share * n), 1), n - 2)]] = True
    return test


def split_off_by_class(y: np.ndarray, names: Sequence[str], share: float, seed: int) -> np.ndarray:
    """Marks a share of every class for testing: at least one item of each, and at least one of each stays.

    Args:
        y: labels 0, ..., K - 1, (n,).
        names: of the classes, for messages.
        share: of the items, between 0 and 1.
        seed: of this draw alone.

    Example:
        >>> test = split_off_by_class(np.repeat([0, 1], [10, 2]), ("a", "b"), 0.2, seed=0)
        >>> int(test[:10].sum()), int(test[10:].sum())
        (2, 1)
    """
    _check_share(share)
    if len(y) < FEWEST:
        raise InputError(
            f"There are too few data to split off a test part: {len(y)}, but at least {FEWEST} are needed."
        )
    random = _random(seed)
    test = np.zeros(len(y), dtype=bool)
    for label in range(len(names)):
        items = np.flatnonzero(y == label)
        if len(items) < 2:
            raise InputError(
                f"The class '{names[label]}' has only one item, but one is needed to train and one to test: add some, leave the "
                "class out, give a test part yourself, or, if the labels are quantities, say --task regression."
            )
        test[
            random.permutation(items)[: min(max(round(share * len(items)), 1), len(items) - 1)]
        ] = True
    return test


def split_off_by_content(held: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Marks a share of items that hold several classes each for testing, so that every class stays in one that is left.

    Items that hold nothing are left, too, since nothing can be judged by them.

    Args:
        held: which classes are in each item, (n, K) bool.
        share: of the items, between 0 and 1; fewer are taken where classes are rare.
        seed: of this draw alone.

    Example:
        >>> held = np.array([[True, True], [True, False], [True, False], [False, False]])
        >>> split_off_by_content(held, 0.5, seed=0).tolist()
        [False, True, True, False]
    """
    _check_share(share)
    n, remaining = len(held), held.sum(axis=0)
    if n < FEWEST:
        raise InputError(
            f"There are too few data to split off a test part: {n}, but at least {FEWEST} are needed."
        )
    wanted = min(max(round(share * n), 1), n - 2)
    test = np.zeros(n, dtype=bool)
    for i in _random(seed).permutation(n):
        if test.sum() < wanted and held[i].any() and (remaining[held[i]] > 1).all():
            test[i] = True
            remaining = remaining - held[i]
    if not test.any():
        raise InputError(
            "No item can be split off for testing, since each one holds a class that no other has: add some, or give a test part "
            "yourself."
        )
    return test


def _check_share(share: float) -> None:
    if not 0 < share < 1:
        raise InputError(f"The share of the test part must lie between 0 and 1, but got {share}.")


def _random(seed: int) -> np.random.Generator:
    if seed < 0:
        raise InputError(f"seed must be a whole number of at least 0, but got {seed}.")
    return np.random.default_rng(seed)
