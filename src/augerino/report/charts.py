"""Every drawing of the page, each a function from values to inline SVG."""

import math
from collections.abc import Sequence

from augerino.report.markup import Markup, short, tag
from augerino.report.plot import WIDTH, Plot, padded
from augerino.report.run import Coordinate, Model, Orbit, Profile, Shape
from augerino.report.scale import nice_ticks, scale_of, short_number

LINES = 6  # curves in one plot; more could not be told apart


def range_bar(c: Coordinate) -> Markup | None:
    """Start, learned extent, its interval, the true extent and the limit of one coordinate on one line."""
    if c.discrete:
        return _share_bar(c)
    if c.learned is None:
        return None
    low, high = c.support or (-abs(c.learned), abs(c.learned))
    known = [
        abs(value)
        for value in (low, high, c.start, c.true, *(c.interval or ()))
        if value is not None
    ]
    edge = c.limit if c.limit else 1.2 * max([*known, 1e-9])
    left = 0.0 if low >= 0 else -edge
    sides = (1,) if left == 0 else (-1, 1)
    room, middle, width = 14, 18, WIDTH - 28

    def x(value: float) -> float:
        return round(room + min(max((value - left) / (edge - left), 0.0), 1.0) * width, 1)

    marks = [tag("rect", x=room, y=middle - 5, width=width, height=10, rx=5, class_="track")]
    marks.append(
        tag(
            "rect",
            x=x(low),
            y=middle - 5,
            width=max(x(high) - x(low), 2.0),
            height=10,
            rx=3,
            class_=f"extent {c.answer or ''}",
        )
    )
    for side in sides:
        if c.interval is not None:
            a, b = sorted((x(side * c.interval[0]), x(side * c.interval[1])))
            marks.append(
                tag(
                    "path",
                    d=f"M{a} {middle + 10}H{b}M{a} {middle + 7}v6M{b} {middle + 7}v6",
                    class_="whisker",
                )
            )
        if c.start is not None:
            at = x(side * c.start)
            marks.append(
                tag("line", x1=at, x2=at, y1=middle - 9, y2=middle + 9, class_="start-mark")
            )
        if c.true is not None:
            at = x(side * c.true)
            marks.append(tag("path", d=f"M{at} {middle - 7}l-4 -7h8z", class_="true-mark"))
    scale = scale_of(c.unit)
    ticks = [left, edge] if left == 0 else [left, 0.0, edge]
    for value, anchor in zip(
        ticks, ("start", "end") if len(ticks) == 2 else ("start", "middle", "end"), strict=True
    ):
        at = {"start": 2, "middle": x(value), "end": WIDTH - 2}[anchor]
        marks.append(
            tag("text", scale.text(value), x=at, y=middle + 27, class_="tick", text_anchor=anchor)
        )
    told = f"{c.name}: learned {c.learned_text or scale.text(c.learned)}, start {c.start_text or 'unknown'}"
    told += f", true extent {scale.text(c.true)}" if c.true is not None else ""
    told += (
        f", 95 % interval {scale.text(c.interval[0])} to {scale.text(c.interval[1])}"
        if c.interval is not None
        else ""
    )
    return tag(
        "svg",
        marks,
        viewBox=f"0 0 {WIDTH} {middle + 32}",
        role="img",
        aria_label=told,
        class_="plot bar",
    )


def _share_bar(c: Coordinate) -> Markup | None:
    """How often a discrete coordinate is drawn: half of the copies is the full symmetry."""
    if c.shape is None:
        return None
    room, middle, width = 14, 18, WIDTH - 28
    x = room + c.shape.a * width
    marks = [
        tag("rect", x=room, y=middle - 5, width=width, height=10, rx=5, class_="track"),
        tag(
            "rect",
            x=room,
            y=middle - 5,
            width=round(max(x - room, 2.0), 1),
            height=10,
            rx=3,
            class_=f"extent {c.answer or ''}",
        ),
    ]
    if c.start_shape is not None:
        at = round(room + c.start_shape.a * width, 1)
        marks.append(tag("line", x1=at, x2=at, y1=middle - 9, y2=middle + 9, class_="start-mark"))
    for at, text, anchor in (
        (2, "never", "start"),
        (WIDTH / 2, "half of the copies", "middle"),
        (WIDTH - 2, "always", "end"),
    ):
        marks.append(tag("text", text, x=at, y=middle + 27, class_="tick", text_anchor=anchor))
    told = f"{c.name}: learned {c.shape.a:.0%} of copies"
    return tag(
        "svg",
        marks,
        viewBox=f"0 0 {WIDTH} {middle + 32}",
        role="img",
        aria_label=told,
        class_="plot bar",
    )


