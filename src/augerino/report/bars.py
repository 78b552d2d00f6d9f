"""The learned range of one coordinate as a horizontal bar."""

from augerino.coordinate import StrengthUnit
from augerino.report.axis import MARGIN, Axis, drawing
from augerino.report.markup import Markup, tag
from augerino.report.plot import WIDTH, Scale
from augerino.report.result_reader import CoordinateResult

_CENTER = 18  # y of a range bar
_BAR_HEIGHT = _CENTER + 32


def range_bar(c: CoordinateResult) -> Markup | None:
    """The learned range of one coordinate with its start, interval, true extent and limit."""
    if c.discrete:
        return _flip_bar(c)
    if c.range is None or c.learned is None:
        return None
    low, high = c.range
    edge = c.limit or 1.2 * _largest(c)
    is_one_sided = low >= 0 or isinstance(c.unit, StrengthUnit)
    axis = Axis(-edge, edge)
    if is_one_sided:
        axis = Axis(0.0, edge)
    background = _baseline()
    if c.limit:
        background = _track()
    marks = [background]
    marks.append(_filled(axis.x(max(low, axis.low)), axis.x(high), c.answer))
    if not is_one_sided:
        marks += _side_marks(c, axis, -1)
    marks += _side_marks(c, axis, 1)
    scale = Scale(c.unit)
    marks.append(_left_label(scale.text(axis.low)))
    if not is_one_sided:
        marks.append(_label(scale.text(0.0), axis.x(0.0), "middle"))
    marks.append(_right_label(scale.text(edge)))
    return drawing(marks, _BAR_HEIGHT, _range_title(c), "plot bar")


def _largest(c: CoordinateResult) -> float:
    """The largest value that the bar of a coordinate without a limit shows."""
    values = [*(c.range or ()), *(c.interval or ()), c.start, c.true]
    return max([abs(value) for value in values if value is not None] + [1e-9])


def _side_marks(c: CoordinateResult, axis: Axis, side: int) -> list[Markup]:
    """The interval, the start and the true extent on one side of 0."""
    marks = []
    if c.interval is not None:
        ends = (axis.x(side * end) for end in c.interval)
        marks.append(_whisker(*sorted(ends)))
    if c.start is not None:
        marks.append(_start_mark(axis.x(side * c.start)))
    if c.true is not None:
        marks.append(_true_mark(axis.x(side * c.true)))
    return marks


def _whisker(left: float, right: float) -> Markup:
    y = _CENTER + 10
    line = f"M{left} {y}H{right}"
    caps = f"M{left} {y - 3}v6M{right} {y - 3}v6"
    return tag("path", d=line + caps, class_="whisker")


def _true_mark(x: float) -> Markup:
    triangle = f"M{x} {_CENTER - 7}l-4 -7h8z"
    return tag("path", d=triangle, class_="true-mark")


def _range_title(c: CoordinateResult) -> str:
    """A description of the bar for screen readers."""
    learned = c.learned_text or c.unit.extent(c.learned or 0.0)
    parts = [f"{c.name}: learned {learned}", f"start {c.start_text or 'unknown'}"]
    if c.true is not None:
        parts.append(f"true extent {c.unit.extent(c.true)}")
    if c.interval is not None:
        parts.append(f"95 % interval {c.interval_text(*c.interval)}")
    return ", ".join(parts)


def _flip_bar(c: CoordinateResult) -> Markup | None:
    """The probability of a discrete coordinate; one half is the full symmetry."""
    if c.shape is None:
        return None
    axis = Axis(0.0, 1.0)
    marks = [_track(), _filled(axis.x(0.0), axis.x(c.shape.a), c.answer)]
    if c.start_shape is not None:
        marks.append(_start_mark(axis.x(c.start_shape.a)))
    marks.append(_left_label("never"))
    marks.append(_label("half of the copies", WIDTH / 2, "middle"))
    marks.append(_right_label("always"))
    title = f"{c.name}: learned {100 * c.shape.a:.0f} % of copies"
    return drawing(marks, _BAR_HEIGHT, title, "plot bar")


def _track() -> Markup:
    """The range up to the limit of the coordinate."""
    width = WIDTH - 2 * MARGIN
    return tag("rect", x=MARGIN, y=_CENTER - 5, width=width, height=10, rx=5, class_="track")


def _baseline() -> Markup:
    """The axis of a coordinate without a limit."""
    return tag("line", x1=MARGIN, x2=WIDTH - MARGIN, y1=_CENTER, y2=_CENTER, class_="axis")


def _filled(left: float, right: float, answer: str | None) -> Markup:
    return tag(
        "rect",
        x=left,
        y=_CENTER - 5,
        width=round(max(right - left, 2.0), 1),
        height=10,
        rx=3,
        class_=f"extent {answer or ''}",
    )


def _start_mark(x: float) -> Markup:
    return tag("line", x1=x, x2=x, y1=_CENTER - 9, y2=_CENTER + 9, class_="start-mark")


def _left_label(text: str) -> Markup:
    return _label(text, 2, "start")


def _right_label(text: str) -> Markup:
    return _label(text, WIDTH - 2, "end")


def _label(text: str, x: float, anchor: str) -> Markup:
    return tag("text", text, x=x, y=_CENTER + 27, class_="tick", text_anchor=anchor)
