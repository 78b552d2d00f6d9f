"""The usual fixed augmentation of photographs, as the first layer of a network: like dropout, it acts in training."""

import torch
from torch import Tensor, nn


class Standard(nn.Module):
    """Shifts each image by whole pixels, mirrors every other one, and blackens a square: nothing in evaluation.

    A shift with black moving in is what cropping at random after padding comes to. The square may reach over the rim, so that
    less of it is seen (DeVries and Taylor 2017).

    Args:
        shift: by how many pixels at most, each way.
        flip: whether left and right are swapped in half of the images.
        cutout: side of the square in pixels; 0 for none.

    Attributes:
        always: whether to act in evaluation too, for averaging over copies.
    """

    def __init__(self, shift: int = 4, flip: bool = True, cutout: int = 0) -> None:
        super().__init__()
        self.shift, self.flip, self.cutout, self.always = shift, flip, cutout, False

    def extra_repr(self) -> str:
        return f"shift={self.shift}, flip={self.flip}, cutout={self.cutout}"

    def forward(self, x: Tensor) -> Tensor:
        if not (self.training or self.always):
            return x
        if self.flip:
            chosen = torch.rand(len(x), 1, 1, 1, device=x.device) < 0.5
            x = torch.where(chosen, x.flip(-1), x)
        for axis in (2, 3) if self.shift else ():
            x = self._shifted(x, axis)
        return x * self._outside(x) if self.cutout else x

    def _shifted(self, x: Tensor, axis: int) -> Tensor:
        """Each image moved along one axis by a whole number of pixels of its own."""
        side = x.shape[axis]
        by = torch.randint(-self.shift, self.shift + 1, (len(x), 1), device=x.device)
        place = torch.arange(side, device=x.device) + by  # (B, side): where each line comes from
        shape = (len(x), 1, side, 1) if axis == 2 else (len(x), 1, 1, side)
        there = ((place >= 0) & (place < side)).reshape(shape)
        return x.gather(axis, place.clamp(0, side - 1).reshape(shape).expand_as(x)) * there

    def _outside(self, x: Tensor) -> Tensor:
        """False in a square with its centre anywhere in the image.   returns (B, 1, H, W)"""
        inside = torch.ones((), dtype=torch.bool, device=x.device)
        for axis in (2, 3):
            side = x.shape[axis]
            low = torch.randint(0, side, (len(x), 1, 1, 1), device=x.device) - self.cutout // 2
            line = torch.arange(side, device=x.device).reshape((-1, 1) if axis == 2 else (1, -1))
            inside = inside & (line >= low) & (line < low + self.cutout)
        return ~inside
