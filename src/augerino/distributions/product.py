"""Products of independent distributions."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.distributions as D
from torch import Generator, Tensor, nn

from augerino.coordinate import Unit
from augerino.distributions.base import LearnedDistribution, Value, vector_of


class Product(LearnedDistribution):
    r"""The product of independent distributions, \(\mu = \prod_j \mu_j\).

    The coordinates of the factors are concatenated.

    Args:
        distributions: the factors, with \(k_j\) coordinates each.
    """

    def __init__(self, distributions: Sequence[LearnedDistribution]) -> None:
        super().__init__()
        self.parts = nn.ModuleList(distributions)

    def forward(self) -> D.Distribution:
        """Returns the `Joint` distribution of the parts."""
        return Joint([part() for part in self.parts])

    def rsample(self, n: int, generator: Generator | None = None) -> Tensor:
        """Draws n samples of each part and concatenates them, (n, k)."""
        return torch.cat([part.rsample(n, generator) for part in self._parts], dim=-1)

    def enumerate_discrete(
        self, n: int, generator: Generator | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Returns all combinations of the parts' outcomes, (m n, k), with probabilities, (m,)."""
        if not self._parts:
            return torch.empty(0), None
        first, *others = self._parts
        t, weight = first.enumerate_discrete(n, generator)
        for part in others:
            part_t, part_weight = part.enumerate_discrete(n, generator)
            t = _cross(t, part_t, n)
            weight = _outer(weight, part_weight)
        return t, weight

    def icdf(self, u: Tensor) -> Tensor:
        """Applies the inverse CDF of each part to its columns.   u: (n, k)   returns (n, k)"""
        pieces = u.split([part.size for part in self._parts], dim=-1)
        samples = [part.icdf(piece) for part, piece in zip(self._parts, pieces, strict=True)]
        return torch.cat(samples, dim=-1)

    @property
    def _parts(self) -> list[LearnedDistribution]:
        return list(self.parts)  # type: ignore[arg-type]

    @property
    def extent(self) -> Tensor:
        """The extents of all parts, (k,)."""
        return torch.cat([part.extent for part in self._parts])

    @extent.setter
    def extent(self, value: Value) -> None:
        values = vector_of(value, "Product's extent", self.extent)
        pieces = values.split([part.size for part in self._parts])
        for part, piece in zip(self._parts, pieces, strict=True):
            part.extent = piece

    @property
    def rate(self) -> Tensor:
        """The rates of all parts, (k,)."""
        return torch.cat([part.rate for part in self._parts])

    def describe(self, units: Sequence[Unit]) -> list[str]:
        """Formats the range of each coordinate as its part does."""
        texts = []
        start = 0
        for part in self._parts:
            texts += part.describe(units[start : start + part.size])
            start += part.size
        return texts

    @property
    def support(self) -> tuple[Tensor, Tensor]:
        """The lowest and the highest values of all parts, (k,) each."""
        low, high = zip(*(part.support for part in self._parts), strict=True)
        return torch.cat(low), torch.cat(high)

    def settings(self) -> dict[str, Any]:
        """Returns the parts as `distributions`."""
        return {"distributions": list(self.parts)}

    def extra_repr(self) -> str:
        """Empty: the parts are printed as submodules."""
        return ""


def parts_of(distribution: LearnedDistribution) -> Iterator[LearnedDistribution]:
    """Yields the factors of a product, flattened; any other distribution is its only factor."""
    if isinstance(distribution, Product):
        for part in distribution.parts:
            yield from parts_of(part)  # type: ignore[arg-type]
    else:
        yield distribution


def _cross(a: Tensor, b: Tensor, n: int) -> Tensor:
    """Combines every outcome of `a` with every outcome of `b`, using the same n samples in each.

    a: (p n, j)   b: (q n, k)   returns (p q n, j + k)
    """
    rows = a.shape[0] // n
    columns = b.shape[0] // n
    left = a.reshape(rows, 1, n, -1).expand(-1, columns, -1, -1)
    right = b.reshape(1, columns, n, -1).expand(rows, -1, -1, -1)
    return torch.cat([left, right], dim=-1).flatten(0, 2)


def _outer(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    """Computes all products of two vectors of probabilities, (p q,); None stands for (1,)."""
    if a is None:
        return b
    if b is None:
        return a
    return (a[:, None] * b).flatten()


class Joint(D.Distribution):
    r"""The joint distribution of independent distributions of event shapes \((k_j,)\).

    Its event shape is \((\sum_j k_j,)\).

    Args:
        parts: the independent distributions.
    """

    arg_constraints = {}  # noqa: RUF012 (declared as in torch.distributions)

    def __init__(self, parts: Sequence[D.Distribution]) -> None:
        self.parts = list(parts)
        self.sizes = [part.event_shape[0] for part in parts]
        super().__init__(event_shape=torch.Size([sum(self.sizes)]), validate_args=False)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether all parts have `rsample`."""
        return all(part.has_rsample for part in self.parts)

    @property
    def mean(self) -> Tensor:
        """The means of all parts, (k,)."""
        return torch.cat([part.mean for part in self.parts], dim=-1)

    @property
    def variance(self) -> Tensor:
        """The variances of all parts, (k,)."""
        return torch.cat([part.variance for part in self.parts], dim=-1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draws samples, (*sample_shape, k), without gradients."""
        return torch.cat([part.sample(torch.Size(sample_shape)) for part in self.parts], dim=-1)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draws samples, (*sample_shape, k), differentiable with respect to the parameters."""
        return torch.cat([part.rsample(torch.Size(sample_shape)) for part in self.parts], dim=-1)

    def log_prob(self, value: Tensor) -> Tensor:
        """Computes the log-density, the sum over all parts.   value: (..., k)   returns (...)"""
        pieces = value.split(self.sizes, dim=-1)
        terms = [part.log_prob(piece) for part, piece in zip(self.parts, pieces, strict=True)]
        return torch.stack(terms).sum(0)

    def entropy(self) -> Tensor:
        """Computes the entropy in nats, the sum over all parts."""
        return torch.stack([part.entropy() for part in self.parts]).sum()
