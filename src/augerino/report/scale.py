"""How a coordinate's own unit becomes an axis that a person reads."""

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """A unit on an axis: `label` names it, `text` writes a value, `ticks` chooses where to write one."""

    label: str
    factor: float = 1.0
    suffix: str = ""
    steps: tuple[float, ...] = (1, 2, 5)
    logarithmic: bool = False

    def text(self, value: float) -> str:
        if self.logarithmic:
            factor = math.exp(max(-20.0, min(value, 20.0)))
            return "×" + (
                f"{factor:.2f}".rstrip("0").rstrip(".") if 0.1 <= factor < 100 else f"{factor:.2g}"
            )
        return short_number(value * self.factor) + self.suffix

    def ticks(self, low: float, high: float, most: int = 5) -> list[float]:
        if self.logarithmic:
            return _factors(low, high, most)
        return [
            tick / self.factor
            for tick in nice_ticks(low * self.factor, high * self.factor, most, self.steps)
        ]


DEGREES = (1, 1.5, 3, 4.5, 6, 9)  # 1, 15, 30, 45, 60, 90, 180 rather than 20 and 50


def scale_of(unit: str) -> Scale:
    """The axis of a unit by its symbol; one that is not known is shown as it is.

    Example:
        >>> scale_of("rad").text(0.785398), scale_of("half-images").text(0.3), scale_of("log-factor").text(0.0)
        ('45°', '15 %', '×1')
    """
    if unit == "rad":
        return Scale("degrees", 180 / math.pi, "°", DEGREES)
    if unit == "log-factor":
        return Scale("factor", logarithmic=True)
    if unit.startswith("half-"):
        return Scale(f"% of the {unit.removeprefix('half-').removesuffix('s')}", 50.0, " %")
    if unit.startswith("of "):
        return Scale(f"% {unit}", 100.0, " %")
    return Scale(unit or "own unit")


def short_number(value: float) -> str:
    """A number with as few digits as a tick needs, and a real minus sign."""
    return f"{value:.4g}".replace("-", "−") if abs(value) > 1e-12 else "0"


def nice_ticks(
    low: float, high: float, most: int = 5, steps: tuple[float, ...] = (1, 2, 5)
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
    step = next(
        s * p
        for p in (power, 10 * power, 100 * power)
        for s in steps
        if span / (s * p) <= most - 1 + 1e-6 or s * p >= span
    )
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def _factors(low: float, high: float, most: int) -> list[float]:
    """Round factors within a range of logarithms."""
    candidates: list[Callable[[int], float]] = [
        lambda i: math.log(10.0) * i,
        lambda i: math.log(2.0) * i,
        lambda i: math.copysign(math.log1p(0.5 * abs(i)), i),
        lambda i: math.copysign(math.log1p(0.2 * abs(i)), i),
        lambda i: math.copysign(math.log1p(0.1 * abs(i)), i),
        lambda i: math.copysign(math.log1p(0.05 * abs(i)), i),
        lambda i: math.copysign(math.log1p(0.02 * abs(i)), i),
        lambda i: math.copysign(math.log1p(0.01 * abs(i)), i),
    ]
    best: list[float] = [0.0] if low <= 0 <= high else [low, high]
    for place in candidates:
        found = [place(i) for i in range(-12, 13) if low - 1e-9 <= place(i) <= high + 1e-9]
        if len(best) < len(found) <= most:
            best = found
    return best
