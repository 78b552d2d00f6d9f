"""Shifts of images by whole pixels, without interpolation."""

from typing import Any

import torch
from torch import Tensor

from augerino import lie
from augerino.coordinate import HALF_IMAGE, Coordinate
from augerino.errors import InputError
from augerino.transforms import functional, pixelwise
from augerino.transforms.active_rows import ImageTransform
from augerino.transforms.base import Size, choose
from augerino.transforms.functional import Padding

_NAMES = ("shift_x", "shift_y")
_SHORT = {"x": "shift_x", "y": "shift_y"}


class PixelShift(ImageTransform):
    r"""Shifts images by whole pixels: right by \(t_x W / 2\), down by \(t_y H / 2\), rounded.

    Like "random crop with padding", it does not interpolate; `Affine2d` does, which also blurs.
    The shift jumps with t, so there is no useful gradient (`smooth = False`). The inverse is the
    shift by -t; pixels that left the image are lost.

    Args:
        names: "x", "y", or the full coordinate names; none means both.
        padding: values outside the image: "zeros", "border" (the outermost pixel continues) or
            "reflection" (about the edge of the image, as in `Affine2d`).

    Example:
        >>> PixelShift("x")(torch.tensor([[[[1.0, 2.0, 3.0, 4.0]]]]), torch.tensor([[0.5]]))
        tensor([[[[0., 1., 2., 3.]]]])
    """

    smooth = False
    has_gradient = False

    def __init__(self, *names: str, padding: Padding = "zeros") -> None:
        super().__init__()
        if padding not in functional.PADDINGS:
            raise InputError(
                f"PixelShift needs a padding of {', '.join(functional.PADDINGS)}, "
                f"but got '{padding}'."
            )
        full = [_SHORT.get(name, name) for name in names]
        self.coordinates = tuple(
            Coordinate(name, limit=1.0, unit=HALF_IMAGE)
            for name in choose(full, _NAMES, "PixelShift")
        )
        self.padding: Padding = padding

    def pixels(self, t: Tensor, size: Size) -> tuple[Tensor, Tensor]:
        """Whole pixels to the right and down.   t: (B, k)   returns (B,) and (B,)"""
        t = lie.at_least_float32(t)
        columns = dict(zip(self.names, t.unbind(-1), strict=True))
        still = torch.zeros_like(t[:, 0])
        right = (columns.get("shift_x", still) * size[1] / 2).round()
        down = (columns.get("shift_y", still) * size[0] / 2).round()
        return right, down

    def act(self, x: Tensor, t: Tensor) -> Tensor:
        """Shifts images.   x: (B, C, H, W)   t: (B, k)   returns (B, C, H, W)"""
        return self._shift(x, t, self.padding)

    def _shift(self, x: Tensor, t: Tensor, padding: Padding) -> Tensor:
        right, down = self.pixels(t.detach(), (x.shape[-2], x.shape[-1]))
        return pixelwise.shift(x, right, down, padding=padding)

    def inverse(self, y: Tensor, t: Tensor) -> Tensor:
        """Applies the shift by -t."""
        return self.forward(y, -t)

    def coverage(self, y: Tensor, t: Tensor) -> Tensor:
        """1 where a pixel survives the shift and its inverse, else 0; (B, 1, H, W)."""
        ones = torch.ones_like(y[:, :1])
        there = self._shift(ones, t, "zeros")
        return self._shift(there, -t, "zeros")

    def point_map(self, t: Tensor, size: Size) -> Tensor:
        """Translations by whole pixels.   t: (B, k)   returns (B, 3, 3)"""
        right, down = self.pixels(t, size)
        zero = torch.zeros_like(right)
        one = torch.ones_like(right)
        rows = [
            torch.stack([one, zero, right], dim=-1),
            torch.stack([zero, one, down], dim=-1),
            torch.stack([zero, zero, one], dim=-1),
        ]
        return torch.stack(rows, dim=-2)

    def settings(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {"names": list(self.names), "padding": self.padding}
