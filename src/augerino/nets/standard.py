"""The usual fixed augmentation of photographs as a layer that acts in training, like dropout."""

import torch
from torch import Tensor, nn


class Standard(nn.Module):
    """Random shift, horizontal flip and cutout of each image; the identity in evaluation.

    A shift by whole pixels with black moving in equals a random crop after zero padding. The
    square of the cutout may extend beyond the edge of the image.

    Shape: (B, C, H, W) -> (B, C, H, W).

    Reference: DeVries and Taylor (2017), "Improved Regularization of Convolutional Neural Networks
    with Cutout".

    Args:
        shift: largest shift in pixels, in each direction.
        flip: whether to mirror images with probability one half.
        cutout: side of the black square in pixels; 0 for none.

    Attributes:
        always: whether to act in evaluation too, for averaging over copies.
    """

    def __init__(self, shift: int = 4, flip: bool = True, cutout: int = 0) -> None:
        super().__init__()
        self.shift = shift
        self.flip = flip
        self.cutout = cutout
        self.always = False

    def extra_repr(self) -> str:
        """The settings, for `repr`."""
        return f"shift={self.shift}, flip={self.flip}, cutout={self.cutout}"

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, C, H, W)"""
        if not (self.training or self.always):
            return x
        if self.flip:
            is_flipped = torch.rand(len(x), 1, 1, 1, device=x.device) < 0.5
            x = torch.where(is_flipped, x.flip(-1), x)
        if self.shift:
            x = self._shift_along(x, 2)
            x = self._shift_along(x, 3)
        if self.cutout:
            x = x * ~self._cutout_mask(x)
        return x

    def _shift_along(self, x: Tensor, axis: int) -> Tensor:
        """Shifts each image along one axis by its own whole number of pixels."""
        side = x.shape[axis]
        offset = torch.randint(-self.shift, self.shift + 1, (len(x), 1), device=x.device)
        source = torch.arange(side, device=x.device) + offset  # (B, side)
        shape = [len(x), 1, 1, 1]
        shape[axis] = side
        is_inside = ((source >= 0) & (source < side)).reshape(shape)
        index = source.clamp(0, side - 1).reshape(shape)
        return x.gather(axis, index.expand_as(x)) * is_inside

    def _cutout_mask(self, x: Tensor) -> Tensor:
        """True in a square whose centre is uniform over the image.   returns (B, 1, H, W)"""
        rows = self._cutout_range(x, 2)
        columns = self._cutout_range(x, 3)
        return rows & columns

    def _cutout_range(self, x: Tensor, axis: int) -> Tensor:
        """True in the rows (axis 2) or columns (axis 3) of the square."""
        side = x.shape[axis]
        shape = [1, 1, 1, 1]
        shape[axis] = side
        center = torch.randint(0, side, (len(x), 1, 1, 1), device=x.device)
        low = center - self.cutout // 2
        position = torch.arange(side, device=x.device).reshape(shape)
        return (position >= low) & (position < low + self.cutout)
