"""Figures of flatness, from its trials: violins, spectra and rays."""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from augerino import plots
from augerino.paper.diagnostics import effective_dimension
from augerino.paper.experiments.panels import GRID_COLOR, legend_below
from augerino.runtime.trials import Trial

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Trials = Sequence[Trial]  # the trials of one row


def colors(count: int) -> list[str]:
    """Orange for the first row (no augmentation), green for the last (probe), blues between."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    n_blues = count - 2
    depths = [0.4 + 0.55 * i / max(n_blues - 1, 1) for i in range(n_blues)]
    return [
        plots.TRUE,
        *(to_hex(colormaps["Blues"](depth)) for depth in depths),
        plots.CLASSES[2],
    ]


def _set_log_scale(ax: "Axes") -> None:
    """A logarithmic vertical axis with ticks at 1, 2, 5, 10, ..."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def draw_violins(
    path: Path, names: Sequence[str], panels: Mapping[str, Sequence[Sequence[float]]]
) -> None:
    """Densities over seeds: one panel per quantity, one violin per row (the lower figure)."""
    fig, axes = plots.figure(1, len(panels), 1.2 + 2.3 * len(panels), 0.9 + 0.5 * len(names))
    for ax in axes[2:]:
        ax.sharex(axes[1])  # all panels but the first show the same quantity
    for ax, (title, values) in zip(axes, panels.items(), strict=True):
        for i, (color, seeds) in enumerate(zip(colors(len(names)), values, strict=True)):
            _draw_violin(ax, i, seeds, color)
        ax.set_yticks(range(len(names)), names if ax is axes[0] else [""] * len(names))
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.set_title(title, fontsize=9)
        ax.grid(axis="x", color=GRID_COLOR, lw=0.8)
        ax.set_axisbelow(True)
    fig.savefig(path)


def _draw_violin(ax: "Axes", place: int, values: Sequence[float], color: str) -> None:
    # A density needs several distinct values.
    if len(values) > 2 and max(values) - min(values) > 1e-9:
        parts = ax.violinplot(
            [list(values)], [place], orientation="horizontal", widths=0.8, showextrema=False
        )
        for body in parts["bodies"]:  # type: ignore[attr-defined]
            body.set(facecolor=color, alpha=0.35, edgecolor=color)
    ax.plot(values, [place] * len(values), "o", color=color, ms=3.5, mec="white", mew=0.5)
    ax.plot([statistics.mean(values)] * 2, [place - 0.25, place + 0.25], color=color, lw=2)


def draw_spectra(
    path: Path,
    names: Sequence[str],
    by_row: Sequence[Trials],
    surfaces: Mapping[str, str],
    z: float,
) -> None:
    """Largest eigenvalues (top) and effective dimension against z (bottom): means over seeds."""
    fig, axes = plots.figure(2, len(surfaces), 1.6 + 2.7 * len(surfaces), 6.2)
    levels = [10 ** (i / 8) for i in range(-8, 25)]
    for column, (key, title) in enumerate(surfaces.items()):
        top = axes[column]
        bottom = axes[column + len(surfaces)]
        for name, color, trials in zip(names, colors(len(names)), by_row, strict=True):
            spectra = [t["eigenvalues"][key] for t in trials]
            means = [statistics.mean(values) for values in zip(*spectra, strict=True)]
            numbers = range(1, len(means) + 1)
            label = name.replace("\n", ", ")
            top.plot(numbers, means, "o-", ms=2.5, lw=1.2, color=color, label=label)
            curve = [_mean_dimension(spectra, level) for level in levels]
            bottom.plot(levels, curve, color=color, lw=1.6)
        _set_log_scale(top)
        top.set_title(title)
        top.set_xlabel("index of the eigenvalue")
        bottom.set_xscale("log")
        bottom.axvline(z, color=plots.START, ls="--", lw=1)
        bottom.set_xlabel("z")
        bottom.set_ylim(bottom=0)
    axes[0].set_ylabel("eigenvalue of the Hessian")
    axes[len(surfaces)].set_ylabel("effective dimension")
    legend_below(fig, axes[0], columns=3)
    fig.savefig(path)


def _mean_dimension(spectra: Sequence[Sequence[float]], z: float) -> float:
    return statistics.mean(effective_dimension(spectrum, z) for spectrum in spectra)


def draw_rays(path: Path, names: Sequence[str], by_row: Sequence[Trials]) -> None:
    """Test error and train loss along rays, with the median in bold (the upper figure)."""
    panels = (
        ("test_error", "plain"),
        ("test_error", "filter"),
        ("train_loss", "plain"),
        ("train_loss", "filter"),
    )
    quantities = {"test_error": "test error, %", "train_loss": "train loss"}
    lengths = {
        "plain": "distance along a plain ray",
        "filter": "length along a filter-normalized ray",
    }
    fig, axes = plots.figure(2, 2, 9.0, 6.6)
    for ax, (quantity, kind) in zip(axes, panels, strict=True):
        for name, color, trials in zip(names, colors(len(names)), by_row, strict=True):
            x = trials[0]["rays"][kind]["lengths"]
            rays = [ray for t in trials for ray in t["rays"][kind][quantity]]
            if quantity == "test_error":
                rays = [[100 * value for value in ray] for ray in rays]
            for ray in rays:
                ax.plot(x, ray, color=color, lw=0.5, alpha=0.2)
            median = [statistics.median(values) for values in zip(*rays, strict=True)]
            ax.plot(x, median, color=color, lw=2, label=name.replace("\n", ", "))
        if quantity == "train_loss":
            _set_log_scale(ax)
        ax.set_xlim(left=0)
        ax.set_xlabel(lengths[kind])
        ax.set_ylabel(quantities[quantity])
    legend_below(fig, axes[0], columns=3)
    fig.savefig(path)
