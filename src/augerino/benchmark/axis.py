"""One coordinate of a problem: how the data vary along it, and the true extent that follows.

Every item has a position along the coordinate, and a transform adds to it. This holds for every
one-parameter group (rotations, translations, log-factors), and for brightness as long as nothing is
clipped. Contrasts multiply, so the position of a contrast is the logarithm of its slope.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Generator, Tensor

from augerino.errors import InputError

Kind = Literal["soft", "target", "full", "sides", "mirrored", "swapped"]

FLIP_KINDS = ("sides", "mirrored", "swapped")  # the coordinate is 0 or 1
FLIP_LIMIT = 0.5  # the largest probability of a flip, and that of a flip that is a symmetry
_POLE = 259 / 255  # of the paper's contrast formula


@dataclass(frozen=True)
class Axis:
    """How data vary along one coordinate, and whether labels depend on it.

    - **soft**: positions within ±extent of one of several poses; the label is the pose. The
      true extent is θ* = (smallest distance of two poses) / 2 - extent: beyond it, items with
      different labels become identical.
    - **target**: positions within ±extent; the position is the target of a regression: θ* = 0.
    - **full**: positions in the whole range, and labels do not depend on them: θ* is the limit.
    - **sides**: half the items are mirrored, and the label says which: probability 0.
    - **mirrored**: half the items are mirrored, and labels do not depend on it: probability 1/2.
    - **swapped**: half the items are mirrored and labels do not depend on it, but mirroring maps
      one pose of another axis to a pose with another label: probability 0.

    Args:
        name: of the coordinate.
        kind: as above.
        poses: positions of the poses of a soft axis, ascending.
        extent: largest distance of positions from their pose, or from 0 for a target.
        period: of a periodic coordinate; 2 pi for rotations by default.

    Example:
        >>> up_and_down = Axis("rotate", "soft", poses=(0.0, math.pi), extent=math.pi / 4)
        >>> round(up_and_down.answer(limit=math.pi), 4)
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
            known = ", ".join(get_args(Kind))
            raise InputError(f"An axis is one of {known}, but {self.name} is '{self.kind}'.")
        if self.kind == "target" and self.extent <= 0:
            raise InputError(
                f"A target along {self.name} needs an extent above 0, but got {self.extent:g}."
            )
        if self.kind == "soft":
            self._check_poses()

    def _check_poses(self) -> None:
        ascending = all(a < b for a, b in itertools.pairwise(self.poses))
        if len(self.poses) < 2 or not ascending:
            raise InputError(
                f"A soft axis needs two or more ascending poses, but {self.name} got {self.poses}."
            )
        if not 0 <= self.extent < self.gap / 2:
            raise InputError(
                f"The poses of {self.name} are {self.gap:.4g} apart, so the extent must be below "
                f"half of that, but is {self.extent:.4g}: two poses would share items."
            )

    @property
    def gap(self) -> float:
        """The smallest distance of two poses."""
        poses = list(self.poses)
        if self.period is not None:
            poses.append(poses[0] + self.period)
        return min(b - a for a, b in itertools.pairwise(poses))

    @property
    def n_labels(self) -> int:
        """Number of labels that this axis distinguishes."""
        if self.kind == "soft":
            return len(self.poses)
        return 2 if self.kind == "sides" else 1

    def answer(self, limit: float) -> float:
        """The true extent in the coordinate's own unit; for a flip the probability."""
        if self.kind == "soft":
            return meeting_bound(self.name, self.gap - 2 * self.extent)
        if self.kind == "full":
            return limit
        return FLIP_LIMIT if self.kind == "mirrored" else 0.0

    def draw(self, label: Tensor, limit: float, generator: Generator) -> Tensor:
        """Random positions of items with these labels of the axis.   label: (n,)   returns (n,)"""
        u = 2 * torch.rand(len(label), generator=generator) - 1
        if self.kind == "sides":
            return label.float()
        if self.kind in FLIP_KINDS:
            return (u > 0).float()
        if self.kind == "full":
            return limit * u
        return torch.tensor(self.poses)[label] + self.extent * u

    def target(self, label: Tensor, position: Tensor) -> Tensor | None:
        """The regression target of this axis in [-1, 1], (n,); None if it has none."""
        if self.kind == "target":
            return position / self.extent
        if self.n_labels == 1:
            return None
        return 2 * label.float() / (self.n_labels - 1) - 1


def coordinate_at(name: str, position: Tensor) -> Tensor:
    """The coordinate that moves an item from position 0 to the given position."""
    if name != "contrast":
        return position
    slope = position.exp()
    return _POLE * (slope - 1) / (slope + _POLE)


def position_of(name: str, t: Tensor) -> Tensor:
    """How far a coordinate moves an item: the inverse of `coordinate_at`."""
    if name != "contrast":
        return t
    return (_POLE * (1 + t) / (_POLE - t)).log()


def meeting_bound(name: str, gap: float) -> float:
    """The bound at which two items at distance `gap` meet, one moved up and the other down.

    Example:
        >>> meeting_bound("rotate", 1.0), round(meeting_bound("contrast", 1.0), 4)
        (0.5, 0.2468)
    """
    if name != "contrast":
        return gap / 2
    # The slopes k(t) / k(-t) = e^gap give a quadratic equation in t.
    ratio = math.tanh(gap / 2)
    total = 1 + _POLE
    return (total - math.sqrt(total**2 - 4 * _POLE * ratio**2)) / (2 * ratio)
