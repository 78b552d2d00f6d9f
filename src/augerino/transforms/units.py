"""How a coordinate's extent is told to a person."""

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Unit:
    """A coordinate's unit: its symbol, and how an extent of ±t reads in human terms.

    Example:
        >>> RADIAN.human(0.7854)
        '±45.0°'
    """

    symbol: str
    human: Callable[[float], str]


def _factor(t: float) -> str:
    return f"×{math.exp(-t):.2f} to ×{math.exp(t):.2f}" if t < 20 else "unbounded"


PLAIN = Unit("", lambda t: f"±{t:.3g}")
RADIAN = Unit("rad", lambda t: f"±{math.degrees(t):.1f}°")
HALF_IMAGE = Unit("half-images", lambda t: f"±{100 * t / 2:.1f} % of the image")
LOG_FACTOR = Unit("log-factor", _factor)
INTENSITY = Unit("of full intensity", lambda t: f"±{100 * t:.1f} % of full intensity")
PROBABILITY = Unit("of all copies", lambda t: f"{50 * t:.1f} % of copies")
