"""Figures of cifar10, stl10 and flatness, from their trials."""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor

import augerino as ag
from augerino import plots
from augerino.paper.experiments.panels import (
    GRID_COLOR,
    legend_below,
    mark_seeds,
    mark_value,
    name_rows,
    panel_grid,
    title_left,
)
from augerino.paper.experiments.recognition import accuracies
from augerino.paper.experiments.settings import Row
from augerino.runtime.trials import Trial, of_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Point = tuple[str, Sequence[float]]  # a name, and the accuracy of each seed


def draw_accuracy(path: Path, panels: Mapping[str, Sequence[Point]]) -> None:
    """Test accuracy, mean ± standard deviation: one line per row, one tick per seed."""
    most = max(len(points) for points in panels.values())
    fig, axes = plots.figure(1, len(panels), 2.6 + 2.6 * len(panels), 0.9 + 0.3 * most)
    for ax, (title, points) in zip(axes, panels.items(), strict=True):
        for i, (name, values) in enumerate(points):
            color = plots.LEARNED if name.startswith("Augerino") else plots.TRUE
            percents = [100 * value for value in values]
            mean = statistics.mean(percents)
            ax.errorbar(mean, i, xerr=_sd(percents), fmt="o", ms=5, capsize=3, color=color)
            ax.plot(percents, [i] * len(percents), "|", color=plots.START, ms=8)
        name_rows(ax, [name for name, _ in points], visible=ax is axes[0])
        ax.set_title(title)
        ax.set_xlabel("test accuracy, %")
        ax.grid(axis="x", color=GRID_COLOR, lw=0.8)
        ax.set_axisbelow(True)
    fig.savefig(path)


def draw_ranges(
    path: Path, trials: Sequence[Trial], rows: Mapping[str, Row], limits: Mapping[str, float]
) -> None:
    """Learned bounds as fractions of their limits: one panel per row, one bar per coordinate."""
    fig, axes, columns = panel_grid(
        len(rows), columns=3, width=2.6, height=0.8 + 0.25 * len(limits), margins=(1.4, 0.4)
    )
    for i, (ax, (title, row)) in enumerate(zip(axes, rows.items(), strict=True)):
        _draw_bounds(ax, of_row(trials, row), limits)
        name_rows(ax, list(limits), visible=i % columns == 0)
        ax.set_xlim(0, 1.02)
        ax.set_title(title, fontsize=8.5)
        ax.set_xlabel("bound / limit")
    legend_below(fig, axes[0], columns=3)
    fig.savefig(path)


def _draw_bounds(ax: "Axes", found: Sequence[Trial], limits: Mapping[str, float]) -> None:
    for i, (name, limit) in enumerate(limits.items()):
        if name not in found[0]["bounds"]:
            continue
        learned = [t["bounds"][name] / limit for t in found]
        ax.barh(
            i,
            statistics.mean(learned),
            height=0.55,
            color=plots.LEARNED,
            alpha=0.75,
            label="learned, mean over seeds",
        )
        mark_seeds(ax, i, learned, label="each seed")
        mark_value(ax, i, found[0]["start"][name] / limit, plots.START, label="start")


def draw_weights(
    path: Path,
    trials: Sequence[Trial],
    rows: Sequence[Row],
    limits: Mapping[str, float],
    references: Mapping[str, Sequence[float]],
    copies: int = 4,
) -> None:
    """Accuracy and learned bounds against λ or the tolerance: mean ± sd over seeds.

    Args:
        path: path of the figure.
        trials: trials of the experiment.
        rows: one per value of λ or of the tolerance.
        limits: limits of the coordinates.
        references: accuracies of other rows, drawn as horizontal lines.
        copies: number of copies at which the accuracy is shown.
    """
    method = rows[0].method
    x_label = "λ"
    if method == "probe":
        x_label = "tolerance"
    settings = [_setting(row) for row in rows]
    by_row = [of_row(trials, row) for row in rows]
    fig, axes = plots.figure(1, 2, 8.6, 4.0)
    left, right = axes

    percents = [[100 * value for value in accuracies(found, copies)] for found in by_row]
    _draw_curve(left, settings, percents, color=plots.LEARNED, label=method)
    colors = (plots.START, plots.TRUE, plots.CLASSES[2])
    for color, (name, values) in zip(colors, references.items(), strict=False):
        left.axhline(100 * statistics.mean(values), color=color, ls="--", lw=1.4, label=name)
    left.set_ylabel(f"test accuracy at {copies} copies, %")

    for color, (name, limit) in zip(plots.CLASSES, limits.items(), strict=False):
        if all(name in t["bounds"] for found in by_row for t in found):
            bounds = [[t["bounds"][name] / limit for t in found] for found in by_row]
            _draw_curve(right, settings, bounds, color=color, label=name)
    right.set_ylabel("learned bound / limit")
    right.set_ylim(bottom=0)

    for ax in axes:
        ax.set_xscale("log")
        ax.set_xlabel(x_label)
        ax.legend(fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3)
    fig.savefig(path)


def _setting(row: Row) -> float:
    """λ, or the tolerance of a row by probing."""
    if row.method == "probe":
        return row.tolerance or 0.0
    return row.reg_weight


def _draw_curve(
    ax: "Axes",
    x: Sequence[float],
    values: Sequence[Sequence[float]],
    color: str,
    label: str,
) -> None:
    """Mean ± standard deviation over seeds against x."""
    ax.errorbar(
        x,
        [statistics.mean(seeds) for seeds in values],
        [_sd(seeds) for seeds in values],
        fmt="o-",
        ms=4,
        capsize=2,
        color=color,
        label=label,
    )


def _sd(values: Sequence[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0


def draw_gallery(
    path: Path, augmentation: ag.Augmentation, bounds: Mapping[str, float], x: Tensor, title: str
) -> None:
    """Images, and below each three samples at the learned bounds: the paper's Figure 9.

    x: (B, C, H, W) bytes
    """
    augmentation.extent = {name: max(bound, 1e-6) for name, bound in bounds.items()}
    strips = plots.sample_gallery(augmentation, x.float() / 255, 3)
    fig, axes = plots.figure(strips.shape[1], len(x), 1.15 * len(x), 1.15 * strips.shape[1] + 0.5)
    for ax, image in zip(axes, strips.transpose(0, 1).flatten(0, 1), strict=True):
        plots.draw_image(ax, image)
    title_left(fig, f"{title}: originals, and three samples each")
    fig.savefig(path)
