"""Rigid maps of images: a rotation about the centre, then a translation."""

import math
from typing import Any

import torch
from torch import Tensor

from augerino import lie
from augerino.coordinate import PIXEL, RADIAN, Coordinate
from augerino.errors import InputError
from augerino.transforms import functional
from augerino.transforms.base import Size, Transform, precise


class RotoTranslate2d(Transform):
    r"""Rotations of images about their centre, then translations in pixels.

    The coordinates are those of the paper for segmentation, in units of the mean side:

    \[
    A(t) = \begin{pmatrix}
    \cos t_1 & -\sin t_1 & 2 t_2 / (w + h) \\
    \sin t_1 & \cos t_1 & 2 t_3 / (w + h)
    \end{pmatrix}
    \]

    A left action with the directions of `Affine2d`: positive `rotate` (radians) turns the image
    clockwise, positive `translate_x` and `translate_y` (pixels) then move it right and down. By
    contrast, `Affine2d("rotate", "translate_x")` does both at once, along an arc. The inverse moves
    back first, then rotates back. Values outside the image are 0.

    With `padding`, `forward` returns a larger canvas with a margin on all four sides, so that
    corners survive a rotation and its inverse. `inverse` takes a map on the canvas and crops it. A
    padding of \((\sqrt{w^2 + h^2} - \min(w, h)) / (w + h)\), 0.21 for square images, is enough
    for every rotation. Because the coordinates are in pixels, the input of `inverse` must have the
    resolution of the canvas; for outputs of lower resolution, use `Affine2d`.

    Reference: Benton, Finzi, Izmailov, Wilson (2020), appendix on semantic segmentation.

    Args:
        padding: margin on each side, as a fraction of the mean side (w + h) / 2, between 0 and 1.
        limit: limit of the translations in pixels, such as half the side, beyond which a wider
            range is no longer rewarded. None means no limit, since the image size is not known
            here.

    Example:
        >>> rigid = RotoTranslate2d(padding=0.25)
        >>> canvas = rigid(torch.rand(1, 3, 8, 8), torch.tensor([[math.pi / 4, 0.0, 1.0]]))
        >>> canvas.shape, rigid.inverse(canvas, torch.tensor([[math.pi / 4, 0.0, 1.0]])).shape
        (torch.Size([1, 3, 12, 12]), torch.Size([1, 3, 8, 8]))
    """

    mixes_with_padding = True
    in_pixels = True

    def __init__(self, padding: float = 0.0, limit: float | None = None) -> None:
        super().__init__()
        if not 0 <= padding <= 1:
            raise InputError(
                "RotoTranslate2d's padding is a fraction of the mean side between 0 and 1, "
                f"but got {padding}."
            )
        if limit is not None and not limit > 0:
            raise InputError(
                f"RotoTranslate2d's limit is a number of pixels above 0, or None, but got {limit}."
            )
        self.padding = padding
        self.limit = limit
        pixels = math.inf if limit is None else limit
        self.coordinates = (
            Coordinate("rotate", limit=math.pi, unit=RADIAN),
            Coordinate("translate_x", limit=pixels, unit=PIXEL),
            Coordinate("translate_y", limit=pixels, unit=PIXEL),
        )

    def matrix(self, t: Tensor, size: Size) -> Tensor:
        """Group elements in the isotropic frame of an image.

        Args:
            t: coordinates, (B, 3).
            size: (height, width) of the image.

        Returns:
            (B, 3, 3).
        """
        cos, sin, x, y = self._parts(t, size)
        return _stack(
            (cos, -sin, x),
            (sin, cos, y),
        )

    def inverse_matrix(self, t: Tensor, size: Size) -> Tensor:
        """Inverses of `matrix(t, size)`; they are not the elements at -t.

        Args:
            t: coordinates, (B, 3).
            size: (height, width) of the image.

        Returns:
            (B, 3, 3).
        """
        cos, sin, x, y = self._parts(t, size)
        return _stack(
            (cos, sin, -cos * x - sin * y),
            (-sin, cos, sin * x - cos * y),
        )

    def point_map(self, t: Tensor, size: Size) -> Tensor:
        """Group elements in pixels from the image centre.   t: (B, 3)   returns (B, 3, 3)"""
        return functional.in_pixels(self.matrix(t, size), size)

    def canvas(self, size: Size) -> Size:
        """(height, width) of the canvas: the image and its margin."""
        margin = self._margin(sum(size))
        return size[0] + 2 * margin, size[1] + 2 * margin

    def window(self, canvas: Size) -> Size:
        """(height, width) of the image that has this canvas."""
        estimate = sum(canvas) * self.padding / 2 / (1 + 2 * self.padding)
        most = math.ceil(estimate) + 1
        # The margin never decreases with the side, so at most one margin fits.
        for margin in range(max(0, most - 3), most + 1):
            size = canvas[0] - 2 * margin, canvas[1] - 2 * margin
            if min(size) > 0 and self._margin(sum(size)) == margin:
                return size
        raise InputError(
            f"RotoTranslate2d(padding={self.padding:g}) cannot crop a map of "
            f"{canvas[0]}×{canvas[1]} pixels, since no image is padded to that size: "
            "the network must return a map of the size of its input."
        )

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        """Moves images on their canvas.   x: (B, C, H, W)   t: (B, 3)   returns (B, C, *canvas)"""
        self.check(x, t)
        size = _size(x)
        pull = self.inverse_matrix(precise(t, x), size)
        return functional.warp(x, pull, size=self.canvas(size))

    def inverse(self, y: Tensor, t: Tensor) -> Tensor:
        """Moves maps back and crops.   y: (B, C, *canvas)   t: (B, 3)   returns (B, C, H, W)"""
        self.check(y, t)
        canvas = _size(y)
        pull = self.matrix(precise(t, y), canvas)
        return functional.warp(y, pull, size=self.window(canvas))

    def coverage(self, y: Tensor, t: Tensor) -> Tensor:
        """Fraction of each pixel that survives g and its inverse, (B, 1, H, W)."""
        height, width = self.window(_size(y))
        ones = torch.ones_like(y[:, :1])[..., :height, :width]
        there = self.forward(ones, t)
        return self.inverse(there, t)

    def settings(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {"padding": self.padding, "limit": self.limit}

    def _margin(self, sides: int) -> int:
        """Margin in pixels of an image with width + height = sides."""
        return math.ceil(self.padding * sides / 2)

    def _parts(self, t: Tensor, size: Size) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Cosine, sine and translation (x, y) in the isotropic frame.

        The unit of the frame is half the mean side, hence 4 / (w + h) instead of the paper's 2.
        """
        angle, x, y = lie.at_least_float32(t).unbind(-1)
        pixel = 4 / sum(size)
        return angle.cos(), angle.sin(), x * pixel, y * pixel


def _size(x: Tensor) -> Size:
    """(height, width) of images."""
    return x.shape[-2], x.shape[-1]


def _stack(first: tuple[Tensor, ...], second: tuple[Tensor, ...]) -> Tensor:
    """Affine matrices from the entries of their two upper rows, each (B).   returns (B, 3, 3)"""
    zero = torch.zeros_like(first[0])
    rows = (first, second, (zero, zero, zero + 1))
    return torch.stack([torch.stack(row, dim=-1) for row in rows], dim=-2)
