"""Affine maps of images."""

import math
from typing import Any

import torch
from torch import Tensor

from augerino import lie
from augerino.coordinate import HALF_IMAGE, LOG_FACTOR, RADIAN, Coordinate
from augerino.errors import InputError
from augerino.transforms import functional
from augerino.transforms.base import LieTransform, Size, choose, precise
from augerino.transforms.functional import Padding

COORDINATES = {
    c.name: c
    for c in (
        Coordinate("translate_x", limit=1.0, unit=HALF_IMAGE),
        Coordinate("translate_y", limit=1.0, unit=HALF_IMAGE),
        Coordinate("rotate", limit=math.pi, unit=RADIAN),
        Coordinate("scale", limit=1.0, unit=LOG_FACTOR),
        Coordinate("squeeze", limit=1.0, unit=LOG_FACTOR),
        Coordinate("shear", limit=1.0, unit=LOG_FACTOR),
    )
}


class Affine2d(LieTransform):
    r"""Affine maps of images, \(g_t = \exp(\sum_i t_i G_i)\), with the six generators of the paper.

    A left action, \((g x)(p) = x(g^{-1} p)\), in screen coordinates (x right, y down). Rotations
    are rigid for any H and W. For positive values,

    - `translate_x` and `translate_y` (fractions of half the width and half the height) move the
      image right and down
    - `rotate` (radians) turns it clockwise
    - `scale` (log-factor) enlarges it
    - `squeeze` (log-factor) stretches it horizontally and shrinks it vertically
    - `shear` (log-factor) stretches it along the diagonal from top left to bottom right and
      shrinks it across

    Reference: Benton, Finzi, Izmailov, Wilson (2020), Section 3.2 and appendix B. The paper's text
    calls G4 and G5 "scaling in x, y"; its matrices, which we follow, are isotropic scale and
    squeeze.

    Args:
        names: coordinates to use, in this order; none means all six.
        padding: values outside the image: "zeros", "border" or "reflection".

    Example:
        >>> affine = Affine2d("rotate", "scale")
        >>> affine(torch.rand(2, 3, 8, 8), torch.zeros(2, 2)).shape
        torch.Size([2, 3, 8, 8])
    """

    def __init__(self, *names: str, padding: Padding = "zeros") -> None:
        if padding not in functional.PADDINGS:
            raise InputError(
                f"Affine2d needs a padding of {', '.join(functional.PADDINGS)}, "
                f"but got '{padding}'."
            )
        chosen = choose(names, lie.AFFINE2D, "Affine2d")
        super().__init__(
            [COORDINATES[name] for name in chosen],
            torch.tensor([lie.AFFINE2D[name] for name in chosen], dtype=torch.float32),
        )
        self.padding: Padding = padding
        self.mixes_with_padding = padding == "zeros"

    def exp(self, algebra: Tensor) -> Tensor:
        """Exponential of algebra elements.   algebra: (B, 3, 3)   returns (B, 3, 3)"""
        return lie.exp_affine2d(algebra)

    def matrix(self, t: Tensor, size: Size = (1, 1)) -> Tensor:
        """Group elements in the isotropic frame of an image.

        Args:
            t: coordinates, (B, k).
            size: (height, width) of the image.

        Returns:
            (B, 3, 3).
        """
        return self._power(t, 1.0, size)

    def _power(self, t: Tensor, times: float, size: Size) -> Tensor:
        """Group elements at `times * t` in the isotropic frame of an image."""
        half_x, half_y = functional.frame(*size)
        half = {"translate_x": half_x, "translate_y": half_y}
        scales = [times * half.get(name, 1.0) for name in self.names]
        with torch.autocast(t.device.type, enabled=False):
            return lie.element_affine2d(t, self.generators, scales)

    def point_map(self, t: Tensor, size: Size) -> Tensor:
        """Group elements in pixels from the image centre.   t: (B, k)   returns (B, 3, 3)"""
        return functional.in_pixels(self.matrix(t, size), size)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        """Warps images.   x: (B, C, H, W)   t: (B, k)   returns (B, C, H, W)"""
        self.check(x, t)
        size = (x.shape[-2], x.shape[-1])
        pull = self._power(precise(t, x), -1.0, size)
        return functional.warp(x, pull, self.padding)

    def coverage(self, y: Tensor, t: Tensor) -> Tensor:
        """Fraction of each pixel that survives g and its inverse, (B, 1, H, W)."""
        size = (y.shape[-2], y.shape[-1])
        ones = torch.ones_like(y[:, :1])
        there = functional.warp(ones, self.matrix(-t, size))
        return functional.warp(there, self.matrix(t, size))

    def settings(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {"names": list(self.names), "padding": self.padding}
