"""Draws learned ranges, training histories and orbits on matplotlib axes."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from augerino.augmentation import Augmentation
from augerino.coordinate import Coordinate, LearnedCoordinate
from augerino.diagnostics import Orbit
from augerino.training.state import History

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

START = "#9aa5b1"
LEARNED = "#2563eb"
TRUE = "#d97706"
CLASSES = (
    "#2563eb",
    "#d97706",
    "#059669",
    "#be185d",
    "#7c3aed",
    "#0891b2",
    "#65a30d",
    "#dc2626",
    "#475569",
    "#a16207",
)

_STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.edgecolor": "#64748b",
    "axes.labelcolor": "#334155",
    "xtick.color": "#64748b",
    "ytick.color": "#64748b",
    "legend.frameon": False,
    "figure.dpi": 100,
    "savefig.dpi": 150,
}


@contextmanager
def style() -> Iterator[None]:
    """Context manager with our matplotlib style; the global style is unchanged."""
    import matplotlib

    with matplotlib.rc_context(_STYLE):  # type: ignore[arg-type]
        yield


def figure(rows: int, columns: int, width: float, height: float) -> "tuple[Figure, list[Axes]]":
    """Creates a figure without pyplot, so that no window and no global state is involved.

    Args:
        rows: number of rows of axes.
        columns: number of columns of axes.
        width: in inches.
        height: in inches.

    Returns:
        The figure, and its axes row by row.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    fig = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(fig)
    axes = fig.subplots(rows, columns, squeeze=False)
    return fig, list(axes.flat)


def draw_distribution(
    ax: "Axes", coordinate: LearnedCoordinate, start: float, true: float | None = None
) -> None:
    """Draws the uniform density of one coordinate, initial and learned.

    Args:
        ax: axes to draw on.
        coordinate: the learned coordinate.
        start: initial extent.
        true: true extent, if known; drawn as dashed lines.
    """
    factor = coordinate.unit.factor
    _draw_uniform(ax, start * factor, color=START, label="start")
    _draw_uniform(ax, coordinate.extent * factor, color=LEARNED, label="learned")
    if true is not None:
        ax.axvline(-true * factor, color=TRUE, ls="--", lw=1.4, label="true extent")
        ax.axvline(true * factor, color=TRUE, ls="--", lw=1.4)
    widest = max(start, coordinate.extent, true or 0)
    if widest > 0:
        half_width = min(1.25 * widest, 1.05 * coordinate.limit) * factor
        ax.set_xlim(-half_width, half_width)
    ax.set_ylim(bottom=0)
    ax.set_title(coordinate.name)
    ax.set_xlabel(coordinate.unit.label)
    ax.set_yticks([])


def _draw_uniform(ax: "Axes", edge: float, *, color: str, label: str) -> None:
    """Draws the density of the uniform distribution on [-edge, edge]; a line at 0 if edge is 0."""
    if edge == 0:
        ax.axvline(0, color=color, lw=1.8, label=label)
        return
    height = 1 / (2 * edge)
    x = [-edge, -edge, edge, edge]
    y = [0, height, height, 0]
    ax.fill(x, y, color=color, alpha=0.25, lw=0)
    ax.plot(x, y, color=color, lw=1.8, label=label)


def draw_extent(
    ax: "Axes",
    history: History,
    coordinate: Coordinate,
    start: float,
    true: float | None = None,
) -> None:
    """Draws the extent of one coordinate over training.

    Args:
        ax: axes to draw on.
        history: training history.
        coordinate: the coordinate whose extent is drawn.
        start: initial extent.
        true: true extent, if known; drawn as a dashed line.
    """
    factor = coordinate.unit.factor
    curve = [start, *history.curve(coordinate.name)]
    ax.plot(range(len(curve)), [value * factor for value in curve], color=LEARNED, lw=1.8)
    if true is not None:
        ax.axhline(true * factor, color=TRUE, ls="--", lw=1.4)
        ax.text(0, true * factor, " true extent", color=TRUE, va="bottom", fontsize=8)
    ax.set_xlim(0, len(curve) - 1)
    highest = max([*curve, true or 0])
    if highest > 0:
        ax.set_ylim(0, highest * factor * 1.15)
    ax.set_title(coordinate.name)
    ax.set_xlabel("epoch")
    ax.set_ylabel(f"± {coordinate.unit.label}")


