"""One coordinate's part in a problem: how the data are spread along it, what the labels say of it, and the answer that follows.

Items stand at places along a coordinate, and moving one further adds to its place. That is so for every one-parameter group
(turns, shifts, log-factors) and for brightness as long as nothing is clipped; contrasts multiply, so the place of a contrast is
the logarithm of its slope.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Generator, Tensor

from augerino.errors import InputError

Kind = Literal["soft", "target", "full", "sides", "mirrored", "swapped"]

FLIPS = ("sides", "mirrored", "swapped")  # kinds whose coordinate is 0 or 1
MIRRORED = 0.5  # the probability of a flip that is a symmetry, and the most that counts
_POLE = 259 / 255  # of the paper's contrast formula


@dataclass(frozen=True)
class Axis:
    """How data are spread along one coordinate, and whether labels depend on it.

    - **soft**: places within ±extent of one of several poses, and the label says which. Moving items by up to ±θ keeps labels
      apart until θ* = (the least distance of two poses) / 2 - extent, and not a hair more.
    - **target**: places within ±extent, and the place is the target of a regression: every move is wrong, θ* = 0.
    - **full**: places all over the coordinate's range, of which labels say nothing: θ* is the limit.
    - **sides**: half the items are mirrored, and the label says which: probability 0.
    - **mirrored**: half the items are mirrored, and no label depends on it: probability 1/2.
    - **swapped**: half the items are mirrored, no label says which, but mirroring takes one pose of another axis to another pose,
      which has a label of its own: probability 0.

    Args:
        name: of the coordinate.
        kind: as above.
        poses: of a soft axis, ascending, as places.
        extent: how far places lie from their pose, or from 0 for a target.
        period: after which places come back, for what goes round; 2 pi for rotations by default.

    Example:
        >>> round(Axis("rotate", "soft", poses=(0.0, math.pi), extent=math.pi / 4).answer(limit=math.pi), 4)
        0.7854
    """

    name: str
    kind: Kind
    poses: tuple[float, ...] = (0.0,)
    extent: float = 0.0
    period: float | None = None

    def __post_init__(self) -> None:
        if self.period is None and self.name.startswith("rotate"):
            object.__setattr__(self, "period", 2 * math.pi)
        if self.kind not in get_args(Kind):
            raise InputError(
                f"An axis is one of {', '.join(get_args(Kind))}, but {self.name} is '{self.kind}'."
            )
        if self.kind == "target" and self.extent <= 0:
            raise InputError(
                f"A target along {self.name} needs an extent above 0, but got {self.extent:g}."
            )
        if self.kind == "soft":
            if len(self.poses) < 2 or any(b <= a for a, b in itertools.pairwise(self.poses)):
                raise InputError(
                    f"A soft axis needs two or more ascending poses, but {self.name} got {self.poses}."
                )
            if not 0 <= self.extent < self.gap / 2:
                raise InputError(
                    f"The poses of {self.name} lie {self.gap:.4g} apart, so the extent must be below half of that, "
                    f"but is {self.extent:.4g}: two poses would share items."
                )

    @property
    def gap(self) -> float:
        """The least distance of two poses."""
        around = [self.poses[0] + self.period] if self.period is not None else []
        ends = [*self.poses, *around]
        return min(b - a for a, b in itertools.pairwise(ends))

    @property
    def labels(self) -> int:
        """How many labels this axis tells apart."""
        return len(self.poses) if self.kind == "soft" else 2 if self.kind == "sides" else 1

    def answer(self, limit: float) -> float:
        """The true extent, in the coordinate's own unit; of a flip its probability."""
        if self.kind == "soft":
            return meeting(self.name, self.gap - 2 * self.extent)
        return {"full": limit, "mirrored": MIRRORED}.get(self.kind, 0.0)

    def draw(self, label: Tensor, limit: float, generator: Generator) -> Tensor:
        """Places of items with these labels of the axis.   label: (n,)   returns (n,)"""
        u = 2 * torch.rand(len(label), generator=generator) - 1
        if self.kind == "sides":
            return label.float()
        if self.kind in FLIPS:
            return (u > 0).float()
        if self.kind == "full":
            return limit * u
        return torch.tensor(self.poses)[label] + self.extent * u

    def target(self, label: Tensor, place: Tensor) -> Tensor | None:
        """What a regression is told of this axis, from -1 to 1; None where it is told nothing."""
        if self.kind == "target":
            return place / self.extent
        return 2 * label.float() / (self.labels - 1) - 1 if self.labels > 1 else None


def coordinate(name: str, place: Tensor) -> Tensor:
    """The coordinate that takes an item at place 0 to a place."""
    if name != "contrast":
        return place
    slope = place.exp()
    return _POLE * (slope - 1) / (slope + _POLE)


def place_of(name: str, t: Tensor) -> Tensor:
    """How far a coordinate moves an item along its axis: the inverse of `coordinate`."""
    return (_POLE * (1 + t) / (_POLE - t)).log() if name == "contrast" else t


def meeting(name: str, gap: float) -> float:
    """The bound at which two items meet that lie so far apart, when one is moved up and the other down.

    Example:
        >>> meeting("rotate", 1.0), round(meeting("contrast", 1.0), 4)
        (0.5, 0.2468)
    """
    if name != "contrast":
        return gap / 2
    # Slopes k(t) / k(-t) = e^gap, which is a square equation in t.
    share = math.tanh(gap / 2)
    return ((1 + _POLE) - math.sqrt((1 + _POLE) ** 2 - 4 * _POLE * share**2)) / (2 * share)
