"""Colour of images with values in [0, 1]: saturation, hue and greyscale.

Grey is the luma of ITU-R BT.601, as in PIL and torchvision. Images with one channel have no colour
and are unchanged.
"""

import math

from torch import Tensor

from augerino.coordinate import FACTOR, GREY_COPIES, RADIAN, Coordinate
from augerino.errors import InputError
from augerino.transforms import pixelwise
from augerino.transforms.active_rows import PhotometricTransform


class _Chroma(PhotometricTransform):
    """A transform of the colour of RGB images; images with one channel are unchanged."""

    def check(self, x: Tensor, t: Tensor) -> None:
        """Raises `InputError` unless x are floating-point images with 1 or 3 channels."""
        super().check(x, t)
        if x.shape[1] not in (1, 3):
            raise InputError(
                f"{type(self).__name__} needs images with 3 channels (red, green, blue), or with "
                f"1 that stay unchanged, but got {x.shape[1]}: leave out '{self.names[0]}'."
            )


class Saturation(_Chroma):
    r"""Scales the colour about grey and clips: \(c' = y + (1 + t)(c - y)\) with the luma y.

    t = -1 is grey, and t = 1 doubles the distance from grey.

    Example:
        >>> import torch
        >>> red = torch.tensor([1.0, 0.0, 0.0]).reshape(1, 3, 1, 1)
        >>> Saturation()(red, torch.tensor([[-1.0]])).flatten()
        tensor([0.2990, 0.2990, 0.2990])
    """

    coordinates = (Coordinate("saturation", limit=1.0, unit=FACTOR),)

    def act(self, x: Tensor, t: Tensor) -> Tensor:
        """Scales the colour.   x: (B, C, H, W)   t: (B, 1)   returns (B, C, H, W)"""
        return pixelwise.saturate(x, t)


class Hue(_Chroma):
    r"""Rotates the hue by t radians at constant luma and clips.

    The rotation is linear, in the plane of I and Q of YIQ. Positive t turns red to yellow, and
    \(t = \pm\pi\) are complementary colours.

    Example:
        >>> import torch
        >>> grey = torch.full((1, 3, 1, 1), 0.5)
        >>> Hue()(grey, torch.tensor([[1.0]])).flatten()
        tensor([0.5000, 0.5000, 0.5000])
    """

    coordinates = (Coordinate("hue", limit=math.pi, unit=RADIAN),)

    def act(self, x: Tensor, t: Tensor) -> Tensor:
        """Rotates the hue.   x: (B, C, H, W)   t: (B, 1)   returns (B, C, H, W)"""
        return pixelwise.rotate_hue(x, t)


class Grayscale(_Chroma):
    r"""Removes the colour: \(c' = (1 - t) c + t y\) with the luma y, for \(t \in \{0, 1\}\).

    The formula is linear in t, so that a gradient reaches the probability.

    Example:
        >>> import torch
        >>> green = torch.tensor([0.0, 1.0, 0.0]).reshape(1, 3, 1, 1)
        >>> Grayscale()(green, torch.tensor([[1.0]])).flatten()
        tensor([0.5870, 0.5870, 0.5870])
    """

    coordinates = (Coordinate("grayscale", limit=1.0, unit=GREY_COPIES, discrete=True),)

    def act(self, x: Tensor, t: Tensor) -> Tensor:
        """Removes the colour.   x: (B, C, H, W)   t: (B, 1)   returns (B, C, H, W)"""
        return pixelwise.to_gray(x, t)
