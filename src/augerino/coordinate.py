"""Coordinates of transforms: names, limits and units, and the formatting of learned ranges."""

import math
from collections.abc import Callable
from dataclasses import dataclass

FULL = 0.95  # fraction of the limit from which a range counts as the full range
NEGLIGIBLE = 0.02  # fraction of the limit below which a range counts as no range
_FULL_RATE = 0.995  # rates from here on are omitted in text, since they would be shown as 100 %


@dataclass(frozen=True)
class Unit:
    """Formats values of a coordinate: t is shown as factor * t, followed by a suffix.

    Args:
        symbol: name of the raw unit, as stored in files.
        label: name of the displayed unit, for an axis.
        factor: displayed value per raw value.
        suffix: text after a displayed value.
        digits: format specification of a displayed value.

    Example:
        >>> RADIAN.extent(0.7854), RADIAN.value(-0.1), RADIAN.span(0.5, 0.6)
        ('±45.0°', '-5.7°', '±28.6° to ±34.4°')
    """

    symbol: str
    label: str
    factor: float = 1.0
    suffix: str = ""
    digits: str = ".1f"

    def value(self, t: float) -> str:
        """Formats one value: "-5.7°"."""
        return f"{self.factor * t:+{self.digits}}{self.suffix}"

    def edge(self, t: float) -> str:
        """Formats the edge of the range [-t, t]: "±45.0°"."""
        return f"±{self.factor * t:{self.digits}}{self.suffix}"

    def extent(self, t: float) -> str:
        """Formats the range [-t, t]: "±45.0°"."""
        return self.edge(t)

    def span(self, low: float, high: float, joint: str = "to") -> str:
        """Formats an interval of extents, such as a confidence interval: "±43.0° to ±47.0°".

        A unit that is a word is written once: "±14.0 to ±16.0 % of the image".
        """
        first = self.edge(low)
        if self.suffix.startswith(" "):
            first = first.removesuffix(self.suffix)
        return f"{first} {joint} {self.edge(high)}"


@dataclass(frozen=True)
class FactorUnit(Unit):
    """Formats values as factors, ×multiplier(t); the edge of a range is its larger factor.

    Args:
        multiplier: computes the factor from t; a module-level function, so that it can be pickled.

    Example:
        >>> LOG_FACTOR.extent(0.1823), LOG_FACTOR.span(0.0770, 0.2390)
        ('×0.83 to ×1.20', '×1.08 to ×1.27')
    """

    multiplier: Callable[[float], float] = math.exp

    def value(self, t: float) -> str:
        """Formats one value: "×1.20"."""
        return f"×{self.multiplier(t):.2f}"

    def edge(self, t: float) -> str:
        """Formats the upper end of the range [-t, t]: "×1.20"."""
        return self.value(t)

    def extent(self, t: float) -> str:
        """Formats the range [-t, t]: "×0.83 to ×1.20"."""
        return f"{self.value(-t)} to {self.value(t)}"


@dataclass(frozen=True)
class FlipUnit(Unit):
    """Formats extents of discrete coordinates as the fraction of changed copies, p = extent / 2.

    Args:
        noun: the change in sentences: "invariant under mirroring".
        participle: a copy that was changed, in sentences.
        outcome: a copy that was changed, in a label.

    Example:
        >>> COPIES.extent(1.0), COPIES.span(0.2, 0.4)
        ('50.0 % of copies', '10.0 % of copies to 20.0 % of copies')
    """

    noun: str = "mirroring"
    participle: str = "mirrored"
    outcome: str = "flipped"

    def edge(self, t: float) -> str:
        """Formats an extent: "50.0 % of copies"."""
        return f"{50 * t:.1f} % of copies"


@dataclass(frozen=True)
class StrengthUnit(Unit):
    """Formats coordinates whose sign has no meaning by their size.

    Example:
        >>> STRENGTH.extent(0.4), STRENGTH.value(-0.4), STRENGTH.span(0.2, 0.4)
        ('up to 40.0 % strength', '40.0 % strength', '20.0 to 40.0 % strength')
    """

    def value(self, t: float) -> str:
        """Formats one value: "40.0 % strength"."""
        return f"{self.factor * abs(t):{self.digits}}{self.suffix}"

    def edge(self, t: float) -> str:
        """Formats the edge of the range [-t, t]: "40.0 % strength"."""
        return self.value(t)

    def extent(self, t: float) -> str:
        """Formats the range [-t, t]: "up to 40.0 % strength"."""
        return f"up to {self.value(t)}"


@dataclass(frozen=True)
class LevelsUnit(StrengthUnit):
    """Formats the strength of posterize as the number of levels that it leaves.

    Example:
        >>> LEVELS.extent(0.5), LEVELS.value(1.0)
        ('256 to 32 levels', '4 levels')
    """

    def value(self, t: float) -> str:
        """Formats one value: "32 levels"."""
        return f"{posterize_levels(t)} levels"

    def extent(self, t: float) -> str:
        """Formats the range [-t, t]: "256 to 32 levels"."""
        return f"{posterize_levels(0.0)} to {self.value(t)}"


def posterize_levels(t: float) -> int:
    r"""Counts the levels that posterize leaves of 256, with a step of \(2^{6 |t|}\), |t| <= 1."""
    step = round(2 ** (6 * min(abs(t), 1.0)))
    return math.ceil(256 / step)


def linear_factor(t: float) -> float:
    """Computes the factor 1 + t."""
    return 1 + t


def exp_factor(t: float) -> float:
    r"""Computes \(e^t\), with t clamped to [-20, 20]."""
    return math.exp(max(-20.0, min(t, 20.0)))


