"""Embedded datasets by name: synthetic data with exactly known symmetries."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from augerino.data.arrays import Kind
from augerino.data.dataset import Dataset
from augerino.data.synthetic.clouds import clouds
from augerino.data.synthetic.letters import CLASS_NAMES as LETTER_NAMES
from augerino.data.synthetic.letters import letters
from augerino.data.synthetic.signals import signals
from augerino.data.synthetic.sprites import CLASS_NAMES, sprites

N_LETTERS = 120  # few, so that a symmetry that is not known costs accuracy
N_TRAIN = 2000
N_TEST = 1000


def _letters(seed: int) -> Dataset:
    return _embedded(
        "letters",
        "images",
        train=letters(N_LETTERS, seed=2 * seed),
        test=letters(N_TEST, seed=2 * seed + 1),
        class_names=LETTER_NAMES,
        true_extent={"rotate": math.pi / 4},
        seed=seed,
    )


def _sprites(seed: int) -> Dataset:
    return _embedded(
        "sprites",
        "images",
        train=sprites(N_TRAIN, seed=2 * seed),
        test=sprites(N_TEST, seed=2 * seed + 1),
        class_names=CLASS_NAMES,
        true_extent={"rotate": math.pi / 4},
        seed=seed,
    )


def _signals(seed: int) -> Dataset:
    train = signals(N_TRAIN, seed=2 * seed)
    return _embedded(
        "signals",
        "signals",
        train=train,
        test=signals(N_TEST, seed=2 * seed + 1),
        class_names=train.class_names,
        true_extent=train.true,
        seed=seed,
    )


def _clouds(seed: int) -> Dataset:
    train = clouds(N_TRAIN, seed=2 * seed)
    return _embedded(
        "clouds",
        "points",
        train=train,
        test=clouds(N_TEST, seed=2 * seed + 1),
        class_names=train.class_names,
        true_extent=train.true,
        seed=seed,
    )


def _embedded(
    name: str,
    kind: Kind,
    *,
    train: Any,
    test: Any,
    class_names: tuple[str, ...],
    true_extent: Mapping[str, float],
    seed: int,
) -> Dataset:
    """Wraps two drawn parts, each with fields x and y, as a `Dataset`."""
    x: Tensor = train.x
    return Dataset(
        name=name,
        kind=kind,
        task="classification",
        train=(train.x, train.y),
        test=(test.x, test.y),
        class_names=class_names,
        n_outputs=len(class_names),
        shape=tuple(x.shape[1:]),
        path=name,
        fingerprint=f"embedded:{name}:{seed}",
        notes=(f"embedded data, drawn with seed {seed}",),
        true_extent=true_extent,
    )


#: Name of an embedded dataset -> function that draws it from a seed.
EMBEDDED: dict[str, Callable[[int], Dataset]] = {
    "letters": _letters,
    "sprites": _sprites,
    "signals": _signals,
    "clouds": _clouds,
}
