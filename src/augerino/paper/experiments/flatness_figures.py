"""Figures of flatness, from its trials: violins, spectra and rays."""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from augerino import plots
from augerino.paper.diagnostics import effective_dimension
from augerino.runtime.trials import Trial

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Trials = Sequence[Trial]  # of one row


def colors(count: int) -> list[str]:
    """Orange for no augmentation, green for the last row, by probing, and blues between, darker with λ."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    blues = [
        to_hex(colormaps["Blues"](0.4 + 0.55 * i / max(count - 3, 1))) for i in range(count - 2)
    ]
    return [plots.TRUE, *blues, plots.CLASSES[2]]


def _logarithmic(ax: "Axes") -> None:
    """A vertical axis in factors, marked at 1, 2, 5, 10 and so on as people write them."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def draw_violins(
    path: Path, names: Sequence[str], panels: Mapping[str, Sequence[Sequence[float]]]
) -> None:
    """One panel a quantity, one violin a row: its width is the density over seeds, each seed a dot. The paper's lower figure."""
    fig, axes = plots.figure(1, len(panels), 1.2 + 2.3 * len(panels), 0.9 + 0.5 * len(names))
    for ax in axes[2:]:
        ax.sharex(axes[1])  # the same quantity behind the first panel
    for ax, (title, values) in zip(axes, panels.items(), strict=True):
        for i, (color, seeds) in enumerate(zip(colors(len(names)), values, strict=True)):
            _violin(ax, i, seeds, color)
        ax.set_yticks(range(len(names)), names if ax is axes[0] else [""] * len(names))
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.set_title(title, fontsize=9)
        ax.grid(axis="x", color="#e2e8f0", lw=0.8)
        ax.set_axisbelow(True)
    fig.savefig(path)


def _violin(ax: "Axes", place: int, values: Sequence[float], color: str) -> None:
    if (
        len(values) > 2 and max(values) - min(values) > 1e-9
    ):  # a density needs several values that differ
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
    """Above: the leading eigenvalues, mean over seeds. Below: the effective dimension that they make, against z."""
    fig, axes = plots.figure(2, len(surfaces), 1.6 + 2.7 * len(surfaces), 6.2)
    levels = [10 ** (i / 8) for i in range(-8, 25)]
    for column, (key, title) in enumerate(surfaces.items()):
        above, below = axes[column], axes[column + len(surfaces)]
        for name, color, trials in zip(names, colors(len(names)), by_row, strict=True):
            spectra = [t["eigenvalues"][key] for t in trials]
            means = [statistics.mean(values) for values in zip(*spectra, strict=True)]
            above.plot(
                range(1, len(means) + 1),
                means,
                "o-",
                ms=2.5,
                lw=1.2,
                color=color,
                label=name.replace("\n", ", "),
            )
            curve = [
                statistics.mean(effective_dimension(spectrum, level) for spectrum in spectra)
                for level in levels
            ]
            below.plot(levels, curve, color=color, lw=1.6)
        _logarithmic(above)
        above.set_title(title)
        above.set_xlabel("number")
        below.set_xscale("log")
        below.axvline(z, color=plots.START, ls="--", lw=1)
        below.set_xlabel("z")
        below.set_ylim(bottom=0)
    axes[0].set_ylabel("eigenvalue of the Hessian")
    axes[len(surfaces)].set_ylabel("effective dimension")
    fig.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8
    )
    fig.savefig(path)


def draw_rays(path: Path, names: Sequence[str], by_row: Sequence[Trials]) -> None:
    """Test error and train loss along rays: each ray of each seed a thin line, their median a thick one. The upper figure."""
    kinds = {
        "plain": "distance along a plain ray",
        "filter": "length along a filter-normalised ray",
    }
    fig, axes = plots.figure(2, 2, 9.0, 6.6)
    for row, (what, label) in enumerate(
        (("test_error", "test error, %"), ("train_loss", "train loss"))
    ):
        scale = 100 if what == "test_error" else 1
        for column, (kind, length) in enumerate(kinds.items()):
            ax = axes[2 * row + column]
            for name, color, trials in zip(names, colors(len(names)), by_row, strict=True):
                lengths = trials[0]["rays"][kind]["lengths"]
                rays = [
                    [scale * value for value in ray]
                    for t in trials
                    for ray in t["rays"][kind][what]
                ]
                for ray in rays:
                    ax.plot(lengths, ray, color=color, lw=0.5, alpha=0.2)
                middle = [statistics.median(values) for values in zip(*rays, strict=True)]
                ax.plot(lengths, middle, color=color, lw=2, label=name.replace("\n", ", "))
            if what == "train_loss":
                _logarithmic(ax)
            ax.set_xlim(left=0)
            ax.set_xlabel(length)
            ax.set_ylabel(label)
    fig.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8
    )
    fig.savefig(path)
