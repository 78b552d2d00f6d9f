"""Embedded point clouds with a known answer: arrows and clubs that point forwards or backwards.

Each figure is round about its own axis, and thicker at its head. It lies along x, pointing forwards (to +x) or backwards (to -x),
and is turned about z by a random angle within ±extent. The label says which figure and which way it points. So, each coordinate
taken alone:

- **rotate_z**: turning a cloud further by up to pi/2 - extent keeps every label right, and not a degree more.
- **rotate_y**: tilting it up or down by up to pi/2 keeps every label right: the head stays in its half of space.
- **rotate_x**: free, all the way round: the x of a head does not change, and the figure is round.
- **scale, translations, squeezes**: no label is ever contradicted, so there is no exact extent.

Learned together, the three rotations describe a joint set: turned far about x, a tilt about y becomes a turn about z.
"""

import math
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from augerino.errors import InputError
from augerino.transforms import Affine3d

FIGURES = ("arrow", "club")
CLASS_NAMES = tuple(f"{figure} {way}" for figure in FIGURES for way in ("forwards", "backwards"))


@dataclass(frozen=True)
class Clouds:
    """Point clouds (N, points, 3), labels (N,) of 4 classes, the angle each was turned by, and the extents known exactly."""

    x: Tensor
    y: Tensor
    angles: Tensor
    class_names: tuple[str, ...]
    true: dict[str, float]


def radius(figure: Tensor, along: Tensor) -> Tensor:
    """How thick a figure is at a point of its axis, from -1 at its foot to 1 at its head: a shaft, then a cone or a ball."""
    cone = torch.where(along > 0.2, 0.5 * (1 - along) / 0.8, 0.08)
    ball = torch.where(along > 0.2, (0.16 - (along - 0.6).square()).clamp_min(0).sqrt(), 0.08)
    return torch.where(figure == 0, cone, ball)


def figures(figure: Tensor, points: int, generator: Generator) -> Tensor:
    """Random points on the surface of each figure, lying along x.   figure: (N,)   returns (N, points, 3)"""
    shape = (len(figure), points)
    along = 2 * torch.rand(shape, generator=generator) - 1
    around = 2 * math.pi * torch.rand(shape, generator=generator)
    thick = radius(figure[:, None], along)
    return torch.stack([along, thick * around.cos(), thick * around.sin()], dim=-1)


def clouds(
    n: int = 2000, *, seed: int = 0, extent: float = math.pi / 4, points: int = 64
) -> Clouds:
    """Draws n clouds, the four classes in equal parts up to rounding and in random order.

    Args:
        n: how many.
        seed: of this draw alone; the global random state is neither used nor changed.
        extent: clouds are turned about z by angles within ±extent; in (0, pi/2).
        points: per cloud, in no order.

    Example:
        >>> data = clouds(8, seed=1)
        >>> tuple(data.x.shape), round(data.true["rotate_z"], 4), data.class_names[1]
        ((8, 64, 3), 0.7854, 'arrow backwards')
    """
    if n < 1 or points < 8 or not 0 < extent < math.pi / 2:
        raise InputError(
            f"clouds needs n >= 1, points >= 8 and 0 < extent < pi/2, but got n={n}, points={points}, extent={extent:.4g}."
        )
    generator = torch.Generator().manual_seed(seed)
    y = torch.randperm(n, generator=generator) % len(CLASS_NAMES)
    angles = (2 * torch.rand(n, generator=generator) - 1) * extent + math.pi * (y % 2)
    x = Affine3d("rotate_z")(figures(y // 2, points, generator), angles[:, None])
    true = {"rotate_x": math.pi, "rotate_y": math.pi / 2, "rotate_z": math.pi / 2 - extent}
    return Clouds(x, y, torch.remainder(angles + math.pi, 2 * math.pi) - math.pi, CLASS_NAMES, true)
