"""A small plot as inline SVG: classes instead of colours, so that the page's light and dark styles apply."""

from collections.abc import Sequence

from augerino.report.markup import Markup, tag

WIDTH = 340  # a phone shows a plot at its own size, a wide page several in a row
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 10, 36

Ticks = Sequence[tuple[float, str]]


class Plot:
    """Marks on two linear axes. Add marks in the order in which they cover each other, then call `svg`."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float], height: int = 190) -> None:
        self.x_range, self.y_range, self.height = _opened(x), _opened(y), height
        self.marks: list[Markup] = []

    def x(self, value: float) -> float:
        low, high = self.x_range
        return round(LEFT + _share(value, low, high) * (WIDTH - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        low, high = self.y_range
        return round(
            self.height - BOTTOM - _share(value, low, high) * (self.height - TOP - BOTTOM), 1
        )

    def line(self, xs: Sequence[float], ys: Sequence[float], class_: str) -> None:
        points = " ".join(f"{self.x(x)},{self.y(y)}" for x, y in zip(xs, ys, strict=True))
        self.marks.append(tag("polyline", points=points, class_=f"line {class_}"))

    def band(
        self, xs: Sequence[float], low: Sequence[float], high: Sequence[float], class_: str
    ) -> None:
        there = [f"{self.x(x)},{self.y(y)}" for x, y in zip(xs, high, strict=True)]
        back = [f"{self.x(x)},{self.y(y)}" for x, y in zip(xs, low, strict=True)]
        self.marks.append(
            tag("polygon", points=" ".join([*there, *reversed(back)]), class_=f"area {class_}")
        )

    def shade(self, low: float, high: float, class_: str) -> None:
        """A range of x, from top to bottom."""
        left, right = self.x(low), self.x(high)
        self.box(left, TOP, max(right - left, 1.0), self.height - TOP - BOTTOM, class_)

    def box(self, x: float, y: float, width: float, height: float, class_: str) -> None:
        """A rectangle in the drawing's own units."""
        self.marks.append(
            tag(
                "rect",
                x=round(x, 1),
                y=round(y, 1),
                width=round(width, 1),
                height=round(height, 1),
                class_=class_,
            )
        )

    def vertical(self, value: float, class_: str) -> None:
        x = self.x(value)
        self.marks.append(
            tag("line", x1=x, x2=x, y1=TOP, y2=self.height - BOTTOM, class_=f"line {class_}")
        )

    def horizontal(self, value: float, class_: str) -> None:
        y = self.y(value)
        self.marks.append(
            tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_=f"line {class_}")
        )

    def dot(self, x: float, y: float, class_: str) -> None:
        self.marks.append(tag("circle", cx=self.x(x), cy=self.y(y), r=3, class_=class_))

    def svg(self, title: str, x_ticks: Ticks, y_ticks: Ticks, x_label: str) -> Markup:
        """The whole drawing; the title is its text for those who do not see it."""
        floor, right = self.height - BOTTOM, WIDTH - RIGHT
        axes = [tag("line", x1=LEFT, x2=right, y1=floor, y2=floor, class_="axis")]
        for value, text in x_ticks:
            x = self.x(value)
            axes.append(tag("line", x1=x, x2=x, y1=floor, y2=floor + 4, class_="axis"))
            edge = x > right - 12  # the last one stays within the drawing
            axes.append(
                tag(
                    "text",
                    text,
                    x=WIDTH if edge else x,
                    y=floor + 16,
                    class_="tick",
                    text_anchor="end" if edge else "middle",
                )
            )
        for value, text in y_ticks:
            y = self.y(value)
            axes.append(tag("line", x1=LEFT, x2=right, y1=y, y2=y, class_="grid"))
            axes.append(
                tag("text", text, x=LEFT - 6, y=round(y + 4, 1), class_="tick", text_anchor="end")
            )
        axes.append(
            tag("text", x_label, x=right, y=self.height - 4, class_="tick", text_anchor="end")
        )
        return tag(
            "svg",
            axes,
            self.marks,
            viewBox=f"0 0 {WIDTH} {self.height}",
            role="img",
            aria_label=title,
            class_="plot",
        )


def padded(
    values: Sequence[float], share: float = 0.08, *, zero: bool = False
) -> tuple[float, float]:
    """A range that holds all values with some room; from 0 where asked and nothing is below."""
    low, high = min(values), max(values)
    if zero and low >= 0:
        return 0.0, high * (1 + share) or 1.0
    room = (high - low) * share or abs(high) * share or 1.0
    return low - room, high + room


def _opened(ends: tuple[float, float]) -> tuple[float, float]:
    low, high = min(ends), max(ends)
    small = 1e-9 * max(abs(low), abs(high), 1e-3)
    return (low, high) if high - low > small else (low - 0.5, high + 0.5)


def _share(value: float, low: float, high: float) -> float:
    """Where a value lies between two others; far outside is just outside."""
    return min(max((value - low) / (high - low), -0.02), 1.02)
