"""A small U-Net: a label for every pixel."""

import itertools

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def _block(before: int, after: int) -> nn.Module:
    """Two 3×3 convolutions with batch norm."""
    return nn.Sequential(
        *(
            nn.Conv2d(before, after, 3, padding=1, bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU(inplace=True),
        ),
        *(
            nn.Conv2d(after, after, 3, padding=1, bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU(inplace=True),
        ),
    )


class SmallUNet(nn.Module):
    """Images (B, channels, H, W) to scores (B, outputs, H, W), of any size, odd ones and single pixels included.

    Four scales, halved by max pooling on the way down and doubled to the size of their counterpart on the way up, each joined
    to what was there at that size before. A pixel's score depends on about 50 pixels each way.

    Reference: Ronneberger, Fischer, Brox (2015), "U-Net"; with padding and batch norm.

    Args:
        channels: of the input.
        outputs: classes or values per pixel.
        width: channels at full size; twice, four and eight times as many at the smaller ones.
    """

    def __init__(self, channels: int, outputs: int, width: int = 16) -> None:
        super().__init__()
        self._settings = {"channels": channels, "outputs": outputs, "width": width}
        widths = [width, 2 * width, 4 * width, 8 * width]
        self.down = nn.ModuleList(
            _block(before, after) for before, after in itertools.pairwise([channels, *widths])
        )
        pairs = itertools.pairwise(reversed(widths))
        self.up = nn.ModuleList(_block(below + beside, beside) for below, beside in pairs)
        self.head = nn.Conv2d(width, outputs, 1)

    def settings(self) -> dict[str, int]:
        """The constructor's arguments."""
        return dict(self._settings)

    def forward(self, x: Tensor) -> Tensor:
        scales = [self.down[0](x)]
        for block in self.down[1:]:
            scales.append(block(F.max_pool2d(scales[-1], 2, ceil_mode=True)))
        x = scales.pop()
        for block in self.up:
            beside = scales.pop()
            x = block(torch.cat([F.interpolate(x, size=beside.shape[-2:]), beside], dim=1))
        return self.head(x)
