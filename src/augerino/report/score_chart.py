"""The scores of models: one row per model, on one axis."""

from collections.abc import Sequence
from dataclasses import dataclass

from augerino.report.axis import MARGIN, Axis, drawing, tick_label
from augerino.report.markup import Markup, short, tag
from augerino.report.plot import WIDTH, nice_ticks, padded, short_number
from augerino.report.run import Model

_ROW_HEIGHT = 44
_TOP = 6


@dataclass(frozen=True)
class ScoreRow:
    """One row of `score_chart`: its label, the model and the CSS class of its marks."""

    label: str
    model: Model
    class_: str


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
    return drawing(marks, height, "; ".join(texts), "plot")


def _score_axis(known: Sequence[tuple[ScoreRow, float]], *, as_percent: bool) -> Axis:
    values = [score for _, score in known]
    for row, _ in known:
        values += [end for end in (row.model.low, row.model.high) if end is not None]
    low, high = padded(values, 0.15)
    if as_percent:
        return Axis(max(low, 0.0), min(high, 1.0))
    return Axis(low, high)


def _score_text(value: float, *, as_percent: bool) -> str:
    if as_percent:
        return f"{100 * value:.1f} %"
    return f"{value:.4g}"


def _tick_text(value: float, *, as_percent: bool) -> str:
    if as_percent:
        return f"{short_number(100 * value)} %"
    return short_number(value)


def _score_tick(x: float, text: str, centers: Sequence[int], height: int) -> list[Markup]:
    """A grid line, interrupted at the labels above the rows, and its value at the bottom."""
    ends = [*(y + 9 for y in centers[:-1]), height - 18]
    lines = [
        tag("line", x1=x, x2=x, y1=y - 9, y2=end, class_="grid")
        for y, end in zip(centers, ends, strict=True)
    ]
    return [*lines, tick_label(text, x, height - 4)]


def _score_marks(row: ScoreRow, x: float, text: str, axis: Axis, y: int) -> list[Markup]:
    right = WIDTH - MARGIN
    marks = [
        tag("text", short(row.label, 34), x=MARGIN, y=y - 14, class_="row-label"),
        tag("text", text, x=right, y=y - 14, class_="row-value", text_anchor="end"),
    ]
    if row.model.low is not None and row.model.high is not None:
        left = axis.x(row.model.low)
        end = axis.x(row.model.high)
        class_ = f"line interval {row.class_}"
        marks.append(tag("line", x1=left, x2=end, y1=y, y2=y, class_=class_))
    marks.append(tag("circle", cx=x, cy=y, r=5, class_=f"point {row.class_}"))
    return marks
