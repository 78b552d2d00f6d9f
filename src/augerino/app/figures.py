"""The figures of a run, from its files and its data."""

from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor

from augerino import plots
from augerino.augmentation import Augmentation
from augerino.diagnostics import Orbit
from augerino.training.state import History

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_all(
    folder: Path,
    *,
    augmentation: Augmentation,
    history: History,
    start: dict[str, float],
    true: dict[str, float],
    examples: Tensor | None,
    class_names: tuple[str, ...],
    orbits: dict[str, Orbit],
) -> None:
    """Writes ranges, distributions, bounds, gallery and orbit as PNG files."""
    coordinates = {coordinate.name: coordinate for coordinate in augmentation.coordinates}
    with plots.style():
        fig, axes = plots.figure(1, 1, 7.5, 0.9 + 0.42 * len(coordinates))
        plots.draw_ranges(axes[0], augmentation, start, true)
        axes[0].legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
        fig.savefig(folder / "ranges.png")

        fig, axes = _panels(len(coordinates))
        for ax, (name, coordinate) in zip(axes, coordinates.items(), strict=True):
            plots.draw_distribution(ax, coordinate, start[name], true.get(name))
        fullest = max(
            (ax.get_legend_handles_labels() for ax in axes), key=lambda pair: len(pair[1])
        )
        fig.legend(*fullest, loc="outside upper right", ncols=3)
        fig.suptitle("Distribution of each coordinate, at the start and learned", x=0.01, ha="left")
        fig.savefig(folder / "distributions.png")

        fig, axes = _panels(len(coordinates))
        for ax, (name, coordinate) in zip(axes, coordinates.items(), strict=True):
            plots.draw_extent(ax, history, coordinate, start[name], true.get(name))
        fig.suptitle("Bounds over training", x=0.01, ha="left")
        fig.savefig(folder / "bounds.png")

        if examples is not None:
            gallery = plots.sample_gallery(augmentation, examples, copies=7)
            fig, axes = plots.figure(
                gallery.shape[0],
                gallery.shape[1],
                1.1 * gallery.shape[1],
                1.1 * gallery.shape[0] + 0.4,
            )
            for i, ax in enumerate(axes):
                row, column = divmod(i, gallery.shape[1])
                plots.draw_image(ax, gallery[row, column], "input" if i == 0 else "")
            fig.suptitle("Inputs (left) and samples of the learned augmentation", x=0.01, ha="left")
            fig.savefig(folder / "gallery.png")

        if orbits:
            fig, axes = plots.figure(1, len(orbits), 4.2 * len(orbits), 3.2)
            for ax, (title, curve) in zip(axes, orbits.items(), strict=True):
                plots.draw_orbit(
                    ax,
                    curve,
                    coordinates[curve.coordinate],
                    class_names,
                    true.get(curve.coordinate),
                )
                ax.set_title(title)
            fig.legend(
                *axes[0].get_legend_handles_labels(),
                loc="outside lower center",
                ncols=len(class_names),
            )
            fig.savefig(folder / "orbit.png")


def _panels(count: int) -> "tuple[Figure, list[Axes]]":
    columns = min(count, 3)
    rows = -(-count // columns)
    fig, axes = plots.figure(rows, columns, 3.0 * columns, 2.1 * rows + 0.5)
    for ax in axes[count:]:
        ax.remove()
    return fig, axes[:count]
