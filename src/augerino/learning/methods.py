"""The two ways in which `learn` moves bounds: along the gradient of the paper's objective, or by probing held-back items."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from augerino.data.arrays import Batches, CheckedBatches
from augerino.distributions import parts_of
from augerino.errors import InputError
from augerino.learning.probe import Probe, distribution_obstacle
from augerino.learning.recipe import Recipe
from augerino.models import InvariantModel
from augerino.runtime import distributed
from augerino.training.optimizer import cosine_schedule, param_groups
from augerino.training.state import Tuner

# A bound that used this much of the way that its learning rate allows was still on its way.
HURRIED = 0.8
FEWEST, MOST_HELD_BACK = 16, 1000  # items that a probe asks


@dataclass(frozen=True)
class Method:
    """What a training needs to move bounds in one of the two ways."""

    loader: Any
    optimizer: torch.optim.Optimizer
    scheduler: torch.optim.lr_scheduler.LRScheduler
    reg_weight: float
    tuner: Tuner | None
    n_probe_items: int  # held-out samples that move the extents; 0 if the gradient does
    unfinished: Callable[[], tuple[str, ...]]
    task_score: Callable[[], float | None]  # of the network when the extents were fixed by a probe


def choose_method(
    model: InvariantModel, loader: CheckedBatches, epochs: int, recipe: Recipe
) -> Method:
    """The recipe's way; "auto" probes where items can be held back and the distribution has bounds to move.

    Args:
        model: to be trained.
        loader: of all training items.
        epochs: of the training.
        recipe: the settings.
    """
    obstacle = _obstacle(model, loader, recipe)
    if recipe.method == "probe" and obstacle is not None:
        raise InputError(f"{obstacle}, or use the method 'gradient'.")
    if recipe.method == "gradient" or obstacle is not None:
        return _follow(model, loader, epochs * len(loader), recipe)
    return _probe(model, loader, epochs, recipe)


def _obstacle(model: InvariantModel, loader: CheckedBatches, recipe: Recipe) -> str | None:
    """Why nothing can be held back and asked, as a sentence without its end; None where it can."""
    distribution = model.augmentation.distribution
    obstacle = distribution_obstacle(distribution)
    if obstacle is not None:
        return obstacle
    if not any(
        parameter.requires_grad and parameter.numel() for parameter in distribution.parameters()
    ):
        return (
            "Probing needs a bound that may move, but every coordinate is fixed: let one be learned"
        )
    if not hasattr(loader.batches, "only"):
        return (
            "Probing holds items back, which it cannot with a loader: pass its Dataset, or tensors"
        )
    items, _ = _count(loader, recipe)
    if items < 4 * FEWEST:
        return f"Probing holds back at least {FEWEST} items and trains on three times as many, but got {items}: give more data"
    return None


def _count(loader: CheckedBatches, recipe: Recipe) -> tuple[int, int]:
    """How many items there are, and how many of them to hold back."""
    items = (
        len(loader.batches.items) if isinstance(loader.batches, Batches) else len(loader.dataset)
    )
    least = max(FEWEST, distributed.world())  # something to ask in every process
    return items, min(
        max(round(recipe.holdout_fraction * items), least), max(MOST_HELD_BACK, least)
    )


def _follow(model: InvariantModel, loader: CheckedBatches, steps: int, recipe: Recipe) -> Method:
    start = _raw(model)
    rate = (
        recipe.augmentation_lr * recipe.theta_every
    )  # fewer steps, each as much longer, come equally far
    groups = param_groups(model, weight_decay=recipe.weight_decay, augmentation_lr=rate)
    optimizer = torch.optim.Adam(groups, lr=recipe.lr)
    scheduler = cosine_schedule(optimizer, steps, wait=recipe.warm_up * steps)

    def unfinished() -> tuple[str, ...]:
        far = HURRIED * recipe.augmentation_lr * steps / 2  # the mean of a cosine is a half
        return tuple(name for name, now in _raw(model).items() if abs(now - start[name]) > far)

    return Method(
        loader=loader,
        optimizer=optimizer,
        scheduler=scheduler,
        reg_weight=recipe.reg_weight,
        tuner=None,
        n_probe_items=0,
        unfinished=unfinished,
        task_score=lambda: None,
    )


def _raw(model: InvariantModel) -> dict[str, float]:
    """The raw parameter of each coordinate that has one of its own: what the optimizer moves."""
    found: dict[str, float] = {}
    names = iter(model.augmentation.names)
    for part in parts_of(model.augmentation.distribution):
        own = [next(names) for _ in range(part.size)]
        if part.raw_extent is not None:
            found.update(zip(own, part.raw_extent.detach().tolist(), strict=True))
    return found


def _probe(model: InvariantModel, loader: CheckedBatches, epochs: int, recipe: Recipe) -> Method:
    if not any(parameter.requires_grad for parameter in model.net.parameters()):
        raise InputError(
            "The network has no weights to train; bounds alone are learned by the method 'gradient'."
        )
    items, count = _count(loader, recipe)
    order = torch.randperm(items)
    distributed.copy_from_first(order)
    part = loader.only(order[count:])
    ((x, y),) = loader.only(order[:count], batch_size=count, shuffle=False)
    early = int(recipe.probe.stop * epochs)
    steps = early * len(part) + (epochs - early) * len(loader)
    probe = Probe(
        model,
        x,
        y,
        steps=steps,
        tolerance=recipe.tolerance,
        chunk=recipe.batch_size,
        settings=recipe.probe,
    )
    model.augmentation.requires_grad_(
        False
    )  # nothing to follow: the warp need not be differentiated
    optimizer = torch.optim.Adam(
        param_groups(model, weight_decay=recipe.weight_decay), lr=recipe.lr
    )
    scheduler = cosine_schedule(optimizer, steps)
    return Method(
        loader=HoldoutLoader(part, loader, probe),
        optimizer=optimizer,
        scheduler=scheduler,
        reg_weight=0.0,
        tuner=probe,
        n_probe_items=count,
        unfinished=lambda: probe.unfinished,
        task_score=lambda: probe.task_score,
    )


class HoldoutLoader:
    """Batches without the held-back items, and with them from the first pass on that begins with the bounds settled."""

    def __init__(self, part: CheckedBatches, whole: CheckedBatches, probe: Probe) -> None:
        self.part, self.whole, self.probe = part, whole, probe

    def __iter__(self) -> Iterator[Any]:
        return iter(self.whole if self.probe.settled else self.part)

    def __len__(self) -> int:
        return len(self.whole if self.probe.settled else self.part)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.whole, name)
