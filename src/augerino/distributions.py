"""Distributions with learnable extents: a module whose call returns a `torch.distributions` object.

The stored parameter is raw (unconstrained); the public property is in real units and its setter takes real units.
"""

from collections.abc import Sequence
from typing import Any, Self

import torch
import torch.distributions as D
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from augerino.errors import InputError
from augerino.units import Unit

Value = float | Sequence[float] | Tensor

_SMALLEST = 1e-30  # keeps log(bound) and torch's low < high true however far a bound has shrunk


def inverse_softplus(y: Tensor) -> Tensor:
    """The x with log(1 + e^x) = y > 0."""
    return y + torch.log(-torch.expm1(-y))


def _softplus(raw: Tensor) -> Tensor:
    return F.softplus(raw).clamp_min(_SMALLEST)


def _vector(value: Value, what: str, like: Tensor | None = None) -> Tensor:
    """A float64 vector from what a user may write for a per-coordinate value."""
    vector = torch.as_tensor(value, dtype=torch.float64).detach().cpu()
    if vector.dim() == 0:
        vector = vector.reshape(1) if like is None else vector.expand(like.shape).clone()
    if vector.dim() != 1 or (like is not None and vector.shape != like.shape):
        expected = "one number or a vector" if like is None else f"one number or {like.numel()}"
        raise InputError(f"{what} takes {expected}, but got shape {tuple(vector.shape)}.")
    if not (vector.abs() < 1e30).all():
        raise InputError(f"{what} must be finite, but got {vector.tolist()}.")
    return vector


def _positive(value: Value, what: str, like: Tensor | None = None) -> Tensor:
    """Raw parameters (float64) whose softplus is the given positive value."""
    vector = _vector(value, what, like)
    if (vector <= 0).any():
        raise InputError(f"{what} must be above 0, but got {vector.tolist()}. For 'no extent', leave the coordinate out.")
    return inverse_softplus(vector)


def _start(names: Sequence[str], start: float, given: dict[str, float], kind: str) -> list[float]:
    for name in given:
        if name not in names:
            raise InputError(f"{kind}.named got a start for '{name}', but the coordinates are: {', '.join(names)}.")
    return [given.get(name, start) for name in names]


class LearnedDistribution(nn.Module):
    """A distribution over k coordinates with learnable parameters; calling it returns a `torch.distributions` object.

    Must write: `forward`, `rsample`, `spread`, `support`, `settings`.
    May write:  `reach` and `describe`, where "±spread" would mislead.   Derived: `entropy`, `size`.
    """

    discrete: bool = False  # whether coordinates are 0 or 1

    def forward(self) -> D.Distribution:
        """The distribution at the current parameters, with event shape (k,)."""
        raise TypeError(f"Write {type(self).__name__}.forward(), returning a torch distribution of event shape (k,).")

    def rsample(self, n: int, generator: Generator | None = None) -> Tensor:
        """Draws n coordinate vectors, (n, k), through which gradients reach the parameters."""
        raise TypeError(f"Write {type(self).__name__}.rsample(n, generator), returning (n, k).")

    def entropy(self) -> Tensor:
        """Differential entropy in nats (Shannon entropy for discrete coordinates); the log-volume of a uniform box."""
        return self().entropy()

    @property
    def spread(self) -> Tensor:
        """How far each coordinate reaches, (k,), in real units: a half-range, a standard deviation, ..."""
        raise TypeError(f"Write the property {type(self).__name__}.spread, a tensor (k,).")

    @property
    def support(self) -> tuple[Tensor, Tensor]:
        """Lowest and highest value of each coordinate, (k,) each."""
        raise TypeError(f"Write the property {type(self).__name__}.support, two tensors (k,).")

    @property
    def reach(self) -> Tensor:
        """How far from the identity draws may lie, (k,)."""
        return self.spread

    def describe(self, units: Sequence[Unit]) -> list[str]:
        """Each coordinate's distribution in human units."""
        return [unit.extent(value) for unit, value in zip(units, self.spread.tolist(), strict=True)]

    @property
    def size(self) -> int:
        """The number of coordinates, k."""
        return self.spread.shape[0]

    def settings(self) -> dict[str, Any]:
        """The constructor's arguments in real units, as JSON can hold them."""
        raise TypeError(f"Write {type(self).__name__}.settings(), the constructor's arguments as a dict.")

    def extra_repr(self) -> str:
        return ", ".join(f"{key}={_short(value)}" for key, value in self.settings().items())


