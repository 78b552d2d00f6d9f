"""R(theta): what makes wide augmentations cheap. Each takes an augmentation and returns a scalar to be minimised.

Each coordinate is capped at its transform's limit, by clamping: past the limit it pays nothing more, and the others go on.
"""

import torch
from torch import Tensor

from augerino.augmentation import Augmentation


def capped_spread(augmentation: Augmentation) -> Tensor:
    """The spread of every coordinate, at most its limit, (k,)."""
    return torch.minimum(augmentation.distribution.spread, augmentation.limits)


class NegativeL2:
    r"""\(-\sum_i \theta_i^2\), the paper's (Benton et al. 2020, Section 3.2)."""

    def __call__(self, augmentation: Augmentation) -> Tensor:
        return -capped_spread(augmentation).square().sum()


class NegativeNorm:
    r"""\(-\lVert\theta\rVert\), what the paper's released code uses."""

    def __call__(self, augmentation: Augmentation) -> Tensor:
        return -capped_spread(augmentation).norm()


class LogVolume:
    r"""\(-\sum_i \log \theta_i\), minus the log-volume of the box: every coordinate is pushed by its relative growth."""

    def __call__(self, augmentation: Augmentation) -> Tensor:
        return -capped_spread(augmentation).log().sum()