def distribution(c: Coordinate) -> Markup | None:
    """The density of one coordinate at the start and as learned."""
    shapes = [
        (shape, class_)
        for shape, class_ in ((c.start_shape, "start"), (c.shape, "learned"))
        if shape is not None
    ]
    if not shapes:
        return None
    if c.discrete:
        return _bars(c, shapes)
    ends = [abs(end) for shape, _ in shapes for end in _ends(shape)] + (
        [abs(c.true)] if c.true is not None else []
    )
    reach = 1.2 * max([*ends, 1e-9])
    reach = min(reach, 1.05 * c.limit) if c.limit else reach
    left = 0.0 if all(_ends(shape)[0] >= 0 for shape, _ in shapes) else -reach
    curves = [(_density(shape, left, reach), class_) for shape, class_ in shapes]
    top = max(value for (_, density), _ in curves for value in density)
    plot = Plot((left, reach), (0.0, 1.12 * top), height=150)
    for (xs, density), class_ in curves:
        plot.band(xs, [0.0] * len(xs), density, class_)
        plot.line(xs, density, class_)
    if c.true is not None:
        for side in (-c.true, c.true):
            plot.vertical(side, "true")
    scale = scale_of(c.unit)
    ticks = [(value, scale.text(value)) for value in scale.ticks(left, reach)]
    return plot.svg(
        f"Distribution of {c.name} at the start and learned", ticks, [], f"{scale.label}"
    )


def _bars(c: Coordinate, shapes: Sequence[tuple[Shape, str]]) -> Markup:
    plot = Plot((-0.5, 1.5), (0.0, 1.0), height=150)
    for i, (shape, class_) in enumerate(shapes):
        for outcome, probability in ((0.0, 1 - shape.a), (1.0, shape.a)):
            left, right = plot.x(outcome - 0.3 + 0.3 * i), plot.x(outcome + 0.3 * i)
            plot.box(
                left + 1,
                plot.y(probability),
                right - left - 2,
                plot.y(0) - plot.y(probability),
                f"area {class_} solid",
            )
    ticks = [(0.0, "as it is"), (1.0, "flipped")]
    return plot.svg(
        f"Probability of {c.name} at the start and learned",
        ticks,
        [(0.0, "0"), (0.5, "½"), (1.0, "1")],
        "",
    )


def _ends(shape: Shape) -> tuple[float, float]:
    return (
        (shape.a - 2.6 * shape.b, shape.a + 2.6 * shape.b)
        if shape.kind == "normal"
        else (shape.a, shape.b)
    )


def _density(shape: Shape, left: float, right: float) -> tuple[list[float], list[float]]:
    if shape.kind == "normal":
        deviation = max(shape.b, 1e-9)
        xs = [left + (right - left) * i / 80 for i in range(81)]
        return xs, [
            math.exp(-(((x - shape.a) / deviation) ** 2) / 2) / (deviation * 2.5066) for x in xs
        ]
    height = 1 / max(shape.b - shape.a, 1e-9)
    return [shape.a, shape.a, shape.b, shape.b], [0.0, height, height, 0.0]


def bounds(c: Coordinate, curves: Sequence[tuple[Sequence[float], str]]) -> Markup:
    """One coordinate's extent over training; several runs may share the plot."""
    factor = (
        0.5 if c.discrete and c.start_shape is not None else 1.0
    )  # a flip's spread is twice its probability
    values = [factor * value for curve, _ in curves for value in curve] + (
        [c.true] if c.true is not None else []
    )
    plot = Plot(
        (0, max(max(len(curve) for curve, _ in curves) - 1, 1)),
        padded(values, 0.12, zero=True),
        height=170,
    )
    scale = scale_of(c.unit)
    if c.true is not None:
        plot.horizontal(c.true, "true")
    for curve, class_ in curves:
        plot.line(range(len(curve)), [factor * value for value in curve], class_)
    text = (lambda value: f"{value:.0%}") if c.discrete else scale.text
    ticks = [
        (v, text(v))
        for v in (nice_ticks(*plot.y_range, 5) if c.discrete else scale.ticks(*plot.y_range))
    ]
    return plot.svg(f"{c.name} over training", _epochs(plot), ticks, "epoch")


def losses(curves: Sequence[tuple[Sequence[float], str]]) -> Markup:
    """The training loss over the epochs."""
    values = [value for curve, _ in curves for value in curve]
    plot = Plot(
        (1, max(2, *(len(curve) for curve, _ in curves))), padded(values, zero=True), height=170
    )
    for curve, class_ in curves:
        plot.line(range(1, len(curve) + 1), curve, class_)
    return plot.svg("Training loss over training", _epochs(plot), _plain(plot), "epoch")


def _epochs(plot: Plot) -> list[tuple[float, str]]:
    return [
        (value, f"{value:.0f}") for value in nice_ticks(*plot.x_range, 6) if value == int(value)
    ]


def _plain(plot: Plot) -> list[tuple[float, str]]:
    return [(value, short_number(value)) for value in nice_ticks(*plot.y_range)]


