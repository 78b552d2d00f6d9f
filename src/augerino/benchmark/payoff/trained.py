"""Trains a contestant's model with the budget of a cell, and scores it on the test part."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from augerino import tree
from augerino.augmentation import Augmentation
from augerino.benchmark.payoff.cell import Cell, Split
from augerino.data.arrays import to_float
from augerino.data.batches import Batches
from augerino.errors import InputError
from augerino.learning.defaults import no_augmentation
from augerino.learning.learn import learn
from augerino.learning.learned import Learned
from augerino.models import InvariantModel, evaluation_mode

COPIES = 4  # of every test item, at most
BATCH_SIZE = 250


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of one training.

    Args:
        cell: name of the cell.
        contestant: name of the contestant.
        seed: of data, weights and draws.
        items: score of each test item with `COPIES` copies, (N,): 100 if it is right and 0 if not,
            or its absolute error.
        one_view: mean score of the network alone, on unmoved test items.
        seconds: of CPU time in training, all of it included; 0 if it is not known.
        notes: for `learned`, the chosen policy, its test copies and the trials behind the choice.
    """

    cell: str
    contestant: str
    seed: int
    items: Tensor
    one_view: float
    seconds: float = 0.0
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def score(self) -> float:
        """The mean over test items: accuracy in %, or error."""
        return float(self.items.double().mean())


def make_net(cell: Cell, split: Split, seed: int) -> nn.Module:
    """A new network; its weights depend on the seed alone."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return cell.net(split)


def train(
    cell: Cell,
    split: Split,
    seed: int,
    *,
    augmentation: Augmentation | None = None,
    layers: Sequence[nn.Module] = (),
    **changes: Any,
) -> Learned:
    """One training with the budget of the cell.

    Args:
        cell: network and budget.
        split: the data.
        seed: of weights, batches and draws.
        augmentation: fixed or learned; none by default.
        layers: in front of the network.
        changes: fields of the recipe to change.
    """
    net = make_net(cell, split, seed)
    if layers:
        net = nn.Sequential(*layers, net)
    recipe = cell.recipe(len(split.train[1]), seed).but(**changes)
    chosen = no_augmentation() if augmentation is None else augmentation
    return learn(net, split.train, augmentation=chosen, recipe=recipe)


def scores(cell: Cell, split: Split, model: nn.Module, seed: int) -> tuple[Tensor, float]:
    """The score of each test item with at most `COPIES` copies, and the mean of one plain view.

    A model of another type than `InvariantModel` is scored as it is.
    """
    bare = model
    if isinstance(model, InvariantModel):
        bare = InvariantModel(model.net, no_augmentation(), test_copies=1, average=model.average)
        model.test_copies = min(model.test_copies, COPIES)
    one_view = _item_scores(cell, split, bare, seed)
    items = _item_scores(cell, split, model, seed)
    return items, float(one_view.double().mean())


def _item_scores(cell: Cell, split: Split, model: nn.Module, seed: int) -> Tensor:
    x, y = split.test
    found = []
    with torch.random.fork_rng(), evaluation_mode(model):
        torch.manual_seed(seed)
        for inputs, targets in Batches(x, y, BATCH_SIZE, shuffle=False):
            prediction = model(tree.map(to_float, inputs))
            found.append(_compare(cell, prediction, targets) * split.scale)
    items = torch.cat(found)
    if not math.isfinite(float(items.sum())):
        raise InputError(f"The model for '{cell.name}' predicts NaN or Inf.")
    return items


def _compare(cell: Cell, prediction: Tensor, y: Tensor) -> Tensor:
    if cell.is_regression:
        return (prediction - y).abs().flatten(1).mean(dim=1)
    if prediction.dim() != 2 or len(prediction) != len(y):
        raise InputError(
            f"A model for '{cell.name}' must return a row of class scores for each of {len(y)} "
            f"items, but returned {tuple(prediction.shape)}."
        )
    return 100.0 * (prediction.argmax(dim=1) == y)
