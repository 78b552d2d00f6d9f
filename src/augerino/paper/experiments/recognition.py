"""The one training that every row of cifar10 and stl10 runs: `ag.learn`, with another augmentation or another first layer."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

import augerino as ag
from augerino.errors import InputError
from augerino.learning.defaults import no_augmentation
from augerino.learning.learn import Learned
from augerino.models import evaluation_mode
from augerino.nets.layer13 import Layer13
from augerino.nets.normalized import Normalized
from augerino.nets.small import SmallCNN
from augerino.nets.standard import Standard
from augerino.paper.datasets.labelled import Labelled
from augerino.paper.experiments.settings import Row, Settings
from augerino.paper.experiments.training import curves
from augerino.runtime.trials import Trial, mean_sd, of_row

COPIES = (1, 4)


@dataclass(frozen=True)
class RecognitionSettings(Settings):
    """What experiments can be told that recognise photographs."""

    net: Literal["small", "layer13"] = "layer13"
    """the network: a small CNN, or the paper's"""
    width: int = 128
    """its width"""
    steps: int | None = None
    """training steps at most; as many as the epochs have by default"""
    weights: tuple[float, ...] = (0.001, 0.01, 0.1, 1.0)
    """the penalty's weights of the rows by gradient, over three decades"""
    tolerance: float = 0.03
    """of the rows by probing: the rise of the held-back loss that ends an extent"""
    asked: int = 1_000
    """of the rows by probing: how many items are held back at most; also at most 15 %"""
    test: int | None = None
    """test images; all by default"""

    def check(self) -> None:
        super().check()
        self._at_least_one("width", "asked")
        if self.steps is not None:
            self._at_least_one("steps")
        self._a_share("tolerance", self.tolerance)
        if self.memory != 0.999:
            raise InputError(
                f"memory is 0.999 in this experiment, which runs ag.learn as it is, but got {self.memory}."
            )

    def passes(self, items: int) -> int:
        """Epochs over so many items: those told, or fewer where they would have too many steps."""
        if self.steps is None:
            return self.epochs
        return max(1, min(self.epochs, round(self.steps * self.batch_size / items)))


def make_net(
    settings: RecognitionSettings, mean: Sequence[float], std: Sequence[float], *first: nn.Module
) -> nn.Sequential:
    """The settings' network, normalising inside, behind other layers that see images in [0, 1]."""
    kind = SmallCNN if settings.net == "small" else Layer13
    return nn.Sequential(*first, Normalized(kind(len(mean), 10, settings.width), mean, std))


def train_row(
    settings: RecognitionSettings,
    row: Row,
    seed: int,
    x: Tensor,
    y: Tensor,
    net: nn.Module,
    augmentation: ag.Augmentation | None,
) -> Learned:
    """Trains one row on one seed; without an augmentation there is nothing to learn.

    Of a row with a refit, the model is the one that was trained anew, and the rest is of learning the bounds.
    """
    recipe = ag.Recipe(
        method=row.method,
        tolerance=settings.tolerance if row.tolerance is None else row.tolerance,
        holdout_fraction=min(ag.Recipe.holdout_fraction, settings.asked / len(y)),
        reg_weight=row.weight,
        epochs=settings.passes(len(y)),
        batch_size=settings.batch_size,
        lr=settings.lr,
        augmentation_lr=settings.augmentation_lr,
        warm_up=settings.warm_up if row.wait is None else row.wait,
        seed=seed,
    )
    fresh = copy.deepcopy(net)
    learned = ag.learn(net, (x, y), augmentation=augmentation or no_augmentation(), recipe=recipe)
    if not row.refit:
        return learned
    again = ag.learn(
        fresh, (x, y), augmentation=learned.for_refit(), recipe=recipe.but(method="auto")
    )
    return replace(learned, model=again.model)


def measure(learned: Learned, row: Row, pictures: Labelled, seed: int) -> Trial:
    """Accuracy at 1 and 4 copies and without any augmentation ("bare"), and what was learned.

    A fixed augmentation is averaged over copies by acting in evaluation as well.
    """
    test, model = (pictures.x_test, pictures.y_test), learned.model
    bare = ag.InvariantModel(model.net, no_augmentation(), test_copies=1, average=model.average)
    found = {"bare": _accuracy(bare, test, seed)}
    layers = [layer for layer in model.net.modules() if isinstance(layer, Standard)]
    acting = row.kind == "fixed"
    for copies in COPIES:
        if row.kind not in ("fixed", "learned"):  # copies of nothing are all the same
            found[str(copies)] = found["bare"]
            continue
        for layer in layers:
            layer.always = acting
        model.test_copies = copies
        found[str(copies)] = _accuracy(model, test, seed)
        for layer in layers:
            layer.always = False
    start = learned.start if row.kind == "learned" else {}
    return {
        "accuracy": found,
        "bounds": learned.extent,
        "start": start,
        "curves": curves(learned.history, start),
        "asked": learned.n_probe_items,
        "unfinished": list(learned.unfinished),
    }


def _accuracy(model: ag.InvariantModel, test: tuple[Tensor, Tensor], seed: int) -> float:
    torch.manual_seed(seed)
    right = 0
    with evaluation_mode(model):
        for x, y in zip(test[0].split(250), test[1].split(250), strict=True):
            right += int((model(x.float() / 255).argmax(dim=1) == y).sum())
    return round(right / len(test[1]), 5)


def percent(found: Sequence[Trial], copies: int | str) -> str:
    """Mean and standard deviation of the accuracy over seeds."""
    return mean_sd([t["accuracy"][str(copies)] for t in found], 100, 2, " %")


def bounds_text(found: Sequence[Trial]) -> str:
    """The learned bounds, mean and standard deviation over seeds, each in its own unit; flips as how often they happen."""
    parts = []
    for name in found[0]["bounds"]:
        values = [t["bounds"][name] for t in found]
        if name.startswith("flip"):
            parts.append(f"{name} in {mean_sd(values, 50, 0)} %")
        else:
            parts.append(f"{name} {mean_sd(values, 1, 3)}")
    late = sorted({name for t in found for name in t["unfinished"]})
    return ", ".join(parts) + (f" (still moving at the end: {', '.join(late)})" if late else "")


def skipped(trials: Sequence[Trial], row: Row) -> str | None:
    """Why a row was not run, if it was not."""
    reason: Any = next((t["skipped"] for t in of_row(trials, row) if "skipped" in t), None)
    return reason
