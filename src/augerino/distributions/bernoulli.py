"""Coordinates that are 0 or 1."""

from collections.abc import Sequence
from typing import Any, Self

import torch
import torch.distributions as D
from torch import Generator, Tensor, nn

from augerino.coordinate import Unit
from augerino.distributions.base import LearnedDistribution, Value, listed, named_start, vector_of
from augerino.errors import InputError

MOST_COUNTED = (
    2  # coordinates whose outcomes are counted out: each doubles the work of a training step
)


class Bernoulli(LearnedDistribution):
    r"""Coordinates that are 0 or 1, with learned probabilities of 1.

    Samples are exactly 0 or 1 going forward; going backward the gradient passes straight through to p (Bengio et al. 2013),
    which is a rough guide. `enumerate_discrete` counts the outcomes out instead, and its gradient is exact; models train on those.
    The extent is \(2 \min(p, 1 - p)\): 0 when the outcome is certain, 1 at p = 1/2, the full symmetry. Setting it to e sets
    p = e / 2. The rate is p.

    Args:
        probability: one per coordinate, strictly between 0 and 1.

    Example:
        >>> Bernoulli([0.5]).extent.item()
        1.0
    """

    discrete = True

    def __init__(self, probability: Value) -> None:
        super().__init__()
        self.raw_probability = nn.Parameter(
            _logit(vector_of(probability, "Bernoulli's probability")).to(torch.get_default_dtype())
        )

    @classmethod
    def named(cls, names: Sequence[str], start: float = 0.1, **bounds: float) -> Self:
        """One probability per name."""
        return cls(named_start(names, start, bounds, cls.__name__))

    @property
    def probability(self) -> Tensor:
        """The probability of 1, (k,); settable."""
        return torch.sigmoid(self.raw_probability)

    @probability.setter
    def probability(self, value: Value) -> None:
        self.raw_probability.data.copy_(
            _logit(vector_of(value, "Bernoulli's probability", self.raw_probability))
        )

    def forward(self) -> D.Distribution:
        return D.Independent(D.Bernoulli(logits=self.raw_probability), 1)

    def icdf(self, u: Tensor) -> Tensor:
        p = self.probability
        return (u < p).to(p.dtype) + (p - p.detach())

    def enumerate_discrete(
        self, n: int, generator: Generator | None = None
    ) -> tuple[Tensor, Tensor | None]:
        p = self.probability
        if (
            p.shape[0] > MOST_COUNTED or not self.raw_probability.requires_grad
        ):  # counting out is for the gradient
            return self.rsample(n, generator), None
        outcomes = torch.cartesian_prod(
            *[torch.tensor([0.0, 1.0], device=p.device, dtype=p.dtype)] * p.shape[0]
        )
        outcomes = outcomes.reshape(-1, p.shape[0])  # (2^k, k)
        weight = torch.where(outcomes > 0, p, 1 - p).prod(dim=1)
        return outcomes.repeat_interleave(n, dim=0), weight

    @property
    def extent(self) -> Tensor:
        """2 min(p, 1 - p), (k,), above 0 and at most 1; setting it to e sets p = e / 2."""
        return 2 * torch.minimum(
            torch.sigmoid(self.raw_probability), torch.sigmoid(-self.raw_probability)
        )

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
        return self.raw_probability

    @property
    def rate(self) -> Tensor:
        """The probability of 1, (k,)."""
        return self.probability

    def describe(self, units: Sequence[Unit]) -> list[str]:
        return [f"{100 * p:.1f} % of copies" for p in self.probability.tolist()]

    @property
    def support(self) -> tuple[Tensor, Tensor]:
        return torch.zeros_like(self.raw_probability), torch.ones_like(self.raw_probability)

    def settings(self) -> dict[str, Any]:
        # certain to within 1e-12 is as certain as a constructor takes it
        return {
            "probability": listed(
                torch.sigmoid(self.raw_probability.double()).clamp(1e-12, 1 - 1e-12)
            )
        }


def _logit(probability: Tensor) -> Tensor:
    if ((probability <= 0) | (probability >= 1)).any():
        raise InputError(
            f"Bernoulli's probability must lie strictly between 0 and 1, but got {probability.tolist()}."
        )
    return torch.logit(probability)
