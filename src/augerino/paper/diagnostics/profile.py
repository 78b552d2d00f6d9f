"""The loss as a function of one coordinate's bound, for a trained model: the paper's Figure 5b."""

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
    """Loss, penalty and their derivatives at each bound of one coordinate; `total` is loss + penalty."""

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
    """Moves one bound of a trained model and records the objective, with the same noise at every bound.

    The augmentation must be uniform. Slopes are exact derivatives of the sampled objective with respect to the bound,
    by the reparametrization that training uses. The model's bounds and mode are put back.

    Args:
        model: trained; evaluated one copy at a time, as in training.
        objective: its loss and regularizer.
        x: inputs.
        y: targets.
        coordinate: whose bound moves.
        bounds: where to look, (m,).
        draws: how often each input is drawn at each bound.
        seed: of the draws.
    """
    names, distribution = model.augmentation.names, model.augmentation.distribution
    if coordinate not in names:
        raise InputError(
            f"The augmentation has no coordinate '{coordinate}'. It has: {', '.join(names)}."
        )
    if not isinstance(distribution, Uniform):
        raise InputError(
            f"A profile needs a Uniform distribution, but the augmentation has a {type(distribution).__name__}."
        )
    index, kept, copies = (
        names.index(coordinate),
        distribution.bound.detach().clone(),
        model.test_copies,
    )
    found: dict[str, list[float]] = {"loss": [], "penalty": [], "loss_slope": [], "total_slope": []}
    raw = distribution.raw_bound
    try:
        model.test_copies = 1
        for bound in bounds.tolist():
            value = kept.clone()
            value[index] = bound
            distribution.bound = value
            slope = float(torch.sigmoid(raw.detach()[index]))  # d bound / d raw
            with evaluation_mode(model), torch.random.fork_rng(), torch.enable_grad():
                torch.manual_seed(seed)
                terms = [objective(model(x), y) for _ in range(draws)]
                loss = torch.stack([term.loss for term in terms]).mean()
                penalty = terms[0].penalty
                gradients = [
                    torch.autograd.grad(part, raw, retain_graph=True)[0]
                    for part in (loss, loss + penalty)
                ]
            found["loss"].append(loss.item())
            found["penalty"].append(penalty.item())
            for name, gradient in zip(("loss_slope", "total_slope"), gradients, strict=True):
                found[name].append(float(gradient[index]) / slope)
    finally:
        distribution.bound = kept
        model.test_copies = copies
    return Profile(coordinate, bounds.tolist(), **found)
