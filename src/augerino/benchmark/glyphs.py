"""Embedded base images without symmetry: letters in several widths, and sprites."""

import torch
import torch.nn.functional as F
from torch import Tensor

from augerino.data.synthetic import sprites
from augerino.data.synthetic.letters import LINES, draw

LETTERS = ("F", "L", "R")
STROKES = (0.09, 0.12, 0.15, 0.18)  # half widths of the lines


def letters(side: int = 24) -> tuple[Tensor, Tensor]:
    """Three letters in four widths, (12, 1, side, side) in [0, 1], and their labels (12,)."""
    drawn = [draw(LINES[letter], stroke, side) for letter in LETTERS for stroke in STROKES]
    labels = torch.arange(len(LETTERS)).repeat_interleave(len(STROKES))
    return torch.stack(drawn)[:, None], labels


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
