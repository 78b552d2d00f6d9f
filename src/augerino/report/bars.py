"""Horizontal drawings on one axis: the range of a coordinate, and the scores of models."""

from collections.abc import Sequence
from dataclasses import dataclass

from augerino.report.markup import Markup, short, tag
from augerino.report.plot import WIDTH, Scale, nice_ticks, padded, short_number
from augerino.report.result_reader import CoordinateResult
from augerino.report.run import Model

_MARGIN = 14
_CENTER = 18  # y of a range bar
_BAR_HEIGHT = _CENTER + 32
_ROW_HEIGHT = 44  # of a model
_TOP = 6


@dataclass(frozen=True)
class _Axis:
    """A horizontal axis over the width of a drawing; values outside are drawn at its ends."""

    low: float
    high: float

    def x(self, value: float) -> float:
        span = (self.high - self.low) or 1.0
        fraction = min(max((value - self.low) / span, 0.0), 1.0)
        return round(_MARGIN + fraction * (WIDTH - 2 * _MARGIN), 1)


@dataclass(frozen=True)
class ScoreRow:
    """One row of `score_chart`: its label, the model and the CSS class of its marks."""

    label: str
    model: Model
    class_: str


def range_bar(c: CoordinateResult) -> Markup | None:
    """The learned range of one coordinate with its start, interval, true extent and limit."""
    if c.discrete:
        return _flip_bar(c)
    if c.range is None or c.learned is None:
        return None
    low, high = c.range
    edge = c.limit or 1.2 * _largest(c)
    is_one_sided = low >= 0
    axis = _Axis(0.0 if is_one_sided else -edge, edge)
    marks = [_track() if c.limit else _baseline()]
    marks.append(_filled(axis.x(low), axis.x(high), c.answer))
    if not is_one_sided:
        marks += _side_marks(c, axis, -1)
    marks += _side_marks(c, axis, 1)
    scale = Scale(c.unit)
    marks.append(_end_label(scale.text(axis.low), "start"))
    if not is_one_sided:
        marks.append(_label(scale.text(0.0), axis.x(0.0), "middle"))
    marks.append(_end_label(scale.text(edge), "end"))
    return _drawing(marks, _BAR_HEIGHT, _range_title(c))


def _largest(c: CoordinateResult) -> float:
    """The largest value that the bar of a coordinate without a limit shows."""
    values = [*(c.range or ()), *(c.interval or ()), c.start, c.true]
    return max([abs(value) for value in values if value is not None] + [1e-9])


def _side_marks(c: CoordinateResult, axis: _Axis, side: int) -> list[Markup]:
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
    """The bar in words, for readers who do not see it."""
    learned = c.learned_text or c.unit.extent(c.learned or 0.0)
    parts = [f"{c.name}: learned {learned}", f"start {c.start_text or 'unknown'}"]
    if c.true is not None:
        parts.append(f"true extent {c.unit.extent(c.true)}")
    if c.interval is not None:
        parts.append(f"95 % interval {c.unit.span(*c.interval)}")
    return ", ".join(parts)


def _flip_bar(c: CoordinateResult) -> Markup | None:
    """The probability of a discrete coordinate; one half is the full symmetry."""
    if c.shape is None:
        return None
    axis = _Axis(0.0, 1.0)
    marks = [_track(), _filled(axis.x(0.0), axis.x(c.shape.a), c.answer)]
    if c.start_shape is not None:
        marks.append(_start_mark(axis.x(c.start_shape.a)))
    marks.append(_end_label("never", "start"))
    marks.append(_label("half of the copies", WIDTH / 2, "middle"))
    marks.append(_end_label("always", "end"))
    return _drawing(marks, _BAR_HEIGHT, f"{c.name}: learned {100 * c.shape.a:.0f} % of copies")


def _track() -> Markup:
    """The range up to the limit of the coordinate."""
    width = WIDTH - 2 * _MARGIN
    return tag("rect", x=_MARGIN, y=_CENTER - 5, width=width, height=10, rx=5, class_="track")


