"""Pictures whose class is whether they are darker or lighter than mid-grey: brightness decides it, contrast never does."""

from typing import NamedTuple

import torch
from torch import Tensor

MIDDLE = 128 / 255  # what `Contrast` turns intensities about


class Shades(NamedTuple):
    """Images (N, 3, side, side) in [0, 1] and labels (N,): 0 is darker than mid-grey in every pixel, 1 lighter."""

    x: Tensor
    y: Tensor


def shades(count: int, seed: int = 0, side: int = 16) -> Shades:
    """Soft stains on one side of mid-grey: some by 0.2, some by 0.01 only.

    Scaling about mid-grey leaves every pixel on its side, so the labels are invariant to any contrast. Adding to every pixel
    brings some over, the faintest ones first, so they are invariant to no brightness. None is so far from mid-grey that 0.3
    more would take it to black or white: what is cut off there would tell on which side it had been.

    Args:
        count: of pictures.
        seed: of all that is random.
        side: of a picture, in pixels.
    """
    generator = torch.Generator().manual_seed(seed)
    coarse = 0.3 + 0.7 * torch.rand(count, 3, 4, 4, generator=generator)
    stains = torch.nn.functional.interpolate(
        coarse, (side, side), mode="bilinear", align_corners=True
    )
    strength = 0.03 + 0.17 * torch.rand(count, 1, 1, 1, generator=generator)
    y = torch.arange(count) % 2
    return Shades(MIDDLE + (2 * y - 1)[:, None, None, None] * strength * stains, y)
