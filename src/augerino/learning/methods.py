"""The two methods of `learn`: the gradient of the paper's objective, or a probe."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from augerino.data.batches import Batches, CheckedBatches
from augerino.distributions import parts_of
from augerino.errors import InputError
from augerino.learning.probe import Probe, distribution_obstacle
from augerino.learning.recipe import Recipe
from augerino.models import InvariantModel
from augerino.runtime import distributed
from augerino.training.optimizer import cosine_schedule, param_groups
from augerino.training.state import Tuner

# An extent is unfinished if it changed by more than this fraction of the largest possible change.
UNFINISHED_FRACTION = 0.8
MIN_HOLDOUT = 16  # samples
MAX_HOLDOUT = 1000


@dataclass(frozen=True)
class Method:
    """The parts of a training that depend on the method.

    Args:
        loader: training batches.
        optimizer: of the weights, and of the extents if the gradient learns them.
        scheduler: of the learning rates.
        reg_weight: weight of the regularizer, 0 with a probe.
        tuner: the probe; None if the gradient learns the extents.
        n_probe_items: number of held-out samples of the probe, 0 without one.
        settled_after: number of epochs after which a probe has fixed the extents; None without one.
        unfinished: returns the names of the coordinates whose extents had not converged.
        task_score: returns the task score when a probe fixed the extents; None without a probe.
        paused: learned parameters of the augmentation that need no gradient during the training.
    """

    loader: Any
    optimizer: torch.optim.Optimizer
    scheduler: torch.optim.lr_scheduler.LRScheduler
    reg_weight: float
    tuner: Tuner | None
    n_probe_items: int
    settled_after: int | None
    unfinished: Callable[[], tuple[str, ...]]
    task_score: Callable[[], float | None]
    paused: tuple[nn.Parameter, ...] = ()

    def resume_gradients(self) -> None:
        """Lets parameters that were fixed during the training require gradients again."""
        for parameter in self.paused:
            parameter.requires_grad_()


def choose_method(
    model: InvariantModel, loader: CheckedBatches, epochs: int, recipe: Recipe
) -> Method:
    """Creates the method that a recipe selects; "auto" is a probe where that is possible.

    Args:
        model: the model to be trained.
        loader: batches of all training samples.
        epochs: number of epochs.
        recipe: the settings.
    """
    obstacle = _obstacle(model, loader, recipe)
    if recipe.method == "probe" and obstacle is not None:
        raise InputError(f"{obstacle}, or use the method 'gradient'.")
    if recipe.method == "gradient" or obstacle is not None:
        return _gradient_method(model, loader, recipe, steps=epochs * len(loader))
    return _probe_method(model, loader, recipe, epochs=epochs)


def _obstacle(model: InvariantModel, loader: CheckedBatches, recipe: Recipe) -> str | None:
    """Explains why a probe is impossible, without a full stop; None if it is possible."""
    distribution = model.augmentation.distribution
    obstacle = distribution_obstacle(distribution)
    if obstacle is not None:
        return obstacle
    parameters = distribution.parameters()
    if not any(parameter.requires_grad and parameter.numel() for parameter in parameters):
        return (
            "Probing needs an extent to learn, but every coordinate is fixed: "
            "let at least one be learned"
        )
    if not hasattr(loader.batches, "only"):
        return (
            "Probing holds out samples, which it cannot do with a DataLoader: "
            "pass its Dataset, or tensors"
        )
    n = _count_samples(loader)
    if n < 4 * MIN_HOLDOUT:
        return (
            f"Probing holds out at least {MIN_HOLDOUT} samples and trains on three times as many, "
            f"but got {n}: provide more data"
        )
    return None


def _count_samples(loader: CheckedBatches) -> int:
    if isinstance(loader.batches, Batches):
        return len(loader.batches.items)
    return len(loader.dataset)


def _holdout_size(n: int, recipe: Recipe) -> int:
    """The number of samples to hold out of n."""
    least = max(MIN_HOLDOUT, distributed.world())  # at least one in every process
    wanted = round(recipe.holdout_fraction * n)
    return min(max(wanted, least), max(MAX_HOLDOUT, least))


def _gradient_method(
    model: InvariantModel, loader: CheckedBatches, recipe: Recipe, *, steps: int
) -> Method:
    """Creates the paper's method: weights and extents are learned by gradient descent."""
    _check_gradients(model)
    start = _raw_extents(model)
    # With every m-th step only, steps are m times as long, so that the distance is the same.
    augmentation_lr = recipe.augmentation_lr * recipe.theta_every
    groups = param_groups(model, weight_decay=recipe.weight_decay, augmentation_lr=augmentation_lr)
    optimizer = torch.optim.Adam(groups, lr=recipe.lr)
    scheduler = cosine_schedule(optimizer, steps, wait=recipe.warm_up * steps)

    def unfinished() -> tuple[str, ...]:
        # Adam's steps are about one learning rate long; the mean of the cosine schedule is 1/2.
        far = UNFINISHED_FRACTION * recipe.augmentation_lr * steps / 2
        raw = _raw_extents(model)
        return tuple(name for name, value in raw.items() if abs(value - start[name]) > far)

    return Method(
        loader=loader,
        optimizer=optimizer,
        scheduler=scheduler,
        reg_weight=recipe.reg_weight,
        tuner=None,
        n_probe_items=0,
        settled_after=None,
        unfinished=unfinished,
        task_score=lambda: None,
    )


