"""Colour of images with values in [0, 1]: saturation, hue and greyscale.

Grey is the luma of ITU-R BT.601, as in PIL and torchvision. Images with one channel have no colour
and stay unchanged.
"""

import math

import torch
from torch import Tensor

from augerino.coordinate import COPIES, FACTOR, RADIAN, Coordinate
from augerino.errors import InputError
from augerino.transforms.active_rows import PhotometricTransform
from augerino.transforms.base import per_item

LUMA = (0.299, 0.587, 0.114)

# The derivative of a rotation of (I, Q) in the YIQ space of ITU-R BT.601, as a map of RGB;
# its sign is such that red turns to yellow, as in HSV.
_TO_YIQ = (LUMA, (0.595716, -0.274453, -0.321263), (0.211456, -0.522591, 0.311135))


def _hue_generator() -> tuple[tuple[float, ...], ...]:
    to_yiq = torch.tensor(_TO_YIQ, dtype=torch.float64)
    quarter_turn = torch.tensor([[0, 0, 0], [0, 0, 1], [0, -1, 0]], dtype=torch.float64)
    return tuple(map(tuple, (to_yiq.inverse() @ quarter_turn @ to_yiq).tolist()))


HUE_GENERATOR = _hue_generator()


def luma(x: Tensor) -> Tensor:
    """Grey values.   x: (B, 3, H, W)   returns (B, 1, H, W)"""
    red, green, blue = x.split(1, dim=1)
    return LUMA[0] * red + LUMA[1] * green + LUMA[2] * blue


class _Chroma(PhotometricTransform):
    """A transform of the colour. Subclasses must implement `recolor(x, t)` for three channels."""

    def recolor(self, x: Tensor, t: Tensor) -> Tensor:
        """Changes the colour.   x: (B, 3, H, W)   t: (B, 1, 1, 1)   returns (B, 3, H, W)"""
        name = type(self).__name__
        raise TypeError(f"{name} has no recolor: implement {name}.recolor(x, t).")

    def act(self, x: Tensor, t: Tensor) -> Tensor:
        """Changes the colour; grey images stay.   x: (B, C, H, W)   t: (B, 1)"""
        if x.shape[1] == 1:
            return x
        return self.recolor(x, per_item(t, x))

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
        >>> red = torch.tensor([1.0, 0.0, 0.0]).reshape(1, 3, 1, 1)
        >>> Saturation()(red, torch.tensor([[-1.0]])).flatten()
        tensor([0.2990, 0.2990, 0.2990])
    """

    coordinates = (Coordinate("saturation", limit=1.0, unit=FACTOR),)

    def recolor(self, x: Tensor, t: Tensor) -> Tensor:
        """Scales the colour.   x: (B, 3, H, W)   t: (B, 1, 1, 1)   returns (B, 3, H, W)"""
        return (x + t * (x - luma(x))).clamp(0, 1)


class Hue(_Chroma):
    r"""Rotates the hue by t radians at constant luma and clips.

    The rotation is linear, in the plane of I and Q of YIQ. Positive t turns red to yellow, and
    \(t = \pm\pi\) are complementary colours.

    Example:
        >>> grey = torch.full((1, 3, 1, 1), 0.5)
        >>> Hue()(grey, torch.tensor([[1.0]])).flatten()
        tensor([0.5000, 0.5000, 0.5000])
    """

    coordinates = (Coordinate("hue", limit=math.pi, unit=RADIAN),)

    def recolor(self, x: Tensor, t: Tensor) -> Tensor:
        """Rotates the hue.   x: (B, 3, H, W)   t: (B, 1, 1, 1)   returns (B, 3, H, W)"""
        generator = torch.tensor(HUE_GENERATOR, dtype=x.dtype, device=x.device)
        weights = torch.tensor(LUMA, dtype=x.dtype, device=x.device)
        # M - I = (cos t - 1) P + sin t G with P = I - 1 (luma), so that t = 0 is exact
        colour = torch.eye(3, dtype=x.dtype, device=x.device) - weights
        angle = t.reshape(-1, 1, 1).to(x.dtype)
        change = (angle.cos() - 1) * colour + angle.sin() * generator
        return (x + torch.matmul(change, x.flatten(2)).view(x.shape)).clamp(0, 1)


class Grayscale(_Chroma):
    r"""Removes the colour: \(c' = (1 - t) c + t y\) with the luma y, for \(t \in \{0, 1\}\).

    The formula is linear in t, so that a gradient reaches the probability.

    Example:
        >>> green = torch.tensor([0.0, 1.0, 0.0]).reshape(1, 3, 1, 1)
        >>> Grayscale()(green, torch.tensor([[1.0]])).flatten()
        tensor([0.5870, 0.5870, 0.5870])
    """

    coordinates = (Coordinate("grayscale", limit=1.0, unit=COPIES, discrete=True),)

    def recolor(self, x: Tensor, t: Tensor) -> Tensor:
        """Removes the colour.   x: (B, 3, H, W)   t: (B, 1, 1, 1)   returns (B, 3, H, W)"""
        t = t.to(x.dtype)
        return (1 - t) * x + t * luma(x)  # exact at 0 and 1
