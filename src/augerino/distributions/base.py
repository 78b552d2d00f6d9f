"""What a learned distribution is, and how real units become raw parameters.

The stored parameter is raw (unconstrained); the public property is in real units and its setter takes real units.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributions as D
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from augerino.coordinate import Unit
from augerino.errors import InputError

Value = float | Sequence[float] | Tensor

SMALLEST = 1e-30  # keeps log(bound) and torch's low < high true however far a bound has shrunk


def inverse_softplus(y: Tensor) -> Tensor:
    """The x with log(1 + e^x) = y > 0."""
    return y + torch.log(-torch.expm1(-y))


def softplus(raw: Tensor) -> Tensor:
    """log(1 + e^x), never quite 0."""
    return F.softplus(raw).clamp_min(SMALLEST)


def vector_of(value: Value, what: str, like: Tensor | None = None) -> Tensor:
    """A float64 vector from what a user may write for a per-coordinate value."""
    try:
        vector = torch.as_tensor(value, dtype=torch.float64).detach().cpu()
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{what} takes one number or a vector of them, but got {value!r}."
        ) from error
    if vector.dim() == 0:
        vector = vector.reshape(1) if like is None else vector.expand(like.shape).clone()
    if vector.dim() != 1 or (like is not None and vector.shape != like.shape):
        expected = "one number or a vector" if like is None else f"one number or {like.numel()}"
        raise InputError(f"{what} takes {expected}, but got shape {tuple(vector.shape)}.")
    if not (vector.abs() < 1e30).all():
        raise InputError(f"{what} must be finite, but got {vector.tolist()}.")
    return vector


def raw_positive(value: Value, what: str, like: Tensor | None = None) -> Tensor:
    """Raw parameters (float64) whose softplus is the given positive value."""
    vector = vector_of(value, what, like)
    if (vector <= 0).any():
        raise InputError(
            f"{what} must be above 0, but got {vector.tolist()}. For 'no extent', leave the coordinate out."
        )
    return inverse_softplus(vector)


def named_start(
    names: Sequence[str], start: float, given: dict[str, float], kind: str
) -> list[float]:
    """One start per name: the common one, or the one given by name."""
    for name in given:
        if name not in names:
            raise InputError(
                f"{kind}.named got a start for '{name}', but the coordinates are: {', '.join(names)}."
            )
    return [given.get(name, start) for name in names]


def noise(draw: Callable[..., Tensor], n: int, like: Tensor, generator: Generator | None) -> Tensor:
    """n rows of `torch.rand` or `torch.randn`, (n, k), for parameters like (k,)."""
    # A generator of None is left out: torch's call with one does not take the open sizes of torch.compile and torch.export.
    chosen = {} if generator is None else {"generator": generator}
    return draw(n, like.shape[0], device=like.device, dtype=like.dtype, **chosen)


class LearnedDistribution(nn.Module, ABC):
    """A distribution over k coordinates with learnable parameters; a call returns a `torch.distributions` object.

    Must write: `forward`, `extent` with its setter, `support`, `settings`, and `icdf` (or `rsample`, if samples are not
                made of uniform ones).
    May write:  `describe`, if "±extent" would mislead; `raw_extent`; `rate`, if samples leave coordinates at 0;
                `enumerate_discrete`, if outcomes can be enumerated.
    Derived:    `rsample`, `entropy`, `central_range`, `size`.
    """

    discrete: bool = False  # whether coordinates are 0 or 1
    has_settable_rate: bool = False  # whether `rate` can be assigned

    @abstractmethod
    def forward(self) -> D.Distribution:
        """The distribution at the current parameters, with event shape (k,)."""

    @property
    @abstractmethod
    def extent(self) -> Tensor:
        """How wide each coordinate is, (k,), in real units: a half-range, a standard deviation, ...

        Settable, with one value or k: `distribution.extent = 0.3` changes the parameters in place. A distribution
        with further parameters keeps its shape, as `Interval` keeps the ratio of its two ends.
        """

    @extent.setter
    @abstractmethod
    def extent(self, value: Value) -> None: ...

    @property
    @abstractmethod
    def support(self) -> tuple[Tensor, Tensor]:
        """Lowest and highest value of each coordinate, (k,) each."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """The constructor's arguments in real units, as JSON can hold them."""

    def rsample(self, n: int, generator: Generator | None = None) -> Tensor:
        """Draws n coordinate vectors, (n, k), through which gradients reach the parameters."""
        return self.icdf(noise(torch.rand, n, self.extent, generator))

    def icdf(self, u: Tensor) -> Tensor:
        """Inverse CDF: maps uniform samples in [0, 1]^k to coordinates.   u: (n, k)   returns (n, k)

        Evenly spaced points become evenly spaced samples: see `quadrature_points`. Gradients reach the parameters.
        """
        raise TypeError(
            f"Write {type(self).__name__}.icdf(u), from uniform (n, k) to coordinates (n, k)."
        )

    def quadrature_points(self, n: int) -> Tensor:
        """n draws that are always the same ones and spread evenly, (n, k): Sobol points in the middle of their cells.

        In one coordinate a power of two of them is the midpoint rule; in several, each coordinate on its own is.

        Example:
            >>> from augerino import Uniform
            >>> Uniform([0.4]).quadrature_points(4).flatten().sort().values.detach()
            tensor([-0.3000, -0.1000,  0.1000,  0.3000])
        """
        if n < 1:
            raise InputError(f"There must be at least 1 node, but got {n}.")
        like = self.extent
        cells = (
            2 ** max(n - 1, 0).bit_length()
        )  # the points fill a grid of so many cells in every coordinate
        u = torch.quasirandom.SobolEngine(like.shape[0]).draw(n, dtype=torch.float64) + 0.5 / cells
        return self.icdf(u.to(like))

    def enumerate_discrete(
        self, n: int, generator: Generator | None = None
    ) -> "tuple[Tensor, Tensor | None]":
        """Draws n coordinate vectors, with every outcome of the discrete ones counted out instead of drawn.

        Returns coordinates (m n, k), branch after branch, and each branch's probability (m,); None where nothing is discrete.
        Weighing predictions by these probabilities gives their exact gradient, where a draw gives a rough one.
        """
        return self.rsample(n, generator), None

    def entropy(self) -> Tensor:
        """Differential entropy in nats (Shannon entropy for discrete coordinates); the log-volume of a uniform box."""
        return self().entropy()

    @property
    def raw_extent(self) -> Tensor | None:
        """The unconstrained parameter behind `extent`, (k,), which the optimizer moves; None if there is no such one."""
        return None

    @property
    def central_range(self) -> tuple[Tensor, Tensor]:
        """`support`, with mean ± 2 standard deviations in place of infinite ends; (k,) each."""
        low, high = self.support
        if bool((low.isfinite() & high.isfinite()).all()):
            return low, high
        current = self()
        width = 2 * current.variance.sqrt()
        return (
            torch.where(low.isfinite(), low, current.mean - width),
            torch.where(high.isfinite(), high, current.mean + width),
        )

    @property
    def rate(self) -> Tensor:
        """Fraction of samples in which each coordinate is not 0, (k,)."""
        return torch.ones_like(self.extent)

    def describe(self, units: Sequence[Unit]) -> list[str]:
        """Each coordinate's range in human units."""
        return [unit.extent(value) for unit, value in zip(units, self.extent.tolist(), strict=True)]

    @property
    def size(self) -> int:
        """The number of coordinates, k."""
        return self.extent.shape[0]

    def extra_repr(self) -> str:
        return ", ".join(f"{key}={_short(value)}" for key, value in self.settings().items())


def _short(value: Any) -> str:
    return f"[{', '.join(_short(v) for v in value)}]" if isinstance(value, list) else f"{value:.3g}"


def listed(value: Tensor) -> list[Any]:
    """A tensor as plain numbers, in double precision."""
    return value.detach().double().cpu().tolist()
