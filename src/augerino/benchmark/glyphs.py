"""Base pictures of our own, without any symmetry: letters in several strokes and the sprites, soft enough to be warped twice."""

import torch
import torch.nn.functional as F
from torch import Tensor

from augerino.data.synthetic import sprites

LETTERS: dict[str, tuple[tuple[tuple[float, float], tuple[float, float]], ...]] = {
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
STROKES = (0.09, 0.12, 0.15, 0.18)  # half the width of a line


def letters(side: int = 24) -> tuple[Tensor, Tensor]:
    """Three letters in four strokes each, (12, 1, side, side) in [0, 1], and which letter each one is."""
    drawn = [_letter(lines, stroke, side) for lines in LETTERS.values() for stroke in STROKES]
    return torch.stack(drawn)[:, None], torch.arange(len(LETTERS)).repeat_interleave(len(STROKES))


def _letter(
    lines: tuple[tuple[tuple[float, float], tuple[float, float]], ...], stroke: float, side: int
) -> Tensor:
    centers = (torch.arange(side) * 2 + 1) / side - 1
    points = torch.stack(torch.meshgrid(centers, centers, indexing="xy"), dim=-1)
    distance = torch.stack(
        [_distance(points, torch.tensor(a), torch.tensor(b)) for a, b in lines]
    ).amin(dim=0)
    pixel = 2 / side
    return ((stroke - distance) / pixel + 0.5).clamp(0, 1)


def _distance(points: Tensor, start: Tensor, end: Tensor) -> Tensor:
    """From every point to a line from start to end."""
    along = end - start
    share = ((points - start) @ along / along.square().sum()).clamp(0, 1)
    return (points - start - share[..., None] * along).norm(dim=-1)


def figures(side: int = 24) -> tuple[Tensor, Tensor]:
    """The robot and the boat, (2, 3, side, side), and their numbers."""
    return sprites.figures(side), torch.arange(2)


def shrink(images: Tensor, radius: float, side: int, blur: float = 0.7) -> Tensor:
    """The same pictures at this share of a frame of so many pixels, on black, softened by a blur of so many pixels."""
    inner = max(round(side * radius), 4)
    inner += (side - inner) % 2  # so that the middle stays the middle
    small = F.interpolate(
        images, size=(inner, inner), mode="bilinear", antialias=True, align_corners=False
    )
    margin = (side - inner) // 2
    return soften(F.pad(small, [margin] * 4), blur)


def soften(images: Tensor, sigma: float = 0.7) -> Tensor:
    """A Gaussian blur of so many pixels: what is smooth can be moved twice and stay what it is when moved once."""
    if sigma == 0:
        return images
    reach = torch.arange(-3, 4)
    kernel = torch.exp(-(reach / sigma).square() / 2)
    kernel = (kernel / kernel.sum()).to(images)
    channels = images.shape[1]
    across = F.conv2d(
        images,
        kernel.reshape(1, 1, 1, 7).expand(channels, 1, 1, 7),
        padding=(0, 3),
        groups=channels,
    )
    return F.conv2d(
        across,
        kernel.reshape(1, 1, 7, 1).expand(channels, 1, 7, 1),
        padding=(3, 0),
        groups=channels,
    )
