"""Loss and error while a network's weights move away from a solution along random rays."""

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
    """Mean loss and, for classes, the share of wrong answers: `loss[d][i]` at `lengths[i]` along direction d."""

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
    """Moves the weights to w + s d for each length s and each of several random directions d, and puts them back.

    Batch norm keeps its statistics, as everywhere on the surface. See `random_direction` for what a length means.

    Args:
        surface: the loss as a function of the weights; its weights are moved and put back.
        lengths: how far to go; 0 is the solution itself.
        directions: how many.
        kind: "plain" or "filter".
        seed: of the directions: another surface of the same network has the same ones.
    """
    if directions < 1 or len(lengths) < 1:
        raise InputError(
            f"There must be at least one direction and one length, but got {directions} and {len(lengths)}."
        )
    generator = Generator().manual_seed(seed)
    kept = [weight.detach().clone() for weight in surface.weights]
    found: list[list[tuple[float, float | None]]] = []
    try:
        for _ in range(directions):
            direction = random_direction(kept, kind, generator)
            found.append([_judge_at(surface, kept, direction, length) for length in lengths])
    finally:
        _set(surface.weights, kept)
    losses = [[loss for loss, _ in ray] for ray in found]
    errors = [[error for _, error in ray if error is not None] for ray in found]
    return Rays(kind, list(lengths), losses, errors if errors[0] else None)


def random_direction(
    weights: Sequence[Tensor], kind: RayKind, generator: Generator
) -> list[Tensor]:
    """A Gaussian direction in weight space, one tensor a weight.

    "plain": over all weights, biases and batch norm among them, with a norm of 1 in all, so that a length is a distance. How far
    that is depends on how large the weights happen to be, which batch norm leaves open.

    "filter": each filter's part has the norm of the filter (Li et al. 2018), so that at length 1 every filter has moved by as
    much as there is of it. A filter is what makes one channel of a convolution or one output of a linear layer, `weight[j]`.
    Biases and batch norm, whose weights have one dimension, stay where they are.
    """
    if kind not in get_args(RayKind):
        raise InputError(f"Rays are of a kind of {', '.join(get_args(RayKind))}, but got '{kind}'.")
    drawn = [
        torch.randn(weight.shape, generator=generator, dtype=torch.float64).to(weight.device)
        for weight in weights
    ]
    if kind == "plain":
        norm = torch.stack([part.square().sum() for part in drawn]).sum().sqrt()
        return [(part / norm).to(weight.dtype) for part, weight in zip(drawn, weights, strict=True)]
    return [
        _like_filters(part, weight.double()).to(weight.dtype)
        for part, weight in zip(drawn, weights, strict=True)
    ]


def _like_filters(drawn: Tensor, weight: Tensor) -> Tensor:
    if weight.dim() < 2:
        return torch.zeros_like(drawn)
    norms = [
        tensor.flatten(1).norm(dim=1).reshape(-1, *[1] * (tensor.dim() - 1))
        for tensor in (weight, drawn)
    ]
    return drawn * (norms[0] / norms[1].clamp_min(1e-30))


def _judge_at(
    surface: LossSurface, kept: list[Tensor], direction: list[Tensor], length: float
) -> tuple[float, float | None]:
    _set(
        surface.weights,
        [weight + length * part for weight, part in zip(kept, direction, strict=True)],
    )
    loss, wrong, items, classes = 0.0, 0.0, len(surface.y), False
    with torch.no_grad():
        for prediction, y in surface.predictions():
            loss += float(surface.loss(prediction, y)) * len(y) / items
            right = score_items(prediction, y).correct
            if right is not None:
                classes, wrong = True, wrong + float((1 - right).sum()) / items
    return loss, wrong if classes else None


def _set(weights: list[Tensor], values: list[Tensor]) -> None:
    with torch.no_grad():
        for weight, value in zip(weights, values, strict=True):
            weight.copy_(value)