def profile(c: Coordinate, p: Profile) -> Markup:
    """The change of the held-out loss as one extent is moved, with its 95 % band."""
    plot = Plot(
        (p.extents[0], p.extents[-1]),
        padded([0.0, *p.loss, *(p.low or []), *(p.high or [])]),
        height=190,
    )
    if c.learned is not None:
        plot.shade(max(0.0, p.extents[0]), c.learned, "inside-range")
    plot.horizontal(0.0, "zero")
    if p.low is not None and p.high is not None:
        plot.band(p.extents, p.low, p.high, "learned")
    plot.line(p.extents, p.loss, "learned")
    for extent, loss in zip(p.extents, p.loss, strict=True):
        plot.dot(extent, loss, "learned-dot")
    if c.true is not None:
        plot.vertical(c.true, "true")
    scale = scale_of(c.unit)
    ticks = [
        (value, "0" if value == 0 else ("" if scale.logarithmic else "±") + scale.text(value))
        for value in scale.ticks(*plot.x_range)
    ]
    title = f"Change of the held-out loss when {c.name} reaches elsewhere than learned"
    return plot.svg(title, ticks, _plain(plot), f"extent, {scale.label}")


def orbit_classes(o: Orbit) -> list[int]:
    """Which outputs to draw: those that come out on top somewhere or nearly so, the true one always."""
    peaks = [max(column) for column in zip(*o.outputs, strict=True)]
    ranked = sorted(range(len(peaks)), key=lambda i: (i != o.truth, -peaks[i]))
    seen = [i for i in ranked[:LINES] if i == o.truth or peaks[i] > 0.02 * max(peaks)]
    return sorted(seen or ranked[:1])


def orbit(o: Orbit, c: Coordinate | None, task: str, marks: Sequence[str]) -> Markup:
    """The outputs while one input moves along one coordinate; shaded is the learned extent."""
    shown = orbit_classes(o)
    columns = [[row[i] for row in o.outputs] for i in shown]
    probabilities = task != "regression"
    plot = Plot(
        (min(o.values), max(o.values)),
        (0.0, 1.02) if probabilities else padded([v for col in columns for v in col]),
    )
    if c is not None and c.learned is not None:
        low, high = c.support or (-c.learned, c.learned)
        plot.shade(low, high, "inside-range")
    for mark, column in zip(marks, columns, strict=True):
        plot.line(o.values, column, mark)
    if c is not None and c.true is not None:
        for side in (-c.true, c.true):
            plot.vertical(side, "true")
    scale = scale_of(c.unit if c is not None else "")
    ticks = [(value, scale.text(value)) for value in scale.ticks(*plot.x_range)]
    y_ticks = [(0.0, "0"), (0.5, "½"), (1.0, "1")] if probabilities else _plain(plot)
    return plot.svg(
        f"Model output along {o.coordinate} for {o.title}",
        ticks,
        y_ticks,
        f"{short(o.coordinate)}, {scale.label}",
    )


def scores(rows: Sequence[tuple[str, Model, str]]) -> Markup | None:
    """A dot with its interval for every model, one below the other: label, model, class of the mark."""
    shown = [
        (label, model, class_, model.score)
        for label, model, class_ in rows
        if model.score is not None
    ]
    if not shown:
        return None
    share = all(model.accuracy is not None for _, model, _, _ in shown)
    known = [v for _, m, _, score in shown for v in (score, m.low, m.high) if v is not None]
    low, high = padded(known, 0.15)
    low, high = (max(low, 0.0), min(high, 1.0)) if share else (low, high)
    step, head = 44, 6
    height = head + step * len(shown) + 22
    left, right = 14, WIDTH - 14

    def x(value: float) -> float:
        return round(
            left + min(max((value - low) / ((high - low) or 1.0), 0.0), 1.0) * (right - left), 1
        )

    def written(value: float) -> str:
        return f"{100 * value:.1f} %" if share else f"{value:.4g}"

    marks = []
    for value in nice_ticks(low, high, 5):
        marks.append(tag("line", x1=x(value), x2=x(value), y1=head, y2=height - 18, class_="grid"))
        text = f"{short_number(100 * value)} %" if share else short_number(value)
        marks.append(
            tag(
                "text",
                text,
                x=min(max(x(value), 22), WIDTH - 22),
                y=height - 4,
                class_="tick",
                text_anchor="middle",
            )
        )
    for i, (label, model, class_, score) in enumerate(shown):
        y = head + step * i + 30
        marks.append(tag("text", short(label, 34), x=left, y=y - 14, class_="row-label"))
        marks.append(
            tag("text", written(score), x=right, y=y - 14, class_="row-value", text_anchor="end")
        )
        if model.low is not None and model.high is not None:
            marks.append(
                tag(
                    "line",
                    x1=x(model.low),
                    x2=x(model.high),
                    y1=y,
                    y2=y,
                    class_=f"line interval {class_}",
                )
            )
        marks.append(tag("circle", cx=x(score), cy=y, r=5, class_=f"point {class_}"))
    told = "; ".join(f"{label}: {written(score)}" for label, _, _, score in shown)
    return tag(
        "svg", marks, viewBox=f"0 0 {WIDTH} {height}", role="img", aria_label=told, class_="plot"
    )
