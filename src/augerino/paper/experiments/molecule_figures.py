"""Figures of the experiments on molecules, from their trials."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from augerino import plots
from augerino.paper.diagnostics import HaarDeviation
from augerino.paper.experiments.settings import Row
from augerino.runtime.trials import Trial, of_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = {
    "translate": plots.CLASSES[2],
    "rotate": plots.CLASSES[0],
    "squeeze": plots.CLASSES[3],
    "scale": plots.CLASSES[1],
}
BARS = {"none": plots.START, "learned": plots.LEARNED, "fixed": plots.TRUE}


def draw_errors(
    path: Path, trials: Sequence[Trial], rows: Sequence[Row], paper: Mapping[str, float | None]
) -> None:
    """The test error of every row at the most copies, a dot a seed, and a tick where the paper's number is."""
    fig, axes = plots.figure(1, 1, 7.5, 0.9 + 0.34 * len(rows))
    ax = axes[0]
    for i, row in enumerate(rows):
        values = [list(t["test"].values())[-1] for t in of_row(trials, row)]
        ax.barh(i, sum(values) / len(values), height=0.6, color=BARS[row.kind], alpha=0.75)
        ax.plot(
            values, [i] * len(values), ".", color="#0f172a", ms=4, label="seeds" if i == 0 else None
        )
        number = paper[row.name]
        if number is not None:
            ax.plot(
                [number, number],
                [i - 0.4, i + 0.4],
                color="#be185d",
                lw=2,
                label="the paper" if i == 0 else None,
            )
    ax.set_yticks(range(len(rows)), [row.name for row in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlim(left=0)
    ax.set_xlabel("mean absolute error on test molecules, meV")
    fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    fig.savefig(path)


def draw_bounds(path: Path, trials: Sequence[Trial], rows: Sequence[Row]) -> None:
    """Every bound over training, a thin line a coordinate and seed: what has a limit above, translations below."""
    fig, axes = plots.figure(2, len(rows), 3.1 * len(rows), 4.8)
    for i, row in enumerate(rows):
        for ax, kinds in (
            (axes[i], ("rotate", "squeeze", "scale")),
            (axes[len(rows) + i], ("translate",)),
        ):
            for kind in kinds:
                lines = [
                    c
                    for t in of_row(trials, row)
                    for name, c in t["curves"].items()
                    if name.startswith(kind)
                ]
                for k, line in enumerate(lines):
                    ax.plot(
                        line, color=COLORS[kind], lw=1, alpha=0.7, label=kind if k == 0 else None
                    )
            ax.set_ylim(bottom=0)
        axes[i].axhline(math.pi, color=plots.TRUE, ls="--", lw=1, label="half a turn")
        axes[i].set_title(row.name, fontsize=8)
        axes[len(rows) + i].set_xlabel("epoch")
    axes[0].set_ylabel("bound: rad, log-factor")
    axes[len(rows)].set_ylabel("bound: Å")
    handles = [ax.get_legend_handles_labels() for ax in (axes[0], axes[len(rows)])]
    fig.legend(*(a + b for a, b in zip(*handles, strict=True)), loc="outside lower center", ncols=5)
    fig.savefig(path)


def draw_haar_deviation(ax: "Axes", found: HaarDeviation, label: str = "drawn") -> None:
    """The share of rotations that turn by at most an angle, as drawn and for uniform rotations."""
    ax.plot(found.degrees, found.haar, color=plots.TRUE, ls="--", lw=1.4, label="uniform rotations")
    ax.plot(found.degrees, found.drawn, color=plots.LEARNED, lw=1.8, label=label)
    ax.fill_between(found.degrees, found.drawn, found.haar, color=plots.LEARNED, alpha=0.12, lw=0)
    ax.set_xlim(0, 180)
    ax.set_ylim(0, 1)
    ax.set_xticks(range(0, 181, 45))
    ax.set_xlabel("angle of the rotation, degrees")
    ax.set_ylabel("share that turns at most so far")
    ax.set_title(
        f"Kolmogorov {found.kolmogorov:.3f}, Wasserstein {found.wasserstein:.1f}°", fontsize=8.5
    )


def draw_haar(path: Path, trials: Sequence[Trial], rows: Sequence[Row]) -> None:
    """The angles that each learned box draws beside those of uniform rotations, seed 0."""
    fig, axes = plots.figure(1, len(rows), 3.1 * len(rows), 3.2)
    for ax, row in zip(axes, rows, strict=True):
        draw_haar_deviation(ax, HaarDeviation(**of_row(trials, row)[0]["haar"]), "learned box")
        ax.set_title(f"{row.name}\n{ax.get_title()}", fontsize=8)
    for ax in axes[1:]:
        ax.set_ylabel("")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    fig.savefig(path)
