"""Occlusion and noise of images with values in [0, 1].

Their random numbers are a hash of the image and of t (`hashing`), since a transform has no random
state.
"""

from torch import Tensor

from augerino.coordinate import PIXEL_NOISE, SIDE, Coordinate
from augerino.transforms import pixelwise
from augerino.transforms.active_rows import PhotometricTransform


class Erase(PhotometricTransform):
    r"""Erases a square: its side is |t| times the shorter side of the image.

    The square lies inside the image, at a position that is a hash of the image and of t, and is
    filled with the mean of each channel. It jumps with t, so there is no useful gradient
    (`smooth = False`).

    Reference: DeVries and Taylor (2017), "Improved regularization of convolutional neural networks
    with cutout"; their square may reach beyond the image.

    Example:
        >>> import torch
        >>> x = torch.tensor([0.0, 1.0]).repeat(1, 1, 8, 4)
        >>> (Erase()(x, torch.tensor([[0.5]])) == 0.5).sum()
        tensor(16)
    """

    coordinates = (Coordinate("erase", limit=1.0, unit=SIDE),)
    smooth = False
    has_gradient = False

    def act(self, x: Tensor, t: Tensor) -> Tensor:
        """Erases squares.   x: (B, C, H, W)   t: (B, 1)   returns (B, C, H, W)"""
        return pixelwise.erase(x, t)


class PixelNoise(PhotometricTransform):
    r"""Adds white Gaussian noise and clips: \(c' = c + |t|\, n(x, t)\).

    |t| is the standard deviation as a fraction of full intensity. The noise n is a hash of the
    image and of t, so values jump with t. The gradient along t is that of the strength, with n
    held fixed; finite differences disagree with it (`smooth = False`).

    Example:
        >>> import torch
        >>> x = torch.full((1, 3, 64, 64), 0.5)
        >>> round(PixelNoise()(x, torch.tensor([[0.1]])).std().item(), 2)
        0.1
    """

    coordinates = (Coordinate("pixel_noise", limit=0.5, unit=PIXEL_NOISE),)
    smooth = False

    def act(self, x: Tensor, t: Tensor) -> Tensor:
        """Adds noise.   x: (B, C, H, W)   t: (B, 1)   returns (B, C, H, W)"""
        return pixelwise.add_noise(x, t)
