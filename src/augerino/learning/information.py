"""The information of predictions about targets, in nats, for classification and regression."""

import math

import torch
from torch import Tensor

from augerino.diagnostics.items import chance, score_items

# In units of the variance of a target: errors below 1/18 of the standard deviation hardly count.
RESOLUTION = 0.003


class InformationScore:
    r"""Computes the residual information R and the information I of predictions, in nats.

    For classes, R is the mean log-loss. For values, it is the entropy of Gaussian errors relative
    to the variance of the targets, averaged over outputs, up to a constant:
    \(R = \tfrac12 \log(\rho + \mathrm{MSE} / \mathrm{Var}(y))\). The resolution \(\rho = 0.003\)
    limits the effect of tiny errors of a nearly exact network.

    I is the difference between R of the best constant prediction and R. The loss of a sample is
    clamped to that of the best constant prediction, since a few confident mistakes would
    otherwise dominate the mean.

    Args:
        y: targets, which determine the best constant prediction: labels, or floating-point values.

    Attributes:
        most: I of a prediction without error, I_max.
        least: R of a prediction without error.
    """

    def __init__(self, y: Tensor) -> None:
        self._is_regression = y.is_floating_point()
        if self._is_regression:
            variance = (y - y.mean(dim=0)).square().flatten(1).mean(dim=0).double().cpu()
            self._variance = variance.clamp_min(torch.finfo(torch.float64).tiny)
            self._constant_residual = 0.5 * math.log(1 + RESOLUTION)
            self.least = 0.5 * math.log(RESOLUTION)
            self.most = self._constant_residual - self.least
        else:
            self._constant_residual = chance(y)
            self.least = 0.0
            self.most = self._constant_residual

    def errors(self, prediction: Tensor, y: Tensor) -> Tensor:
        """Computes the log-loss or the squared errors of each sample.

        Returns:
            (n,) for classes or (n, outputs) for values, float64 on the CPU.
        """
        if self._is_regression:
            errors = (prediction - y).square().flatten(1)
        else:
            errors = score_items(prediction, y).loss.clamp_max(self.most)
        return errors.double().cpu()

    def residual(self, mean: Tensor) -> float:
        """Computes R from the mean of `errors` over samples.   mean: () or (outputs,)"""
        if self._is_regression:
            return float(0.5 * (RESOLUTION + mean / self._variance).log().mean())
        return float(mean)

    def information(self, mean: Tensor) -> float:
        """Computes I from the mean of `errors`; negative if worse than a constant prediction."""
        return self._constant_residual - self.residual(mean)
