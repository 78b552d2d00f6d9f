"""A small plot as inline SVG, its ticks, and axes in the displayed units of coordinates."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from augerino.coordinate import FactorUnit, LevelsUnit, StrengthUnit, Unit, posterize_levels
from augerino.report.markup import Markup, tag

WIDTH = 340  # the width of a plot on a phone
LEFT = 46  # margins
RIGHT = 10
TOP = 10
BOTTOM = 36

Ticks = Sequence[tuple[float, str]]


class Plot:
    """Marks on two linear axes. Later marks cover earlier ones; `svg` returns the drawing."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float], height: int = 190) -> None:
        self.x_range = _opened(x)
        self.y_range = _opened(y)
        self.height = height
        self.marks: list[Markup] = []

    def x(self, value: float) -> float:
        """The horizontal position of a value."""
        return round(LEFT + _fraction(value, self.x_range) * (WIDTH - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        """The vertical position of a value."""
        inner = self.height - TOP - BOTTOM
        return round(self.height - BOTTOM - _fraction(value, self.y_range) * inner, 1)

    def line(self, xs: Sequence[float], ys: Sequence[float], class_: str) -> None:
        points = " ".join(self._points(xs, ys))
        self._add("polyline", points=points, class_=f"line {class_}")

    def band(
        self, xs: Sequence[float], low: Sequence[float], high: Sequence[float], class_: str
    ) -> None:
        """The area between two curves."""
        there = self._points(xs, high)
        back = self._points(xs, low)
        points = " ".join([*there, *reversed(back)])
        self._add("polygon", points=points, class_=f"area {class_}")

    def shade(self, low: float, high: float, class_: str) -> None:
        """A range of x over the whole height."""
        left = self.x(low)
        self.box(
            x=left,
            y=TOP,
            width=max(self.x(high) - left, 1.0),
            height=self.height - TOP - BOTTOM,
            class_=class_,
        )

    def box(self, *, x: float, y: float, width: float, height: float, class_: str) -> None:
        """A rectangle in units of the drawing."""
        self._add(
            "rect",
            x=round(x, 1),
            y=round(y, 1),
            width=round(width, 1),
            height=round(height, 1),
            class_=class_,
        )

    def vertical(self, value: float, class_: str) -> None:
        """A line over the whole height, if the value is within the plot."""
        if not self.x_range[0] <= value <= self.x_range[1]:
            return
        x = self.x(value)
        floor = self.height - BOTTOM
        self._add("line", x1=x, x2=x, y1=TOP, y2=floor, class_=f"line {class_}")

    def horizontal(self, value: float, class_: str) -> None:
        y = self.y(value)
        right = WIDTH - RIGHT
        self._add("line", x1=LEFT, x2=right, y1=y, y2=y, class_=f"line {class_}")

    def dot(self, x: float, y: float, class_: str) -> None:
        self._add("circle", cx=self.x(x), cy=self.y(y), r=3, class_=class_)

    def svg(self, title: str, x_ticks: Ticks, y_ticks: Ticks, x_label: str) -> Markup:
        """The drawing; the title is its text for screen readers."""
        floor = self.height - BOTTOM
        right = WIDTH - RIGHT
        axes = [tag("line", x1=LEFT, x2=right, y1=floor, y2=floor, class_="axis")]
        for value, text in x_ticks:
            axes += _x_tick(self.x(value), text, floor)
        for value, text in y_ticks:
            axes += _y_tick(self.y(value), text)
        bottom = self.height - 4
        axes.append(tag("text", x_label, x=right, y=bottom, class_="tick", text_anchor="end"))
        return tag(
            "svg",
            axes,
            self.marks,
            viewBox=f"0 0 {WIDTH} {self.height}",
            role="img",
            aria_label=title,
            class_="plot",
        )

    def _add(self, name: str, **attributes: object) -> None:
        self.marks.append(tag(name, **attributes))

    def _points(self, xs: Sequence[float], ys: Sequence[float]) -> list[str]:
        points = zip(xs, ys, strict=True)
        return [f"{self.x(x)},{self.y(y)}" for x, y in points]


def _x_tick(x: float, text: str, floor: int) -> list[Markup]:
    line = tag("line", x1=x, x2=x, y1=floor, y2=floor + 4, class_="axis")
    label_x = x
    anchor = "middle"
    if x > WIDTH - RIGHT - 12:  # a centred label would not fit into the drawing
        label_x = WIDTH
        anchor = "end"
    label = tag("text", text, x=label_x, y=floor + 16, class_="tick", text_anchor=anchor)
    return [line, label]


def _y_tick(y: float, text: str) -> list[Markup]:
    return [
        tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid"),
        tag("text", text, x=LEFT - 6, y=round(y + 4, 1), class_="tick", text_anchor="end"),
    ]


def padded(
    values: Sequence[float], margin: float = 0.08, *, from_zero: bool = False
) -> tuple[float, float]:
    """A range around all values with a relative margin; `from_zero` starts it at 0 if possible."""
    low = min(values)
    high = max(values)
    if from_zero and low >= 0:
        return 0.0, high * (1 + margin) or 1.0
    room = (high - low) * margin or abs(high) * margin or 1.0
    return low - room, high + room


def _opened(ends: tuple[float, float]) -> tuple[float, float]:
    """A range of positive length."""
    low = min(ends)
    high = max(ends)
    smallest = 1e-9 * max(abs(low), abs(high), 1e-3)
    if high - low > smallest:
        return low, high
    return low - 0.5, high + 0.5


def _fraction(value: float, ends: tuple[float, float]) -> float:
    """The position of a value in a range; values far outside are drawn just outside."""
    low, high = ends
    return min(max((value - low) / (high - low), -0.02), 1.02)


_STEPS = (1, 2, 5)
_DEGREE_STEPS = (1, 1.5, 3, 4.5, 6, 9)  # 15, 30, 45, 60, 90 and 180 instead of 20 and 50


@dataclass(frozen=True)
class Scale:
    """An axis in the displayed unit of a coordinate; positions stay in its raw unit.

    Example:
        >>> from augerino.coordinate import unit_of
        >>> scale = Scale(unit_of("rad"))
        >>> [scale.text(tick) for tick in scale.ticks(0.0, 1.6)]
        ['0°', '30°', '60°', '90°']
    """

    unit: Unit

    @property
    def label(self) -> str:
        """The name of the axis."""
        if isinstance(self.unit, LevelsUnit):
            return "levels"
        if isinstance(self.unit, FactorUnit):
            return "factor"
        return self.unit.label

    def text(self, value: float) -> str:
        """A value with few digits and a short suffix."""
        if isinstance(self.unit, FactorUnit):
            return f"×{_short_factor(self.unit.multiplier(value))}"
        if isinstance(self.unit, LevelsUnit):
            return str(posterize_levels(value))
        if isinstance(self.unit, StrengthUnit):
            value = abs(value)
        return short_number(value * self.unit.factor) + self._suffix

    def edge(self, value: float) -> str:
        """The edge of a range around 0 as a tick: "±45°", or the larger factor."""
        if value == 0 or isinstance(self.unit, FactorUnit | StrengthUnit):
            return self.text(value)
        return f"±{self.text(value)}"

    def ticks(self, low: float, high: float, most: int = 5) -> list[float]:
        """At most about `most` positions with round labels between `low` and `high`."""
        if isinstance(self.unit, FactorUnit):
            return _factor_ticks(self.unit.multiplier, low, high, most)
        if isinstance(self.unit, LevelsUnit):
            return _level_ticks(low, high, most)
        factor = self.unit.factor
        steps: tuple[float, ...] = _STEPS
        if self._suffix == "°":
            steps = _DEGREE_STEPS
        return [tick / factor for tick in nice_ticks(low * factor, high * factor, most, steps)]

    @property
    def _suffix(self) -> str:
        for sign in ("°", " %"):
            if self.unit.suffix.startswith(sign):
                return sign
        return ""


def short_number(value: float) -> str:
    """A number with at most four digits and a typographic minus sign."""
    if abs(value) <= 1e-12:
        return "0"
    return f"{value:.4g}".replace("-", "−")


def _level_ticks(low: float, high: float, most: int) -> list[float]:
    """Positions where the number of levels is a power of two."""
    positions = [bits / 6 for bits in range(-6, 7) if low <= bits / 6 <= high]
    every = max(1, math.ceil(len(positions) / most))
    return [position for position in positions if round(6 * position) % every == 0]


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
    best = [low, high]
    if low <= 0 <= high:
        best = [0.0]
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
