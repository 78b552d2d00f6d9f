"""A uniform range that some draws leave alone: with a probability of its own, each coordinate stays at zero."""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
import torch.distributions as D
from torch import Tensor


def quantile(u: Tensor, bound: Tensor, rate: Tensor) -> Tensor:
    """Takes uniform numbers to draws: the middle of the unit interval to zero, the rest on either side to the range."""
    side = 2 * u - 1
    return bound * side.sign() * ((side.abs() - (1 - rate)) / rate).clamp_min(0)


class SpikedUniform(D.Distribution):
    r"""Zero with probability \(1 - r\), else uniform on \([-b, b]\), in each of k coordinates on their own.

    Densities are with respect to lengths plus the point zero: \(1 - r\) there, \(r / 2b\) elsewhere.

    Args:
        bound: half-ranges b, (k,).
        rate: how often each is drawn from its range, r, (k,), above 0 and at most 1.
    """

    arg_constraints: ClassVar[dict[str, Any]] = {}
    has_rsample = True

    def __init__(self, bound: Tensor, rate: Tensor) -> None:
        self.bound, self.rate = bound, rate
        super().__init__(torch.Size(), bound.shape, validate_args=False)

    @property
    def mean(self) -> Tensor:
        return torch.zeros_like(self.bound)

    @property
    def variance(self) -> Tensor:
        return self.rate * self.bound.square() / 3

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(torch.Size(sample_shape))
        return quantile(
            torch.rand(shape, dtype=self.bound.dtype, device=self.bound.device),
            self.bound,
            self.rate,
        )

    def log_prob(self, value: Tensor) -> Tensor:
        inside = torch.where(
            value.abs() <= self.bound, (self.rate / (2 * self.bound)).log(), -torch.inf
        )
        return torch.where((value == 0) & (self.rate < 1), (1 - self.rate).log(), inside).sum(
            dim=-1
        )

    def entropy(self) -> Tensor:
        return (
            self.rate * (2 * self.bound / self.rate).log()
            - torch.xlogy(1 - self.rate, 1 - self.rate)
        ).sum(dim=-1)
