"""A network that normalises what it sees, so that whatever stands before it works on images in [0, 1]."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class Normalized(nn.Module):
    r"""Images in [0, 1], each channel less its mean and divided by its standard deviation, through a network.

    Brightness and contrast clip at black and white, which are 0 and 1 before the normalisation and nothing special after it.

    Args:
        net: sees \((x - m) / s\).
        mean: m, one number per channel.
        std: s, one number per channel.

    Example:
        >>> Normalized(nn.Identity(), [0.5], [0.25])(torch.ones(1, 1, 1, 1)).item()
        2.0
    """

    mean: Tensor
    std: Tensor

    def __init__(self, net: nn.Module, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__()
        self.net = net
        self.register_buffer("mean", torch.tensor(mean)[:, None, None])
        self.register_buffer("std", torch.tensor(std)[:, None, None])

    def forward(self, x: Tensor) -> Tensor:
        return self.net((x - self.mean) / self.std)
