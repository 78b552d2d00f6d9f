"""The picture of the payoff suite, from its leaderboard."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from augerino import plots
from augerino.benchmark.payoff.scoring import Entry, Leaderboard

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ZERO_LINE = "#94a3b8"
_MORE_COLORS = ("#f472b6", "#115e59", "#0f172a")  # the suite has more contestants than classes
_LINEAR = 2.0  # points around 0 that the axes show without a logarithm


def draw_board(path: Path, board: Leaderboard) -> None:
    """Differences from the standard augmentation by cell, and regret by contestant."""
    names = [rank.contestant for rank in board.ranks]
    palette = (*plots.CLASSES, *_MORE_COLORS)
    colors = {name: palette[i % len(palette)] for i, name in enumerate(names)}
    cells = list(dict.fromkeys(entry.cell for entry in board.entries))
    height = 1.6 + max(0.55 * len(cells), 0.3 * len(names))
    fig, (left, right) = plots.figure(1, 2, 11.0, height)
    _draw_differences(left, board, cells, colors=colors)
    _draw_regrets(right, board, colors)
    fig.savefig(path)


def _draw_differences(
    ax: "Axes", board: Leaderboard, cells: Sequence[str], *, colors: dict[str, str]
) -> None:
    """One row per cell, one dot with its interval per contestant."""
    shown = [name for name in colors if name != "standard"]
    for row, cell in enumerate(cells):
        by_name = {entry.contestant: entry for entry in board.of(cell)}
        for i, name in enumerate(shown):
            y = row - 0.35 + 0.7 * (i + 0.5) / len(shown)
            _draw_difference(ax, y, by_name.get(name), colors[name])
        if row:
            ax.axhline(row - 0.5, color="#e2e8f0", lw=0.6)
    ax.axvline(0, color=_ZERO_LINE, lw=1)
    units = {entry.cell: entry.is_regression for entry in board.entries}
    labels = [f"{cell} (% of the error)" if units[cell] else cell for cell in cells]
    ax.set_yticks(range(len(cells)), labels, fontsize=7)
    ax.set_ylim(len(cells) - 0.5, -0.5)
    _scale(ax)
    ax.set_title("Better than the standard augmentation by")
    ax.set_xlabel("points of accuracy, with 95 % intervals")


def _scale(ax: "Axes") -> None:
    """Linear around 0 and logarithmic beyond, with plain numbers."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    ax.set_xscale("symlog", linthresh=_LINEAR, linscale=1.0)
    ax.xaxis.set_major_locator(FixedLocator([-50, -15, -5, -2, -1, 0, 1, 2, 5, 15, 50]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}".replace("-", "−")))


def _draw_difference(ax: "Axes", y: float, entry: Entry | None, color: str) -> None:
    found = None if entry is None else entry.over_standard
    if found is None:
        return
    ax.plot([found.low, found.high], [y, y], color=color, lw=1.2, alpha=0.7)
    ax.plot(found.mean, y, "o", color=color, ms=3.5)


def _draw_regrets(ax: "Axes", board: Leaderboard, colors: dict[str, str]) -> None:
    """One row per contestant, one dot per cell, a line at the mean over accuracies."""
    for row, rank in enumerate(board.ranks):
        color = colors[rank.contestant]
        for entry in rank.entries:
            marker = "x" if entry.is_regression else "o"
            ax.plot(entry.regret, row, marker, color=color, ms=4, alpha=0.6)
        if rank.points is not None:
            ax.plot([rank.points] * 2, [row - 0.35, row + 0.35], color=color, lw=2.5)
    ax.set_yticks(range(len(board.ranks)), [rank.contestant for rank in board.ranks])
    for label, rank in zip(ax.get_yticklabels(), board.ranks, strict=True):
        label.set_color(colors[rank.contestant])
    ax.set_ylim(len(board.ranks) - 0.5, -0.5)
    _scale(ax)
    ax.set_xlim(left=-0.1)
    ax.set_title("Regret to the best of each cell")
    ax.set_xlabel("points (dots, line: mean); % of the error (crosses)")
