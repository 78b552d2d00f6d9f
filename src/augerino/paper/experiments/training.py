"""The one training that every row of every experiment runs: same loop, same optimizer, another augmentation."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import augerino as ag
from augerino.data.arrays import CheckedBatches
from augerino.learning.methods import choose_method
from augerino.learning.probe import refit_fraction
from augerino.learning.released import NEAR_ZERO, WIDE, ReleasedPenalty
from augerino.nets.layer13 import Layer13
from augerino.nets.small import SmallCNN
from augerino.nets.steerable import SteerableCNN
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
    """Shows what lies in the disc inside each image, and black elsewhere: a turn moves nothing into it or out of it."""

    def forward(self, x: Tensor) -> Tensor:
        down, across = (torch.linspace(-1, 1, side, device=x.device) for side in x.shape[-2:])
        return x * (down[:, None].square() + across.square() <= 1)


def make_net(settings: ImageSettings, row: Row, channels: int, outputs: int) -> nn.Module:
    """The row's network."""
    if row.kind == "steerable":
        return SteerableCNN(channels, outputs, width=max(settings.width // 3, 4))
    kind = SmallCNN if settings.net == "small" else Layer13
    net = kind(channels, outputs, settings.width)
    return net if row.corners else nn.Sequential(Disc(), net)


def make_augmentation(row: Row, coordinates: tuple[str, ...] = COORDINATES) -> ag.Augmentation:
    """The row's augmentation: the given coordinates, or, for the fixed and the empty ones, rotation alone."""
    if row.kind in ("none", "steerable"):
        return ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([1e-6])).requires_grad_(False)
    if row.kind == "fixed":
        return ag.Augmentation(
            ag.Affine2d("rotate"), ag.Uniform([row.rotate or math.pi])
        ).requires_grad_(False)
    names = COORDINATES if row.kind == "released" else coordinates
    starts = dict.fromkeys(names, row.start)
    if row.kind == "released":  # half of its full widths, and a tenth of that for translations
        starts = {
            name: NEAR_ZERO * (0.1 if name.startswith("translate") else 1.0) for name in names
        }
    if row.rotate is not None:
        starts["rotate"] = row.rotate
    return ag.Augmentation(ag.Affine2d(*names), ag.Uniform(list(starts.values())))


def train_row(
    settings: ImageSettings,
    row: Row,
    seed: int,
    x: Tensor,
    y: Tensor,
    *,
    outputs: int,
    loss: Callable[[Any, Any], Tensor] = F.nll_loss,
    average: ag.Average = ag.mean_log_prob,
    coordinates: tuple[str, ...] = COORDINATES,
    augmentation: ag.Augmentation | None = None,
    on_epoch: Callable[[ag.InvariantModel, ag.Objective], None] | None = None,
) -> tuple[ag.InvariantModel, ag.History]:
    """Trains one row on one seed; `on_epoch` may look at the model and its objective after each epoch.

    Of a row with a refit, the model is the one that was trained anew, and the history that of learning the bounds.
    """
    torch.manual_seed(seed)
    augmentation = make_augmentation(row, coordinates) if augmentation is None else augmentation
    model = ag.InvariantModel(
        make_net(settings, row, x.shape[1], outputs), augmentation, average=average
    )
    regularizer = ReleasedPenalty(augmentation.names) if row.kind == "released" else ag.NegativeL2()
    objective = ag.Objective(loss, augmentation, regularizer, row.weight)
    rate = row.rate or (settings.lr if row.kind == "released" else settings.augmentation_lr)
    memory = 0.999 if row.kind == "released" else settings.memory
    groups = ag.param_groups(
        model, weight_decay=1e-4, augmentation_lr=rate, augmentation_betas=(0.9, memory)
    )
    optimizer: torch.optim.Optimizer = torch.optim.Adam(groups, lr=settings.lr)
    loader: Any = ag.data.Batches(x, y, settings.batch_size)
    epochs = settings.steerable_epochs if row.kind == "steerable" else settings.epochs
    steps, tuner, way = epochs * len(loader), None, None
    share = settings.warm_up if row.wait is None else row.wait
    wait = 0.0 if row.kind == "released" or row.rate is not None else share * steps
    scheduler: torch.optim.lr_scheduler.LRScheduler = ag.training.cosine_schedule(
        optimizer, steps, wait
    )
    if row.method == "probe":
        recipe = ag.Recipe(method="probe", batch_size=settings.batch_size, lr=settings.lr)
        way = choose_method(model, CheckedBatches(loader), epochs, recipe)
        loader, optimizer, scheduler, tuner = way.loader, way.optimizer, way.scheduler, way.tuner
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
        again = replace(row, kind="fixed", method="gradient", weight=0.0, refit=False)
        fraction = refit_fraction(None if way is None else way.task_score())
        model, _ = train_row(
            settings,
            again,
            seed,
            x,
            y,
            outputs=outputs,
            loss=loss,
            average=average,
            augmentation=model.augmentation.with_rates(fraction),
        )
    return model.eval(), history


def curves(history: ag.History, start: dict[str, float]) -> dict[str, list[float]]:
    """Loss and bounds over training, as a trial keeps them."""
    bounds = {
        name: [round(value, 5) for value in (start[name], *history.curve(name))] for name in start
    }
    return {"loss": [round(value, 5) for value in history.curve("loss")], **bounds}
