"""Figures of the recovery benchmark, from its scores."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from augerino import plots
from augerino.benchmark.contestants import CONTESTANTS
from augerino.benchmark.scoring import Score

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_intervals(path: Path, score: Score) -> None:
    """Learned and true intervals as fractions of the limit: one row per scored coordinate."""
    names = []
    intervals = []
    for problem in dict.fromkeys(outcome.problem for outcome in score.outcomes):
        outcomes = score.of(problem)
        for i, reading in enumerate(outcomes[0].readings):
            extents = [outcome.readings[i].learned / reading.limit for outcome in outcomes]
            names.append(f"{problem}  {reading.coordinate}")
            intervals.append((reading.true / reading.limit, extents))
    fig, axes = plots.figure(1, 1, 9.0, 1.2 + 0.24 * len(names))
    ax = axes[0]
    for i, (true, learned) in enumerate(intervals):
        _draw_interval(ax, i, true, learned)
    ax.set_yticks(range(len(names)), names, fontsize=7)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlim(-1.02, 1.02)
    ax.set_xticks([-1, 0, 1], ["−limit", "0", "+limit"])
    fig.suptitle(f"{score.contestant}: overlap {score.overlap}, F1 {score.f1}", x=0.01, ha="left")
    fig.legend(loc="outside lower center", ncols=2)
    fig.savefig(path)


def _draw_interval(ax: "Axes", row: int, true: float, learned: Sequence[float]) -> None:
    """The true interval, and one thinner bar per seed inside it."""
    first = row == 0
    _bar(ax, row, true, height=0.8, color=plots.TRUE, alpha=0.3, label="true" if first else None)
    height = 0.6 / len(learned)
    for seed, extent in enumerate(learned):
        _bar(
            ax,
            row - 0.3 + (seed + 0.5) * height,
            min(extent, 1.0),
            height=0.8 * height,
            color=plots.LEARNED,
            alpha=1.0,
            label="learned, one bar per seed" if first and seed == 0 else None,
        )
    for side in (-true, true):  # drawn last, because a wide bar would hide them
        ax.plot([side, side], [row - 0.4, row + 0.4], color=plots.TRUE, lw=2)


def _bar(
    ax: "Axes",
    y: float,
    extent: float,
    *,
    height: float,
    color: str,
    alpha: float,
    label: str | None,
) -> None:
    """A horizontal bar from -extent to extent."""
    ax.barh(y, 2 * extent, left=-extent, height=height, color=color, alpha=alpha, lw=0, label=label)


def draw_settings(path: Path, scores: Sequence[tuple[str, float | None, Score]]) -> None:
    """Overlap and F1 against λ or the tolerance: one curve with intervals per contestant."""
    fig, axes = plots.figure(1, 2, 9.0, 3.8)
    names = list(dict.fromkeys(name for name, _, _ in scores))
    for ax, title, measure in zip(
        axes, ("mean overlap", "F1 of the set"), ("overlap", "f1"), strict=True
    ):
        for i, name in enumerate(names):
            color = plots.CLASSES[i % len(plots.CLASSES)]
            values = [value for other, value, _ in scores if other == name]
            estimates = [getattr(score, measure) for other, _, score in scores if other == name]
            means = [estimate.mean for estimate in estimates]
            setting_name = CONTESTANTS[name].setting_name
            if not setting_name:
                ax.axhline(means[0], color=color, ls=":", lw=1.4, label=name)
                continue
            x = [value for value in values if value is not None]
            label = f"{name} ({setting_name})"
            ax.plot(x, means, "o-", color=color, lw=1.8, ms=4, label=label)
            lows = [estimate.low for estimate in estimates]
            highs = [estimate.high for estimate in estimates]
            ax.fill_between(x, lows, highs, color=color, alpha=0.12, lw=0)
        ax.set_xscale("log")
        ax.set_ylim(-0.02, 1.02)
        ax.set_title(title)
        ax.set_xlabel("λ or tolerance")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    fig.savefig(path)
