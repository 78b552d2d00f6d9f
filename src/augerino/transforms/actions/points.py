"""The actions on keypoints and boxes of an image."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from augerino import lie
from augerino.errors import InputError
from augerino.transforms.actions.base import Action
from augerino.transforms.base import Size, Transform, precise


class Keypoints(Action):
    """Keypoints (B, N, 2) of an image, each (x, y) in pixels from the top left corner.

    Points may leave the image, where the network sees nothing: give `RotoTranslate2d` a margin if
    that matters.

    Args:
        transform: the transform of the images.
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
                f"{type(self).__name__} needs the images' size as (height, width) in pixels, "
                f"but got {size!r}."
            )
        self.size: Size = (size[0], size[1])
        # Raises if the transform has no point map.
        transform.point_map(torch.zeros(1, len(transform.names)), self.size)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        """Moves positions from images to canvases.   x: (B, N, ...)   t: (B, k)"""
        self._check(x, t)
        there = self.transform.point_map(precise(t, x), self.size)
        canvas = self.transform.canvas(self.size)
        return self._move(x, there, before=self.size, after=canvas)

    def inverse(self, y: Tensor, t: Tensor) -> Tensor:
        """Moves positions from canvases back to images.   y: (B, N, ...)   t: (B, k)"""
        self._check(y, t)
        back = lie.inverse_affine2d(self.transform.point_map(precise(t, y), self.size))
        canvas = self.transform.canvas(self.size)
        return self._move(y, back, before=canvas, after=self.size)

    def settings(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {**super().settings(), "size": list(self.size)}

    def _check(self, x: Tensor, t: Tensor) -> None:
        self.need(
            fits=x.dim() == 3 and x.shape[-1] == 2 and x.is_floating_point(),
            x=x,
            what="floating-point positions (B, N, 2)",
            advice="give (x, y) in pixels for each point",
        )
        self.check(x, t)

    def _move(self, x: Tensor, matrix: Tensor, *, before: Size, after: Size) -> Tensor:
        return _affine(x, matrix, before=before, after=after)


class Boxes(Keypoints):
    """Boxes (B, N, 4) of an image, each (left, top, right, bottom) in pixels.

    A box becomes the axis-aligned bounding box of its image. This is exact for translations,
    scales, flips and quarter turns. Other rotations enlarge the box, both in `forward` and in
    `inverse`, so that an average over them is too large.

    Args:
        transform: the transform of the images.
        size: (height, width) of the images, in pixels.

    Example:
        >>> from augerino import Flip
        >>> mirror = Boxes(Flip("horizontal"), size=(10, 20))
        >>> mirror(torch.tensor([[[1.0, 2.0, 5.0, 6.0]]]), torch.tensor([[1.0]]))
        tensor([[[15.,  2., 19.,  6.]]])
    """

    def _check(self, x: Tensor, t: Tensor) -> None:
        self.need(
            fits=x.dim() == 3 and x.shape[-1] == 4 and x.is_floating_point(),
            x=x,
            what="floating-point boxes (B, N, 4)",
            advice="give (left, top, right, bottom) in pixels for each box",
        )
        self.check(x, t)

    def _move(self, x: Tensor, matrix: Tensor, *, before: Size, after: Size) -> Tensor:
        left, top, right, bottom = x.unbind(-1)
        corners = ((left, top), (right, top), (left, bottom), (right, bottom))
        moved = [
            _affine(torch.stack(corner, dim=-1), matrix, before=before, after=after)
            for corner in corners
        ]
        stacked = torch.stack(moved)
        return torch.cat([stacked.amin(dim=0), stacked.amax(dim=0)], dim=-1)


def _affine(x: Tensor, matrix: Tensor, *, before: Size, after: Size) -> Tensor:
    """Moves points, given from the corner, by matrices that act from the centre.

    Args:
        x: (B, N, 2).
        matrix: (B, 3, 3).
        before: (height, width) of the images from whose corner x is measured.
        after: (height, width) of the images from whose corner the result is measured.
    """
    with torch.autocast(x.device.type, enabled=False):
        points = lie.at_least_float32(x)
        matrix = matrix.to(points.dtype)
        linear = matrix[:, :2, :2]
        shift = matrix[:, None, :2, 2]
        moved = (points - _centre(points, before)) @ linear.mT + shift
        return (moved + _centre(points, after)).to(x.dtype)


def _centre(points: Tensor, size: Size) -> Tensor:
    """Centre (x, y) of images of (height, width), with the dtype and device of points."""
    height, width = size
    return points.new_tensor([width / 2, height / 2])
