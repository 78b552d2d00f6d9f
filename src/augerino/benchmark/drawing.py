"""Figures of the recovery benchmark, from its scores."""

from collections.abc import Sequence
from pathlib import Path

from augerino import plots
from augerino.benchmark import CONTESTANTS, Score


def draw_intervals(path: Path, score: Score) -> None:
    """One row a problem and scored coordinate: the learned interval of every seed over the true one, as shares of the limit."""
    rows = []
    for problem in dict.fromkeys(outcome.problem for outcome in score.outcomes):
        outcomes = score.of(problem)
        for i, reading in enumerate(outcomes[0].readings):
            learned = [
                min(outcome.readings[i].learned / reading.limit, 1.0) for outcome in outcomes
            ]
            rows.append((f"{problem}  {reading.coordinate}", reading.true / reading.limit, learned))
    fig, axes = plots.figure(1, 1, 9.0, 1.2 + 0.24 * len(rows))
    ax = axes[0]
    for i, (_, true, learned) in enumerate(rows):
        first = i == 0
        ax.barh(
            i,
            2 * true,
            left=-true,
            height=0.8,
            color=plots.TRUE,
            alpha=0.3,
            lw=0,
            label="true" if first else None,
        )
        for j, extent in enumerate(learned):
            height = 0.6 / len(learned)
            y = i - 0.3 + (j + 0.5) * height
            label = "learned, a bar a seed" if first and j == 0 else None
            ax.barh(
                y,
                2 * extent,
                left=-extent,
                height=0.8 * height,
                color=plots.LEARNED,
                lw=0,
                label=label,
            )
        for side in (
            -true,
            true,
        ):  # over the bars, or a wide one would hide where it should have ended
            ax.plot([side, side], [i - 0.4, i + 0.4], color=plots.TRUE, lw=2)
    ax.set_yticks(range(len(rows)), [name for name, _, _ in rows], fontsize=7)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlim(-1.02, 1.02)
    ax.set_xticks([-1, 0, 1], ["−limit", "0", "+limit"])
    fig.suptitle(f"{score.contestant}: overlap {score.overlap}, F1 {score.f1}", x=0.01, ha="left")
    fig.legend(loc="outside lower center", ncols=2)
    fig.savefig(path)


def draw_settings(path: Path, found: Sequence[tuple[str, float | None, Score]]) -> None:
    """Overlap and F1 against the one number that a contestant has: a curve each, with intervals, and flat lines for the rest."""
    fig, axes = plots.figure(1, 2, 9.0, 3.8)
    for i, name in enumerate(dict.fromkeys(name for name, _, _ in found)):
        own = [(value, score) for other, value, score in found if other == name]
        knob, color = CONTESTANTS[name].knob, plots.CLASSES[i % len(plots.CLASSES)]
        for ax, measure in zip(axes, ("overlap", "f1"), strict=True):
            estimates = [getattr(score, measure) for _, score in own]
            means = [estimate.mean for estimate in estimates]
            if not knob:
                ax.axhline(means[0], color=color, ls=":", lw=1.4, label=name)
                continue
            values = [value for value, _ in own if value is not None]
            ax.plot(values, means, "o-", color=color, lw=1.8, ms=4, label=f"{name} ({knob})")
            ax.fill_between(
                values,
                [e.low for e in estimates],
                [e.high for e in estimates],
                color=color,
                alpha=0.12,
                lw=0,
            )
    for ax, title in zip(axes, ("mean overlap", "F1 of the set"), strict=True):
        ax.set_xscale("log")
        ax.set_ylim(-0.02, 1.02)
        ax.set_title(title)
        ax.set_xlabel("λ, or the tolerance")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    fig.savefig(path)
