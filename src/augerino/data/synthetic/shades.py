"""Images labelled darker or lighter than mid-grey: invariant to contrast, not to brightness."""

from typing import NamedTuple

import torch
from torch import Tensor

MIDDLE = 128 / 255  # fixed point of `Contrast`


class Shades(NamedTuple):
    """Images and their labels."""

    x: Tensor  # (N, 3, side, side) in [0, 1]
    y: Tensor  # (N,): 0 if every pixel is darker than mid-grey, 1 if every pixel is lighter


def shades(count: int, seed: int = 0, side: int = 16) -> Shades:
    """Draws smooth random images that differ from mid-grey by 0.01 to 0.2, all in one direction.

    Scaling about mid-grey never moves a pixel across it, so the labels are invariant to contrast.
    Any change of brightness moves some pixels across, so they are not invariant to brightness.
    Pixels stay far enough from 0 and 1 that a shift by 0.3 is not clipped; clipped pixels would
    reveal the label.

    Args:
        count: number of images.
        seed: seed of a private generator.
        side: height and width in pixels.
    """
    generator = torch.Generator().manual_seed(seed)
    coarse = 0.3 + 0.7 * torch.rand(count, 3, 4, 4, generator=generator)
    smooth = torch.nn.functional.interpolate(
        coarse, (side, side), mode="bilinear", align_corners=True
    )
    strength = 0.03 + 0.17 * torch.rand(count, 1, 1, 1, generator=generator)
    y = torch.arange(count) % 2
    sign = (2 * y - 1)[:, None, None, None]
    return Shades(MIDDLE + sign * strength * smooth, y)
