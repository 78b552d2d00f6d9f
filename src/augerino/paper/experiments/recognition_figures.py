"""Figures of cifar10 and stl10, from their trials."""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from torch import Tensor

import augerino as ag
from augerino import plots
from augerino.paper.experiments.settings import Row
from augerino.runtime.trials import Trial, of_row

Point = tuple[str, Sequence[float]]  # a name and an accuracy for each seed


def draw_accuracy(path: Path, panels: Mapping[str, Sequence[Point]]) -> None:
    """One panel a part, one line a row: a dot for each seed, and the mean with its standard deviation."""
    most = max(len(points) for points in panels.values())
    fig, axes = plots.figure(1, len(panels), 2.6 + 2.6 * len(panels), 0.9 + 0.3 * most)
    for ax, (title, points) in zip(axes, panels.items(), strict=True):
        for i, (name, values) in enumerate(points):
            color = plots.LEARNED if name.startswith("Augerino") else plots.TRUE
            shares = [100 * value for value in values]
            spread = statistics.stdev(shares) if len(shares) > 1 else 0.0
            ax.errorbar(
                statistics.mean(shares), i, xerr=spread, fmt="o", ms=5, capsize=3, color=color
            )
            ax.plot(shares, [i] * len(shares), "|", color=plots.START, ms=8)
        shown = ax is axes[0]
        ax.set_yticks(
            range(len(points)), [name for name, _ in points] if shown else [""] * len(points)
        )
        ax.set_ylim(len(points) - 0.5, -0.5)
        ax.set_title(title)
        ax.set_xlabel("test accuracy, %")
        ax.grid(axis="x", color="#e2e8f0", lw=0.8)
        ax.set_axisbelow(True)
    fig.savefig(path)


def draw_ranges(
    path: Path, trials: Sequence[Trial], rows: Mapping[str, Row], limits: Mapping[str, float]
) -> None:
    """One panel a row, three in a line: each learned bound as a share of its limit."""
    columns = min(len(rows), 3)
    count = -(-len(rows) // columns)
    fig, axes = plots.figure(
        count, columns, 1.4 + 2.6 * columns, 0.4 + count * (0.8 + 0.25 * len(limits))
    )
    for place, (ax, (title, row)) in enumerate(zip(axes, rows.items(), strict=False)):
        found = of_row(trials, row)
        for i, (name, limit) in enumerate(limits.items()):
            if name not in found[0]["bounds"]:
                continue
            ends = [t["bounds"][name] / limit for t in found]
            ax.barh(
                i,
                statistics.mean(ends),
                height=0.55,
                color=plots.LEARNED,
                alpha=0.75,
                label="learned, mean over seeds",
            )
            ax.plot(ends, [i] * len(ends), "|", color="#1e3a8a", ms=8, mew=1.4, label="each seed")
            start = found[0]["start"][name] / limit
            ax.plot([start, start], [i - 0.36, i + 0.36], color=plots.START, lw=2, label="start")
        ax.set_yticks(range(len(limits)), [""] * len(limits) if place % columns else list(limits))
        ax.set_ylim(len(limits) - 0.5, -0.5)
        ax.set_xlim(0, 1.02)
        ax.set_title(title, fontsize=8.5)
        ax.set_xlabel("bound, of its limit")
    for ax in axes[len(rows) :]:
        ax.remove()
    handles, labels = axes[0].get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    fig.legend(unique.values(), unique.keys(), loc="outside lower center", ncols=3)
    fig.savefig(path)


def draw_weights(
    path: Path,
    trials: Sequence[Trial],
    rows: Sequence[Row],
    limits: Mapping[str, float],
    beside: Mapping[str, Sequence[float]],
    copies: int = 4,
) -> None:
    """Accuracy and learned bounds against λ or the tolerance: mean and deviation over seeds; other rows as level lines."""
    fig, axes = plots.figure(1, 2, 8.6, 4.0)
    probed = rows[0].method == "probe"
    weights = [(row.tolerance or 0.0) if probed else row.weight for row in rows]
    shares = [[100 * t["accuracy"][str(copies)] for t in of_row(trials, row)] for row in rows]
    axes[0].errorbar(
        weights,
        *_mean_and_spread(shares),
        fmt="o-",
        color=plots.LEARNED,
        capsize=3,
        label=f"by {'probing' if probed else 'gradient'}",
    )
    for color, (name, values) in zip(
        (plots.START, plots.TRUE, plots.CLASSES[2]), beside.items(), strict=False
    ):
        axes[0].axhline(100 * statistics.mean(values), color=color, ls="--", lw=1.4, label=name)
    axes[0].set_ylabel(f"test accuracy at {copies} copies, %")
    for i, (name, limit) in enumerate(limits.items()):
        if all(name in t["bounds"] for row in rows for t in of_row(trials, row)):
            bounds = [[t["bounds"][name] / limit for t in of_row(trials, row)] for row in rows]
            axes[1].errorbar(
                weights,
                *_mean_and_spread(bounds),
                fmt="o-",
                ms=4,
                capsize=2,
                color=plots.CLASSES[i],
                label=name,
            )
    axes[1].set_ylabel("learned bound, of its limit")
    axes[1].set_ylim(bottom=0)
    for ax in axes:
        ax.set_xscale("log")
        ax.set_xlabel("tolerance" if probed else "λ")
        ax.legend(fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3)
    fig.savefig(path)


def _mean_and_spread(values: Sequence[Sequence[float]]) -> tuple[list[float], list[float]]:
    return [statistics.mean(v) for v in values], [
        statistics.stdev(v) if len(v) > 1 else 0.0 for v in values
    ]


def draw_gallery(
    path: Path, augmentation: ag.Augmentation, bounds: Mapping[str, float], x: Tensor, title: str
) -> None:
    """Each image as it is, then under three draws of the augmentation at the learned bounds: the paper's Figure 9.

    x: (B, C, H, W) bytes
    """
    augmentation.extent = {name: max(bound, 1e-6) for name, bound in bounds.items()}
    strips = plots.sample_gallery(augmentation, x.float() / 255, 3)
    fig, axes = plots.figure(strips.shape[1], len(x), 1.15 * len(x), 1.15 * strips.shape[1] + 0.5)
    for i, image in enumerate(strips.transpose(0, 1).flatten(0, 1)):
        plots.draw_image(axes[i], image)
    fig.suptitle(f"{title}: as they are, and three draws each", x=0.01, ha="left")
    fig.savefig(path)
