"""The plots of the page, each a function from values to inline SVG."""

import math
from collections.abc import Sequence

from augerino.coordinate import discrete_unit, unit_of
from augerino.report.markup import Markup, short
from augerino.report.plot import Plot, Scale, nice_ticks, padded, short_number
from augerino.report.result_reader import CoordinateResult, Profile, Shape
from augerino.report.run import Orbit

MAX_LINES = 6  # per plot; more could not be distinguished
_HALVES = [(0.0, "0"), (0.5, "½"), (1.0, "1")]

Curve = tuple[Sequence[float], str]  # values and the CSS class of the line
Ticks = list[tuple[float, str]]


def distribution_plot(c: CoordinateResult) -> Markup | None:
    """The density of one coordinate at the start and as learned."""
    candidates = [(c.start_shape, "start"), (c.shape, "learned")]
    shapes = [(shape, class_) for shape, class_ in candidates if shape is not None]
    if not shapes:
        return None
    if c.discrete:
        return _flip_plot(c, shapes)
    low, high = _density_range(c, [shape for shape, _ in shapes])
    curves = [(_density(shape, low, high), class_) for shape, class_ in shapes]
    top = max(value for (_, density), _ in curves for value in density)
    plot = Plot((low, high), (0.0, 1.12 * top), height=150)
    for (xs, density), class_ in curves:
        plot.band(xs, [0.0] * len(xs), density, class_)
        plot.line(xs, density, class_)
    _mark_true(plot, c)
    scale = Scale(c.unit)
    title = f"Distribution of {c.name} at the start and learned"
    return plot.svg(title, _ticks(scale, plot), [], scale.label)


def _density_range(c: CoordinateResult, shapes: Sequence[Shape]) -> tuple[float, float]:
    """The range that holds all densities and the true extent, cut at the limit."""
    ends = [_ends(shape) for shape in shapes]
    values = [abs(end) for pair in ends for end in pair]
    if c.true is not None:
        values.append(abs(c.true))
    high = 1.2 * max([*values, 1e-9])
    if c.limit:
        high = min(high, 1.05 * c.limit)
    is_one_sided = all(low >= 0 for low, _ in ends)
    if is_one_sided:
        return 0.0, high
    return -high, high


def _ends(shape: Shape) -> tuple[float, float]:
    if shape.kind == "normal":
        return shape.a - 2.6 * shape.b, shape.a + 2.6 * shape.b
    return shape.a, shape.b


def _density(shape: Shape, low: float, high: float) -> tuple[list[float], list[float]]:
    if shape.kind == "normal":
        deviation = max(shape.b, 1e-9)
        xs = [low + (high - low) * i / 80 for i in range(81)]
        return xs, [_normal_density((x - shape.a) / deviation) / deviation for x in xs]
    height = 1 / max(shape.b - shape.a, 1e-9)
    return [shape.a, shape.a, shape.b, shape.b], [0.0, height, height, 0.0]


def _normal_density(z: float) -> float:
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def _flip_plot(c: CoordinateResult, shapes: Sequence[tuple[Shape, str]]) -> Markup:
    """The probabilities of the two outcomes of a discrete coordinate, as bars."""
    plot = Plot((-0.5, 1.5), (0.0, 1.0), height=150)
    for i, (shape, class_) in enumerate(shapes):
        for outcome, probability in ((0.0, 1 - shape.a), (1.0, shape.a)):
            left = plot.x(outcome - 0.3 + 0.3 * i) + 1
            right = plot.x(outcome + 0.3 * i) - 1
            top = plot.y(probability)
            plot.box(
                x=left,
                y=top,
                width=right - left,
                height=plot.y(0) - top,
                class_=f"area {class_} solid",
            )
    ticks = [(0.0, "unchanged"), (1.0, discrete_unit(c.unit).outcome)]
    return plot.svg(f"Probability of {c.name} at the start and learned", ticks, _HALVES, "")


def extent_plot(c: CoordinateResult, curves: Sequence[Curve]) -> Markup:
    """The extent of one coordinate over the training; for a flip, its probability."""
    factor = 1.0
    if c.discrete:
        factor = 0.5  # the extent of a flip is twice its probability
    scaled = [([factor * value for value in curve], class_) for curve, class_ in curves]
    values = [value for curve, _ in scaled for value in curve]
    if c.true is not None:
        values.append(c.true)
    last = max(len(curve) for curve, _ in scaled) - 1
    plot = Plot((0, max(last, 1)), padded(values, 0.12, from_zero=True), height=170)
    if c.true is not None:
        plot.horizontal(c.true, "true")
    for curve, class_ in scaled:
        plot.line(range(len(curve)), curve, class_)
    return plot.svg(
        f"{c.name} over the training", _epoch_ticks(plot), _extent_ticks(c, plot), "epoch"
    )


