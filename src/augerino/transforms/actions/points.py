"""Points and boxes in an image."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from augerino import lie
from augerino.errors import InputError
from augerino.transforms.actions.base import Action, precise
from augerino.transforms.base import Size, Transform


class Keypoints(Action):
    """Points of an image, (B, N, 2), each (x, y) in pixels from its top left corner, moved as the image is.

    A point that is pushed out of the image is still a point, though the network cannot see what is there: give `RotoTranslate2d`
    a margin if that matters.

    Args:
        transform: how the images move.
        size: (height, width) of the images, in pixels.

    Example:
        >>> from augerino import Affine2d
        >>> turn = Keypoints(Affine2d("rotate"), size=(10, 20))
        >>> turn(torch.tensor([[[12.0, 5.0]]]), torch.tensor([[torch.pi / 2]])).round(decimals=3)
        tensor([[[10.,  7.]]])
    """

    def __init__(self, transform: Transform, size: Sequence[int]) -> None:
        super().__init__(transform)
        if len(size) != 2 or not all(isinstance(side, int) and side > 0 for side in size):
            raise InputError(
                f"{type(self).__name__} needs the images' size as (height, width) in pixels, but got {size!r}."
            )
        self.size: Size = (size[0], size[1])
        transform.point_map(
            torch.zeros(1, len(transform.names)), self.size
        )  # refuses what does not move points

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        self._check(x, t)
        there = self.transform.point_map(precise(t, x), self.size)
        return self._move(x, there, self.size, self.transform.canvas(self.size))

    def inverse(self, y: Tensor, t: Tensor) -> Tensor:
        self._check(y, t)
        back = lie.inverse_affine2d(self.transform.point_map(precise(t, y), self.size))
        return self._move(y, back, self.transform.canvas(self.size), self.size)

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "size": list(self.size)}

    def _check(self, x: Tensor, t: Tensor) -> None:
        fits = x.dim() == 3 and x.shape[-1] == 2 and x.is_floating_point()
        self.need(
            fits, x, "floating-point positions (B, N, 2)", "give (x, y) in pixels for each point"
        )
        self.check(x, t)

    def _move(self, x: Tensor, matrix: Tensor, before: Size, after: Size) -> Tensor:
        return _affine(x, matrix, before, after)


class Boxes(Keypoints):
    """Boxes in an image, (B, N, 4), each (left, top, right, bottom) in pixels; they become the upright hull of where they go.

    Exact for translations, scales, flips and quarter turns. Other rotations make the hull larger than what it holds, there and
    once more on the way back: an average over them is one of boxes that are too large.

    Args:
        transform: how the images move.
        size: (height, width) of the images, in pixels.

    Example:
        >>> from augerino import Flip
        >>> Boxes(Flip("horizontal"), size=(10, 20))(torch.tensor([[[1.0, 2.0, 5.0, 6.0]]]), torch.tensor([[1.0]]))
        tensor([[[15.,  2., 19.,  6.]]])
    """

    def _check(self, x: Tensor, t: Tensor) -> None:
        fits = x.dim() == 3 and x.shape[-1] == 4 and x.is_floating_point()
        self.need(
            fits,
            x,
            "floating-point boxes (B, N, 4)",
            "give (left, top, right, bottom) in pixels for each box",
        )
        self.check(x, t)

    def _move(self, x: Tensor, matrix: Tensor, before: Size, after: Size) -> Tensor:
        left, top, right, bottom = x.unbind(-1)
        corners = [
            torch.stack(corner, dim=-1)
            for corner in ((left, top), (right, top), (left, bottom), (right, bottom))
        ]
        moved = torch.stack([_affine(corner, matrix, before, after) for corner in corners])
        return torch.cat([moved.amin(dim=0), moved.amax(dim=0)], dim=-1)


def _affine(x: Tensor, matrix: Tensor, before: Size, after: Size) -> Tensor:
    """Moves points from corner to corner by matrices from centre to centre.   x: (B, N, 2)   matrix: (B, 3, 3)"""
    with torch.autocast(x.device.type, enabled=False):
        points = lie.at_least_float32(x)
        matrix = matrix.to(points.dtype)
        centred = points - points.new_tensor([before[1] / 2, before[0] / 2])
        moved = centred @ matrix[:, :2, :2].mT + matrix[:, None, :2, 2]
        return (moved + points.new_tensor([after[1] / 2, after[0] / 2])).to(x.dtype)
