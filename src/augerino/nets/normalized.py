"""A network with normalisation built in, so that augmentations work on images in [0, 1]."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class Normalized(nn.Module):
    r"""Applies a network to normalised images, \(f((x - m) / s)\).

    Brightness and contrast clip at black and white, which are 0 and 1 only before normalisation.

    Shape: images in [0, 1], (B, C, H, W), to the output of the network.

    Args:
        net: the network f.
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
        """(B, C, H, W) -> the output of the network"""
        normalized = (x - self.mean) / self.std
        return self.net(normalized)