def _short(value: Any) -> str:
    return f"[{', '.join(_short(v) for v in value)}]" if isinstance(value, list) else f"{value:.3g}"


def _listed(value: Tensor) -> list[Any]:
    return value.detach().double().cpu().tolist()


class Uniform(LearnedDistribution):
    r"""A box \([-\theta, \theta]\), learned through \(\theta = \mathrm{softplus}(\tilde\theta)\).

    Samples are \(t = \theta \odot \epsilon\) with \(\epsilon \sim U[-1, 1]^k\), so that gradients reach theta.

    Reference: Benton et al. (2020), Section 3. `bound` is the paper's theta, a half-range.

    Args:
        bound: one half-range per coordinate, above 0.

    Example:
        >>> uniform = Uniform([0.1, 0.5])
        >>> uniform.bound = 0.3
        >>> uniform
        Uniform(bound=[0.3, 0.3])
    """

    def __init__(self, bound: Value) -> None:
        super().__init__()
        self.raw_bound = nn.Parameter(_positive(bound, "Uniform's bound").to(torch.get_default_dtype()))

    @classmethod
    def named(cls, names: Sequence[str], start: float = 0.1, **bounds: float) -> Self:
        """One bound per name: `start` for all, unless a bound is given by name."""
        return cls(_start(names, start, bounds, cls.__name__))

    @property
    def bound(self) -> Tensor:
        return _softplus(self.raw_bound)

    @bound.setter
    def bound(self, value: Value) -> None:
        self.raw_bound.data.copy_(_positive(value, "Uniform's bound", self.raw_bound))

    def forward(self) -> D.Distribution:
        return D.Independent(D.Uniform(-self.bound, self.bound), 1)

    def rsample(self, n: int, generator: Generator | None = None) -> Tensor:
        like = self.raw_bound
        noise = torch.rand(n, like.shape[0], generator=generator, device=like.device, dtype=like.dtype)
        return self.bound * (2 * noise - 1)

    @property
    def spread(self) -> Tensor:
        return self.bound

    @property
    def support(self) -> tuple[Tensor, Tensor]:
        return -self.bound, self.bound

    def settings(self) -> dict[str, Any]:
        return {"bound": _listed(_softplus(self.raw_bound.double()))}


class Interval(LearnedDistribution):
    """An asymmetric box [low, high] around the identity, low < 0 < high; both ends are learned on their own.

    Its spread is the half-width (high - low) / 2.

    Args:
        low: lower ends, below 0.
        high: upper ends, above 0.

    Example:
        >>> Interval([-0.1], [0.4])
        Interval(low=[-0.1], high=[0.4])
    """

    def __init__(self, low: Value, high: Value) -> None:
        super().__init__()
        down, up = _vector(low, "Interval's low"), _vector(high, "Interval's high")
        if down.shape != up.shape:
            raise InputError(f"Interval needs as many low as high ends, but got {down.numel()} and {up.numel()}.")
        dtype = torch.get_default_dtype()
        self.raw_low = nn.Parameter(_positive(-down, "Minus Interval's low").to(dtype))
        self.raw_high = nn.Parameter(_positive(up, "Interval's high").to(dtype))

    @classmethod
    def named(cls, names: Sequence[str], start: float = 0.1, **bounds: float) -> Self:
        """A symmetric start, one half-range per name; the ends then move on their own."""
        values = torch.tensor(_start(names, start, bounds, cls.__name__), dtype=torch.float64)
        return cls(-values, values)

    @property
    def low(self) -> Tensor:
        return -_softplus(self.raw_low)

    @low.setter
    def low(self, value: Value) -> None:
        self.raw_low.data.copy_(_positive(-_vector(value, "low", self.raw_low), "Minus Interval's low", self.raw_low))

    @property
    def high(self) -> Tensor:
        return _softplus(self.raw_high)

    @high.setter
    def high(self, value: Value) -> None:
        self.raw_high.data.copy_(_positive(value, "Interval's high", self.raw_high))

    def forward(self) -> D.Distribution:
        return D.Independent(D.Uniform(self.low, self.high), 1)

    def rsample(self, n: int, generator: Generator | None = None) -> Tensor:
        like = self.raw_low
        noise = torch.rand(n, like.shape[0], generator=generator, device=like.device, dtype=like.dtype)
        return self.low + (self.high - self.low) * noise

    @property
    def spread(self) -> Tensor:
        return (self.high - self.low) / 2

    @property
    def reach(self) -> Tensor:
        return torch.maximum(-self.low, self.high)

    def describe(self, units: Sequence[Unit]) -> list[str]:
        ends = zip(units, self.low.tolist(), self.high.tolist(), strict=True)
        return [f"{unit.value(low)} to {unit.value(high)}" for unit, low, high in ends]

    @property
    def support(self) -> tuple[Tensor, Tensor]:
        return self.low, self.high

    def settings(self) -> dict[str, Any]:
        low, high = _softplus(self.raw_low.double()), _softplus(self.raw_high.double())
        return {"low": _listed(-low), "high": _listed(high)}


