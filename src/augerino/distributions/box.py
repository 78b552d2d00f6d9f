"""Uniform boxes: the paper's symmetric one, and one whose two ends are learned apart."""

from collections.abc import Sequence
from typing import Any, Self

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
from augerino.distributions.spiked import SpikedUniform, icdf
from augerino.errors import InputError


class Uniform(LearnedDistribution):
    r"""A box \([-\theta, \theta]\), learned through \(\theta = \mathrm{softplus}(\tilde\theta)\).

    Samples are \(t = \theta \odot \epsilon\) with \(\epsilon \sim U[-1, 1]^k\), so that gradients reach theta.

    With a rate below 1, a draw leaves the coordinate at zero otherwise. Where each of many coordinates makes inputs a little
    harder, all of them at once make them much harder, and moving one now and then does not. Rates are not learned;
    `Augmentation.with_rates` sets them.

    Reference: Benton et al. (2020), Section 3. `bound` is the paper's theta, a half-range; its rates are 1.

    Args:
        bound: one half-range per coordinate, above 0.
        rate: how often each coordinate is moved at all, above 0 and at most 1.

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
        self.raw_bound = nn.Parameter(
            raw_positive(bound, "Uniform's bound").to(torch.get_default_dtype())
        )
        self.register_buffer("_rate", torch.ones_like(self.raw_bound.data))
        self.rate = rate

    @classmethod
    def named(cls, names: Sequence[str], start: float = 0.1, **bounds: float) -> Self:
        """One bound per name: `start` for all, unless a bound is given by name."""
        return cls(named_start(names, start, bounds, cls.__name__))

    @property
    def bound(self) -> Tensor:
        """The half-ranges theta, (k,); settable."""
        return softplus(self.raw_bound)

    @bound.setter
    def bound(self, value: Value) -> None:
        self.raw_bound.data.copy_(raw_positive(value, "Uniform's bound", self.raw_bound))

    def forward(self) -> D.Distribution:
        if (self.rate < 1).any():
            return SpikedUniform(self.bound, self.rate)
        return D.Independent(D.Uniform(-self.bound, self.bound), 1)

    def icdf(self, u: Tensor) -> Tensor:
        return icdf(u, self.bound, self.rate)

    def entropy(self) -> Tensor:
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
        return self.raw_bound

    @property
    def rate(self) -> Tensor:
        """Fraction of samples in which each coordinate is not 0, (k,), above 0 and at most 1; settable."""
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
        return -self.bound, self.bound

    def settings(self) -> dict[str, Any]:
        rate = {"rate": listed(self.rate)} if (self.rate < 1).any() else {}
        return {"bound": listed(softplus(self.raw_bound.double())), **rate}


class Interval(LearnedDistribution):
    """An asymmetric box [low, high] around the identity, low < 0 < high; both ends are learned on their own.

    Its extent is the half-width (high - low) / 2. Setting the extent scales both ends by the same factor.

    Args:
        low: lower ends, below 0.
        high: upper ends, above 0.

    Example:
        >>> Interval([-0.1], [0.4])
        Interval(low=[-0.1], high=[0.4])
    """

    def __init__(self, low: Value, high: Value) -> None:
        super().__init__()
        down, up = vector_of(low, "Interval's low"), vector_of(high, "Interval's high")
        if down.shape != up.shape:
            raise InputError(
                f"Interval needs as many low as high ends, but got {down.numel()} and {up.numel()}."
            )
        dtype = torch.get_default_dtype()
        self.raw_low = nn.Parameter(raw_positive(-down, "Minus Interval's low").to(dtype))
        self.raw_high = nn.Parameter(raw_positive(up, "Interval's high").to(dtype))

    @classmethod
    def named(cls, names: Sequence[str], start: float = 0.1, **bounds: float) -> Self:
        """A symmetric start, one half-range per name; the ends then move on their own."""
        values = torch.tensor(named_start(names, start, bounds, cls.__name__), dtype=torch.float64)
        return cls(-values, values)

    @property
    def low(self) -> Tensor:
        """The lower ends, (k,), below 0; settable."""
        return -softplus(self.raw_low)

    @low.setter
    def low(self, value: Value) -> None:
        self.raw_low.data.copy_(
            raw_positive(
                -vector_of(value, "low", self.raw_low), "Minus Interval's low", self.raw_low
            )
        )

    @property
    def high(self) -> Tensor:
        """The upper ends, (k,), above 0; settable."""
        return softplus(self.raw_high)

    @high.setter
    def high(self, value: Value) -> None:
        self.raw_high.data.copy_(raw_positive(value, "Interval's high", self.raw_high))

    def forward(self) -> D.Distribution:
        return D.Independent(D.Uniform(self.low, self.high), 1)

    def icdf(self, u: Tensor) -> Tensor:
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
        ends = zip(units, self.low.tolist(), self.high.tolist(), strict=True)
        return [f"{unit.value(low)} to {unit.value(high)}" for unit, low, high in ends]

    @property
    def support(self) -> tuple[Tensor, Tensor]:
        return self.low, self.high

    def settings(self) -> dict[str, Any]:
        low, high = softplus(self.raw_low.double()), softplus(self.raw_high.double())
        return {"low": listed(-low), "high": listed(high)}
