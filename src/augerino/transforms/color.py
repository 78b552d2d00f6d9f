"""Brightness and contrast of images with values in [0, 1].

Formulas of Benton et al. (2020), appendix "Color-Space Augmentations", rescaled from 0..255. Both
transforms clip to [0, 1], so neither has an inverse. Normalise inside the network, after them.
"""

import torch
from torch import Tensor

from augerino.coordinate import INTENSITY, SLOPE, Coordinate
from augerino.transforms.base import Size, Transform, per_item, same_points

_POLE = 259 / 255  # the paper's contrast formula divides by (259 - t), ours by (259/255 - t)
_STEEPEST = 0.95  # |t| at which contrast is clamped, because the formula diverges at t = _POLE


class Brightness(Transform):
    r"""Adds t to every intensity and clips: \(c' = \min(\max(c + t, 0), 1)\). Positive t brightens.

    Example:
        >>> Brightness()(torch.full((1, 1, 1, 1), 0.5), torch.tensor([[0.25]])).item()
        0.75
    """

    coordinates = (Coordinate("brightness", limit=1.0, unit=INTENSITY),)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        """Brightens images.   x: (B, ...)   t: (B, 1)   returns (B, ...)"""
        self.check(x, t)
        with torch.autocast(x.device.type, enabled=False):
            return (x + per_item(t, x)).clamp(0, 1).to(x.dtype)

    def point_map(self, t: Tensor, size: Size) -> Tensor:
        """Identity matrices, since no point moves.   t: (B, 1)   returns (B, 3, 3)"""
        return same_points(t)


class Contrast(Transform):
    r"""Scales intensities about mid-grey and clips: \(c' = \frac{p (t + 1)}{p - t} (c - m) + m\).

    p = 259/255 and m = 128/255, as in the paper's formula for 0..255. t = 0 is the identity and t
    = -1 would give plain grey. The formula diverges at t = p, so t is clamped to ±0.95, a slope of
    0.026 to 30; this is also the limit of the coordinate.

    Example:
        >>> Contrast()(torch.tensor([[[[0.25, 0.75]]]]), torch.tensor([[0.0]]))
        tensor([[[[0.2500, 0.7500]]]])
    """

    coordinates = (Coordinate("contrast", limit=_STEEPEST, unit=SLOPE),)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        """Changes the contrast of images.   x: (B, ...)   t: (B, 1)   returns (B, ...)"""
        self.check(x, t)
        with torch.autocast(x.device.type, enabled=False):
            t = per_item(t, x).clamp(-_STEEPEST, _STEEPEST)
            slope = _POLE * (t + 1) / (_POLE - t)
            middle = 128 / 255
            return (slope * (x - middle) + middle).clamp(0, 1).to(x.dtype)

    def point_map(self, t: Tensor, size: Size) -> Tensor:
        """Identity matrices, since no point moves.   t: (B, 1)   returns (B, 3, 3)"""
        return same_points(t)
