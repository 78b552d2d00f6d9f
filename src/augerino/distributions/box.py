"""Uniform distributions on boxes: symmetric, as in the paper, or with two independent ends."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import torch
import torch.distributions as D
from torch import Tensor, nn

from augerino.coordinate import Unit
from augerino.distributions.base import (
    LearnedDistribution,
    Value,
    listed,
    named_start,
    raw_positive,
    softplus,
    vector_of,
)
from augerino.errors import InputError


class Uniform(LearnedDistribution):
    r"""The uniform distribution on a box \([-\theta, \theta]\).

    The stored parameter is \(\tilde\theta\), with \(\theta = \mathrm{softplus}(\tilde\theta)\).
    Samples are \(t = \theta \odot \epsilon\) with \(\epsilon \sim U[-1, 1]^k\), so that gradients
    reach \(\theta\).

    With a rate r below 1, a coordinate is drawn from its range with probability r and is 0
    otherwise. Rates are not learned; `Augmentation.with_rates` sets them. They keep inputs from
    becoming much harder when many coordinates each make them slightly harder.

    Reference: Benton et al. (2020), Section 3. `bound` is the paper's \(\theta\), a half-range;
    the paper's rates are 1.

    Args:
        bound: half-ranges \(\theta\), one per coordinate, above 0.
        rate: probability that a coordinate is drawn from its range, above 0 and at most 1.

    Example:
        >>> uniform = Uniform([0.1, 0.5])
        >>> uniform.bound = 0.3
        >>> uniform
        Uniform(bound=[0.3, 0.3])
    """

    has_settable_rate = True
    _rate: Tensor

    def __init__(self, bound: Value, rate: Value = 1.0) -> None:
        super().__init__()
        raw = raw_positive(bound, "Uniform's bound")
        self.raw_bound = nn.Parameter(raw.to(torch.get_default_dtype()))
        self.register_buffer("_rate", torch.ones_like(self.raw_bound.data))
        self.rate = rate

    @classmethod
    def named(cls, names: Sequence[str], start: float = 0.1, **bounds: float) -> Self:
        """Creates one coordinate per name, with the bound `start` or the one given by name."""
        return cls(named_start(names, start, given=bounds, kind=cls.__name__))

    @property
    def bound(self) -> Tensor:
        """The half-ranges theta, (k,); settable."""
        return softplus(self.raw_bound)

    @bound.setter
    def bound(self, value: Value) -> None:
        self.raw_bound.data.copy_(raw_positive(value, "Uniform's bound", self.raw_bound))

    def forward(self) -> D.Distribution:
        """Returns independent `torch.distributions.Uniform`; `SpikedUniform` for rates below 1."""
        if (self.rate < 1).any():
            return SpikedUniform(self.bound, self.rate)
        return D.Independent(D.Uniform(-self.bound, self.bound), 1)

    def icdf(self, u: Tensor) -> Tensor:
        r"""Inverse CDF, \(\theta (2u - 1)\) if the rate is 1.   u: (n, k)   returns (n, k)"""
        return _spiked_icdf(u, self.bound, self.rate)

    def entropy(self) -> Tensor:
        r"""Computes the entropy in nats, \(\sum_i \log 2\theta_i\) if all rates are 1."""
        return SpikedUniform(self.bound, self.rate).entropy()

    @property
    def extent(self) -> Tensor:
        """The bound: a half-range, (k,)."""
        return self.bound

    @extent.setter
    def extent(self, value: Value) -> None:
        self.bound = value

    @property
    def raw_extent(self) -> Tensor:
        r"""The unconstrained bounds \(\tilde\theta\), (k,)."""
        return self.raw_bound

    @property
    def rate(self) -> Tensor:
        """The fraction of samples in which each coordinate is not 0, (k,); settable."""
        return self._rate

    @rate.setter
    def rate(self, value: Value) -> None:
        rate = vector_of(value, "Uniform's rate", self.raw_bound)
        if ((rate <= 0) | (rate > 1)).any():
            raise InputError(
                f"Uniform's rate must be above 0 and at most 1, but got {rate.tolist()}."
            )
        self._rate.copy_(rate)

    @property
    def support(self) -> tuple[Tensor, Tensor]:
        """-bound and bound, (k,) each."""
        return -self.bound, self.bound

    def settings(self) -> dict[str, Any]:
        """Returns `bound`, and `rate` if a rate is below 1."""
        settings = {"bound": listed(softplus(self.raw_bound.double()))}
        if (self.rate < 1).any():
            settings["rate"] = listed(self.rate)
        return settings


class Interval(LearnedDistribution):
    """The uniform distribution on an asymmetric box [low, high] with low < 0 < high.

    Both ends are learned independently. The extent is the half-width (high - low) / 2; setting it
    scales both ends by the same factor.

    Args:
        low: lower ends, below 0.
        high: upper ends, above 0.

    Example:
        >>> Interval([-0.1], [0.4])
        Interval(low=[-0.1], high=[0.4])
    """

    def __init__(self, low: Value, high: Value) -> None:
        super().__init__()
        lower = vector_of(low, "Interval's low")
        upper = vector_of(high, "Interval's high")
        if lower.shape != upper.shape:
            raise InputError(
                "Interval needs as many low as high ends, "
                f"but got {lower.numel()} and {upper.numel()}."
            )
        dtype = torch.get_default_dtype()
        self.raw_low = nn.Parameter(raw_positive(-lower, "Minus Interval's low").to(dtype))
        self.raw_high = nn.Parameter(raw_positive(upper, "Interval's high").to(dtype))

    @classmethod
    def named(cls, names: Sequence[str], start: float = 0.1, **bounds: float) -> Self:
        """Creates one symmetric interval per name, with the half-range `start` or the one given."""
        starts = named_start(names, start, given=bounds, kind=cls.__name__)
        high = torch.tensor(starts, dtype=torch.float64)
        return cls(-high, high)

    @property
    def low(self) -> Tensor:
        """The lower ends, (k,), below 0; settable."""
        return -softplus(self.raw_low)

    @low.setter
    def low(self, value: Value) -> None:
        lower = vector_of(value, "low", self.raw_low)
        self.raw_low.data.copy_(raw_positive(-lower, "Minus Interval's low", self.raw_low))

    @property
    def high(self) -> Tensor:
        """The upper ends, (k,), above 0; settable."""
        return softplus(self.raw_high)

    @high.setter
    def high(self, value: Value) -> None:
        self.raw_high.data.copy_(raw_positive(value, "Interval's high", self.raw_high))

    def forward(self) -> D.Distribution:
        """Returns independent `torch.distributions.Uniform`, event shape (k,)."""
        return D.Independent(D.Uniform(self.low, self.high), 1)

    def icdf(self, u: Tensor) -> Tensor:
        """Inverse CDF, low + (high - low) u.   u: (n, k)   returns (n, k)"""
        return self.low + (self.high - self.low) * u

    @property
    def extent(self) -> Tensor:
        """The half-width (high - low) / 2, (k,)."""
        return (self.high - self.low) / 2

    @extent.setter
    def extent(self, value: Value) -> None:
        factor = vector_of(value, "Interval's extent", self.raw_low) / self.extent.detach().cpu()
        low = factor * self.low.detach().cpu()
        high = factor * self.high.detach().cpu()
        self.low = low
        self.high = high

    def describe(self, units: Sequence[Unit]) -> list[str]:
        """Formats both ends: "-5.7° to +22.9°"."""
        ends = zip(units, self.low.tolist(), self.high.tolist(), strict=True)
        return [f"{unit.value(low)} to {unit.value(high)}" for unit, low, high in ends]

    @property
    def support(self) -> tuple[Tensor, Tensor]:
        """`low` and `high`, (k,) each."""
        return self.low, self.high

    def settings(self) -> dict[str, Any]:
        """Returns `low` and `high`."""
        return {
            "low": listed(-softplus(self.raw_low.double())),
            "high": listed(softplus(self.raw_high.double())),
        }


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
        return _spiked_icdf(u, self.bound, self.rate)

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


def _spiked_icdf(u: Tensor, bound: Tensor, rate: Tensor) -> Tensor:
    r"""Inverse CDF: \(b\,\mathrm{sign}(s) \max(0, |s| - 1 + r) / r\) with \(s = 2u - 1\).

    u: (..., k)   bound b: (k,)   rate r: (k,)   returns (..., k)
    """
    side = 2 * u - 1
    return bound * side.sign() * ((side.abs() - (1 - rate)) / rate).clamp_min(0)
