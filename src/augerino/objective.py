"""The quantity that training minimises: loss + reg_weight * R(theta)."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from augerino.augmentation import Augmentation
from augerino.errors import InputError

Regularizer = Callable[[Augmentation], Tensor]


class LossTerms(NamedTuple):
    """The parts of an objective: `total = loss + penalty`, with the penalty already weighted."""

    loss: Tensor
    penalty: Tensor
    total: Tensor


class Objective:
    r"""\(\ell(\bar f(x), y) + \lambda R(\theta)\) (Benton et al. 2020, Eq. 5).

    It takes predictions, not the model, so a compiled or distributed wrapper changes nothing.

    Args:
        loss: from prediction and target to a scalar; `F.nll_loss` beside `mean_log_prob`, `F.mse_loss` beside `mean`.
        augmentation: whose theta is regularised.
        regularizer: R, `NegativeL2()` by default.
        reg_weight: lambda, the weight of R.
    """

    def __init__(
        self,
        loss: Callable[[Any, Any], Tensor],
        augmentation: Augmentation,
        regularizer: Regularizer | None = None,
        reg_weight: float = 0.05,
    ) -> None:
        if not 0 <= reg_weight < float("inf"):
            raise InputError(
                f"The weight of the penalty must be a number of at least 0, but got {reg_weight}."
            )
        self.loss, self.augmentation, self.reg_weight = loss, augmentation, reg_weight
        self.regularizer = NegativeL2() if regularizer is None else regularizer

    def __call__(self, prediction: Any, target: Any) -> LossTerms:
        loss = self.loss(prediction, target)
        penalty = self.reg_weight * self.regularizer(self.augmentation)
        return LossTerms(loss, penalty, loss + penalty)


# R(theta): what makes wide augmentations cheap.


def capped_extent(augmentation: Augmentation) -> Tensor:
    """min(extent, limit) of every coordinate, (k,)."""
    return torch.minimum(augmentation.distribution.extent, augmentation.limits)


class NegativeL2:
    r"""\(-\sum_i \theta_i^2\), the paper's (Benton et al. 2020, Section 3.2)."""

    def __call__(self, augmentation: Augmentation) -> Tensor:
        return -capped_extent(augmentation).square().sum()


class NegativeNorm:
    r"""\(-\lVert\theta\rVert\), what the paper's released code uses."""

    def __call__(self, augmentation: Augmentation) -> Tensor:
        return -capped_extent(augmentation).norm()


class LogVolume:
    r"""\(-\sum_i \log \theta_i\), minus the log-volume of the box: every coordinate is pushed by its relative growth."""

    def __call__(self, augmentation: Augmentation) -> Tensor:
        return -capped_extent(augmentation).log().sum()


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
        beyond = (
            (distribution.extent / limits - 1).clamp_min(0).log1p()
        )  # log(extent / limit), where that is above 0
        return beyond.sum() - distribution.entropy()