def _extent_ticks(c: CoordinateResult, plot: Plot) -> Ticks:
    if c.discrete:
        return [(value, f"{100 * value:.0f} %") for value in nice_ticks(*plot.y_range)]
    scale = Scale(c.unit)
    return [(value, scale.text(value)) for value in scale.ticks(*plot.y_range)]


def loss_plot(curves: Sequence[Curve]) -> Markup:
    """The training loss over the epochs."""
    values = [value for curve, _ in curves for value in curve]
    last = max(2, *(len(curve) for curve, _ in curves))
    plot = Plot((1, last), padded(values, from_zero=True), height=170)
    for curve, class_ in curves:
        plot.line(range(1, len(curve) + 1), curve, class_)
    return plot.svg("Training loss", _epoch_ticks(plot), _number_ticks(plot), "epoch")


def profile_plot(c: CoordinateResult, profile: Profile) -> Markup:
    """The rise of the held-out loss as a function of the extent, with its 95 % band."""
    values = [0.0, *profile.loss, *(profile.low or []), *(profile.high or [])]
    plot = Plot((profile.extents[0], profile.extents[-1]), padded(values), height=190)
    if c.learned is not None and not c.discrete:
        plot.shade(max(0.0, profile.extents[0]), c.learned, "inside-range")
    plot.horizontal(0.0, "zero")
    if profile.low is not None and profile.high is not None:
        plot.band(profile.extents, profile.low, profile.high, "learned")
    plot.line(profile.extents, profile.loss, "learned")
    for extent, loss in zip(profile.extents, profile.loss, strict=True):
        plot.dot(extent, loss, "learned-dot")
    if c.true is not None:
        plot.vertical(c.true, "true")
    title = f"Rise of the held-out loss as a function of the extent of {c.name}"
    if c.discrete:
        outcome = discrete_unit(c.unit).outcome
        ticks = [(0.0, f"none {outcome}"), (1.0, f"all {outcome}")]
        return plot.svg(title, ticks, _number_ticks(plot), "")
    scale = Scale(c.unit)
    ticks = [(value, scale.edge(value)) for value in scale.ticks(*plot.x_range)]
    label = ", ".join(part for part in ("extent", scale.label) if part)
    return plot.svg(title, ticks, _number_ticks(plot), label)


def orbit_classes(orbit: Orbit) -> list[int]:
    """The outputs to draw: the true class, and those with the highest peaks."""
    peaks = [max(column) for column in zip(*orbit.outputs, strict=True)]
    ranked = sorted(range(len(peaks)), key=lambda i: (i != orbit.truth, -peaks[i]))
    threshold = 0.02 * max(peaks)
    shown = [i for i in ranked[:MAX_LINES] if i == orbit.truth or peaks[i] > threshold]
    return sorted(shown or ranked[:1])


def orbit_plot(
    orbit: Orbit, c: CoordinateResult | None, task: str, classes: Sequence[str]
) -> Markup:
    """The outputs for one input along one coordinate, with the learned range shaded."""
    columns = [[row[i] for row in orbit.outputs] for i in orbit_classes(orbit)]
    y_range = (0.0, 1.02)  # probabilities
    if task == "regression":
        y_range = padded([value for column in columns for value in column])
    plot = Plot((min(orbit.values), max(orbit.values)), y_range)
    y_ticks = _HALVES
    if task == "regression":
        y_ticks = _number_ticks(plot)
    if c is not None and c.range is not None:
        plot.shade(*c.range, "inside-range")
    for class_, column in zip(classes, columns, strict=True):
        plot.line(orbit.values, column, class_)
    scale = Scale(unit_of(""))
    if c is not None:
        scale = Scale(c.unit)
        _mark_true(plot, c)
    title = f"Model output along {orbit.coordinate} for {orbit.title}"
    x_label = ", ".join(part for part in (short(orbit.coordinate), scale.label) if part)
    return plot.svg(title, _ticks(scale, plot), y_ticks, x_label)


def _mark_true(plot: Plot, c: CoordinateResult) -> None:
    if c.true is not None:
        plot.vertical(-c.true, "true")
        plot.vertical(c.true, "true")


def _ticks(scale: Scale, plot: Plot) -> Ticks:
    return [(value, scale.text(value)) for value in scale.ticks(*plot.x_range)]


def _epoch_ticks(plot: Plot) -> Ticks:
    ticks = nice_ticks(*plot.x_range, 6)
    return [(value, f"{value:.0f}") for value in ticks if value == int(value)]


def _number_ticks(plot: Plot) -> Ticks:
    return [(value, short_number(value)) for value in nice_ticks(*plot.y_range)]
