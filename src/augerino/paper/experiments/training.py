"""Trains a row of an image experiment. Rows differ in the augmentation, not in the loop."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim.lr_scheduler import LRScheduler

import augerino as ag
from augerino.data.batches import CheckedBatches
from augerino.learning.methods import choose_method
from augerino.learning.probe import refit_fraction
from augerino.learning.released import (
    NEAR_ZERO,
    TRANSLATION_SCALE,
    WIDE,
    ReleasedPenalty,
)
from augerino.nets.layer13 import Layer13
from augerino.nets.small import SmallCNN
from augerino.nets.steerable import SteerableCNN
from augerino.objective import Regularizer
from augerino.paper.experiments.settings import ImageSettings, Row

__all__ = [
    "COORDINATES",
    "NEAR_ZERO",
    "WIDE",
    "ReleasedPenalty",
    "curves",
    "make_augmentation",
    "make_net",
    "train_row",
]

COORDINATES = ag.Affine2d().names


class Disc(nn.Module):
    """Sets every pixel outside the inscribed ellipse of an image to zero.

    A rotated image has black corners, from which a network could read the angle.
    """

    def forward(self, x: Tensor) -> Tensor:
        height, width = x.shape[-2:]
        down = torch.linspace(-1, 1, height, device=x.device)
        across = torch.linspace(-1, 1, width, device=x.device)
        return x * (down[:, None].square() + across.square() <= 1)


def make_net(settings: ImageSettings, row: Row, channels: int, n_outputs: int) -> nn.Module:
    """The row's network."""
    if row.kind == "steerable":
        return SteerableCNN(channels, n_outputs, width=max(settings.width // 3, 4))
    kind = SmallCNN if settings.net == "small" else Layer13
    net = kind(channels, n_outputs, settings.width)
    if row.hide_corners:
        return nn.Sequential(Disc(), net)
    return net


def make_augmentation(row: Row, coordinates: tuple[str, ...] = COORDINATES) -> ag.Augmentation:
    """The row's augmentation over `coordinates`; rows that learn nothing have a fixed rotation."""
    if row.kind in ("none", "steerable"):
        return _fixed_rotation(1e-6)
    if row.kind == "fixed":
        return _fixed_rotation(row.rotate_start or math.pi)
    if row.kind == "released":
        starts = released_starts(NEAR_ZERO)
    else:
        starts = dict.fromkeys(coordinates, row.start)
    if row.rotate_start is not None:
        starts["rotate"] = row.rotate_start
    return ag.Augmentation(ag.Affine2d(*starts), ag.Uniform(list(starts.values())))


def released_starts(bound: float) -> dict[str, float]:
    """One start bound for all six affine coordinates, scaled for translations as released."""
    starts = dict.fromkeys(COORDINATES, bound)
    for name in starts:
        if name.startswith("translate"):
            starts[name] *= TRANSLATION_SCALE
    return starts


def _fixed_rotation(bound: float) -> ag.Augmentation:
    augmentation = ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([bound]))
    return augmentation.requires_grad_(False)


def train_row(
    settings: ImageSettings,
    row: Row,
    seed: int,
    x: Tensor,
    y: Tensor,
    *,
    n_outputs: int,
    loss: Callable[[Any, Any], Tensor] = F.nll_loss,
    average: ag.Average = ag.mean_log_prob,
    coordinates: tuple[str, ...] = COORDINATES,
    augmentation: ag.Augmentation | None = None,
    on_epoch: Callable[[ag.InvariantModel, ag.Objective], None] | None = None,
) -> tuple[ag.InvariantModel, ag.History]:
    """Trains one row on one seed.

    Returns the model and the history of learning the bounds. With `row.refit` the model is
    the one retrained on the learned augmentation.

    Args:
        settings: settings of the experiment.
        row: the row to train.
        seed: seed of weights, batches and draws.
        x: training images, (N, C, H, W).
        y: targets, (N, ...).
        n_outputs: number of outputs of the network.
        loss: mean loss of a batch.
        average: averaging rule for the outputs of several copies.
        coordinates: names of the learned coordinates.
        augmentation: replaces the one of the row.
        on_epoch: called with model and objective after every epoch.
    """
    torch.manual_seed(seed)
    if augmentation is None:
        augmentation = make_augmentation(row, coordinates)
    net = make_net(settings, row, channels=x.shape[1], n_outputs=n_outputs)
    model = ag.InvariantModel(net, augmentation, average=average)
    regularizer: Regularizer = ag.NegativeL2()
    if row.kind == "released":
        regularizer = ReleasedPenalty(augmentation.names)
    objective = ag.Objective(loss, augmentation, regularizer, reg_weight=row.reg_weight)

    epochs = settings.epochs
    if row.kind == "steerable":
        epochs = settings.steerable_epochs
    loader: Any = ag.data.Batches(x, y, settings.batch_size)
    optimizer = _make_optimizer(settings, row, model)
    steps = epochs * len(loader)
    warm_up = _warm_up(settings, row) * steps
    scheduler: LRScheduler = ag.training.cosine_schedule(optimizer, steps, warm_up)
    tuner = None
    method = None
    if row.method == "probe":
        recipe = ag.Recipe(method="probe", batch_size=settings.batch_size, lr=settings.lr)
        method = choose_method(model, CheckedBatches(loader), epochs, recipe)
        loader = method.loader
        optimizer = method.optimizer
        scheduler = method.scheduler
        tuner = method.tuner

    history = ag.History()
    records = ag.iter_epochs(
        model,
        objective,
        loader,
        optimizer,
        epochs=epochs,
        scheduler=scheduler,
        precision="auto",
        tuner=tuner,
    )
    for record in records:
        history.epochs.append(record)
        if on_epoch is not None:
            on_epoch(model, objective)

    if row.refit:
        task_score = None
        if method is not None:
            task_score = method.task_score()
        fraction = refit_fraction(task_score)
        model, _ = train_row(
            settings,
            replace(row, kind="fixed", method="gradient", reg_weight=0.0, refit=False),
            seed,
            x=x,
            y=y,
            n_outputs=n_outputs,
            loss=loss,
            average=average,
            augmentation=model.augmentation.with_rates(fraction),
        )
    return model.eval(), history


def _make_optimizer(
    settings: ImageSettings, row: Row, model: ag.InvariantModel
) -> torch.optim.Optimizer:
    lr = settings.augmentation_lr
    beta2 = settings.augmentation_beta2
    if row.kind == "released":
        lr = settings.lr
        beta2 = 0.999
    if row.augmentation_lr is not None:
        lr = row.augmentation_lr
    groups = ag.param_groups(
        model, weight_decay=1e-4, augmentation_lr=lr, augmentation_betas=(0.9, beta2)
    )
    return torch.optim.Adam(groups, lr=settings.lr)


def _warm_up(settings: ImageSettings, row: Row) -> float:
    """The fraction of the training before the bounds move."""
    if row.kind == "released" or row.augmentation_lr is not None:
        return 0.0
    return settings.warm_up if row.warm_up is None else row.warm_up


def curves(history: ag.History, start: dict[str, float]) -> dict[str, list[float]]:
    """Loss and bounds over training, rounded, for storage in a trial."""
    found = {"loss": [round(value, 5) for value in history.curve("loss")]}
    for name, value in start.items():
        found[name] = [round(bound, 5) for bound in (value, *history.curve(name))]
    return found
