"""Normal distributions with a full covariance."""

from collections.abc import Sequence
from typing import Any, Self

import torch
import torch.distributions as D
from torch import Generator, Tensor, nn

from augerino.coordinate import Unit
from augerino.distributions.base import (
    LearnedDistribution,
    Value,
    listed,
    named_start,
    noise,
    raw_positive,
    softplus,
    vector_of,
)
from augerino.errors import InputError


class Gaussian(LearnedDistribution):
    r"""A normal distribution \(N(\mu, L L^\top)\) with learned mean `loc` and factor `scale_tril`.

    The extent is the standard deviation of each coordinate. Setting it keeps the correlations.

    Reference: Benton et al. (2020), appendix C.

    Args:
        loc: means \(\mu\), (k,).
        scale_tril: Cholesky factor L, (k, k), lower triangular with a positive diagonal; or
            standard deviations, (k,).

    Example:
        >>> Gaussian([0.0, 0.0], [0.1, 0.2])
        Gaussian(loc=[0, 0], scale_tril=[[0.1, 0], [0, 0.2]])
    """

    _rows: Tensor
    _columns: Tensor

    def __init__(self, loc: Value, scale_tril: Value | Sequence[Sequence[float]]) -> None:
        super().__init__()
        mean = vector_of(loc, "Gaussian's loc")
        dtype = torch.get_default_dtype()
        k = mean.numel()
        rows, columns = torch.tril_indices(k, k, offset=-1)
        self.register_buffer("_rows", rows, persistent=False)
        self.register_buffer("_columns", columns, persistent=False)
        self.loc = nn.Parameter(mean.to(dtype))
        self.raw_diagonal = nn.Parameter(torch.zeros(k, dtype=dtype))
        self.off_diagonal = nn.Parameter(torch.zeros(len(rows), dtype=dtype))
        self.scale_tril = scale_tril

    @classmethod
    def named(cls, names: Sequence[str], start: float = 0.1, **bounds: float) -> Self:
        """Creates one coordinate per name: mean 0, standard deviation `start` or the one given."""
        deviations = named_start(names, start, given=bounds, kind=cls.__name__)
        return cls([0.0] * len(names), deviations)

    @property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor L, (k, k); settable."""
        return self._factor(self.raw_diagonal, self.off_diagonal)

    @scale_tril.setter
    def scale_tril(self, value: Value | Sequence[Sequence[float]]) -> None:
        factor = torch.as_tensor(value, dtype=torch.float64).detach().cpu()
        k = self.loc.numel()
        if factor.dim() < 2 and factor.numel() in (1, k):
            factor = torch.diag(factor.expand(k))
        if factor.shape != (k, k) or factor.triu(1).any():
            got = f"shape {tuple(factor.shape)}"
            if factor.dim() == 2:
                got += " with entries above the diagonal"
            raise InputError(
                f"Gaussian's scale_tril must be lower triangular ({k}, {k}), "
                f"or {k} standard deviations, but got {got}."
            )
        if not factor.isfinite().all():
            raise InputError(f"Gaussian's scale_tril must be finite, but got {factor.tolist()}.")
        raw = raw_positive(factor.diagonal(), "The diagonal of Gaussian's scale_tril")
        self.raw_diagonal.data.copy_(raw)
        self.off_diagonal.data.copy_(factor[self._rows.cpu(), self._columns.cpu()])

    def _factor(self, raw_diagonal: Tensor, off_diagonal: Tensor) -> Tensor:
        diagonal = torch.diag(softplus(raw_diagonal))
        return diagonal.index_put((self._rows, self._columns), off_diagonal)

    def forward(self) -> D.Distribution:
        """Returns a `torch.distributions.MultivariateNormal`, event shape (k,)."""
        return D.MultivariateNormal(self.loc, scale_tril=self.scale_tril)

    def rsample(self, n: int, generator: Generator | None = None) -> Tensor:
        r"""Draws \(\mu + L \epsilon\) with \(\epsilon \sim N(0, I)\), (n, k)."""
        epsilon = noise(torch.randn, n, like=self.loc, generator=generator)
        return self.loc + epsilon @ self.scale_tril.T

    def icdf(self, u: Tensor) -> Tensor:
        r"""Maps uniform samples to \(\mu + L \Phi^{-1}(u)\).   u: (n, k)   returns (n, k)"""
        return self.loc + torch.special.ndtri(u) @ self.scale_tril.T

    @property
    def extent(self) -> Tensor:
        """The standard deviations, (k,)."""
        return self.scale_tril.norm(dim=-1)

    @extent.setter
    def extent(self, value: Value) -> None:
        deviations = vector_of(value, "Gaussian's extent", self.loc)
        factor = self.scale_tril.detach().double().cpu()
        self.scale_tril = factor * (deviations / factor.norm(dim=-1))[:, None]

    def describe(self, units: Sequence[Unit]) -> list[str]:
        """Formats standard deviations and means: "±5.7° (sd) around +0.0°"."""
        values = zip(units, self.loc.tolist(), self.extent.tolist(), strict=True)
        return [f"{unit.extent(sd)} (sd) around {unit.value(loc)}" for unit, loc, sd in values]

    @property
    def support(self) -> tuple[Tensor, Tensor]:
        """Minus and plus infinity, (k,) each."""
        inf = torch.full_like(self.loc, torch.inf)
        return -inf, inf

    def settings(self) -> dict[str, Any]:
        """Returns `loc` and `scale_tril`."""
        factor = self._factor(self.raw_diagonal.double(), self.off_diagonal.double())
        return {"loc": listed(self.loc), "scale_tril": listed(factor)}
