"""The training objective: loss + reg_weight * R(theta)."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from augerino.augmentation import Augmentation
from augerino.errors import InputError

Regularizer = Callable[[Augmentation], Tensor]


class LossTerms(NamedTuple):
    """The terms of an objective: `total = loss + penalty`, with the penalty already weighted."""

    loss: Tensor
    penalty: Tensor
    total: Tensor


class Objective:
    r"""The objective \(\ell(\bar f(x), y) + \lambda R(\theta)\) (Benton et al. 2020, Eq. 5).

    It takes predictions instead of the model, so that the model may be compiled or distributed.

    Args:
        loss: computes a scalar from prediction and target; `F.nll_loss` with `mean_log_prob`,
            `F.mse_loss` with `mean`.
        augmentation: the augmentation whose \(\theta\) is regularized.
        regularizer: R, `NegativeL2()` by default.
        reg_weight: \(\lambda\), at least 0.
    """

    def __init__(
        self,
        loss: Callable[[Any, Any], Tensor],
        augmentation: Augmentation,
        regularizer: Regularizer | None = None,
        reg_weight: float = 0.05,
    ) -> None:
        if not 0 <= reg_weight < float("inf"):
            raise InputError(f"reg_weight must be at least 0 and finite, but got {reg_weight}.")
        self.loss = loss
        self.augmentation = augmentation
        self.reg_weight = reg_weight
        self.regularizer = NegativeL2() if regularizer is None else regularizer

    def __call__(self, prediction: Any, target: Any) -> LossTerms:
        """Computes loss, penalty and total.   prediction: (B, ...)   target: (B, ...)"""
        loss = self.loss(prediction, target)
        penalty = self.reg_weight * self.regularizer(self.augmentation)
        return LossTerms(loss, penalty, loss + penalty)


# Regularizers R(theta): they decrease as extents grow, up to the limit of each coordinate.


def capped_extent(augmentation: Augmentation) -> Tensor:
    """Computes min(extent, limit) of each coordinate, (k,)."""
    return torch.minimum(augmentation.distribution.extent, augmentation.limits)


class NegativeL2:
    r"""The paper's regularizer \(-\sum_i \theta_i^2\) (Benton et al. 2020, Section 3.2)."""

    def __call__(self, augmentation: Augmentation) -> Tensor:
        """Computes the regularizer, a scalar."""
        return -capped_extent(augmentation).square().sum()


class NegativeNorm:
    r"""The regularizer \(-\lVert\theta\rVert\) of the paper's released code."""

    def __call__(self, augmentation: Augmentation) -> Tensor:
        """Computes the regularizer, a scalar."""
        return -capped_extent(augmentation).norm()


class LogVolume:
    r"""The negative log-volume of the box, \(-\sum_i \log \theta_i\), up to a constant.

    It depends on relative growth: doubling any \(\theta_i\) decreases it by \(\log 2\).
    """

    def __call__(self, augmentation: Augmentation) -> Tensor:
        """Computes the regularizer, a scalar."""
        return -capped_extent(augmentation).log().sum()


class NegativeEntropy:
    r"""The negative entropy of the distribution, \(-H(\mu_\theta)\).

    For a uniform box this is minus the log-volume. For a Gaussian with correlations R it is
    \(-\sum_i \log \sigma_i - \tfrac12 \log\det R\), up to a constant.

    The gradient depends on relative growth only, and so not on units. Coordinates in radians and
    in pixels can be combined, whereas a sum of squares would be dominated by the pixels. Growth
    beyond a limit is not rewarded.

    Example:
        >>> from augerino import Affine2d, Uniform
        >>> round(NegativeEntropy()(Augmentation(Affine2d("rotate"), Uniform([1.0]))).item(), 4)
        -0.6931
    """

    def __call__(self, augmentation: Augmentation) -> Tensor:
        """Computes the regularizer, a scalar."""
        distribution = augmentation.distribution
        ratio = distribution.extent / augmentation.limits
        beyond = (ratio - 1).clamp_min(0).log1p()  # max(0, log(extent / limit))
        return beyond.sum() - distribution.entropy()
