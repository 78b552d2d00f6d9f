"""Base classes of transforms that are applied only to the images whose coordinates are not 0."""

import torch
from torch import Tensor

from augerino import lie
from augerino.errors import InputError
from augerino.lie.eager import eager
from augerino.transforms.base import Size, Transform, per_item, same_points


class ImageTransform(Transform):
    """A transform of images in [0, 1] that skips images whose coordinates are all 0.

    With a rate below 1, most rows of t are 0. On a CPU and without a gradient along t, only the
    other rows are computed. Otherwise (graphs, other devices, function transforms) all rows are.

    Subclasses must define `coordinates` and `act(x, t)`, where x is float32 or float64 and
    autocast is off. If `smooth` is True, `act` must be the exact identity at t = 0; if it is
    False, rows of zeros are replaced by their input. Where the values do not depend on t, the
    gradient along t is 0.
    """

    def act(self, x: Tensor, t: Tensor) -> Tensor:
        """Transforms all images.   x: (B, C, H, W)   t: (B, k)   returns (B, C, H, W)"""
        name = type(self).__name__
        raise TypeError(f"{name} has no act: implement {name}.act(x, t).")

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        """Transforms images.   x: (B, C, H, W)   t: (B, k)   returns (B, C, H, W)"""
        self.check(x, t)
        with torch.autocast(x.device.type, enabled=False):
            needs_gradient = t.requires_grad and torch.is_grad_enabled()
            if needs_gradient or not eager(x, t):
                return self._all_rows(x, t)
            rows = (t != 0).any(dim=1).nonzero().squeeze(1)
            if len(rows) == 0:
                return x
            if len(rows) == len(t):
                return self._all_rows(x, t)
            changed = self._all_rows(x.index_select(0, rows), t.index_select(0, rows))
            return x.index_copy(0, rows, changed)

    def _all_rows(self, x: Tensor, t: Tensor) -> Tensor:
        images = lie.at_least_float32(x)
        t = lie.at_least_float32(t)
        out = self.act(images, t)
        if not self.smooth:
            active = (t != 0).any(dim=1, keepdim=True)
            out = torch.where(active.reshape(-1, 1, 1, 1), out, images)
        if t.requires_grad:
            out = out + 0 * per_item(t.sum(dim=1, keepdim=True), x)
        return out.to(x.dtype)

    def check(self, x: Tensor, t: Tensor) -> None:
        """Raises `InputError` unless x are floating-point images with one row of t each."""
        super().check(x, t)
        if x.dim() != 4:
            raise InputError(
                f"{type(self).__name__} needs images (B, C, H, W), but got {tuple(x.shape)}: "
                "add the missing dimensions."
            )


class PhotometricTransform(ImageTransform):
    """A transform of the intensities of images in [0, 1], which moves no points."""

    def point_map(self, t: Tensor, size: Size) -> Tensor:
        """Identity matrices, since no point moves.   t: (B, k)   returns (B, 3, 3)"""
        return same_points(t)
