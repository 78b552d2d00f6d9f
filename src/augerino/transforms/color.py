"""Brightness and contrast of images in [0, 1] (Benton et al. 2020, appendix "Color-Space Augmentations", rescaled).

Both clip at black and white, so neither has an inverse. Normalise inside the network, after these.
"""

import torch
from torch import Tensor

from augerino.coordinate import INTENSITY, SLOPE, Coordinate
from augerino.transforms.base import Size, Transform, per_item, same_points

_POLE = 259 / 255  # the paper's contrast formula divides by (259 - t), here by (259/255 - t)
_STEEPEST = 0.95  # |t| at which contrast is held: the formula diverges at t = _POLE


class Brightness(Transform):
    r"""Adds t to every intensity and clips: \(c' = \min(\max(c + t, 0), 1)\). Positive t brightens.

    Example:
        >>> Brightness()(torch.full((1, 1, 1, 1), 0.5), torch.tensor([[0.25]])).item()
        0.75
    """

    coordinates = (Coordinate("brightness", limit=1.0, unit=INTENSITY),)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        self.check(x, t)
        with torch.autocast(x.device.type, enabled=False):
            return (x + per_item(t, x)).clamp(0, 1).to(x.dtype)

    def point_map(self, t: Tensor, size: Size) -> Tensor:
        return same_points(t)


class Contrast(Transform):
    r"""Scales intensities about mid-grey and clips: \(c' = \frac{p (t + 1)}{p - t} (c - m) + m\).

    With p = 259/255 and m = 128/255, the paper's formula for 0..255 rescaled. t = -1 gives plain grey, t = 0 the image;
    the formula diverges at t = p, so t is held within ±0.95 (a slope of 0.048 to 30), which is also its limit.

    Example:
        >>> Contrast()(torch.tensor([[[[0.25, 0.75]]]]), torch.tensor([[0.0]]))
        tensor([[[[0.2500, 0.7500]]]])
    """

    coordinates = (Coordinate("contrast", limit=_STEEPEST, unit=SLOPE),)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        self.check(x, t)
        with torch.autocast(x.device.type, enabled=False):
            t = per_item(t, x).clamp(-_STEEPEST, _STEEPEST)
            middle = 128 / 255
            return (_POLE * (t + 1) / (_POLE - t) * (x - middle) + middle).clamp(0, 1).to(x.dtype)

    def point_map(self, t: Tensor, size: Size) -> Tensor:
        return same_points(t)
