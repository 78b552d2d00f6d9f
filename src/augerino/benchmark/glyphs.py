"""Embedded base images without symmetry: letters in several widths, and sprites."""

import torch
import torch.nn.functional as F
from torch import Tensor

from augerino.data.synthetic import sprites

Line = tuple[tuple[float, float], tuple[float, float]]  # start (x, y) and end (x, y) in [-1, 1]

LETTERS: dict[str, tuple[Line, ...]] = {
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
}
STROKES = (0.09, 0.12, 0.15, 0.18)  # half widths of the lines


def letters(side: int = 24) -> tuple[Tensor, Tensor]:
    """Three letters in four widths, (12, 1, side, side) in [0, 1], and their labels (12,)."""
    drawn = [_letter(lines, stroke, side) for lines in LETTERS.values() for stroke in STROKES]
    labels = torch.arange(len(LETTERS)).repeat_interleave(len(STROKES))
    return torch.stack(drawn)[:, None], labels


def pixel_centers(side: int) -> Tensor:
    """Centers of `side` pixels that fill [-1, 1], (side,)."""
    return (torch.arange(side) * 2 + 1) / side - 1


def _letter(lines: tuple[Line, ...], stroke: float, side: int) -> Tensor:
    centers = pixel_centers(side)
    points = torch.stack(torch.meshgrid(centers, centers, indexing="xy"), dim=-1)
    distances = [_distance(points, torch.tensor(a), torch.tensor(b)) for a, b in lines]
    distance = torch.stack(distances).amin(dim=0)
    pixel = 2 / side
    return ((stroke - distance) / pixel + 0.5).clamp(0, 1)


def _distance(points: Tensor, start: Tensor, end: Tensor) -> Tensor:
    """Distance of every point to the line segment from start to end.   (..., 2) -> (...)"""
    along = end - start
    fraction = ((points - start) @ along / along.square().sum()).clamp(0, 1)
    return (points - start - fraction[..., None] * along).norm(dim=-1)


def figures(side: int = 24) -> tuple[Tensor, Tensor]:
    """The robot and the boat, (2, 3, side, side) in [0, 1], and their labels (2,)."""
    return sprites.figures(side), torch.arange(2)


def shrink(images: Tensor, radius: float, side: int, blur: float = 0.7) -> Tensor:
    """Images scaled to a fraction `radius` of a black frame, and blurred.

    images: (K, C, S, S)   side, blur: in pixels   returns (K, C, side, side)
    """
    inner = max(round(side * radius), 4)
    inner += (side - inner) % 2  # keeps the content centered
    small = F.interpolate(
        images, size=(inner, inner), mode="bilinear", antialias=True, align_corners=False
    )
    margin = (side - inner) // 2
    return soften(F.pad(small, [margin] * 4), blur)


def soften(images: Tensor, sigma: float = 0.7) -> Tensor:
    """Gaussian blur with a standard deviation of `sigma` pixels.   images: (K, C, H, W)

    Smooth images lose little when they are warped twice.
    """
    if sigma == 0:
        return images
    offsets = torch.arange(-3, 4)
    kernel = torch.exp(-(offsets / sigma).square() / 2)
    kernel = (kernel / kernel.sum()).to(images)
    channels = images.shape[1]
    row = kernel.reshape(1, 1, 1, 7).expand(channels, 1, 1, 7)
    column = kernel.reshape(1, 1, 7, 1).expand(channels, 1, 7, 1)
    across = F.conv2d(images, row, padding=(0, 3), groups=channels)
    return F.conv2d(across, column, padding=(3, 0), groups=channels)
