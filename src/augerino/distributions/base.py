"""The base class of learned distributions, and the conversion of real units to raw parameters.

Stored parameters are raw (unconstrained). Public properties and their setters are in real units.
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

SMALLEST = 1e-30  # lower limit of a bound, so that log(bound) is finite and low < high holds


def inverse_softplus(y: Tensor) -> Tensor:
    r"""Computes the inverse of softplus, \(\log(e^y - 1)\), for y > 0."""
    return y + torch.log(-torch.expm1(-y))


def softplus(raw: Tensor) -> Tensor:
    r"""Computes \(\max(\log(1 + e^x), 10^{-30})\)."""
    return F.softplus(raw).clamp_min(SMALLEST)


def vector_of(value: Value, what: str, like: Tensor | None = None) -> Tensor:
    """Converts a per-coordinate value to a float64 vector on the CPU.

    Args:
        value: one number, or k numbers.
        what: the name of the value in error messages.
        like: a tensor (k,) of the required length; a single number is expanded to it.
    """
    try:
        vector = torch.as_tensor(value, dtype=torch.float64).detach().cpu()
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{what} takes one number or a vector of numbers, but got {value!r}."
        ) from error
    expected = "one number or a vector"
    shape = vector.reshape(-1).shape
    if like is not None:
        expected = f"one number or {like.numel()}"
        shape = like.shape
    if vector.dim() == 0:
        vector = vector.expand(shape).clone()
    if vector.dim() != 1 or vector.shape != shape:
        raise InputError(f"{what} takes {expected}, but got shape {tuple(vector.shape)}.")
    if not (vector.abs() < 1e30).all():
        raise InputError(f"{what} must be finite, but got {vector.tolist()}.")
    return vector


def raw_positive(value: Value, what: str, like: Tensor | None = None) -> Tensor:
    """Computes the raw parameters, float64, whose softplus is a positive value."""
    vector = vector_of(value, what, like)
    if (vector <= 0).any():
        raise InputError(
            f"{what} must be above 0, but got {vector.tolist()}. "
            "To disable a coordinate, leave it out of the transform."
        )
    return inverse_softplus(vector)


def named_start(
    names: Sequence[str], start: float, given: dict[str, float], kind: str
) -> list[float]:
    """Returns one start value per name: `given[name]` if present, else `start`."""
    for name in given:
        if name not in names:
            raise InputError(
                f"{kind}.named got a start for '{name}', "
                f"but the coordinates are: {', '.join(names)}."
            )
    return [given.get(name, start) for name in names]


def noise(draw: Callable[..., Tensor], n: int, like: Tensor, generator: Generator | None) -> Tensor:
    """Draws noise by `torch.rand` or `torch.randn`, (n, k), on the device of parameters (k,)."""
    # generator=None is not passed on: with the argument, torch.rand rejects the symbolic sizes
    # of torch.compile and torch.export.
    options = {} if generator is None else {"generator": generator}
    return draw(n, like.shape[0], device=like.device, dtype=like.dtype, **options)


class LearnedDistribution(nn.Module, ABC):
    """A distribution over k coordinates with learnable parameters.

    Calling the module returns a `torch.distributions` object with event shape (k,).

    A subclass must implement `forward`, `extent` with its setter, `support`, `settings`, and
    `icdf` (or `rsample`, if samples are not computed from uniform noise).

    A subclass may implement `describe`, if "±extent" would be misleading; `raw_extent`; `rate`, if
    some samples leave coordinates at 0; and `enumerate_discrete`, if outcomes can be enumerated.

    Derived from these are `rsample`, `quadrature_points`, `entropy`, `central_range` and `size`.
    """

    discrete: bool = False  # whether coordinates take the values 0 and 1 only
    has_settable_rate: bool = False  # whether `rate` can be assigned

    @abstractmethod
    def forward(self) -> D.Distribution:
        """Returns the `torch.distributions` object at the current parameters, event shape (k,)."""

    @property
    @abstractmethod
    def extent(self) -> Tensor:
        """The width of each coordinate in real units, (k,): a half-range or a standard deviation.

        Settable to one value or to k values: `distribution.extent = 0.3` changes the parameters in
        place. Other parameters keep the shape of the distribution: `Interval` keeps the ratio
        of its two ends, `Gaussian` its correlations.
        """

    @extent.setter
    @abstractmethod
    def extent(self, value: Value) -> None: ...

    @property
    @abstractmethod
    def support(self) -> tuple[Tensor, Tensor]:
        """The lowest and the highest value of each coordinate, (k,) each."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Returns the constructor's arguments in real units, as JSON-serializable values."""

    def rsample(self, n: int, generator: Generator | None = None) -> Tensor:
        """Draws n coordinate vectors, (n, k), differentiable with respect to the parameters."""
        return self.icdf(noise(torch.rand, n, like=self.extent, generator=generator))

    def icdf(self, u: Tensor) -> Tensor:
        r"""Inverse CDF: maps uniform samples in \([0, 1]^k\) to coordinates.

        u: (n, k)   returns (n, k), differentiable with respect to the parameters
        """
        raise TypeError(
            f"{type(self).__name__} must implement icdf(u), "
            "from uniform samples (n, k) to coordinates (n, k)."
        )

    def quadrature_points(self, n: int) -> Tensor:
        """Computes n deterministic, evenly spread samples, (n, k).

        These are Sobol points, shifted to the centres of their cells and mapped by `icdf`. If n is
        a power of two, each coordinate on its own is the midpoint rule.

        Example:
            >>> from augerino import Uniform
            >>> Uniform([0.4]).quadrature_points(4).flatten().sort().values.detach()
            tensor([-0.3000, -0.1000,  0.1000,  0.3000])
        """
        if n < 1:
            raise InputError(f"There must be at least 1 node, but got {n}.")
        like = self.extent
        cells = 2 ** max(n - 1, 0).bit_length()  # Sobol cells per coordinate, at least n
        sobol = torch.quasirandom.SobolEngine(like.shape[0]).draw(n, dtype=torch.float64)
        u = sobol + 0.5 / cells
        return self.icdf(u.to(like))

    def enumerate_discrete(
        self, n: int, generator: Generator | None = None
    ) -> "tuple[Tensor, Tensor | None]":
        """Draws n coordinate vectors per outcome of the discrete coordinates.

        Predictions weighted by the returned probabilities have an exact gradient with respect to
        them; the gradient through a discrete sample is biased.

        Returns:
            coordinates (m n, k), grouped by outcome, and the probability of each of the m
            outcomes, (m,); or coordinates (n, k) and None if nothing is enumerated.
        """
        return self.rsample(n, generator), None

    def entropy(self) -> Tensor:
        """Computes the differential entropy in nats (Shannon entropy for discrete coordinates)."""
        return self().entropy()

    @property
    def raw_extent(self) -> Tensor | None:
        """The unconstrained parameter behind `extent`, (k,); None if there is no such parameter."""
        return None

    @property
    def central_range(self) -> tuple[Tensor, Tensor]:
        """`support`, with infinite ends replaced by mean ± 2 standard deviations; (k,) each."""
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
        """The fraction of samples in which each coordinate is not 0, (k,)."""
        return torch.ones_like(self.extent)

    def describe(self, units: Sequence[Unit]) -> list[str]:
        """Formats the range of each coordinate in its display unit."""
        extents = self.extent.tolist()
        return [unit.extent(value) for unit, value in zip(units, extents, strict=True)]

    @property
    def size(self) -> int:
        """The number of coordinates, k."""
        return self.extent.shape[0]

    def extra_repr(self) -> str:
        """The settings, with three significant digits."""
        return ", ".join(f"{key}={_short(value)}" for key, value in self.settings().items())


def _short(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_short(v) for v in value)}]"
    return f"{value:.3g}"


def listed(value: Tensor) -> list[Any]:
    """Converts a tensor to nested lists of Python floats, in double precision."""
    return value.detach().double().cpu().tolist()