def _baseline() -> Markup:
    """The axis of a coordinate without a limit."""
    return tag("line", x1=_MARGIN, x2=WIDTH - _MARGIN, y1=_CENTER, y2=_CENTER, class_="axis")


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


def _end_label(text: str, anchor: str) -> Markup:
    return _label(text, 2 if anchor == "start" else WIDTH - 2, anchor)


def _label(text: str, x: float, anchor: str) -> Markup:
    return tag("text", text, x=x, y=_CENTER + 27, class_="tick", text_anchor=anchor)


def score_chart(rows: Sequence[ScoreRow]) -> Markup | None:
    """One dot with its interval per model."""
    shown = [(row, row.model.score) for row in rows]
    known = [(row, score) for row, score in shown if score is not None]
    if not known:
        return None
    as_percent = all(row.model.accuracy is not None for row, _ in known)
    axis = _score_axis(known, as_percent=as_percent)
    height = _TOP + _ROW_HEIGHT * len(known) + 22
    centers = [_TOP + _ROW_HEIGHT * i + 30 for i in range(len(known))]
    marks = []
    for value in nice_ticks(axis.low, axis.high):
        text = _tick_text(value, as_percent=as_percent)
        marks += _score_tick(axis.x(value), text, centers, height)
    for y, (row, score) in zip(centers, known, strict=True):
        marks += _score_marks(
            row, axis.x(score), _score_text(score, as_percent=as_percent), axis, y
        )
    texts = [f"{row.label}: {_score_text(score, as_percent=as_percent)}" for row, score in known]
    return _drawing(marks, height, "; ".join(texts), class_="plot")


def _score_axis(known: Sequence[tuple[ScoreRow, float]], *, as_percent: bool) -> _Axis:
    values = [score for _, score in known]
    for row, _ in known:
        values += [end for end in (row.model.low, row.model.high) if end is not None]
    low, high = padded(values, 0.15)
    if as_percent:
        return _Axis(max(low, 0.0), min(high, 1.0))
    return _Axis(low, high)


def _score_text(value: float, *, as_percent: bool) -> str:
    return f"{100 * value:.1f} %" if as_percent else f"{value:.4g}"


def _tick_text(value: float, *, as_percent: bool) -> str:
    return f"{short_number(100 * value)} %" if as_percent else short_number(value)


def _score_tick(x: float, text: str, centers: Sequence[int], height: int) -> list[Markup]:
    """A grid line, interrupted at the labels above the rows, and its value at the bottom."""
    inside = min(max(x, 22), WIDTH - 22)
    ends = [*(y + 9 for y in centers[:-1]), height - 18]
    lines = [
        tag("line", x1=x, x2=x, y1=y - 9, y2=end, class_="grid")
        for y, end in zip(centers, ends, strict=True)
    ]
    return [*lines, tag("text", text, x=inside, y=height - 4, class_="tick", text_anchor="middle")]


def _score_marks(row: ScoreRow, x: float, text: str, axis: _Axis, y: int) -> list[Markup]:
    right = WIDTH - _MARGIN
    marks = [
        tag("text", short(row.label, 34), x=_MARGIN, y=y - 14, class_="row-label"),
        tag("text", text, x=right, y=y - 14, class_="row-value", text_anchor="end"),
    ]
    if row.model.low is not None and row.model.high is not None:
        left = axis.x(row.model.low)
        end = axis.x(row.model.high)
        class_ = f"line interval {row.class_}"
        marks.append(tag("line", x1=left, x2=end, y1=y, y2=y, class_=class_))
    marks.append(tag("circle", cx=x, cy=y, r=5, class_=f"point {row.class_}"))
    return marks


def _drawing(marks: list[Markup], height: int, title: str, class_: str = "plot bar") -> Markup:
    box = f"0 0 {WIDTH} {height}"
    return tag("svg", marks, viewBox=box, role="img", aria_label=title, class_=class_)
