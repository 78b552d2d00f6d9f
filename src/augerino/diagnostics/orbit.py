"""Predictions of a model while one input moves along one coordinate."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from augerino import tree
from augerino.errors import InputError
from augerino.models import evaluation_mode
from augerino.transforms import Transform


@dataclass(frozen=True)
class Orbit:
    """The outputs of a model along the orbit of one input: `outputs[i]` belongs to `values[i]`."""

    coordinate: str
    values: list[float]
    outputs: list[list[float]]


def orbit(
    model: nn.Module,
    x: Any,
    transform: Transform,
    coordinate: str,
    values: Tensor,
    *,
    probabilities: bool = True,
) -> Orbit:
    """Moves one input along a coordinate and records the predictions of a model.

    Args:
        model: predicts from a batch; evaluated in evaluation mode, its own mode is restored.
        x: one input, or a tree of them, without the batch dimension.
        transform: a transform with this coordinate.
        coordinate: name of the coordinate that varies; the others stay at 0.
        values: values of that coordinate, (m,).
        probabilities: apply softmax, for a model that returns scores or log-probabilities.
    """
    device = next(tree.leaves(x)).device
    t = coordinates_along(transform, coordinate, values.to(device))
    repeated = tree.map(lambda leaf: leaf.expand(len(values), *leaf.shape), x)
    with evaluation_mode(model):
        outputs = model(transform(repeated, t)).float()
    if probabilities:
        outputs = outputs.softmax(dim=1)
    return Orbit(
        coordinate=coordinate,
        values=values.tolist(),
        outputs=outputs.flatten(1).cpu().tolist(),
    )


def coordinates_along(transform: Transform, coordinate: str, values: Tensor) -> Tensor:
    """Coordinates that are all 0 except for the named one.   values: (m,)   returns (m, k)"""
    if coordinate not in transform.names:
        raise InputError(
            f"{type(transform).__name__} has no coordinate '{coordinate}'. "
            f"It has: {', '.join(transform.names)}."
        )
    t = torch.zeros(len(values), len(transform.names), dtype=values.dtype, device=values.device)
    t[:, transform.names.index(coordinate)] = values
    return t
