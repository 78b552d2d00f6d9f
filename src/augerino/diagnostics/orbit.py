"""What a model says while one input is moved along one coordinate."""

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
    """A model's outputs along the orbit of one input: `outputs[i]` belongs to the coordinate value `values[i]`."""

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
    """Moves one input along a coordinate and records what the model predicts.

    Args:
        model: predicts from a batch, in evaluation mode; its mode is put back.
        x: one input, or a tree of them, without the batch dimension.
        transform: holds the coordinate.
        coordinate: which one moves; the others stay at 0.
        values: where to look, (m,).
        probabilities: whether outputs are scores or log-probabilities of classes, to be shown as probabilities.
    """
    if coordinate not in transform.names:
        raise InputError(
            f"{type(transform).__name__} has no coordinate '{coordinate}'. It has: {', '.join(transform.names)}."
        )
    where = next(tree.leaves(x)).device
    t = torch.zeros(len(values), len(transform.names), dtype=values.dtype, device=where)
    t[:, transform.names.index(coordinate)] = values.to(where)
    with evaluation_mode(model):
        moved = transform(tree.map(lambda leaf: leaf.expand(len(values), *leaf.shape), x), t)
        outputs = model(moved).float()
        outputs = outputs.softmax(dim=1) if probabilities else outputs
    return Orbit(coordinate, values.tolist(), outputs.flatten(1).cpu().tolist())
