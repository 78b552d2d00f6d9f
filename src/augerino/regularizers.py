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


class NegativeEntropy:
    r"""\(-H(\mu_\theta)\), minus the entropy of the distribution: the log-volume of a uniform box, and for a Gaussian
    \(-\sum_i \log \sigma_i - \tfrac12 \log\det R\) up to a constant, R being its correlations.

    Every coordinate is pushed by its relative growth, so units do not matter: radians and pixels may stand side by side,
    where a sum of squares would be the pixels' alone. A coordinate past its limit gains nothing more.

    Example:
        >>> from augerino import Affine2d, Uniform
        >>> round(NegativeEntropy()(Augmentation(Affine2d("rotate"), Uniform([1.0]))).item(), 4)
        -0.6931
    """

    def __call__(self, augmentation: Augmentation) -> Tensor:
        distribution, limits = augmentation.distribution, augmentation.limits
        beyond = (distribution.spread / limits - 1).clamp_min(0).log1p()  # log(spread / limit), where that is above 0
        return beyond.sum() - distribution.entropy()
