"""Synthetic images with a known rotation symmetry: a robot and a boat, upright or upside down.

The construction is the paper's "Mario & Iggy" (Benton et al. 2020, Section 4.2) with other figures.
A figure is upright or upside down, and then rotated by a random angle within ±extent. The label is
the pair (figure, orientation). The true extent of the rotation symmetry is pi/2 - extent: rotating
an image by up to that angle preserves every label. With the paper's extent of pi/4 it is pi/4.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from augerino.errors import InputError
from augerino.transforms import Affine2d

FIGURES = ("robot", "boat")
CLASS_NAMES = tuple(f"{figure} {way}" for figure in FIGURES for way in ("upright", "upside down"))

Point = tuple[float, float]


class _Canvas:
    """Draws shapes over each other on black, in the square [-1, 1] with y down, antialiased."""

    def __init__(self, side: int, oversampling: int = 8) -> None:
        fine = side * oversampling
        centers = (np.arange(fine) * 2 + 1) / fine - 1
        self.x, self.y = np.meshgrid(centers, centers)
        self.pixels = np.zeros((3, fine, fine))
        self.oversampling = oversampling

    def paint(self, inside: np.ndarray, color: str) -> None:
        rgb = [int(color[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        self.pixels = np.where(inside, np.array(rgb)[:, None, None], self.pixels)

    def ellipse(self, center: Point, radii: Point, color: str) -> None:
        dx = (self.x - center[0]) / radii[0]
        dy = (self.y - center[1]) / radii[1]
        self.paint(dx**2 + dy**2 <= 1, color)

    def polygon(self, corners: list[Point], color: str) -> None:
        """Fills a polygon by the even-odd rule."""
        inside = np.zeros(self.x.shape, dtype=bool)
        for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1], strict=True):
            if y0 == y1:
                continue
            crosses = (self.y < y0) != (self.y < y1)
            inside ^= crosses & (self.x < x0 + (self.y - y0) * (x1 - x0) / (y1 - y0))
        self.paint(inside, color)

    def box(self, low: Point, high: Point, color: str) -> None:
        self.polygon([low, (high[0], low[1]), high, (low[0], high[1])], color)

    def image(self) -> Tensor:
        k = self.oversampling
        side = self.pixels.shape[1] // k
        small = self.pixels.reshape(3, side, k, side, k).mean(axis=(2, 4))
        return torch.from_numpy(small).float()


def robot(side: int = 32) -> Tensor:
    """A robot with one arm raised and an antenna on one side, (3, side, side) in [0, 1]."""
    canvas = _Canvas(side)
    canvas.box((0.22, -0.84), (0.30, -0.50), "9aa5b1")
    canvas.ellipse((0.26, -0.84), (0.09, 0.09), "ffd166")
    canvas.box((-0.38, -0.56), (0.38, -0.06), "d6dde6")
    canvas.ellipse((-0.14, -0.32), (0.14, 0.14), "1d3557")
    canvas.ellipse((0.22, -0.32), (0.08, 0.08), "e63946")
    canvas.box((-0.30, -0.02), (0.30, 0.50), "e63946")
    canvas.box((-0.20, 0.10), (0.02, 0.32), "ffd166")
    canvas.polygon([(-0.30, 0.02), (-0.30, 0.20), (-0.80, -0.32), (-0.68, -0.44)], "9aa5b1")
    canvas.box((0.34, 0.02), (0.48, 0.46), "9aa5b1")
    canvas.box((-0.26, 0.52), (-0.06, 0.88), "457b9d")
    canvas.box((0.06, 0.52), (0.26, 0.80), "457b9d")
    return canvas.image()


def boat(side: int = 32) -> Tensor:
    """A sailing boat with one large sail and a flag, (3, side, side) in [0, 1]."""
    canvas = _Canvas(side)
    canvas.box((-0.02, -0.86), (0.06, 0.40), "c8a27a")
    canvas.polygon([(-0.06, -0.70), (-0.06, 0.30), (-0.66, 0.30)], "f4f1de")
    canvas.polygon([(-0.06, -0.18), (-0.06, 0.00), (-0.37, 0.00)], "2a9d8f")
    canvas.polygon([(0.06, -0.86), (0.48, -0.70), (0.06, -0.54)], "f4a261")
    canvas.polygon([(-0.82, 0.36), (0.80, 0.36), (0.46, 0.74), (-0.56, 0.74)], "2a9d8f")
    canvas.box((-0.82, 0.36), (0.80, 0.44), "e9c46a")
    canvas.ellipse((0.34, 0.58), (0.09, 0.09), "f4f1de")
    canvas.box((0.26, 0.14), (0.52, 0.36), "e76f51")
    return canvas.image()


@dataclass(frozen=True)
class Sprites:
    """Labelled images and the exact extent of their rotation symmetry."""

    x: Tensor  # (N, 3, side, side) in [0, 1]
    y: Tensor  # (N,), 4 classes
    angles: Tensor  # (N,), rotation of each image
    true_extent: float


def figures(side: int = 32) -> Tensor:
    """The two figures upright, (2, 3, side, side)."""
    return torch.stack([robot(side), boat(side)])


def sprites(
    n: int = 2000,
    *,
    seed: int = 0,
    extent: float = math.pi / 4,
    side: int = 32,
    figures: Tensor | None = None,
) -> Sprites:
    """Draws n images from four balanced classes, in random order.

    Args:
        n: number of images.
        seed: seed of a private generator; the global random state is neither used nor changed.
        extent: images are rotated within ±extent of upright or of upside down; in (0, pi/2).
        side: height and width in pixels.
        figures: two upright figures, (2, C, H, W); the robot and the boat by default.

    Example:
        >>> data = sprites(8, seed=1)
        >>> tuple(data.x.shape), round(data.true_extent, 4)
        ((8, 3, 32, 32), 0.7854)
    """
    if n < 1 or side < 8 or not 0 < extent < math.pi / 2:
        raise InputError(
            f"sprites needs n >= 1, side >= 8 and 0 < extent < pi/2, "
            f"but got n={n}, side={side}, extent={extent:.4g}."
        )
    generator = torch.Generator().manual_seed(seed)
    y = torch.randperm(n, generator=generator) % len(CLASS_NAMES)
    angles = (2 * torch.rand(n, generator=generator) - 1) * extent + math.pi * (y % 2)
    upright = torch.stack([robot(side), boat(side)]) if figures is None else figures
    x = Affine2d("rotate")(upright[y // 2], angles[:, None])
    return Sprites(
        x=x,
        y=y,
        angles=torch.remainder(angles + math.pi, 2 * math.pi) - math.pi,
        true_extent=math.pi / 2 - extent,
    )
