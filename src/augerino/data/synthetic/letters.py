"""Synthetic images with a known rotation symmetry: a letter anywhere in the image, at any size.

As with the sprites, a letter is upright or upside down and then rotated by a random angle within
±extent, and the label is the pair (letter, orientation). The true extent of the rotation symmetry
is pi/2 - extent. Position and size vary and do not matter. J is a mirrored L, so flips change
labels.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from augerino.errors import InputError
from augerino.transforms import Affine2d

Line = tuple[tuple[float, float], tuple[float, float]]  # start (x, y) and end (x, y) in [-1, 1]

LINES: dict[str, tuple[Line, ...]] = {
    "F": (
        ((-0.35, -0.7), (-0.35, 0.7)),
        ((-0.35, -0.7), (0.5, -0.7)),
        ((-0.35, -0.05), (0.25, -0.05)),
    ),
    "L": (((-0.35, -0.7), (-0.35, 0.65)), ((-0.35, 0.65), (0.25, 0.65))),
    "R": (
        ((-0.4, -0.7), (-0.4, 0.7)),
        ((-0.4, -0.7), (0.35, -0.6)),
        ((0.35, -0.6), (0.35, -0.1)),
        ((0.35, -0.1), (-0.4, 0.0)),
        ((-0.1, 0.0), (0.5, 0.7)),
    ),
    "J": (((0.35, -0.7), (0.35, 0.65)), ((0.35, 0.65), (-0.25, 0.65))),
}
CLASS_NAMES = tuple(f"{letter} {way}" for letter in LINES for way in ("upright", "upside down"))

_STROKE = 0.16  # half width of the lines, for a letter as large as the image
_SIZE = 0.45  # mean size as a fraction of the image
_ZOOM = 0.15  # largest change of the logarithm of the size
_SHIFT = 0.45  # largest shift in half images
_OVERSAMPLING = 4


@dataclass(frozen=True)
class Letters:
    """Labelled images and the exact extent of their rotation symmetry."""

    x: Tensor  # (N, 1, side, side) in [0, 1]
    y: Tensor  # (N,), 8 classes
    angles: Tensor  # (N,), rotation of each image
    true_extent: float


def letters(n: int = 120, *, seed: int = 0, extent: float = math.pi / 4, side: int = 24) -> Letters:
    """Draws n images from eight balanced classes, in random order.

    Args:
        n: number of images.
        seed: seed of a private generator; the global random state is neither used nor changed.
        extent: letters are rotated within ±extent of upright or of upside down; in (0, pi/2).
        side: height and width in pixels.

    Example:
        >>> data = letters(8, seed=1)
        >>> tuple(data.x.shape), round(data.true_extent, 4)
        ((8, 1, 24, 24), 0.7854)
    """
    if n < 1 or side < 8 or not 0 < extent < math.pi / 2:
        raise InputError(
            f"letters needs n >= 1, side >= 8 and 0 < extent < pi/2, "
            f"but got n={n}, side={side}, extent={extent:.4g}."
        )
    generator = torch.Generator().manual_seed(seed)
    y = torch.randperm(n, generator=generator) % len(CLASS_NAMES)
    turn, zoom, x_shift, y_shift = 2 * torch.rand(4, n, generator=generator) - 1
    angles = turn * extent + math.pi * (y % 2)
    fine = side * _OVERSAMPLING
    upright = torch.stack([draw(lines, _STROKE, fine) for lines in LINES.values()])[:, None]
    log_sizes = math.log(_SIZE) + _ZOOM * zoom
    x = Affine2d("rotate", "scale")(upright[y // 2], torch.stack([angles, log_sizes], dim=1))
    shifts = _SHIFT * torch.stack([x_shift, y_shift], dim=1)
    x = Affine2d("translate_x", "translate_y")(x, shifts)
    return Letters(
        x=F.avg_pool2d(x, _OVERSAMPLING),
        y=y,
        angles=torch.remainder(angles + math.pi, 2 * math.pi) - math.pi,
        true_extent=math.pi / 2 - extent,
    )


def draw(lines: tuple[Line, ...], stroke: float, side: int) -> Tensor:
    """A letter of white lines with half width `stroke` on black, (side, side) in [0, 1]."""
    centers = pixel_centers(side)
    points = torch.stack(torch.meshgrid(centers, centers, indexing="xy"), dim=-1)
    distances = [_distance(points, torch.tensor(a), torch.tensor(b)) for a, b in lines]
    distance = torch.stack(distances).amin(dim=0)
    pixel = 2 / side
    return ((stroke - distance) / pixel + 0.5).clamp(0, 1)


def pixel_centers(side: int) -> Tensor:
    """Centers of `side` pixels that fill [-1, 1], (side,)."""
    return (torch.arange(side) * 2 + 1) / side - 1


def _distance(points: Tensor, start: Tensor, end: Tensor) -> Tensor:
    """Distance of every point to the line segment from start to end.   (..., 2) -> (...)"""
    along = end - start
    fraction = ((points - start) @ along / along.square().sum()).clamp(0, 1)
    return (points - start - fraction[..., None] * along).norm(dim=-1)
