"""The trials of the policy step: one drawing per trial, all on one axis."""

import math
from collections.abc import Sequence

from augerino.report.axis import MARGIN, Axis, tick_label
from augerino.report.markup import Markup, tag
from augerino.report.payoff_result import Trial
from augerino.report.plot import WIDTH, nice_ticks, padded, short_number
from augerino.report.result_reader import Estimate

_HEIGHT = 48  # height of a row
_CENTER = _HEIGHT // 2
_SCALE_HEIGHT = 18  # height of the labels below the rows
_LARGEST_LOSS = 1.0  # relative to the best gain; beyond it, an arrow


def trial_axis(trials: Sequence[Trial]) -> Axis | None:
    """An axis with 0 and all gains; None without gains.

    A policy that is much worse than no augmentation would compress all others, so the axis ends at
    `_LARGEST_LOSS` times the best gain.
    """
    gains = [trial.gain for trial in trials if trial.gain is not None]
    if not gains:
        return None
    means = [0.0, *(gain.mean for gain in gains)]
    ends = [end for gain in gains for end in (gain.low, gain.high) if end is not None]
    values = [*means, *ends]
    if max(means) > 0:
        lowest = -_LARGEST_LOSS * max(means)
        values = [max(value, lowest) for value in values]
    return Axis(*padded(values))


def trial_row(gain: Estimate | None, axis: Axis, class_: str, standard: float | None) -> Markup:
    """The gain of one trial: a dot with its 95 % interval.

    The text beside it has the same numbers, so that screen readers skip the drawing.

    Args:
        gain: the gain; None for a row without a dot.
        axis: the axis of all rows.
        class_: the CSS class of the marks.
        standard: the gain of the standard policy, for a line through all rows.
    """
    marks = [_vertical(axis.x(value), "grid") for value in _ticks(axis)]
    marks.append(_vertical(axis.x(0.0), "axis"))
    if standard is not None:
        marks.append(_vertical(axis.x(standard), "standard-line"))
    if gain is not None:
        marks += _dot(gain, axis, class_)
    return _drawing(marks, _HEIGHT)


def trial_scale(axis: Axis) -> Markup:
    """The labels of the axis."""
    labels = [tick_label(short_number(value), axis.x(value), 12) for value in _ticks(axis)]
    return _drawing(labels, _SCALE_HEIGHT)


def gain_on_axis(gain: Estimate, axis: Axis) -> str:
    """A gain and its 95 % interval with as many decimals as can be distinguished on the axis.

    Example:
        >>> gain_on_axis(Estimate(0.1234, low=-0.01, high=0.2), Axis(-0.1, 0.3))
        '+0.123 (95 %: −0.010 to +0.200)'
    """
    span = (axis.high - axis.low) or 1.0
    decimals = min(max(2 - math.floor(math.log10(span)), 0), 9)

    def write(value: float) -> str:
        return f"{value:+.{decimals}f}".replace("-", "−")

    if gain.low is None or gain.high is None:
        return write(gain.mean)
    return f"{write(gain.mean)} (95 %: {write(gain.low)} to {write(gain.high)})"


def _ticks(axis: Axis) -> list[float]:
    return nice_ticks(axis.low, axis.high, 7)


def _dot(gain: Estimate, axis: Axis, class_: str) -> list[Markup]:
    if gain.mean < axis.low:
        arrow = f"M{MARGIN - 8} {_CENTER}l9 -6v12z"
        return [tag("path", d=arrow, class_=f"point {class_}")]
    marks = []
    if gain.low is not None and gain.high is not None:
        line_class = f"line interval {class_}"
        left = axis.x(gain.low)
        right = axis.x(gain.high)
        marks.append(tag("line", x1=left, x2=right, y1=_CENTER, y2=_CENTER, class_=line_class))
    marks.append(tag("circle", cx=axis.x(gain.mean), cy=_CENTER, r=5, class_=f"point {class_}"))
    return marks


def _vertical(x: float, class_: str) -> Markup:
    return tag("line", x1=x, x2=x, y1=0, y2=_HEIGHT, class_=class_)


def _drawing(marks: list[Markup], height: int) -> Markup:
    box = f"0 0 {WIDTH} {height}"
    return tag(
        "svg",
        marks,
        viewBox=box,
        preserveAspectRatio="xMidYMid slice",
        aria_hidden="true",
        class_="plot",
    )
