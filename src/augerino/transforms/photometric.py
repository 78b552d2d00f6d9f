"""Tone of images with values in [0, 1]: gamma, sharpness, equalisation, fewer and inverted tones.

Sharpness, autocontrast, equalize, solarize and posterize are PIL's operations (`ImageEnhance`,
`ImageOps`), with a strength that is 0 at t = 0. All clip to [0, 1], and none has an inverse.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from augerino.coordinate import FACTOR, LEVELS, LOG_FACTOR, STRENGTH, TONES, Coordinate
from augerino.transforms.active_rows import PhotometricTransform
from augerino.transforms.base import per_item

_DARKEST = 1e-6  # intensity below which a gamma curve is a straight line, so that slopes are finite
_STEEPEST = math.log(3)
_LEVELS = 256  # of intensities with 8 bits
_BITS_LOST = 6  # by posterize at its limit


class Gamma(PhotometricTransform):
    r"""Gamma correction, \(c' = c^{e^t}\): positive t darkens the mid-tones.

    Black and white are fixed. Below \(10^{-6}\) the curve is a straight line, so that its slope is
    finite at black. The limit is an exponent of 3 or 1/3, where t is clamped.

    Example:
        >>> Gamma()(torch.full((1, 1, 1, 1), 0.5), torch.tensor([[math.log(2)]])).item()
        0.25
    """

    coordinates = (Coordinate("gamma", limit=_STEEPEST, unit=LOG_FACTOR),)

    def act(self, x: Tensor, t: Tensor) -> Tensor:
        """Applies gamma curves.   x: (B, C, H, W)   t: (B, 1)   returns (B, C, H, W)"""
        excess = torch.expm1(per_item(t, x).clamp(-_STEEPEST, _STEEPEST))
        # c c^(e^t - 1), which is exactly c at t = 0
        return (x * (excess * x.clamp_min(_DARKEST).log()).exp()).clamp(0, 1)


class Sharpness(PhotometricTransform):
    r"""Sharpens or blurs and clips: \(c' = s + (1 + t)(c - s)\) with a smoothed image s.

    s is the image filtered with PIL's 3x3 kernel SMOOTH, [1 1 1; 1 5 1; 1 1 1] / 13. t = -1 blurs,
    and t = 1 doubles the difference from s. The outermost pixels stay, as in PIL.

    Example:
        >>> dot = F.pad(torch.full((1, 1, 1, 1), 0.5), (1, 1, 1, 1))
        >>> round(Sharpness()(dot, torch.tensor([[-1.0]]))[0, 0, 1, 1].item() * 13 / 0.5, 3)
        5.0
    """

    coordinates = (Coordinate("sharpness", limit=1.0, unit=FACTOR),)

    def act(self, x: Tensor, t: Tensor) -> Tensor:
        """Sharpens images.   x: (B, C, H, W)   t: (B, 1)   returns (B, C, H, W)"""
        if min(x.shape[-2:]) < 3:
            return x
        rows = x[..., :-2, :] + x[..., 1:-1, :] + x[..., 2:, :]
        box = rows[..., :-2] + rows[..., 1:-1] + rows[..., 2:]
        detail = (9 * x[..., 1:-1, 1:-1] - box) / 13  # c - s
        return (x + per_item(t, x) * F.pad(detail, (1, 1, 1, 1))).clamp(0, 1)


class _Blend(PhotometricTransform):
    """Blends images with a target: c' = c + |t| (target - c), |t| <= 1.

    Subclasses must implement `target(x)`.
    """

    def target(self, x: Tensor) -> Tensor:
        """The image at full strength.   x: (B, C, H, W)   returns (B, C, H, W)"""
        name = type(self).__name__
        raise TypeError(f"{name} has no target: implement {name}.target(x).")

    def act(self, x: Tensor, t: Tensor) -> Tensor:
        """Blends images.   x: (B, C, H, W)   t: (B, 1)   returns (B, C, H, W)"""
        weight = per_item(t, x).abs().clamp(max=1)
        return (x + weight * (self.target(x) - x)).clamp(0, 1)


class AutoContrast(_Blend):
    r"""Stretches each channel towards [0, 1]: \(c' = c + |t| (\frac{c - a}{b - a} - c)\).

    a and b are the smallest and the largest intensity of the channel. A channel whose range is
    below half a level of 8 bits stays unchanged.

    Example:
        >>> x = torch.tensor([0.25, 0.5, 0.75]).reshape(1, 1, 1, 3)
        >>> AutoContrast()(x, torch.tensor([[1.0]])).flatten()
        tensor([0.0000, 0.5000, 1.0000])
    """

    coordinates = (Coordinate("autocontrast", limit=1.0, unit=STRENGTH),)

    def target(self, x: Tensor) -> Tensor:
        """Images that reach from 0 to 1.   x: (B, C, H, W)   returns (B, C, H, W)"""
        low = x.amin(dim=(-2, -1), keepdim=True)
        span = x.amax(dim=(-2, -1), keepdim=True) - low
        is_flat = span < 0.5 / (_LEVELS - 1)
        stretched = (x - low) / torch.where(is_flat, 1.0, span)
        return torch.where(is_flat, x, stretched)


class Equalize(_Blend):
    r"""Blends each channel with its histogram-equalised version: \(c' = c + |t| (e(c) - c)\).

    e is PIL's `ImageOps.equalize` on intensities rounded to 256 levels. As there, a channel stays
    unchanged if all its pixels but those of the brightest level are fewer than 255. The gradient
    regards e(c) as fixed.

    Example:
        >>> x = torch.rand(1, 1, 64, 64) / 2  # dark
        >>> Equalize()(x, torch.tensor([[1.0]])).mean() > 0.45
        tensor(True)
    """

    coordinates = (Coordinate("equalize", limit=1.0, unit=STRENGTH),)

    def target(self, x: Tensor) -> Tensor:
        """Equalised images.   x: (B, C, H, W)   returns (B, C, H, W)"""
        channels = x.detach().reshape(-1, x.shape[-2] * x.shape[-1])
        level = (channels * (_LEVELS - 1)).round().clamp(0, _LEVELS - 1).long()
        counts = torch.zeros(len(level), _LEVELS, dtype=torch.float32, device=x.device)
        counts.scatter_add_(1, level, torch.ones_like(level, dtype=torch.float32))
        brightest = counts.gather(1, level.amax(dim=1, keepdim=True))
        step = ((level.shape[1] - brightest) / (_LEVELS - 1)).floor()
        below = counts.cumsum(dim=1) - counts
        curve = ((below + (step / 2).floor()) / step.clamp_min(1)).floor().clamp(max=_LEVELS - 1)
        equalized = curve.gather(1, level).to(x.dtype) / (_LEVELS - 1)
        return torch.where(step > 0, equalized, channels).view(x.shape)


class Solarize(PhotometricTransform):
    r"""Inverts bright intensities: \(c' = 1 - c\) where \(c > 1 - |t|\).

    The values jump with t, so there is no useful gradient (`smooth = False`).

    Example:
        >>> x = torch.tensor([0.25, 0.5, 1.0]).reshape(1, 1, 1, 3)
        >>> Solarize()(x, torch.tensor([[0.25]])).flatten()
        tensor([0.2500, 0.5000, 0.0000])
    """

    coordinates = (Coordinate("solarize", limit=1.0, unit=TONES),)
    smooth = False
    has_gradient = False

    def act(self, x: Tensor, t: Tensor) -> Tensor:
        """Inverts bright tones.   x: (B, C, H, W)   t: (B, 1)   returns (B, C, H, W)"""
        threshold = 1 - per_item(t, x).abs()
        return torch.where(x > threshold, 1 - x, x).clamp(0, 1)


class Posterize(PhotometricTransform):
    r"""Rounds intensities down to fewer levels: \(v' = q \lfloor v / q \rfloor\) with 255 c = v.

    The step is \(q = 2^{6 |t|}\), rounded, so that there are 256 levels at t = 0 and 4 at the
    limit. PIL's `ImageOps.posterize` with b bits is \(|t| = (8 - b) / 6\). The values jump with t,
    so there is no useful gradient (`smooth = False`).

    Example:
        >>> x = torch.tensor([0.2, 0.4, 1.0]).reshape(1, 1, 1, 3)
        >>> 255 * Posterize()(x, torch.tensor([[1.0]])).flatten()
        tensor([  0.,  64., 192.])
    """

    coordinates = (Coordinate("posterize", limit=1.0, unit=LEVELS),)
    smooth = False
    has_gradient = False

    def act(self, x: Tensor, t: Tensor) -> Tensor:
        """Reduces the levels.   x: (B, C, H, W)   t: (B, 1)   returns (B, C, H, W)"""
        step = torch.exp2(_BITS_LOST * per_item(t, x).abs().clamp(max=1)).round()
        level = (x * (_LEVELS - 1)).round()
        return ((level / step).floor() * step / (_LEVELS - 1)).clamp(0, 1)
