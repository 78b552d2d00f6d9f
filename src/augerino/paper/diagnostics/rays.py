"""Loss and error along random rays in weight space that start at a solution."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Generator, Tensor

from augerino.diagnostics.items import score_items
from augerino.errors import InputError
from augerino.paper.diagnostics.surface import LossSurface

RayKind = Literal["plain", "filter"]


@dataclass(frozen=True)
class Rays:
    """Mean loss and, for classification, error: `loss[d][i]` is at `lengths[i]` in direction d."""

    kind: RayKind
    lengths: list[float]
    loss: list[list[float]]
    error: list[list[float]] | None


def loss_along_rays(
    surface: LossSurface,
    lengths: Sequence[float],
    *,
    directions: int = 10,
    kind: RayKind = "filter",
    seed: int = 0,
) -> Rays:
    """Evaluates the loss at w + s d for each length s and several random directions d.

    Batch norm keeps its statistics. The unit of length is explained in `random_direction`.

    Args:
        surface: the loss as a function of the weights; its weights are restored.
        lengths: distances from the solution; 0 is the solution itself.
        directions: number of random directions.
        kind: "plain" or "filter".
        seed: seed of the directions; two surfaces of one network get the same ones.
    """
    if directions < 1 or len(lengths) < 1:
        raise InputError(
            "There must be at least one direction and one length, "
            f"but got {directions} and {len(lengths)}."
        )
    generator = Generator().manual_seed(seed)
    solution = [weight.detach().clone() for weight in surface.weights]
    losses: list[list[float]] = []
    errors: list[list[float]] = []
    try:
        for _ in range(directions):
            direction = random_direction(solution, kind, generator)
            losses.append([])
            errors.append([])
            for length in lengths:
                _move(surface.weights, solution, direction, length)
                loss, error = _loss_and_error(surface)
                losses[-1].append(loss)
                if error is not None:
                    errors[-1].append(error)
    finally:
        _set(surface.weights, solution)
    is_classification = bool(errors[0])
    return Rays(
        kind=kind,
        lengths=list(lengths),
        loss=losses,
        error=errors if is_classification else None,
    )


def random_direction(
    weights: Sequence[Tensor], kind: RayKind, generator: Generator
) -> list[Tensor]:
    """A Gaussian direction in weight space, one tensor per weight.

    - "plain": over all weights, including biases and batch norm, with a total norm of 1, so that a
      length is a distance. Its meaning depends on the scale of the weights, which batch norm leaves
      undetermined.
    - "filter": each filter's part has the norm of the filter (Li et al. 2018), so that at length 1
      every filter has moved by its own norm. A filter is `weight[j]`, which computes one channel of
      a convolution or one output of a linear layer. Weights of one dimension (biases and batch
      norm) stay fixed.
    """
    if kind not in get_args(RayKind):
        raise InputError(f"kind must be one of {', '.join(get_args(RayKind))}, but got '{kind}'.")
    drawn = [
        torch.randn(weight.shape, generator=generator, dtype=torch.float64).to(weight.device)
        for weight in weights
    ]
    if kind == "plain":
        norm = torch.stack([part.square().sum() for part in drawn]).sum().sqrt()
        return [(part / norm).to(weight.dtype) for part, weight in zip(drawn, weights, strict=True)]
    return [
        _normalize_filters(part, weight.double()).to(weight.dtype)
        for part, weight in zip(drawn, weights, strict=True)
    ]


def _normalize_filters(drawn: Tensor, weight: Tensor) -> Tensor:
    """Scales each filter of `drawn` to the norm of that filter of `weight`."""
    if weight.dim() < 2:
        return torch.zeros_like(drawn)
    ratio = _filter_norms(weight) / _filter_norms(drawn).clamp_min(1e-30)
    return drawn * ratio.reshape(-1, *[1] * (weight.dim() - 1))


def _filter_norms(weight: Tensor) -> Tensor:
    return weight.flatten(1).norm(dim=1)


def _move(
    weights: list[Tensor], solution: list[Tensor], direction: list[Tensor], length: float
) -> None:
    """Sets the weights to solution + length * direction."""
    pairs = zip(solution, direction, strict=True)
    _set(weights, [weight + length * part for weight, part in pairs])


def _loss_and_error(surface: LossSurface) -> tuple[float, float | None]:
    """Mean loss and fraction of wrong predictions; no error for a regression."""
    loss = 0.0
    error = None
    n_items = len(surface.y)
    with torch.no_grad():
        for prediction, y in surface.predictions():
            loss += float(surface.loss(prediction, y)) * len(y) / n_items
            right = score_items(prediction, y).correct
            if right is not None:
                error = (error or 0.0) + float((1 - right).sum()) / n_items
    return loss, error


def _set(weights: list[Tensor], values: list[Tensor]) -> None:
    with torch.no_grad():
        for weight, value in zip(weights, values, strict=True):
            weight.copy_(value)
