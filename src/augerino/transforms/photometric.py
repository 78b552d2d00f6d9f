"""Tone of images with values in [0, 1]: gamma, sharpness, equalisation, fewer and inverted tones.

Sharpness, autocontrast, equalize, solarize and posterize are PIL's operations (`ImageEnhance`,
`ImageOps`), with a strength that is 0 at t = 0. All clip to [0, 1], and none has an inverse.
"""

from torch import Tensor

from augerino.coordinate import FACTOR, LEVELS, LOG_FACTOR, STRENGTH, TONES, Coordinate
from augerino.transforms import pixelwise
from augerino.transforms.active_rows import PhotometricTransform


class Gamma(PhotometricTransform):
    r"""Gamma correction, \(c' = c^{e^t}\): positive t darkens the mid-tones.

    Black and white are fixed. Below \(10^{-6}\) the curve is a straight line, so that its slope is
    finite at black. The limit is an exponent of 3 or 1/3, where t is clamped.

    Example:
        >>> import math
        >>> import torch
        >>> Gamma()(torch.full((1, 1, 1, 1), 0.5), torch.tensor([[math.log(2)]])).item()
        0.25
    """

    coordinates = (Coordinate("gamma", limit=pixelwise.GAMMA_LIMIT, unit=LOG_FACTOR),)

    def act(self, x: Tensor, t: Tensor) -> Tensor:
        """Applies gamma curves.   x: (B, C, H, W)   t: (B, 1)   returns (B, C, H, W)"""
        return pixelwise.gamma(x, t)


class Sharpness(PhotometricTransform):
    r"""Sharpens or blurs and clips: \(c' = s + (1 + t)(c - s)\) with a smoothed image s.

    s is the image filtered with PIL's 3x3 kernel SMOOTH, [1 1 1; 1 5 1; 1 1 1] / 13. t = -1 blurs,
    and t = 1 doubles the difference from s. The outermost pixels are unchanged, as in PIL.

    Example:
        >>> import torch
        >>> dot = torch.nn.functional.pad(torch.full((1, 1, 1, 1), 0.5), (1, 1, 1, 1))
        >>> round(Sharpness()(dot, torch.tensor([[-1.0]]))[0, 0, 1, 1].item() * 13 / 0.5, 3)
        5.0
    """

    coordinates = (Coordinate("sharpness", limit=1.0, unit=FACTOR),)

    def act(self, x: Tensor, t: Tensor) -> Tensor:
        """Sharpens images.   x: (B, C, H, W)   t: (B, 1)   returns (B, C, H, W)"""
        return pixelwise.sharpen(x, t)


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
        return pixelwise.blend(x, self.target(x), t.abs().clamp(max=1))


class AutoContrast(_Blend):
    r"""Stretches each channel towards [0, 1]: \(c' = c + |t| (\frac{c - a}{b - a} - c)\).

    a and b are the smallest and the largest intensity of the channel. A channel whose range is
    below half a level of 8 bits is unchanged.

    Example:
        >>> import torch
        >>> x = torch.tensor([0.25, 0.5, 0.75]).reshape(1, 1, 1, 3)
        >>> AutoContrast()(x, torch.tensor([[1.0]])).flatten()
        tensor([0.0000, 0.5000, 1.0000])
    """

    coordinates = (Coordinate("autocontrast", limit=1.0, unit=STRENGTH),)

    def target(self, x: Tensor) -> Tensor:
        """Images stretched to [0, 1].   x: (B, C, H, W)   returns (B, C, H, W)"""
        return pixelwise.stretched(x)


class Equalize(_Blend):
    r"""Blends each channel with its histogram-equalised version: \(c' = c + |t| (e(c) - c)\).

    e is PIL's `ImageOps.equalize` on intensities rounded to 256 levels. As there, a channel is
    unchanged if fewer than 255 of its pixels are below its brightest level. The gradient treats
    e(c) as fixed.

    Example:
        >>> import torch
        >>> x = torch.rand(1, 1, 64, 64) / 2  # dark
        >>> Equalize()(x, torch.tensor([[1.0]])).mean() > 0.45
        tensor(True)
    """

    coordinates = (Coordinate("equalize", limit=1.0, unit=STRENGTH),)

    def target(self, x: Tensor) -> Tensor:
        """Equalised images.   x: (B, C, H, W)   returns (B, C, H, W)"""
        return pixelwise.equalized(x)


class Solarize(PhotometricTransform):
    r"""Inverts bright intensities: \(c' = 1 - c\) where \(c > 1 - |t|\).

    The values jump with t, so there is no useful gradient (`smooth = False`).

    Example:
        >>> import torch
        >>> x = torch.tensor([0.25, 0.5, 1.0]).reshape(1, 1, 1, 3)
        >>> Solarize()(x, torch.tensor([[0.25]])).flatten()
        tensor([0.2500, 0.5000, 0.0000])
    """

    coordinates = (Coordinate("solarize", limit=1.0, unit=TONES),)
    smooth = False
    has_gradient = False

    def act(self, x: Tensor, t: Tensor) -> Tensor:
        """Inverts bright tones.   x: (B, C, H, W)   t: (B, 1)   returns (B, C, H, W)"""
        return pixelwise.solarize(x, t)


class Posterize(PhotometricTransform):
    r"""Rounds intensities down to fewer levels: \(v' = q \lfloor v / q \rfloor\) with 255 c = v.

    The step is \(q = 2^{6 |t|}\), rounded, so that there are 256 levels at t = 0 and 4 at the
    limit. PIL's `ImageOps.posterize` with b bits is \(|t| = (8 - b) / 6\). The values jump with t,
    so there is no useful gradient (`smooth = False`).

    Example:
        >>> import torch
        >>> x = torch.tensor([0.2, 0.4, 1.0]).reshape(1, 1, 1, 3)
        >>> 255 * Posterize()(x, torch.tensor([[1.0]])).flatten()
        tensor([  0.,  64., 192.])
    """

    coordinates = (Coordinate("posterize", limit=1.0, unit=LEVELS),)
    smooth = False
    has_gradient = False

    def act(self, x: Tensor, t: Tensor) -> Tensor:
        """Reduces the levels.   x: (B, C, H, W)   t: (B, 1)   returns (B, C, H, W)"""
        return pixelwise.posterize(x, t)
