"""Parameter groups and learning rate schedules for the weights and for theta."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from augerino.distributions import LearnedDistribution


def param_groups(
    model: nn.Module,
    *,
    weight_decay: float = 0.0,
    augmentation_lr: float | None = None,
    augmentation_betas: tuple[float, float] | None = None,
) -> list[dict[str, Any]]:
    """Optimizer groups: the weights with weight decay, then theta without.

    The gradient of a bound shrinks with the bound, by orders of magnitude while it collapses. With
    its usual memory of a thousand steps, Adam then hardly moves the bound; betas of (0.9, 0.9)
    shorten that memory.

    Args:
        model: network and learned augmentation.
        weight_decay: of the weights.
        augmentation_lr: learning rate of theta; by default that of the optimizer.
        augmentation_betas: Adam's betas for theta; by default those of the optimizer.

    Example:
        >>> from augerino import Affine2d, Augmentation, InvariantModel, Uniform
        >>> augmentation = Augmentation(Affine2d("rotate"), Uniform([0.1]))
        >>> model = InvariantModel(nn.Linear(4, 2), augmentation)
        >>> [len(group["params"]) for group in param_groups(model, weight_decay=1e-4)]
        [2, 1]
    """
    theta = theta_of(model)
    in_theta = {id(parameter) for parameter in theta}
    weights = [p for p in model.parameters() if p.requires_grad and id(p) not in in_theta]
    groups: list[dict[str, Any]] = []
    if weights:
        groups.append({"params": weights, "weight_decay": weight_decay})
    if theta:
        group: dict[str, Any] = {"params": theta, "weight_decay": 0.0}
        if augmentation_lr is not None:
            group["lr"] = augmentation_lr
        if augmentation_betas is not None:
            group["betas"] = augmentation_betas
        groups.append(group)
    return groups


def theta_of(model: nn.Module) -> list[nn.Parameter]:
    """The trainable parameters of the learned distributions in a model."""
    found: dict[int, nn.Parameter] = {}
    for module in model.modules():
        if isinstance(module, LearnedDistribution):
            for parameter in module.parameters():
                if parameter.requires_grad:
                    found[id(parameter)] = parameter
    return list(found.values())


def cosine_schedule(
    optimizer: torch.optim.Optimizer, steps: int, wait: float = 0.0, rise: float = 0.0
) -> torch.optim.lr_scheduler.LambdaLR:
    """Cosine decay of the learning rates; the rate of theta is 0 in the first steps.

    Bounds that move before the network has learned anything follow the penalty alone. From a wide
    start they diverge before the loss can limit them.

    Args:
        optimizer: over `param_groups(model)`.
        steps: of the whole training.
        wait: number of steps in which the rate of theta is 0.
        rise: number of steps in which the rate of the weights rises linearly from 0.
    """

    def cosine(step: int) -> float:
        return (1 + math.cos(math.pi * min(step, steps) / steps)) / 2

    def weights_rate(step: int) -> float:
        return min(1.0, (step + 1) / max(rise, 1.0)) * cosine(step)

    def theta_rate(step: int) -> float:
        return 0.0 if step < wait else cosine(step)

    rates: list[Callable[[int], float]] = [weights_rate, theta_rate]
    return torch.optim.lr_scheduler.LambdaLR(optimizer, rates[: len(optimizer.param_groups)])
