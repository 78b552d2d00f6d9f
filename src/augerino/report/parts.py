"""The small pieces that sections are made of: signs of an answer, legends, extents in words."""

import math
from collections.abc import Sequence
from typing import Any

from augerino.report.markup import Markup, join, named, tag
from augerino.report.run import Coordinate, Estimate
from augerino.report.scale import scale_of

ANSWERS = {
    "symmetry": "Symmetry",
    "full": "All the way",
    "none": "None found",
    "undecided": "Not decided",
}

_SIGNS = {
    "symmetry": [
        tag("circle", cx=11, cy=11, r=8, class_="thin"),
        tag("path", d="M3.5 8.2A8 8 0 0 1 18.5 8.2", class_="thick"),
    ],
    "full": [tag("circle", cx=11, cy=11, r=8, class_="thick")],
    "none": [
        tag("circle", cx=11, cy=11, r=8, class_="thin"),
        tag("path", d="M7 11h8", class_="thick"),
    ],
    "undecided": [tag("circle", cx=11, cy=11, r=8, class_="dashed")],
}


def answer(kind: str | None) -> Markup | None:
    """An answer as a sign and its word, told apart by shape and not by colour alone."""
    if kind is None:
        return None
    sign = tag("svg", _SIGNS[kind], viewBox="0 0 22 22", class_="sign", aria_hidden="true")
    return tag("span", sign, ANSWERS[kind], class_=f"answer {kind}")


def extent_text(c: Coordinate, value: float) -> str:
    """An extent in human units."""
    if c.discrete:
        return f"{50 * value:.1f} % of copies"
    scale = scale_of(c.unit)
    if scale.logarithmic:
        low, high = (math.exp(min(max(side * value, -20.0), 20.0)) for side in (-1, 1))
        return f"×{low:.2f} to ×{high:.2f}"
    return f"±{value * scale.factor:.3g}{scale.suffix}"


def between_text(c: Coordinate, low: float, high: float) -> str:
    """An interval of extents in human units; of a factor, its upper end is told."""
    scale = scale_of(c.unit)
    if scale.logarithmic:
        return f"{scale.text(low)} to {scale.text(high)}"
    if c.discrete:
        return f"{50 * low:.1f} to {50 * high:.1f} % of copies"
    return f"±{low * scale.factor:.3g} to ±{high * scale.factor:.3g}{scale.suffix}"


def signed(estimate: Estimate, factor: float = 1.0, suffix: str = "") -> str:
    """A change with its sign and 95 % interval."""

    def write(value: float) -> str:
        return f"{factor * value:+.3g}".replace("-", "−")

    told = write(estimate.mean) + suffix
    if estimate.low is None or estimate.high is None:
        return told
    return f"{told} (95 %: {write(estimate.low)} to {write(estimate.high)})"


def legend(entries: Sequence[tuple[str, str]]) -> Markup:
    """Line samples and what they stand for: class of the line, words."""
    rows = []
    for class_, words in entries:
        sample = tag(
            "svg",
            tag("line", x1=0, x2=22, y1=5, y2=5, class_=f"line {class_}"),
            viewBox="0 0 22 10",
            aria_hidden="true",
        )
        rows.append(tag("li", sample, named(words)))
    return tag("ul", rows, class_="legend")


def section(
    title: str, explanation: str | None, *content: Any, level: int = 2, class_: str | None = None
) -> Markup | None:
    """A titled section; None where it has nothing to show."""
    if not join(*content):
        return None
    said = tag("p", explanation, class_="explanation") if explanation else None
    return tag("section", tag(f"h{level}", title), said, *content, class_=class_)


def figure(title: str, drawing: Markup, *below: Any) -> Markup:
    """A titled drawing of a grid of small ones."""
    return tag("figure", tag("figcaption", named(title)), drawing, *below, class_="small")


def grid(figures: Sequence[Markup]) -> Markup | None:
    """Small drawings side by side, as many as fit."""
    return tag("div", *figures, class_="grid") if figures else None


def table(
    headings: Sequence[Any], rows: Sequence[Sequence[Any]], *, caption: str, class_: str = ""
) -> Markup:
    """A table whose first column names its rows; wide ones scroll within themselves."""
    head = tag("tr", *(tag("th", heading, scope="col") for heading in headings))
    body = [
        tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:]))
        for row in rows
    ]
    inner = tag(
        "table",
        tag("caption", caption, class_="hidden"),
        tag("thead", head),
        tag("tbody", *body),
        class_=class_ or None,
    )
    return tag("div", inner, class_="scroll", tabindex="0", role="region", aria_label=caption)


def percent(value: float | None) -> str:
    """A share as a percentage; nothing for None."""
    return "" if value is None else f"{100 * value:.1f} %"
