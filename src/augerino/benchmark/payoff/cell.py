"""A cell of the payoff suite: data, network and budget, the same for every contestant."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Generator, Tensor, nn

from augerino import tree
from augerino.augmentation import Augmentation
from augerino.data.batches import count_batches
from augerino.learning.recipe import Recipe

Kind = Literal["photographs", "digits", "faces", "signals", "clouds", "molecules"]
Pair = tuple[Any, Tensor]  # inputs and targets
FIRST_DEV_SEED = 100
DEV_FRACTION = 2 / 3  # of a pool of training items that is trained on with a development seed


@dataclass(frozen=True, eq=False)
class Split:
    """The data of a cell for one seed.

    Args:
        train: inputs and targets to train on.
        test: inputs and targets to score.
        n_outputs: number of classes, or of values per target.
        scale: of the targets of a regression, in the unit of the cell.
    """

    train: Pair
    test: Pair
    n_outputs: int
    scale: float = 1.0


Load = Callable[[int, str | None], Split]
MakeNet = Callable[[Split], nn.Module]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One row of the suite: what is trained, for how long, and how it is scored.

    Args:
        name: unique.
        kind: of data; selects which contestants apply.
        load: the data of (seed, folder of data files). Raises `InputError` if a file is missing.
            Seeds of at least `FIRST_DEV_SEED` are for choices: their test part is made of items of
            the training pool that are not trained on.
        net: a new network for the data.
        steps: of one training.
        standard: the usual fixed augmentation of this kind of data.
        oracle: the augmentation by the known symmetry of the data; None if there is none.
        learned: augmentation whose extents the paper's gradient learns; by default that of `learn`.
        batch_size: items per step.
        lr: learning rate of the weights.
        weight_decay: of the weights.
        unit: of a regression's error; empty for classification, scored by accuracy in %.
    """

    name: str
    kind: Kind
    load: Load
    net: MakeNet
    steps: int
    standard: Callable[[], Augmentation]
    oracle: Callable[[], Augmentation] | None = None
    learned: Callable[[], Augmentation] | None = None
    batch_size: int = 128
    lr: float = 0.01
    weight_decay: float = 1e-4
    unit: str = ""

    @property
    def is_regression(self) -> bool:
        """Whether an error is scored instead of an accuracy."""
        return bool(self.unit)

    def recipe(self, n_items: int, seed: int) -> Recipe:
        """The budget of one training on `n_items` items."""
        n_batches = count_batches(n_items, self.batch_size)
        return Recipe(
            epochs=max(1, round(self.steps / n_batches)),
            batch_size=self.batch_size,
            lr=self.lr,
            weight_decay=self.weight_decay,
            seed=seed,
        )


def choose(train: Pair, test: Pair, *, seed: int, n_train: int, n_test: int) -> tuple[Pair, Pair]:
    """Random training items, and the items to score.

    Test items are the first `n_test` of the test part. With a development seed they are instead
    random items of the training pool that are not trained on, and at most `DEV_FRACTION` of the
    pool is trained on. With the same seed a larger training set starts with the items of a smaller
    one.

    Args:
        train: the pool of training items.
        test: the test part.
        seed: of the choice.
        n_train: largest number of training items.
        n_test: largest number of test items.
    """
    n_pool = len(train[1])
    order = torch.randperm(n_pool, generator=Generator().manual_seed(seed))
    if seed < FIRST_DEV_SEED:
        return take(train, order[:n_train]), take(test, torch.arange(min(n_test, len(test[1]))))
    n_train = min(n_train, int(DEV_FRACTION * n_pool))
    held_out = order.flip(0)[: min(n_test, n_pool - n_train)]  # the same for all sizes of a pool
    return take(train, order[:n_train]), take(train, held_out)


def take(pair: Pair, items: Tensor) -> Pair:
    """Some items of a pair."""
    x, y = pair
    return tree.take(x, items), y[items]


def add_noise(x: Tensor, sigma: float, seed: int) -> Tensor:
    """Adds white Gaussian noise, drawn by a generator of its own."""
    generator = Generator().manual_seed(seed)
    return x + sigma * torch.randn(x.shape, generator=generator)
