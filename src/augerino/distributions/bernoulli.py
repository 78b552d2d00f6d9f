"""Bernoulli distributions, for coordinates that take the values 0 and 1."""

from collections.abc import Sequence
from typing import Any, Self

import torch
import torch.distributions as D
from torch import Generator, Tensor, nn

from augerino.coordinate import Unit
from augerino.distributions.base import LearnedDistribution, Value, listed, named_start, vector_of
from augerino.errors import InputError

MAX_ENUMERATED = 2  # largest number of enumerated coordinates; each doubles the cost of a step


class Bernoulli(LearnedDistribution):
    r"""Independent coordinates in \(\{0, 1\}\) with learned probabilities \(p_i = P(t_i = 1)\).

    The extent is \(2 \min(p, 1 - p)\): 0 if the outcome is certain, and 1 for the full symmetry,
    p = 1/2. Setting it to e sets p = e / 2. The rate is p.

    Samples are exactly 0 or 1. Their gradient is the straight-through estimator, which is biased.
    `enumerate_discrete` returns all outcomes with their probabilities, whose gradient is exact;
    models use it in training.

    Reference: Bengio et al. (2013), "Estimating or propagating gradients through stochastic
    neurons for conditional computation".

    Args:
        probability: p, one per coordinate, strictly between 0 and 1.

    Example:
        >>> Bernoulli([0.5]).extent.item()
        1.0
    """

    discrete = True

    def __init__(self, probability: Value) -> None:
        super().__init__()
        raw = _logit(vector_of(probability, "Bernoulli's probability"))
        self.raw_probability = nn.Parameter(raw.to(torch.get_default_dtype()))

    @classmethod
    def named(cls, names: Sequence[str], start: float = 0.1, **bounds: float) -> Self:
        """Creates one coordinate per name, with probability `start` or the one given by name."""
        return cls(named_start(names, start, given=bounds, kind=cls.__name__))

    @property
    def probability(self) -> Tensor:
        """The probability of 1, (k,); settable."""
        return torch.sigmoid(self.raw_probability)

    @probability.setter
    def probability(self, value: Value) -> None:
        probability = vector_of(value, "Bernoulli's probability", self.raw_probability)
        self.raw_probability.data.copy_(_logit(probability))

    def forward(self) -> D.Distribution:
        """Returns independent `torch.distributions.Bernoulli`, event shape (k,)."""
        return D.Independent(D.Bernoulli(logits=self.raw_probability), 1)

    def icdf(self, u: Tensor) -> Tensor:
        """Inverse CDF: 1 where u < p, else 0, with the straight-through gradient.   u: (n, k)"""
        p = self.probability
        return (u < p).to(p.dtype) + (p - p.detach())

    def enumerate_discrete(
        self, n: int, generator: Generator | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Returns all 2^k outcomes, n times each, and their probabilities, (2^k,).

        If there are more than two coordinates, or p requires no gradient: n samples and None.
        """
        p = self.probability
        k = p.shape[0]
        if k > MAX_ENUMERATED or not self.raw_probability.requires_grad:
            return self.rsample(n, generator), None
        values = torch.tensor([0.0, 1.0], device=p.device, dtype=p.dtype)
        outcomes = torch.cartesian_prod(*[values] * k).reshape(-1, k)  # (2^k, k)
        weight = torch.where(outcomes > 0, p, 1 - p).prod(dim=1)
        return outcomes.repeat_interleave(n, dim=0), weight

    @property
    def extent(self) -> Tensor:
        """2 min(p, 1 - p), (k,), above 0 and at most 1; setting it to e sets p = e / 2."""
        raw = self.raw_probability
        return 2 * torch.minimum(torch.sigmoid(raw), torch.sigmoid(-raw))

    @extent.setter
    def extent(self, value: Value) -> None:
        extent = vector_of(value, "Bernoulli's extent", self.raw_probability)
        if ((extent <= 0) | (extent > 1)).any():
            raise InputError(
                "Bernoulli's extent, 2 min(p, 1 - p), must be above 0 and at most 1, "
                f"but got {extent.tolist()}."
            )
        self.probability = extent / 2

    @property
    def raw_extent(self) -> Tensor:
        """The logits of p, (k,)."""
        return self.raw_probability

    @property
    def rate(self) -> Tensor:
        """The probability of 1, (k,)."""
        return self.probability

    def describe(self, units: Sequence[Unit]) -> list[str]:
        """Formats the probabilities: "50.0 % of copies"."""
        return [f"{100 * p:.1f} % of copies" for p in self.probability.tolist()]

    @property
    def support(self) -> tuple[Tensor, Tensor]:
        """0 and 1, (k,) each."""
        return torch.zeros_like(self.raw_probability), torch.ones_like(self.raw_probability)

    def settings(self) -> dict[str, Any]:
        """Returns `probability`, clamped to [1e-12, 1 - 1e-12], which the constructor accepts."""
        probability = torch.sigmoid(self.raw_probability.double())
        return {"probability": listed(probability.clamp(1e-12, 1 - 1e-12))}


def _logit(probability: Tensor) -> Tensor:
    if ((probability <= 0) | (probability >= 1)).any():
        raise InputError(
            "Bernoulli's probability must lie strictly between 0 and 1, "
            f"but got {probability.tolist()}."
        )
    return torch.logit(probability)
