"""Independent distributions side by side."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.distributions as D
from torch import Generator, Tensor, nn

from augerino.coordinate import Unit
from augerino.distributions.base import LearnedDistribution, Value, vector_of


class Product(LearnedDistribution):
    """Independent distributions side by side; their coordinates are concatenated."""

    def __init__(self, distributions: Sequence[LearnedDistribution]) -> None:
        super().__init__()
        self.parts = nn.ModuleList(distributions)

    def forward(self) -> D.Distribution:
        return Joint([part() for part in self.parts])

    def rsample(self, n: int, generator: Generator | None = None) -> Tensor:
        return torch.cat([part.rsample(n, generator) for part in self._parts], dim=-1)

    def enumerate_discrete(
        self, n: int, generator: Generator | None = None
    ) -> tuple[Tensor, Tensor | None]:
        t, weight = torch.empty(0), None
        for i, part in enumerate(self._parts):
            new, odds = part.enumerate_discrete(n, generator)
            t, weight = (new, odds) if i == 0 else (_cross(t, new, n), _outer(weight, odds))
        return t, weight

    def icdf(self, u: Tensor) -> Tensor:
        pieces = u.split([part.size for part in self._parts], dim=-1)
        return torch.cat(
            [part.icdf(piece) for part, piece in zip(self._parts, pieces, strict=True)], dim=-1
        )

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
        texts, units = [], list(units)
        for part in self._parts:
            texts += part.describe(units[: part.size])
            units = units[part.size :]
        return texts

    @property
    def support(self) -> tuple[Tensor, Tensor]:
        low, high = zip(*(part.support for part in self._parts), strict=True)
        return torch.cat(low), torch.cat(high)

    def settings(self) -> dict[str, Any]:
        return {"distributions": list(self.parts)}

    def extra_repr(self) -> str:
        return ""


def parts_of(distribution: LearnedDistribution) -> Iterator[LearnedDistribution]:
    """The single distributions side by side in one."""
    if isinstance(distribution, Product):
        for part in distribution.parts:
            yield from parts_of(part)  # type: ignore[arg-type]
    else:
        yield distribution


def _cross(a: Tensor, b: Tensor, n: int) -> Tensor:
    """Every branch of `a` beside every branch of `b`, the same n draws in each."""
    rows, columns = a.shape[0] // n, b.shape[0] // n
    left = a.reshape(rows, 1, n, -1).expand(-1, columns, -1, -1)
    right = b.reshape(1, columns, n, -1).expand(rows, -1, -1, -1)
    return torch.cat([left, right], dim=-1).flatten(0, 2)


def _outer(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    if a is None or b is None:
        return b if a is None else a
    return (a[:, None] * b).flatten()


class Joint(D.Distribution):
    """Independent distributions of event shape (k_i,) as one of event shape (sum k_i,)."""

    arg_constraints = {}  # noqa: RUF012 (torch's own way to declare them)

    def __init__(self, parts: Sequence[D.Distribution]) -> None:
        self.parts = list(parts)
        self.sizes = [part.event_shape[0] for part in parts]
        super().__init__(event_shape=torch.Size([sum(self.sizes)]), validate_args=False)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return all(part.has_rsample for part in self.parts)

    @property
    def mean(self) -> Tensor:
        return torch.cat([part.mean for part in self.parts], dim=-1)

    @property
    def variance(self) -> Tensor:
        return torch.cat([part.variance for part in self.parts], dim=-1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return torch.cat([part.sample(torch.Size(sample_shape)) for part in self.parts], dim=-1)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return torch.cat([part.rsample(torch.Size(sample_shape)) for part in self.parts], dim=-1)

    def log_prob(self, value: Tensor) -> Tensor:
        pieces = value.split(self.sizes, dim=-1)
        return torch.stack(
            [part.log_prob(piece) for part, piece in zip(self.parts, pieces, strict=True)]
        ).sum(0)

    def entropy(self) -> Tensor:
        return torch.stack([part.entropy() for part in self.parts]).sum()
