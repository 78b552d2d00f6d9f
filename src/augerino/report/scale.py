"""Axes in the displayed units of coordinates: ticks and their labels."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from augerino import coordinate
from augerino.coordinate import FactorUnit, Unit

_UNITS = {
    unit.symbol: unit
    for unit in (
        coordinate.PLAIN,
        coordinate.RADIAN,
        coordinate.HALF_IMAGE,
        coordinate.PIXEL,
        coordinate.HALF_SIGNAL,
        coordinate.NOISE,
        coordinate.INTENSITY,
        coordinate.LOG_FACTOR,
        coordinate.SLOPE,
        coordinate.FACTOR,
        coordinate.STRENGTH,
        coordinate.TONES,
        coordinate.LEVELS,
        coordinate.PIXEL_NOISE,
        coordinate.SIDE,
    )
}
_STEPS = (1, 2, 5)
_DEGREE_STEPS = (1, 1.5, 3, 4.5, 6, 9)  # 15, 30, 45, 60, 90 and 180 instead of 20 and 50


def unit_of(symbol: str, *, discrete: bool = False) -> Unit:
    """The unit with this symbol. Values of an unknown unit are written as they are.

    Example:
        >>> unit_of("rad").extent(0.785398), unit_of("dB").label
        ('±45.0°', 'dB')
        >>> unit_of("", discrete=True).extent(1.0)
        '50.0 % of copies'
    """
    if discrete:
        return coordinate.COPIES
    known = _UNITS.get(symbol)
    return known or Unit(symbol, label=symbol, digits=".3g")


@dataclass(frozen=True)
class Scale:
    """An axis in the displayed unit of a coordinate; positions stay in its raw unit.

    Example:
        >>> scale = Scale(unit_of("rad"))
        >>> [scale.text(tick) for tick in scale.ticks(0.0, 1.6)]
        ['0°', '30°', '60°', '90°']
    """

    unit: Unit

    @property
    def label(self) -> str:
        """The name of the axis."""
        return "factor" if isinstance(self.unit, FactorUnit) else self.unit.label

    def text(self, value: float) -> str:
        """A value with few digits and a short suffix."""
        if isinstance(self.unit, FactorUnit):
            return f"×{_short_factor(self.unit.multiplier(value))}"
        return short_number(value * self.unit.factor) + self._suffix

    def edge(self, value: float) -> str:
        """The edge of a range around 0 as a tick: "±45°", or the larger factor."""
        if value == 0 or isinstance(self.unit, FactorUnit):
            return self.text(value)
        return f"±{self.text(value)}"

    def ticks(self, low: float, high: float, most: int = 5) -> list[float]:
        """At most about `most` positions with round labels between `low` and `high`."""
        if isinstance(self.unit, FactorUnit):
            return _factor_ticks(self.unit.multiplier, low, high, most)
        factor = self.unit.factor
        steps = _DEGREE_STEPS if self._suffix == "°" else _STEPS
        return [tick / factor for tick in nice_ticks(low * factor, high * factor, most, steps)]

    @property
    def _suffix(self) -> str:
        for sign in ("°", " %"):
            if self.unit.suffix.startswith(sign):
                return sign
        return ""


def short_number(value: float) -> str:
    """A number with at most four digits and a real minus sign."""
    return f"{value:.4g}".replace("-", "−") if abs(value) > 1e-12 else "0"


def _short_factor(factor: float) -> str:
    if 0.1 <= factor < 100:
        return f"{factor:.2f}".rstrip("0").rstrip(".")
    return f"{factor:.2g}"


def nice_ticks(
    low: float, high: float, most: int = 5, steps: tuple[float, ...] = _STEPS
) -> list[float]:
    """At most `most` round numbers within a range.

    Example:
        >>> nice_ticks(0.0, 1.0)
        [0.0, 0.5, 1.0]
    """
    span = high - low
    if not span > 1e-12 * max(abs(low), abs(high), 1e-300):
        return [low]
    power = 10.0 ** math.floor(math.log10(span / most))
    candidates = [step * scale for scale in (power, 10 * power, 100 * power) for step in steps]
    step = next(
        candidate
        for candidate in candidates
        if span / candidate <= most - 1 + 1e-6 or candidate >= span
    )
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [i * step for i in range(first, last + 1)]


def _factor_ticks(
    multiplier: Callable[[float], float], low: float, high: float, most: int
) -> list[float]:
    """Positions of round factors within a range: the finest grid with at most `most` of them."""
    best = [0.0] if low <= 0 <= high else [low, high]
    lowest = multiplier(low) * (1 - 1e-9)
    highest = multiplier(high) * (1 + 1e-9)
    for grid in _factor_grids():
        factors = [factor for factor in grid if lowest <= factor <= highest]
        if len(best) < len(factors) <= most:
            best = [_solve(multiplier, factor, low, high) for factor in factors]
    return best


def _factor_grids() -> list[list[float]]:
    """Powers of 10 and 2, then 1 + i d and its reciprocals for smaller and smaller steps d."""
    grids = [[base**i for i in range(-12, 13)] for base in (10.0, 2.0)]
    for step in (0.5, 0.2, 0.1, 0.05, 0.02, 0.01):
        upper = [1 + step * i for i in range(13)]
        grids.append(sorted({*upper, *(1 / factor for factor in upper)}))
    return grids


def _solve(function: Callable[[float], float], value: float, low: float, high: float) -> float:
    """Solves function(t) = value for an increasing function by bisection."""
    if low <= 0 <= high and function(0.0) == value:
        return 0.0
    for _ in range(50):
        middle = (low + high) / 2
        if function(middle) < value:
            low = middle
        else:
            high = middle
    return (low + high) / 2
