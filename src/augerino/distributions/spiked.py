"""Uniform distributions with a point mass at zero."""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
import torch.distributions as D
from torch import Tensor


def icdf(u: Tensor, bound: Tensor, rate: Tensor) -> Tensor:
    r"""Inverse CDF: \(b\,\mathrm{sign}(s) \max(0, |s| - 1 + r) / r\) with \(s = 2u - 1\).

    u: (..., k)   bound b: (k,)   rate r: (k,)   returns (..., k)
    """
    side = 2 * u - 1
    return bound * side.sign() * ((side.abs() - (1 - rate)) / rate).clamp_min(0)


class SpikedUniform(D.Distribution):
    r"""Independent coordinates that are 0 with probability \(1 - r\), else uniform on \([-b, b]\).

    Densities are with respect to the Lebesgue measure plus a point mass at zero: \(1 - r\) at zero,
    \(r / 2b\) elsewhere.

    Args:
        bound: half-ranges b, (k,).
        rate: probabilities r of drawing from the range, (k,), above 0 and at most 1.
    """

    arg_constraints: ClassVar[dict[str, Any]] = {}
    has_rsample = True

    def __init__(self, bound: Tensor, rate: Tensor) -> None:
        self.bound = bound
        self.rate = rate
        super().__init__(torch.Size(), bound.shape, validate_args=False)

    @property
    def mean(self) -> Tensor:
        """Zero, (k,)."""
        return torch.zeros_like(self.bound)

    @property
    def variance(self) -> Tensor:
        r"""\(r b^2 / 3\), (k,)."""
        return self.rate * self.bound.square() / 3

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draws samples, (*sample_shape, k), differentiable with respect to `bound`."""
        shape = self._extended_shape(torch.Size(sample_shape))
        u = torch.rand(shape, dtype=self.bound.dtype, device=self.bound.device)
        return icdf(u, self.bound, self.rate)

    def log_prob(self, value: Tensor) -> Tensor:
        """Computes the log-density, -inf outside of the box.   value: (..., k)   returns (...)"""
        density = (self.rate / (2 * self.bound)).log()
        inside = torch.where(value.abs() <= self.bound, density, -torch.inf)
        at_zero = (value == 0) & (self.rate < 1)
        return torch.where(at_zero, (1 - self.rate).log(), inside).sum(dim=-1)

    def entropy(self) -> Tensor:
        r"""Computes \(\sum_i r_i \log(2 b_i / r_i) - (1 - r_i) \log(1 - r_i)\), in nats."""
        range_term = self.rate * (2 * self.bound / self.rate).log()
        zero_term = torch.xlogy(1 - self.rate, 1 - self.rate)
        return (range_term - zero_term).sum(dim=-1)