def _check_gradients(model: InvariantModel) -> None:
    """Rejects a learned coordinate whose transform has no useful gradient."""
    parameters = model.augmentation.distribution.parameters()
    name = model.augmentation.transform.without_gradient()
    if name and any(parameter.requires_grad for parameter in parameters):
        raise InputError(
            f"The gradient cannot learn '{name}', because the images jump along it: "
            f"leave out '{name}', or use the method 'probe'."
        )


def _raw_extents(model: InvariantModel) -> dict[str, float]:
    """The unconstrained parameter of each coordinate that has one, by name."""
    raw: dict[str, float] = {}
    names = iter(model.augmentation.names)
    for part in parts_of(model.augmentation.distribution):
        part_names = [next(names) for _ in range(part.size)]
        if part.raw_extent is not None:
            raw.update(zip(part_names, part.raw_extent.detach().tolist(), strict=True))
    return raw


def _probe_method(
    model: InvariantModel, loader: CheckedBatches, recipe: Recipe, *, epochs: int
) -> Method:
    """Creates the probing method: a `Probe` learns the extents on held-out samples."""
    if not any(parameter.requires_grad for parameter in model.net.parameters()):
        raise InputError(
            "The network has no weights to train. "
            "To learn the extents alone, use the method 'gradient'."
        )
    n = _count_samples(loader)
    count = _holdout_size(n, recipe)
    order = torch.randperm(n)
    distributed.copy_from_first(order)
    part = loader.only(order[count:])
    ((x, y),) = loader.only(order[:count], batch_size=count, shuffle=False)
    epochs_on_part = int(recipe.probe.stop * epochs)
    steps = epochs_on_part * len(part) + (epochs - epochs_on_part) * len(loader)
    probe = Probe(
        model,
        x,
        y,
        steps=steps,
        tolerance=recipe.tolerance,
        chunk=recipe.batch_size,
        settings=recipe.probe,
    )
    paused = tuple(p for p in model.augmentation.parameters() if p.requires_grad)
    model.augmentation.requires_grad_(False)  # saves the gradient of the transform
    groups = param_groups(model, weight_decay=recipe.weight_decay)
    optimizer = torch.optim.Adam(groups, lr=recipe.lr)
    scheduler = cosine_schedule(optimizer, steps)
    return Method(
        loader=HoldoutLoader(part, loader, probe),
        optimizer=optimizer,
        scheduler=scheduler,
        reg_weight=0.0,
        tuner=probe,
        n_probe_items=count,
        settled_after=min(epochs, math.ceil(recipe.probe.stop * steps / len(part))),
        unfinished=lambda: probe.unfinished,
        task_score=lambda: probe.task_score,
        paused=paused,
    )


class HoldoutLoader:
    """Excludes the held-out samples until the extents are fixed, then includes them.

    The change takes effect at the next epoch.

    Args:
        part: batches without the held-out samples.
        whole: batches of all training samples.
        probe: the probe; its `settled` selects the batches.
    """

    def __init__(self, part: CheckedBatches, whole: CheckedBatches, probe: Probe) -> None:
        self.part = part
        self.whole = whole
        self.probe = probe

    @property
    def _current(self) -> CheckedBatches:
        return self.whole if self.probe.settled else self.part

    def __iter__(self) -> Iterator[Any]:
        return iter(self._current)

    def __len__(self) -> int:
        return len(self._current)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.whole, name)
