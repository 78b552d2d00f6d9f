"""Synthetic point clouds with known symmetries: arrows and clubs that point forwards or backwards.

Each figure is rotationally symmetric about its axis and has a thick head. It lies along x, points
forwards (+x) or backwards (-x), and is rotated about z by a random angle within ±extent. The label
is the pair (figure, direction). The extent of each coordinate taken alone:

- **rotate_z**: pi/2 - extent, exactly.
- **rotate_y**: pi/2; the head stays in its half-space.
- **rotate_x**: pi, the full range; it leaves the x coordinate of the head unchanged.
- **scale, translations, squeezes**: no exact extent; they never contradict a label.

The three rotations interact when they are learned together: after a large rotation about x, a
rotation about y acts like one about z.
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
    """Labelled point clouds and the exact extents of their symmetries."""

    x: Tensor  # (N, points, 3)
    y: Tensor  # (N,), 4 classes
    angles: Tensor  # (N,), rotation about z of each cloud
    class_names: tuple[str, ...]
    true: dict[str, float]  # extent by coordinate


def radius(figure: Tensor, along: Tensor) -> Tensor:
    """Radius of a figure along its axis: a shaft, then a cone (figure 0) or a ball (figure 1).

    along: position on the axis, from -1 at the foot to 1 at the head
    """
    cone = torch.where(along > 0.2, 0.5 * (1 - along) / 0.8, 0.08)
    ball = torch.where(along > 0.2, (0.16 - (along - 0.6).square()).clamp_min(0).sqrt(), 0.08)
    return torch.where(figure == 0, cone, ball)


def figures(figure: Tensor, points: int, generator: Generator) -> Tensor:
    """Random surface points of each figure, aligned with x.

    figure: (N,)   returns (N, points, 3)
    """
    shape = (len(figure), points)
    along = 2 * torch.rand(shape, generator=generator) - 1
    around = 2 * math.pi * torch.rand(shape, generator=generator)
    thick = radius(figure[:, None], along)
    return torch.stack([along, thick * around.cos(), thick * around.sin()], dim=-1)


def clouds(
    n: int = 2000, *, seed: int = 0, extent: float = math.pi / 4, points: int = 64
) -> Clouds:
    """Draws n clouds from four balanced classes, in random order.

    Args:
        n: number of clouds.
        seed: seed of a private generator; the global random state is neither used nor changed.
        extent: clouds are rotated about z by angles within ±extent; in (0, pi/2).
        points: points per cloud, unordered.

    Example:
        >>> data = clouds(8, seed=1)
        >>> tuple(data.x.shape), round(data.true["rotate_z"], 4), data.class_names[1]
        ((8, 64, 3), 0.7854, 'arrow backwards')
    """
    if n < 1 or points < 8 or not 0 < extent < math.pi / 2:
        raise InputError(
            f"clouds needs n >= 1, points >= 8 and 0 < extent < pi/2, "
            f"but got n={n}, points={points}, extent={extent:.4g}."
        )
    generator = torch.Generator().manual_seed(seed)
    y = torch.randperm(n, generator=generator) % len(CLASS_NAMES)
    angles = (2 * torch.rand(n, generator=generator) - 1) * extent + math.pi * (y % 2)
    x = Affine3d("rotate_z")(figures(y // 2, points, generator), angles[:, None])
    true = {"rotate_x": math.pi, "rotate_y": math.pi / 2, "rotate_z": math.pi / 2 - extent}
    return Clouds(
        x=x,
        y=y,
        angles=torch.remainder(angles + math.pi, 2 * math.pi) - math.pi,
        class_names=CLASS_NAMES,
        true=true,
    )
