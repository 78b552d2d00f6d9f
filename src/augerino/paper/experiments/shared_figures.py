"""Figures that several experiments share, from their trials."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from torch import Tensor

from augerino import plots
from augerino.paper.experiments.settings import Row
from augerino.runtime.trials import Trial, of_row


def draw_samples(path: Path, x: Tensor, title: str, labels: Sequence[str] = ()) -> None:
    """A strip of pictures."""
    columns = min(len(x), 8)
    count = -(-len(x) // columns)
    fig, axes = plots.figure(count, columns, 1.1 * columns, 1.2 * count + 0.4)
    for i, (ax, image) in enumerate(zip(axes, x, strict=False)):
        plots.draw_image(ax, image, labels[i] if labels else "")
    for ax in axes[len(x) :]:
        ax.remove()
    fig.suptitle(title, x=0.01, ha="left")
    fig.savefig(path)


def draw_start_and_learned(
    path: Path,
    trials: Sequence[Trial],
    rows: Sequence[Row],
    limit: float,
    true: float | None = None,
) -> None:
    """Where the rotation started and where it ended, one bar a row, a dot a seed."""
    fig, axes = plots.figure(1, 1, 7.5, 0.9 + 0.36 * len(rows))
    ax = axes[0]
    for i, row in enumerate(rows):
        found = of_row(trials, row)
        ends = [min(math.degrees(t["bounds"]["rotate"]), 1.1 * math.degrees(limit)) for t in found]
        mean = sum(ends) / len(ends)
        ax.barh(
            i,
            2 * mean,
            left=-mean,
            height=0.5,
            color=plots.LEARNED,
            alpha=0.75,
            label="learned" if i == 0 else None,
        )
        ax.plot(
            ends,
            [i] * len(ends),
            "|",
            color="#1e3a8a",
            ms=9,
            mew=1.5,
            label="seeds" if i == 0 else None,
        )
        start = math.degrees(found[0]["start"]["rotate"])
        for side in (-start, start):
            ax.plot(
                [side, side],
                [i - 0.34, i + 0.34],
                color=plots.START,
                lw=2,
                label="start" if i == 0 and side > 0 else None,
            )
    if true is not None:
        for side in (-true, true):
            label = "true extent" if side > 0 else None
            ax.axvline(math.degrees(side), color=plots.TRUE, ls="--", lw=1.4, label=label)
    ax.set_yticks(range(len(rows)), [row.name for row in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlim(-1.08 * math.degrees(limit), 1.08 * math.degrees(limit))
    ax.set_xlabel("rotation, degrees")
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4)
    fig.savefig(path)


def draw_bounds_over_training(
    path: Path, trials: Sequence[Trial], rows: Sequence[Row], true: float | None = None
) -> None:
    """Every coordinate's bound over training, one panel a row, seed 0."""
    columns = min(len(rows), 3)
    count = -(-len(rows) // columns)
    fig, axes = plots.figure(count, columns, 3.4 * columns, 2.4 * count + 0.5)
    for ax, row in zip(axes, rows, strict=False):
        curves = of_row(trials, row)[0]["curves"]
        names = [name for name in curves if name != "loss"]
        for i, name in enumerate(names):
            style = {"lw": 2.2} if name == "rotate" else {"lw": 1.2, "alpha": 0.8}
            ax.plot(curves[name], color=plots.CLASSES[i], label=name, **style)  # type: ignore[arg-type]
        if true is not None:
            ax.axhline(true, color=plots.TRUE, ls="--", lw=1.2)
        ax.set_title(row.name, fontsize=8.5)
        ax.set_xlabel("epoch")
        ax.set_ylim(bottom=0)
    axes[0].set_ylabel("bound")
    for ax in axes[len(rows) :]:
        ax.remove()
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    fig.savefig(path)


def draw_orbits(
    path: Path,
    named: Mapping[str, Sequence[Trial]],
    angles: Sequence[float],
    label: str,
    true: float | None = None,
) -> None:
    """One curve a row, seed 0: what the model says of one input while it turns."""
    fig, axes = plots.figure(1, 1, 7.5, 3.6)
    ax = axes[0]
    for i, (name, found) in enumerate(named.items()):
        if found:
            ax.plot(
                [math.degrees(a) for a in angles],
                found[0]["orbit"],
                color=plots.CLASSES[i % len(plots.CLASSES)],
                lw=1.8,
                label=name,
            )
    if true is not None:
        for side in (-true, true):
            ax.axvline(math.degrees(side), color=plots.TRUE, ls="--", lw=1.2)
    ax.set_xlabel("input turned by, degrees")
    ax.set_ylabel(label)
    if "probability" in label:
        ax.set_ylim(-0.03, 1.03)
    fig.legend(loc="outside lower center", ncols=2)
    fig.savefig(path)
