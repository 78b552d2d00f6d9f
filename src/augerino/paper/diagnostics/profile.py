"""Loss of a trained model against the bound of one coordinate (the paper's Figure 5b)."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from augerino.distributions import Uniform
from augerino.errors import InputError
from augerino.models import InvariantModel, evaluation_mode
from augerino.objective import Objective


@dataclass(frozen=True)
class Profile:
    """Loss, penalty and their slopes at each bound of one coordinate; total = loss + penalty."""

    coordinate: str
    bounds: list[float]
    loss: list[float]
    penalty: list[float]
    loss_slope: list[float]
    total_slope: list[float]

    @property
    def total(self) -> list[float]:
        return [loss + penalty for loss, penalty in zip(self.loss, self.penalty, strict=True)]


def profile(
    model: InvariantModel,
    objective: Objective,
    x: Any,
    y: Tensor,
    coordinate: str,
    bounds: Tensor,
    *,
    draws: int = 8,
    seed: int = 0,
) -> Profile:
    """Sets one bound of a trained model to several values and records the objective at each.

    The augmentation must be uniform. All bounds share the same noise. Slopes are exact derivatives
    of the sampled objective with respect to the bound, by the reparametrization used in training.
    The model's bounds and mode are restored.

    Args:
        model: the trained model; it is evaluated with one copy, as in training.
        objective: its loss and regularizer.
        x: inputs.
        y: targets.
        coordinate: name of the coordinate whose bound is varied.
        bounds: values of the bound, (m,).
        draws: samples per input and bound.
        seed: seed of the samples.
    """
    names = model.augmentation.names
    distribution = model.augmentation.distribution
    if coordinate not in names:
        raise InputError(
            f"The augmentation has no coordinate '{coordinate}'. It has: {', '.join(names)}."
        )
    if not isinstance(distribution, Uniform):
        raise InputError(
            "A profile needs a Uniform distribution, "
            f"but the augmentation has a {type(distribution).__name__}."
        )
    index = names.index(coordinate)
    original_bound = distribution.bound.detach().clone()
    original_copies = model.test_copies
    found: dict[str, list[float]] = {"loss": [], "penalty": [], "loss_slope": [], "total_slope": []}
    try:
        model.test_copies = 1
        for bound in bounds.tolist():
            value = original_bound.clone()
            value[index] = bound
            distribution.bound = value
            with evaluation_mode(model), torch.random.fork_rng(), torch.enable_grad():
                torch.manual_seed(seed)
                terms = [objective(model(x), y) for _ in range(draws)]
                loss = torch.stack([term.loss for term in terms]).mean()
                penalty = terms[0].penalty
                found["loss"].append(loss.item())
                found["penalty"].append(penalty.item())
                found["loss_slope"].append(_slope(loss, distribution, index))
                found["total_slope"].append(_slope(loss + penalty, distribution, index))
    finally:
        distribution.bound = original_bound
        model.test_copies = original_copies
    return Profile(coordinate, bounds.tolist(), **found)


def _slope(value: Tensor, distribution: Uniform, index: int) -> float:
    """d value / d bound[index], by the chain rule with d bound / d raw = sigmoid(raw)."""
    raw = distribution.raw_bound
    (gradient,) = torch.autograd.grad(value, raw, retain_graph=True)
    return float(gradient[index]) / float(torch.sigmoid(raw.detach()[index]))
