"""Contestants: ways to augment, all with the same budget for the final training."""

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn

from augerino.augmentation import Augmentation
from augerino.benchmark.payoff.cell import Cell, Kind, Split
from augerino.benchmark.payoff.image_cells import require_file
from augerino.benchmark.payoff.trained import Outcome, make_net, scores, train
from augerino.errors import InputError
from augerino.learning.learn import learn
from augerino.learning.learned import Choice, Learned
from augerino.learning.methods import MIN_HOLDOUT
from augerino.learning.recipe import Recipe
from augerino.nets.policies.published import PublishedPolicy

Train = Callable[[Cell, Split, int], nn.Module | Learned]
#: A user's way to train: (makes a network, (inputs, targets), seed) -> trained model.
OwnRecipe = Callable[[Callable[[], nn.Module], Any, int], nn.Module]
FAST_AUTO_AUGMENT = "fast_autoaugment_cifar10.json"
REG_WEIGHT = 0.01  # λ of the released script for CIFAR-10
_IMAGES: tuple[Kind, ...] = ("photographs", "digits", "faces")


@dataclass(frozen=True)
class Contestant:
    """A way to train a model with augmentation.

    Args:
        name: unique.
        train: trains a model for (cell, data, seed).
        title: a short description.
        kinds: of data to which it applies; all by default.
        needs_oracle: whether it applies only where the symmetry of the data is known.
        needs_file: name of a file in the folder of data; empty for none.
    """

    name: str
    train: Train
    title: str = ""
    kinds: tuple[Kind, ...] = ()
    needs_oracle: bool = False
    needs_file: str = ""

    def check_files(self, data: str | None) -> None:
        """Raises an error if the file that it needs is not there."""
        if self.needs_file:
            require_file(data, self.needs_file)

    def applies_to(self, cell: Cell) -> bool:
        """Whether a cell has data for this contestant."""
        if self.needs_oracle and cell.oracle is None:
            return False
        return not self.kinds or cell.kind in self.kinds

    def run(self, cell: Cell, split: Split, seed: int) -> Outcome:
        """Trains and scores a model; both draw random numbers from the seed alone."""
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            began = time.process_time()
            trained = self.train(cell, split, seed)
            seconds = time.process_time() - began
            model = trained.model if isinstance(trained, Learned) else trained
            items, one_view = scores(cell, split, model, seed)
        return Outcome(
            cell=cell.name,
            contestant=self.name,
            seed=seed,
            items=items,
            one_view=one_view,
            seconds=seconds,
            notes=_notes(trained.choice) if isinstance(trained, Learned) else {},
        )


def _notes(choice: Choice | None) -> dict[str, Any]:
    """The policy step as data: the chosen policy, its test copies, and the loss of each trial."""
    if choice is None:
        return {}
    return {
        "policy": choice.name,
        "copies": choice.copies.text,
        "trial_losses": {trial.name: round(trial.loss, 4) for trial in choice.race.trials},
    }


class InTraining(nn.Module):
    """Applies an augmentation in training and nothing in evaluation."""

    def __init__(self, augmentation: Augmentation) -> None:
        super().__init__()
        self.augmentation = augmentation.requires_grad_(False)

    def forward(self, x: Any) -> Any:
        """(B, ...) -> (B, ...)"""
        return self.augmentation(x) if self.training else x


def _none(cell: Cell, split: Split, seed: int) -> nn.Module:
    return train(cell, split, seed).model


def _standard(cell: Cell, split: Split, seed: int) -> nn.Module:
    return train(cell, split, seed, augmentation=cell.standard()).model


def _oracle(cell: Cell, split: Split, seed: int) -> nn.Module:
    assert cell.oracle is not None
    return train(cell, split, seed, augmentation=cell.oracle()).model


def _policy(cell: Cell, split: Split, seed: int, *, layer: Callable[[], nn.Module]) -> nn.Module:
    """A published policy behind the standard augmentation, which also makes the test copies."""
    return train(cell, split, seed, augmentation=cell.standard(), layers=[layer()]).model


def _fast_auto_augment(data: str | None) -> PublishedPolicy:
    return PublishedPolicy.from_file(require_file(data, FAST_AUTO_AUGMENT))


def _gradient(cell: Cell, split: Split, seed: int, *, on_standard: bool) -> nn.Module:
    """The paper's method; with `on_standard`, the network also sees the standard augmentation.

    Test copies are drawn from the learned augmentation alone, as in the released code.
    """
    layers = [InTraining(cell.standard())] if on_standard else []
    changes = {"method": "gradient", "reg_weight": REG_WEIGHT}
    if cell.learned is not None:
        found = train(cell, split, seed, augmentation=cell.learned(), layers=layers, **changes)
        return found.model
    net = nn.Sequential(*layers, make_net(cell, split, seed))
    recipe = cell.recipe(len(split.train[1]), seed).but(**changes)
    return learn(net, split.train, recipe=recipe).model


