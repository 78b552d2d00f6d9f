"""How coordinates are told to a person."""

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Unit:
    """A coordinate's unit: how one value reads, and how an extent of ±t reads.

    Functions are module-level ones, so that everything that holds a unit can be pickled.

    Example:
        >>> RADIAN.extent(0.7854), RADIAN.value(-0.1)
        ('±45.0°', '-5.7°')
    """

    symbol: str
    value: Callable[[float], str]
    extent: Callable[[float], str]

    def edge(self, t: float) -> str:
        """The edge of an extent: "±45.0°", or "×1.19" for a factor."""
        return self.value(t).replace("+", "±")

    def span(self, low: float, high: float) -> str:
        """An interval of extents: "±43.0° to ±47.0°", or "×1.08 to ×1.27" for a factor."""
        return f"{self.edge(low)} to {self.edge(high)}"


def _plain(t: float) -> str:
    return f"{t:+.3g}"


def _plain_extent(t: float) -> str:
    return f"±{t:.3g}"


def _degrees(t: float) -> str:
    return f"{math.degrees(t):+.1f}°"


def _degrees_extent(t: float) -> str:
    return f"±{math.degrees(t):.1f}°"


def _image(t: float) -> str:
    return f"{50 * t:+.1f} % of the image"


def _image_extent(t: float) -> str:
    return f"±{50 * t:.1f} % of the image"


def _pixels(t: float) -> str:
    return f"{t:+.1f} pixels"


def _pixels_extent(t: float) -> str:
    return f"±{t:.1f} pixels"


def _signal(t: float) -> str:
    return f"{50 * t:+.1f} % of the signal"


def _signal_extent(t: float) -> str:
    return f"±{50 * t:.1f} % of the signal"


def _noise(t: float) -> str:
    return f"{100 * t:+.1f} % noise"


def _noise_extent(t: float) -> str:
    return f"±{100 * t:.1f} % noise"


def _intensity(t: float) -> str:
    return f"{100 * t:+.1f} % of full intensity"


def _intensity_extent(t: float) -> str:
    return f"±{100 * t:.1f} % of full intensity"


def _factor(t: float) -> str:
    return f"×{math.exp(max(-20.0, min(t, 20.0))):.2f}"


def _factor_extent(t: float) -> str:
    return f"{_factor(-t)} to {_factor(t)}"


def contrast_slope(t: float) -> float:
    """The paper's contrast formula at t, held within the limits of `Contrast`."""
    t, pole = max(-0.95, min(t, 0.95)), 259 / 255
    return pole * (t + 1) / (pole - t)


def _slope(t: float) -> str:
    return f"×{contrast_slope(t):.2f}"


def _slope_extent(t: float) -> str:
    return f"{_slope(-t)} to {_slope(t)}"


def _copies_extent(t: float) -> str:
    return f"{50 * t:.1f} % of copies"


PLAIN = Unit("", _plain, _plain_extent)
RADIAN = Unit("rad", _degrees, _degrees_extent)
HALF_IMAGE = Unit("half-images", _image, _image_extent)
PIXEL = Unit("pixels", _pixels, _pixels_extent)
HALF_SIGNAL = Unit("half-signals", _signal, _signal_extent)
NOISE = Unit("of the signal's deviation", _noise, _noise_extent)
LOG_FACTOR = Unit("log-factor", _factor, _factor_extent)
INTENSITY = Unit("of full intensity", _intensity, _intensity_extent)
SLOPE = Unit("", _slope, _slope_extent)
COPIES = Unit(
    "", _plain, _copies_extent
)  # of a flip, whose spread is 1 where half of the copies are mirrored
