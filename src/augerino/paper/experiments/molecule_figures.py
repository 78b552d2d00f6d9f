"""Figures of the experiment on molecules, from its trials."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from augerino import plots
from augerino.paper.diagnostics import HaarDeviation
from augerino.paper.experiments.panels import legend_below, mark_value, name_rows
from augerino.paper.experiments.settings import Row
from augerino.runtime.trials import Trial, of_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KIND_COLORS = {
    "translate": plots.CLASSES[2],
    "rotate": plots.CLASSES[0],
    "squeeze": plots.CLASSES[3],
    "scale": plots.CLASSES[1],
}
BAR_COLORS = {"none": plots.START, "learned": plots.LEARNED, "fixed": plots.TRUE}
PAPER_COLOR = "#be185d"


def draw_errors(
    path: Path, trials: Sequence[Trial], rows: Sequence[Row], paper: Mapping[str, float | None]
) -> None:
    """Test error at the most copies: one bar per row, one dot per seed, a tick for the paper."""
    fig, axes = plots.figure(1, 1, 7.5, 0.9 + 0.34 * len(rows))
    ax = axes[0]
    for i, row in enumerate(rows):
        values = [list(t["test"].values())[-1] for t in of_row(trials, row)]
        mean = sum(values) / len(values)
        ax.barh(i, mean, height=0.6, color=BAR_COLORS[row.kind], alpha=0.75)
        ax.plot(values, [i] * len(values), ".", color="#0f172a", ms=4, label="seeds")
        number = paper[row.name]
        if number is not None:
            mark_value(ax, i, number, PAPER_COLOR, label="paper")
    name_rows(ax, [row.name for row in rows])
    ax.set_xlim(left=0)
    ax.set_xlabel("mean absolute error on test molecules, meV")
    legend_below(fig, ax, columns=2)
    fig.savefig(path)


def draw_bounds(path: Path, trials: Sequence[Trial], rows: Sequence[Row]) -> None:
    """Bounds over training, translations below: one line per coordinate and seed."""
    fig, axes = plots.figure(2, len(rows), 3.1 * len(rows), 4.8)
    for i, row in enumerate(rows):
        found = of_row(trials, row)
        top = axes[i]
        bottom = axes[len(rows) + i]
        for kind in ("rotate", "squeeze", "scale"):
            _draw_curves(top, found, kind)
        _draw_curves(bottom, found, "translate")
        top.axhline(math.pi, color=plots.TRUE, ls="--", lw=1, label="π")
        top.set_title(row.name, fontsize=8)
        top.set_ylim(bottom=0)
        bottom.set_xlabel("epoch")
        bottom.set_ylim(bottom=0)
    axes[0].set_ylabel("bound: rad, log-factor")
    axes[len(rows)].set_ylabel("bound: Å")
    legend_below(fig, axes[0], axes[len(rows)], columns=5)
    fig.savefig(path)


def _draw_curves(ax: "Axes", found: Sequence[Trial], kind: str) -> None:
    """All bounds over training whose coordinate starts with `kind`."""
    for trial in found:
        for name, curve in trial["curves"].items():
            if name.startswith(kind):
                ax.plot(curve, color=KIND_COLORS[kind], lw=1, alpha=0.7, label=kind)


def draw_haar_deviation(ax: "Axes", found: HaarDeviation, label: str = "drawn") -> None:
    """Distribution functions of the rotation angle, as drawn and for uniform rotations."""
    ax.plot(found.degrees, found.haar, color=plots.TRUE, ls="--", lw=1.4, label="uniform rotations")
    ax.plot(found.degrees, found.drawn, color=plots.LEARNED, lw=1.8, label=label)
    ax.fill_between(found.degrees, found.drawn, found.haar, color=plots.LEARNED, alpha=0.12, lw=0)
    ax.set_xlim(0, 180)
    ax.set_ylim(0, 1)
    ax.set_xticks(range(0, 181, 45))
    ax.set_xlabel("angle of the rotation, degrees")
    ax.set_ylabel("cumulative fraction")
    distances = f"Kolmogorov {found.kolmogorov:.3f}, Wasserstein {found.wasserstein:.1f}°"
    ax.set_title(distances, fontsize=8.5)


def draw_haar(path: Path, trials: Sequence[Trial], rows: Sequence[Row]) -> None:
    """Rotation angles of each learned box beside those of uniform rotations, seed 0."""
    fig, axes = plots.figure(1, len(rows), 3.1 * len(rows), 3.2)
    for ax, row in zip(axes, rows, strict=True):
        draw_haar_deviation(ax, HaarDeviation(**of_row(trials, row)[0]["haar"]), "learned box")
        ax.set_title(f"{row.name}\n{ax.get_title()}", fontsize=8)
    for ax in axes[1:]:
        ax.set_ylabel("")
    legend_below(fig, axes[0], columns=2)
    fig.savefig(path)