class Gaussian(LearnedDistribution):
    r"""A normal distribution \(N(\mu, L L^\top)\) with learned `loc` and Cholesky factor `scale_tril`.

    Reference: Benton et al. (2020), appendix C. Its spread is the standard deviation of each coordinate.

    Args:
        loc: means, (k,).
        scale_tril: a lower-triangular factor (k, k) with a positive diagonal, or standard deviations (k,).

    Example:
        >>> Gaussian([0.0, 0.0], [0.1, 0.2])
        Gaussian(loc=[0, 0], scale_tril=[[0.1, 0], [0, 0.2]])
    """

    _rows: Tensor
    _columns: Tensor

    def __init__(self, loc: Value, scale_tril: Value | Sequence[Sequence[float]]) -> None:
        super().__init__()
        mean = _vector(loc, "Gaussian's loc")
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
        """Zero mean and one standard deviation per name."""
        return cls([0.0] * len(names), _start(names, start, bounds, cls.__name__))

    @property
    def scale_tril(self) -> Tensor:
        return self._factor(self.raw_diagonal, self.off_diagonal)

    @scale_tril.setter
    def scale_tril(self, value: Value | Sequence[Sequence[float]]) -> None:
        factor = torch.as_tensor(value, dtype=torch.float64).detach().cpu()
        k = self.loc.numel()
        factor = torch.diag(factor.expand(k)) if factor.dim() < 2 and factor.numel() in (1, k) else factor
        if factor.shape != (k, k) or factor.triu(1).any():
            raise InputError(
                f"Gaussian's scale_tril must be lower triangular ({k}, {k}), or {k} standard deviations, "
                f"but got shape {tuple(factor.shape)}{' with entries above the diagonal' if factor.dim() == 2 else ''}."
            )
        if not factor.isfinite().all():
            raise InputError(f"Gaussian's scale_tril must be finite, but got {factor.tolist()}.")
        self.raw_diagonal.data.copy_(_positive(factor.diagonal(), "The diagonal of Gaussian's scale_tril"))
        self.off_diagonal.data.copy_(factor[self._rows.cpu(), self._columns.cpu()])

    def _factor(self, raw_diagonal: Tensor, off_diagonal: Tensor) -> Tensor:
        return torch.diag(_softplus(raw_diagonal)).index_put((self._rows, self._columns), off_diagonal)

    def forward(self) -> D.Distribution:
        return D.MultivariateNormal(self.loc, scale_tril=self.scale_tril)

    def rsample(self, n: int, generator: Generator | None = None) -> Tensor:
        like = self.loc
        noise = torch.randn(n, like.shape[0], generator=generator, device=like.device, dtype=like.dtype)
        return like + noise @ self.scale_tril.T

    @property
    def spread(self) -> Tensor:
        return self.scale_tril.norm(dim=-1)

    @property
    def reach(self) -> Tensor:
        return self.loc.abs() + 2 * self.spread

    def describe(self, units: Sequence[Unit]) -> list[str]:
        values = zip(units, self.loc.tolist(), self.spread.tolist(), strict=True)
        return [f"{unit.extent(sd)} (sd) around {unit.value(loc)}" for unit, loc, sd in values]

    @property
    def support(self) -> tuple[Tensor, Tensor]:
        inf = torch.full_like(self.loc, torch.inf)
        return -inf, inf

    def settings(self) -> dict[str, Any]:
        factor = self._factor(self.raw_diagonal.double(), self.off_diagonal.double())
        return {"loc": _listed(self.loc), "scale_tril": _listed(factor)}


