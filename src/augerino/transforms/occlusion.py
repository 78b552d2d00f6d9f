"""Occlusion and noise of images with values in [0, 1].

Their random numbers are a hash of the image and of t (`hashing`), since a transform has no random
state.
"""

import torch
from torch import Tensor

from augerino.coordinate import PIXEL_NOISE, SIDE, Coordinate
from augerino.transforms import hashing
from augerino.transforms.active_rows import PhotometricTransform
from augerino.transforms.base import per_item


class Erase(PhotometricTransform):
    r"""Erases a square: its side is |t| times the shorter side of the image.

    The square lies inside the image, at a position that is a hash of the image and of t, and is
    filled with the mean of each channel. It jumps with t, so there is no useful gradient
    (`smooth = False`).

    Reference: DeVries and Taylor (2017), "Improved regularization of convolutional neural networks
    with cutout"; their square may reach beyond the image.

    Example:
        >>> x = torch.tensor([0.0, 1.0]).repeat(1, 1, 8, 4)
        >>> (Erase()(x, torch.tensor([[0.5]])) == 0.5).sum()
        tensor(16)
    """

    coordinates = (Coordinate("erase", limit=1.0, unit=SIDE),)
    smooth = False
    has_gradient = False

    def act(self, x: Tensor, t: Tensor) -> Tensor:
        """Erases squares.   x: (B, C, H, W)   t: (B, 1)   returns (B, C, H, W)"""
        height, width = x.shape[-2:]
        side = (t.abs().clamp(max=1) * min(height, width)).round()  # (B, 1)
        u = hashing.uniform(hashing.words(hashing.key(x, t), n=2)).to(side.dtype)
        top = (u[:, :1] * (height - side + 1)).floor()
        left = (u[:, 1:] * (width - side + 1)).floor()
        row = torch.arange(height, device=x.device)
        column = torch.arange(width, device=x.device)
        in_rows = (row >= top) & (row < top + side)  # (B, H)
        in_columns = (column >= left) & (column < left + side)  # (B, W)
        is_erased = in_rows[:, None, :, None] & in_columns[:, None, None, :]
        return torch.where(is_erased, x.mean(dim=(-2, -1), keepdim=True), x)


class PixelNoise(PhotometricTransform):
    r"""Adds white Gaussian noise and clips: \(c' = c + |t|\, n(x, t)\).

    |t| is the standard deviation as a fraction of full intensity. The noise n is a hash of the
    image and of t, so values jump with t. The gradient along t is that of the strength, with n
    held fixed; finite differences disagree with it (`smooth = False`).

    Example:
        >>> x = torch.full((1, 3, 64, 64), 0.5)
        >>> round(PixelNoise()(x, torch.tensor([[0.1]])).std().item(), 2)
        0.1
    """

    coordinates = (Coordinate("pixel_noise", limit=0.5, unit=PIXEL_NOISE),)
    smooth = False

    def act(self, x: Tensor, t: Tensor) -> Tensor:
        """Adds noise.   x: (B, C, H, W)   t: (B, 1)   returns (B, C, H, W)"""
        noise = hashing.normal(hashing.key(x, t), x[0].numel()).view(x.shape)
        return (x + per_item(t, x).abs() * noise.to(x.dtype)).clamp(0, 1)
