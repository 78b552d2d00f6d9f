"""The figure of a run: the learned range of each coordinate. The report draws everything else."""

from pathlib import Path

from augerino import plots
from augerino.augmentation import Augmentation


def write_ranges(
    path: Path, augmentation: Augmentation, start: dict[str, float], true: dict[str, float]
) -> None:
    """Draws the start, the learned range and the true extent of every coordinate as a PNG file."""
    height = 0.9 + 0.42 * len(augmentation.coordinates)
    with plots.style():
        figure, axes = plots.figure(1, 1, 7.5, height)
        plots.draw_ranges(axes[0], augmentation, start, true)
        axes[0].legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
        figure.savefig(path)