def _probe(cell: Cell, split: Split, seed: int, *, refit: bool) -> nn.Module:
    """Extents from probing; with `refit`, a new network is trained on them.

    Data that are too few for probing are left to the gradient.
    """
    net = make_net(cell, split, seed)
    untrained = copy.deepcopy(net)
    n_items = len(split.train[1])
    method = "probe" if n_items >= 4 * MIN_HOLDOUT else "gradient"
    recipe = cell.recipe(n_items, seed).but(method=method, trial_length=0.0)
    learned = learn(net, split.train, recipe=recipe)
    if not refit:
        return learned.model
    augmentation = learned.for_refit()
    recipe = recipe.but(method="auto")
    return learn(untrained, split.train, augmentation=augmentation, recipe=recipe).model


def _learned(cell: Cell, split: Split, seed: int) -> Learned:
    """`ag.learn` with its defaults and the budget of the cell."""
    recipe = cell.recipe(len(split.train[1]), seed)
    return learn(make_net(cell, split, seed), split.train, recipe=recipe)


def all_contestants(data: str | None = None) -> dict[str, Contestant]:
    """All contestants by name, in the order of the table.

    Args:
        data: folder of the policy of Fast AutoAugment.
    """
    found = [
        Contestant("none", _none, "no augmentation"),
        Contestant("standard", _standard, "the usual fixed augmentation of this kind of data"),
    ]
    for name in ("RandAugment", "TrivialAugment"):
        layer = partial(PublishedPolicy, name)
        title = f"{name} on the standard augmentation"
        found.append(Contestant(name, partial(_policy, layer=layer), title, kinds=_IMAGES))
    found += [
        Contestant(
            "AutoAugment",
            partial(_policy, layer=partial(PublishedPolicy, "AutoAugment")),
            "AutoAugment's policy for CIFAR-10 on the standard augmentation",
            kinds=("photographs",),
        ),
        Contestant(
            "FastAutoAugment",
            partial(_policy, layer=partial(_fast_auto_augment, data)),
            "Fast AutoAugment's policy for CIFAR-10 on the standard augmentation",
            kinds=("photographs",),
            needs_file=FAST_AUTO_AUGMENT,
        ),
        Contestant("gradient", partial(_gradient, on_standard=False), "the paper's objective"),
        Contestant(
            "gradient-standard",
            partial(_gradient, on_standard=True),
            "the paper's objective on the standard augmentation",
        ),
        Contestant("probe", partial(_probe, refit=False), "ranges from probing"),
        Contestant("refit", partial(_probe, refit=True), "a new training on probed ranges"),
        Contestant("learned", _learned, "`ag.learn` with its defaults"),
        Contestant("oracle", _oracle, "the known symmetry of the data", needs_oracle=True),
    ]
    return {contestant.name: contestant for contestant in found}


def named(name: str, data: str | None = None) -> Contestant:
    """One of `all_contestants`."""
    known = all_contestants(data)
    if name not in known:
        raise InputError(f"There is no contestant '{name}'. There are: {', '.join(known)}.")
    return known[name]


def as_contestant(recipe: Contestant | Recipe | OwnRecipe, name: str = "recipe") -> Contestant:
    """A user's method as a contestant.

    Args:
        recipe: a `Contestant`; settings of `learn`, of which the cell sets epochs, batch size,
            learning rate, weight decay and seed; or a function of (makes a network, training data,
            seed) that returns a trained model.
        name: of a recipe or a function without one.
    """
    if isinstance(recipe, Contestant):
        return recipe
    if isinstance(recipe, Recipe):
        return Contestant(name, partial(_with_recipe, recipe=recipe))
    if not callable(recipe):
        raise InputError(
            "A recipe is an ag.Recipe, a function of (make_net, data, seed) that returns a model, "
            f"or a Contestant, but got a {type(recipe).__name__}."
        )
    return Contestant(getattr(recipe, "__name__", name), partial(_by_function, function=recipe))


def _with_recipe(cell: Cell, split: Split, seed: int, *, recipe: Recipe) -> nn.Module:
    budget = cell.recipe(len(split.train[1]), seed)
    same = ("epochs", "batch_size", "lr", "weight_decay", "seed")
    changes = {field: getattr(budget, field) for field in same}
    return learn(make_net(cell, split, seed), split.train, recipe=recipe.but(**changes)).model


def _by_function(cell: Cell, split: Split, seed: int, *, function: OwnRecipe) -> nn.Module:
    model = function(partial(make_net, cell, split, seed), split.train, seed)
    if not isinstance(model, nn.Module):
        raise InputError(
            f"A recipe must return the trained model, but returned a {type(model).__name__}."
        )
    return model