class Bernoulli(LearnedDistribution):
    r"""Coordinates that are 0 or 1, with learned probabilities of 1.

    Samples are exactly 0 or 1 going forward; going backward the gradient passes straight through to p (Bengio et al. 2013).
    The spread is \(2 \min(p, 1 - p)\): 0 when the outcome is certain, 1 at p = 1/2, the full symmetry. The reach is p.

    Args:
        probability: one per coordinate, strictly between 0 and 1.

    Example:
        >>> Bernoulli([0.5]).spread.item()
        1.0
    """

    discrete = True

    def __init__(self, probability: Value) -> None:
        super().__init__()
        self.raw_probability = nn.Parameter(_logit(_vector(probability, "Bernoulli's probability")).to(torch.get_default_dtype()))

    @classmethod
    def named(cls, names: Sequence[str], start: float = 0.1, **bounds: float) -> Self:
        """One probability per name."""
        return cls(_start(names, start, bounds, cls.__name__))

    @property
    def probability(self) -> Tensor:
        return torch.sigmoid(self.raw_probability)

    @probability.setter
    def probability(self, value: Value) -> None:
        self.raw_probability.data.copy_(_logit(_vector(value, "Bernoulli's probability", self.raw_probability)))

    def forward(self) -> D.Distribution:
        return D.Independent(D.Bernoulli(logits=self.raw_probability), 1)

    def rsample(self, n: int, generator: Generator | None = None) -> Tensor:
        p = self.probability
        noise = torch.rand(n, p.shape[0], generator=generator, device=p.device, dtype=p.dtype)
        return (noise < p).to(p.dtype) + (p - p.detach())

    @property
    def spread(self) -> Tensor:
        return 2 * torch.minimum(torch.sigmoid(self.raw_probability), torch.sigmoid(-self.raw_probability))

    @property
    def reach(self) -> Tensor:
        return self.probability

    def describe(self, units: Sequence[Unit]) -> list[str]:
        return [f"{100 * p:.1f} % of copies" for p in self.probability.tolist()]

    @property
    def support(self) -> tuple[Tensor, Tensor]:
        return torch.zeros_like(self.raw_probability), torch.ones_like(self.raw_probability)

    def settings(self) -> dict[str, Any]:
        # certain to within 1e-12 is as certain as a constructor takes it
        return {"probability": _listed(torch.sigmoid(self.raw_probability.double()).clamp(1e-12, 1 - 1e-12))}


def _logit(probability: Tensor) -> Tensor:
    if ((probability <= 0) | (probability >= 1)).any():
        raise InputError(f"Bernoulli's probability must lie strictly between 0 and 1, but got {probability.tolist()}.")
    return torch.logit(probability)


class Product(LearnedDistribution):
    """Independent distributions side by side; their coordinates are concatenated."""

    def __init__(self, distributions: Sequence[LearnedDistribution]) -> None:
        super().__init__()
        self.parts = nn.ModuleList(distributions)

    def forward(self) -> D.Distribution:
        return Joint([part() for part in self.parts])

    def rsample(self, n: int, generator: Generator | None = None) -> Tensor:
        return torch.cat([part.rsample(n, generator) for part in self._parts], dim=-1)

    @property
    def _parts(self) -> list[LearnedDistribution]:
        return list(self.parts)  # type: ignore[arg-type]

    @property
    def spread(self) -> Tensor:
        return torch.cat([part.spread for part in self._parts])

    @property
    def reach(self) -> Tensor:
        return torch.cat([part.reach for part in self._parts])

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
        return torch.stack([part.log_prob(piece) for part, piece in zip(self.parts, pieces, strict=True)]).sum(0)

    def entropy(self) -> Tensor:
        return torch.stack([part.entropy() for part in self.parts]).sum()
