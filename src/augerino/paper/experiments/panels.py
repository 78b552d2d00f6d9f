"""Small drawing helpers that the figures of several experiments share."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from augerino import plots

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GRID_COLOR = "#e2e8f0"
ZERO_LINE_COLOR = "#94a3b8"
SEED_COLOR = "#1e3a8a"


def panel_grid(
    count: int, *, columns: int, width: float, height: float, margins: tuple[float, float]
) -> "tuple[Figure, list[Axes], int]":
    """A figure with `count` panels in rows of at most `columns`.

    Returns the figure, its `count` axes in reading order and the number of columns.

    Args:
        count: number of panels.
        columns: largest number of panels per row.
        width: width of one panel, in inches.
        height: height of one panel, in inches.
        margins: added to the width and the height of the figure.
    """
    columns = min(count, columns)
    rows = -(-count // columns)
    fig, axes = plots.figure(
        rows, columns, width * columns + margins[0], height * rows + margins[1]
    )
    for ax in axes[count:]:
        ax.remove()
    return fig, axes[:count], columns


def name_rows(ax: "Axes", names: Sequence[str], *, visible: bool = True) -> None:
    """Writes one name per unit of the vertical axis, the first on top."""
    labels = list(names)
    if not visible:
        labels = [""] * len(names)
    ax.set_yticks(range(len(names)), labels)
    ax.set_ylim(len(names) - 0.5, -0.5)


def mark_seeds(ax: "Axes", row: int, values: Sequence[float], label: str | None = None) -> None:
    """One tick per seed on a row of a bar chart."""
    style = {"color": SEED_COLOR, "ms": 8.5, "mew": 1.5}
    ax.plot(values, [row] * len(values), "|", label=label, **style)  # type: ignore[arg-type]


def mark_value(ax: "Axes", row: int, value: float, color: str, label: str | None = None) -> None:
    """A vertical line at one value on a row of a bar chart."""
    ax.plot([value, value], [row - 0.36, row + 0.36], color=color, lw=2, label=label)


def legend_below(fig: "Figure", *axes: "Axes", columns: int) -> None:
    """One legend below the figure, from the labels of the given axes."""
    found: dict[str, Artist] = {}
    for ax in axes:
        artists, labels = ax.get_legend_handles_labels()
        found.update(zip(labels, artists, strict=True))
    handles = list(found.values())
    fig.legend(handles, list(found), loc="outside lower center", ncols=columns)


def title_left(fig: "Figure", title: str) -> None:
    """A title at the left edge of the figure."""
    fig.suptitle(title, x=0.01, ha="left")


def degrees(values: Sequence[float]) -> list[float]:
    """Radians as degrees."""
    return [math.degrees(value) for value in values]
