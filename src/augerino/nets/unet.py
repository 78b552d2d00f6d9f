"""A small U-Net: class scores for every pixel."""

import itertools

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def _layer(before: int, after: int) -> list[nn.Module]:
    return [
        nn.Conv2d(before, after, 3, padding=1, bias=False),
        nn.BatchNorm2d(after),
        nn.ReLU(inplace=True),
    ]


def _block(before: int, after: int) -> nn.Module:
    """Two 3×3 convolutions, each with batch norm and ReLU."""
    return nn.Sequential(*_layer(before, after), *_layer(after, after))


class SmallUNet(nn.Module):
    """A U-Net with four scales, for images of any size, including odd sizes and single pixels.

    Max pooling halves the features on the way down. On the way up they are enlarged to the size of
    the features of the same scale, and concatenated with them. The receptive field of a pixel is
    about 50 pixels in each direction.

    Shape: (B, channels, H, W) -> (B, n_outputs, H, W).

    Reference: Ronneberger, Fischer, Brox (2015), "U-Net"; here with padding and batch norm.

    Args:
        channels: channels of the input.
        n_outputs: classes or values per pixel.
        width: channels at full size; the smaller scales have 2, 4 and 8 times as many.
    """

    def __init__(self, channels: int, n_outputs: int, width: int = 16) -> None:
        super().__init__()
        self._settings = {"channels": channels, "n_outputs": n_outputs, "width": width}
        widths = [width, 2 * width, 4 * width, 8 * width]
        self.down = nn.ModuleList()
        for before, after in itertools.pairwise([channels, *widths]):
            self.down.append(_block(before, after))
        self.up = nn.ModuleList()
        for below, skip in itertools.pairwise(reversed(widths)):
            self.up.append(_block(below + skip, skip))
        self.head = nn.Conv2d(width, n_outputs, 1)

    def settings(self) -> dict[str, int]:
        """Returns the constructor's arguments."""
        return dict(self._settings)

    def forward(self, x: Tensor) -> Tensor:
        """(B, channels, H, W) -> (B, n_outputs, H, W)"""
        scales = [self.down[0](x)]
        for block in self.down[1:]:
            halved = F.max_pool2d(scales[-1], 2, ceil_mode=True)
            scales.append(block(halved))
        x = scales.pop()
        for block in self.up:
            skip = scales.pop()
            enlarged = F.interpolate(x, size=skip.shape[-2:])
            x = block(torch.cat([enlarged, skip], dim=1))
        return self.head(x)