def contrast_slope(t: float) -> float:
    r"""Computes the paper's contrast factor, \(p (t + 1) / (p - t)\) with \(p = 259/255\).

    t is clamped to [-0.95, 0.95].
    """
    pole = 259 / 255
    t = max(-0.95, min(t, 0.95))
    return pole * (t + 1) / (pole - t)


PLAIN = Unit("", label="value", digits=".3g")
RADIAN = Unit("rad", label="degrees", factor=180 / math.pi, suffix="°")
HALF_IMAGE = Unit("half-images", "% of the image", factor=50.0, suffix=" % of the image")
PIXEL = Unit("pixels", label="pixels", suffix=" pixels")
HALF_SIGNAL = Unit("half-signals", "% of the signal", factor=50.0, suffix=" % of the signal")
NOISE = Unit(
    "of the signal's deviation", "% of the signal's deviation", factor=100.0, suffix=" % noise"
)
INTENSITY = Unit(
    "of full intensity", "% of full intensity", factor=100.0, suffix=" % of full intensity"
)
LOG_FACTOR = FactorUnit("log-factor", label="log-factor", multiplier=exp_factor)
SLOPE = FactorUnit("contrast level", label="contrast level", multiplier=contrast_slope)
FACTOR = FactorUnit("factor - 1", label="factor - 1", multiplier=linear_factor)
STRENGTH = StrengthUnit("strength", label="% strength", factor=100.0, suffix=" % strength")
TONES = StrengthUnit("of the tones", label="% of the tones", factor=100.0, suffix=" % of the tones")
LEVELS = LevelsUnit("posterize strength", label="posterize strength")
PIXEL_NOISE = StrengthUnit(
    "noise of full intensity", "noise, % of full intensity", factor=100.0, suffix=" % noise"
)
SIDE = StrengthUnit(
    "of the shorter side", "% of the shorter side", factor=100.0, suffix=" % of the side"
)
COPIES = FlipUnit("", label="extent 2 min(p, 1 - p)", digits=".3g")
GREY_COPIES = FlipUnit(
    "grey copies",
    label="extent 2 min(p, 1 - p)",
    digits=".3g",
    noun="removing the colour",
    participle="grey",
    outcome="grey",
)


def discrete_unit(unit: Unit) -> FlipUnit:
    """Returns the unit of a discrete coordinate, or that of a flip if it has another kind."""
    return unit if isinstance(unit, FlipUnit) else COPIES


@dataclass(frozen=True)
class Coordinate:
    """One coordinate of a transform.

    Args:
        name: unique among the coordinates of an augmentation.
        limit: |t| at which the family wraps around or degenerates, such as pi for a rotation;
            infinite if there is none.
        unit: formats values.
        discrete: whether the coordinate takes the values 0 and 1 only.

    Example:
        >>> Coordinate("rotate", limit=math.pi, unit=RADIAN).is_at_limit(3.1)
        True
    """

    name: str
    limit: float = math.inf
    unit: Unit = PLAIN
    discrete: bool = False

    def is_at_limit(self, t: float) -> bool:
        """Whether the range [-t, t] counts as the full range, t >= 0.95 limit."""
        return t >= FULL * self.limit

    @property
    def negligible(self) -> float:
        """The extent below which a range counts as none: 0.02 limit, or 0.02 without a limit."""
        if math.isinf(self.limit):
            return NEGLIGIBLE
        return NEGLIGIBLE * self.limit


@dataclass(frozen=True, kw_only=True)
class LearnedCoordinate(Coordinate):
    """A coordinate with a snapshot of its learned range.

    Args:
        extent: half-range, standard deviation, or 2 min(p, 1 - p) of a discrete coordinate.
        low: lowest value, or mean - 2 standard deviations if that is infinite.
        high: highest value, or mean + 2 standard deviations if that is infinite.
        rate: fraction of samples in which the coordinate is not 0.
        range_text: the range in display units.
    """

    extent: float
    low: float
    high: float
    rate: float
    range_text: str

    @property
    def text(self) -> str:
        """The range in display units, with a rate below 1: "±45.0° in 25 % of copies"."""
        if self.discrete or self.rate >= _FULL_RATE:
            return self.range_text
        return f"{self.range_text} in {100 * self.rate:.0f} % of copies"

    @property
    def max_abs(self) -> float:
        """The largest |t| in the range."""
        return max(abs(self.low), abs(self.high))

    @property
    def is_full(self) -> bool:
        """Whether the range reaches the limit on both sides; if discrete, whether p is near 1/2."""
        if self.discrete:
            return self.is_at_limit(self.extent)
        return self.is_at_limit(min(-self.low, self.high))

    @property
    def is_negligible(self) -> bool:
        """Whether the largest |t| is below `negligible`; if discrete, whether p is."""
        size = self.rate if self.discrete else self.max_abs
        return size < self.negligible


_UNITS = {
    unit.symbol: unit
    for unit in (
        PLAIN,
        RADIAN,
        HALF_IMAGE,
        PIXEL,
        HALF_SIGNAL,
        NOISE,
        INTENSITY,
        LOG_FACTOR,
        SLOPE,
        FACTOR,
        STRENGTH,
        TONES,
        LEVELS,
        PIXEL_NOISE,
        SIDE,
        GREY_COPIES,
    )
}


def unit_of(symbol: str, *, discrete: bool = False) -> Unit:
    """The unit with this symbol. Values of an unknown unit are written as they are.

    Example:
        >>> unit_of("rad").extent(0.785398), unit_of("dB").label
        ('±45.0°', 'dB')
        >>> unit_of("", discrete=True).extent(1.0)
        '50.0 % of copies'
    """
    known = _UNITS.get(symbol)
    if discrete:
        return discrete_unit(known or COPIES)
    return known or Unit(symbol, label=symbol, digits=".3g")