def draw_ranges(
    ax: "Axes",
    augmentation: Augmentation,
    start: dict[str, float],
    true: dict[str, float] | None = None,
) -> None:
    """Draws the learned range of every coordinate as a bar, as a fraction of its limit.

    A coordinate without a limit is drawn as a fraction of 1.25 times its largest extent.

    Args:
        ax: axes to draw on.
        augmentation: the learned augmentation.
        start: initial extents by name; marked by solid lines.
        true: true extents by name, where known; marked by dashed lines.
    """
    known = true or {}
    coordinates = augmentation.coordinates
    first_known = next((name for name in augmentation.names if name in known), None)
    for row, coordinate in enumerate(coordinates):
        name = coordinate.name
        limit = coordinate.limit
        if math.isinf(limit):
            largest = max(coordinate.extent, start[name], known.get(name, 0.0))
            limit = 1.25 * largest if largest > 0 else 1.0
        learned = coordinate.extent / limit
        ax.barh(row, 2 * learned, left=-learned, height=0.56, color=LEARNED, alpha=0.85)
        _mark(ax, row, start[name] / limit, color=START, label="start" if row == 0 else None)
        if name in known:
            label = "true extent" if name == first_known else None
            _mark(ax, row, known[name] / limit, color=TRUE, label=label, dashed=True)
        ax.text(1.04, row, coordinate.text, va="center", color="#334155", clip_on=False)
    ax.set_yticks(range(len(coordinates)), augmentation.names)
    ax.set_ylim(len(coordinates) - 0.5, -0.5)
    ax.set_xlim(-1, 1)
    ax.set_xticks([-1, 0, 1], ["−limit", "0", "+limit"])
    ax.axvline(0, color="#64748b", lw=0.8)


def _mark(
    ax: "Axes", row: int, place: float, *, color: str, label: str | None, dashed: bool = False
) -> None:
    """Marks ±place in a row of bars by two vertical lines."""
    style = (0, (2, 1)) if dashed else "solid"
    height = [row - 0.38, row + 0.38]
    ax.plot([-place, -place], height, color=color, lw=2, ls=style)
    ax.plot([place, place], height, color=color, lw=2, ls=style, label=label)


def draw_image(ax: "Axes", image: Tensor, title: str = "") -> None:
    """Draws one image (C, H, W) with values in [0, 1]; in grey if it has one channel."""
    pixels = image.detach().cpu().float().clamp(0, 1).permute(1, 2, 0).numpy()
    shown = pixels[..., 0] if pixels.shape[-1] == 1 else pixels[..., :3]
    ax.imshow(shown, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    ax.set_axis_off()
    if title:
        ax.set_title(title, fontsize=8)


def draw_orbit(
    ax: "Axes",
    curve: Orbit,
    coordinate: LearnedCoordinate,
    class_names: Sequence[str],
    true: float | None = None,
) -> None:
    """Draws the probability of every class along the orbit of one input.

    Args:
        ax: axes to draw on.
        curve: result of `diagnostics.orbit`.
        coordinate: coordinate of the orbit; its learned range is shaded.
        class_names: one per output.
        true: true extent, if known; drawn as dashed lines.
    """
    factor = coordinate.unit.factor
    values = [value * factor for value in curve.values]
    for index, probability in enumerate(zip(*curve.outputs, strict=True)):
        color = CLASSES[index % len(CLASSES)]
        ax.plot(values, probability, color=color, lw=1.8, label=class_names[index])
    learned = coordinate.extent * factor
    ax.axvspan(-learned, learned, color=LEARNED, alpha=0.08, lw=0)
    if true is not None:
        for side in (-true, true):
            ax.axvline(side * factor, color=TRUE, ls="--", lw=1.2)
    ax.set_xlim(values[0], values[-1])
    ax.set_ylim(-0.03, 1.03)
    ax.set_xlabel(f"{coordinate.name}, {coordinate.unit.label}")
    ax.set_ylabel("probability")


def sample_gallery(augmentation: Augmentation, x: Tensor, copies: int, seed: int = 0) -> Tensor:
    """Stacks each input with transformed copies of it.

    Args:
        augmentation: the augmentation that the copies are drawn from.
        x: inputs, (B, ...).
        copies: number of copies per input.
        seed: seed of the random numbers.

    Returns:
        (B, 1 + copies, ...), each input first.
    """
    device = augmentation.distribution.extent.device
    generator = torch.Generator(device=device).manual_seed(seed)
    with torch.no_grad():
        moved = [augmentation.sample(len(x), generator)(x) for _ in range(copies)]
    return torch.stack([x, *moved], dim=1)
