"""Figures that several image experiments share, drawn from their trials."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from augerino import plots
from augerino.paper.experiments.panels import (
    degrees,
    legend_below,
    mark_seeds,
    mark_value,
    name_rows,
    panel_grid,
    title_left,
)
from augerino.paper.experiments.settings import Row
from augerino.runtime.trials import Trial, of_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_samples(path: Path, x: Tensor, title: str, labels: Sequence[str] = ()) -> None:
    """Images in rows of eight, with a label above each.   x: (N, C, H, W)"""
    fig, axes, _ = panel_grid(len(x), columns=8, width=1.1, height=1.2, margins=(0, 0.4))
    captions = labels or [""] * len(x)
    for ax, image, caption in zip(axes, x, captions, strict=True):
        plots.draw_image(ax, image, caption)
    title_left(fig, title)
    fig.savefig(path)


def draw_start_and_learned(
    path: Path,
    trials: Sequence[Trial],
    rows: Sequence[Row],
    limit: float,
    true: float | None = None,
) -> None:
    """Start and learned range of the rotation: one bar per row, one tick per seed."""
    fig, axes = plots.figure(1, 1, 7.5, 0.9 + 0.36 * len(rows))
    ax = axes[0]
    edge = math.degrees(limit)
    for i, row in enumerate(rows):
        found = of_row(trials, row)
        learned = degrees([trial["bounds"]["rotate"] for trial in found])
        _draw_range(ax, i, [min(value, 1.1 * edge) for value in learned])
        start = math.degrees(found[0]["start"]["rotate"])
        mark_value(ax, i, -start, plots.START)
        mark_value(ax, i, start, plots.START, label="start" if i == 0 else None)
    if true is not None:
        _mark_true_extent(ax, true, label="true extent")
    name_rows(ax, [row.name for row in rows])
    ax.set_xlim(-1.08 * edge, 1.08 * edge)
    ax.set_xlabel("rotation, degrees")
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4)
    fig.savefig(path)


def _draw_range(ax: "Axes", row: int, ends: Sequence[float]) -> None:
    """The mean range ±end as a bar, and the end of each seed as a tick."""
    mean = sum(ends) / len(ends)
    bar_label = None
    seed_label = None
    if row == 0:
        bar_label = "learned"
        seed_label = "seeds"
    ax.barh(
        row,
        2 * mean,
        left=-mean,
        height=0.5,
        color=plots.LEARNED,
        alpha=0.75,
        label=bar_label,
    )
    mark_seeds(ax, row, ends, label=seed_label)


def _mark_true_extent(ax: "Axes", true: float, label: str | None = None) -> None:
    style = {"color": plots.TRUE, "ls": "--", "lw": 1.3}
    ax.axvline(-math.degrees(true), **style)  # type: ignore[arg-type]
    ax.axvline(math.degrees(true), label=label, **style)  # type: ignore[arg-type]


def draw_bounds_over_training(
    path: Path, trials: Sequence[Trial], rows: Sequence[Row], true: float | None = None
) -> None:
    """The bound of every coordinate over training: one panel per row, seed 0."""
    fig, axes, _ = panel_grid(len(rows), columns=3, width=3.4, height=2.4, margins=(0, 0.5))
    for ax, row in zip(axes, rows, strict=True):
        curves = of_row(trials, row)[0]["curves"]
        names = [name for name in curves if name != "loss"]
        for name, color in zip(names, plots.CLASSES, strict=False):
            style: dict[str, Any] = {"lw": 1.2, "alpha": 0.8}
            if name == "rotate":
                style = {"lw": 2.2, "alpha": 1.0}
            ax.plot(curves[name], color=color, label=name, **style)
        if true is not None:
            ax.axhline(true, color=plots.TRUE, ls="--", lw=1.2)
        ax.set_title(row.name, fontsize=8.5)
        ax.set_xlabel("epoch")
        ax.set_ylim(bottom=0)
    axes[0].set_ylabel("bound")
    legend_below(fig, axes[0], columns=6)
    fig.savefig(path)


def draw_orbits(
    path: Path,
    named: Mapping[str, Sequence[Trial]],
    angles: Sequence[float],
    label: str,
    true: float | None = None,
) -> None:
    """The prediction for one rotated input against the angle: one curve per row, seed 0."""
    fig, axes = plots.figure(1, 1, 7.5, 3.6)
    ax = axes[0]
    for i, (name, found) in enumerate(named.items()):
        if found:
            color = plots.CLASSES[i % len(plots.CLASSES)]
            ax.plot(degrees(angles), found[0]["orbit"], color=color, lw=1.8, label=name)
    if true is not None:
        _mark_true_extent(ax, true)
    ax.set_xlabel("rotation of the input, degrees")
    ax.set_ylabel(label)
    if "probability" in label:
        ax.set_ylim(-0.03, 1.03)
    legend_below(fig, ax, columns=2)
    fig.savefig(path)
