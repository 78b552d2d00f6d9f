"""A horizontal axis over the width of a drawing, and the drawing around its marks."""

from dataclasses import dataclass

from augerino.report.markup import Markup, tag
from augerino.report.plot import WIDTH

MARGIN = 14


@dataclass(frozen=True)
class Axis:
    """A horizontal axis over the width of a drawing; values outside are drawn at its ends."""

    low: float
    high: float

    def x(self, value: float) -> float:
        """The horizontal position of a value."""
        span = (self.high - self.low) or 1.0
        fraction = min(max((value - self.low) / span, 0.0), 1.0)
        return round(MARGIN + fraction * (WIDTH - 2 * MARGIN), 1)


def drawing(marks: list[Markup], height: int, title: str, class_: str) -> Markup:
    """An SVG of all marks; the title is its text for screen readers."""
    box = f"0 0 {WIDTH} {height}"
    return tag("svg", marks, viewBox=box, role="img", aria_label=title, class_=class_)


def tick_label(text: str, x: float, y: float) -> Markup:
    """The label of a tick, moved inwards at the ends of the drawing."""
    inside = min(max(x, 22), WIDTH - 22)
    return tag("text", text, x=inside, y=y, class_="tick", text_anchor="middle")
