"""Trains a row of cifar10, stl10 or flatness with `ag.learn`.

Rows differ in the augmentation, or in the layers in front of the network.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor, nn

import augerino as ag
from augerino.data.published.image_split import ImageSplit
from augerino.errors import InputError
from augerino.learning.defaults import no_augmentation
from augerino.learning.learned import Learned
from augerino.models import evaluation_mode
from augerino.nets.layer13 import Layer13
from augerino.nets.normalized import Normalized
from augerino.nets.small import SmallCNN
from augerino.nets.standard import Standard
from augerino.paper.experiments.settings import Row, Settings
from augerino.paper.experiments.training import curves
from augerino.runtime.trials import Trial, mean_sd

COPIES = (1, 4)


@dataclass(frozen=True)
class RecognitionSettings(Settings):
    """Settings of experiments that classify photographs."""

    net: Literal["small", "layer13"] = "layer13"
    """the network: a small CNN, or the paper's"""
    width: int = 128
    """its width"""
    steps: int | None = None
    """maximum number of training steps; no maximum by default"""
    reg_weights: tuple[float, ...] = (0.001, 0.01, 0.1, 1.0)
    """weights λ of the regularizer, one row each by gradient"""
    tolerance: float = 0.03
    """tolerance of the probe: relative increase of the held-out loss that ends a range"""
    n_probe_items: int = 1_000
    """maximum number of images held out for the probe, at most 15 % of the training set"""
    n_test: int | None = None
    """test images; all by default"""

    def check(self) -> None:
        super().check()
        self._require_at_least_one("width", "n_probe_items")
        if self.steps is not None:
            self._require_at_least_one("steps")
        self._require_fraction("tolerance", self.tolerance)
        if self.augmentation_beta2 != 0.999:
            raise InputError(
                "augmentation_beta2 must be 0.999 in this experiment, which runs ag.learn, "
                f"but got {self.augmentation_beta2}."
            )

    def epochs_for(self, n_items: int) -> int:
        """`epochs`, or fewer if these would exceed `steps`."""
        if self.steps is None:
            return self.epochs
        return max(1, min(self.epochs, round(self.steps * self.batch_size / n_items)))


def make_net(
    settings: RecognitionSettings, mean: Sequence[float], std: Sequence[float], *first: nn.Module
) -> nn.Sequential:
    """The network, which normalizes its input, behind layers for images in [0, 1]."""
    kind = SmallCNN if settings.net == "small" else Layer13
    return nn.Sequential(*first, Normalized(kind(len(mean), 10, settings.width), mean, std))


def train_row(
    settings: RecognitionSettings,
    row: Row,
    seed: int,
    x: Tensor,
    y: Tensor,
    *,
    net: nn.Module,
    augmentation: ag.Augmentation | None,
) -> Learned:
    """Trains one row on one seed; without an augmentation, trains the network alone.

    With `row.refit` the model is the one retrained on the learned augmentation, and all other
    fields come from learning the bounds.
    """
    tolerance = row.tolerance
    if tolerance is None:
        tolerance = settings.tolerance
    warm_up = row.warm_up
    if warm_up is None:
        warm_up = settings.warm_up
    recipe = ag.Recipe(
        method=row.method,
        tolerance=tolerance,
        holdout_fraction=min(ag.Recipe.holdout_fraction, settings.n_probe_items / len(y)),
        reg_weight=row.reg_weight,
        epochs=settings.epochs_for(len(y)),
        batch_size=settings.batch_size,
        lr=settings.lr,
        augmentation_lr=settings.augmentation_lr,
        warm_up=warm_up,
        trial_length=0.0,
        seed=seed,
    )
    untrained = copy.deepcopy(net)
    learned = ag.learn(net, (x, y), augmentation=augmentation or no_augmentation(), recipe=recipe)
    if not row.refit:
        return learned
    retrained = ag.learn(
        untrained, (x, y), augmentation=learned.for_refit(), recipe=recipe.but(method="auto")
    )
    return replace(learned, model=retrained.model)


def measure(learned: Learned, row: Row, images: ImageSplit, seed: int) -> Trial:
    """Test accuracy at 1 and 4 copies and of the network alone ("bare"), and the bounds.

    A fixed augmentation is a layer of the network. For its copies the layer also acts in
    evaluation mode.
    """
    model = learned.model
    bare = ag.InvariantModel(model.net, no_augmentation(), test_copies=1, average=model.average)
    accuracy = {"bare": _accuracy(bare, images, seed)}
    layers = [layer for layer in model.net.modules() if isinstance(layer, Standard)]
    for copies in COPIES:
        if row.kind not in ("fixed", "learned"):  # all copies are identical
            accuracy[str(copies)] = accuracy["bare"]
            continue
        for layer in layers:
            layer.always = row.kind == "fixed"
        model.test_copies = copies
        accuracy[str(copies)] = _accuracy(model, images, seed)
        for layer in layers:
            layer.always = False
    start = learned.start if row.kind == "learned" else {}
    return {
        "accuracy": accuracy,
        "bounds": learned.extent,
        "start": start,
        "curves": curves(learned.history, start),
        "n_probe_items": learned.n_probe_items,
        "unfinished": list(learned.unfinished),
    }


def _accuracy(model: ag.InvariantModel, images: ImageSplit, seed: int) -> float:
    torch.manual_seed(seed)
    n_right = 0
    batches = zip(images.x_test.split(250), images.y_test.split(250), strict=True)
    with evaluation_mode(model):
        for x, y in batches:
            predicted = model(x.float() / 255).argmax(dim=1)
            n_right += int((predicted == y).sum())
    return round(n_right / len(images.y_test), 5)


def accuracies(trials: Sequence[Trial], copies: int | str) -> list[float]:
    """The accuracy of each trial at a number of copies, or "bare"."""
    return [trial["accuracy"][str(copies)] for trial in trials]


def percent(found: Sequence[Trial], copies: int | str) -> str:
    """Mean and standard deviation of the accuracy over seeds."""
    return mean_sd(accuracies(found, copies), scale=100, unit=" %")


def bounds_text(found: Sequence[Trial]) -> str:
    """Learned bounds as mean ± standard deviation over seeds; for flips the probability in %."""
    parts = []
    for name in found[0]["bounds"]:
        values = [t["bounds"][name] for t in found]
        if name.startswith("flip"):
            parts.append(f"{name} in {mean_sd(values, 50, 0)} %")
        else:
            parts.append(f"{name} {mean_sd(values, 1, 3)}")
    text = ", ".join(parts)
    unfinished = sorted({name for t in found for name in t["unfinished"]})
    if unfinished:
        text += f" (not converged: {', '.join(unfinished)})"
    return text
