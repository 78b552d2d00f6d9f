"""Figures of the segmentation experiment, from its trials and scenes."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from augerino import plots
from augerino.augmentation import Augmentation
from augerino.data.arrays import IGNORE
from augerino.data.published.camvid import COLORS
from augerino.distributions import Gaussian
from augerino.paper.experiments.panels import degrees, legend_below, title_left
from augerino.paper.experiments.settings import Row
from augerino.runtime.trials import Trial, of_row
from augerino.transforms import Affine2d, RotoTranslate2d

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LETTERS = "abcdefghijk"  # one per class
_UNKNOWN = "."  # an ignored pixel
_CHANGED_COLOR = (220, 38, 38)
_LINE_STYLES = {"trained on": "-", "not seen": "--"}
_PART_NAMES = {"trained on": "training scenes", "not seen": "test scenes"}


def to_text(labels: Tensor) -> list[list[str]]:
    """Label maps as compact JSON: one list per map, one string per row, one letter per pixel.

    labels: (N, H, W)

    Example:
        >>> to_text(torch.tensor([[[0, 2], [255, 1]]]))
        [['ac', '.b']]
    """
    letters = dict(enumerate(_LETTERS)) | {IGNORE: _UNKNOWN}
    return [["".join(letters[label] for label in row) for row in one] for one in labels.tolist()]


def from_text(maps: Sequence[Sequence[str]]) -> Tensor:
    """Inverse of `to_text`, (N, H, W)."""
    labels = {letter: i for i, letter in enumerate(_LETTERS)} | {_UNKNOWN: IGNORE}
    return torch.tensor([[[labels[letter] for letter in row] for row in one] for one in maps])


def colored(labels: Tensor) -> Tensor:
    """Label maps in CamVid's colors, black where ignored.   (N, H, W) -> (N, 3, H, W) in [0, 1]"""
    table = torch.zeros(IGNORE + 1, 3)
    table[: len(COLORS)] = torch.tensor(list(COLORS.values())) / 255
    return table[labels.long()].permute(0, 3, 1, 2)


def draw_data(path: Path, x: Tensor, y: Tensor) -> None:
    """Scenes above their labels.   x: (N, 3, H, W) bytes   y: (N, H, W)"""
    fig, axes = plots.figure(2, len(x), 1.7 * len(x), 3.2)
    for ax, image in zip(axes, [*(x.float() / 255), *colored(y)], strict=True):
        plots.draw_image(ax, image)
    _class_legend(fig)
    title_left(fig, "rotCamVid: each scene rotated once; black pixels are ignored")
    fig.savefig(path)


def _class_legend(fig: "Figure") -> None:
    from matplotlib.patches import Patch

    patches = []
    for name, rgb in COLORS.items():
        red, green, blue = (value / 255 for value in rgb)
        patches.append(Patch(color=(red, green, blue), label=name))
    fig.legend(handles=patches, loc="outside lower center", ncols=6, fontsize=8)


def _set_row_title(ax: "Axes", row: Row) -> None:
    """The row's name above its first image, with λ on a second line."""
    ax.set_title(row.name.replace(", λ", "\nλ"), loc="left", fontsize=8)


def draw_samples(
    path: Path,
    scene: Tensor,
    trials: Sequence[Trial],
    learned: Sequence[Row],
    rigid: RotoTranslate2d,
) -> None:
    """A scene and three samples of it from each learned distribution, seed 0.

    scene: (3, H, W) bytes
    """
    x = scene[None].float() / 255
    fig, axes = plots.figure(len(learned), 4, 7.2, 1.75 * len(learned) + 0.2)
    for i, row in enumerate(learned):
        found = of_row(trials, row)[0]["distribution"]
        augmentation = Augmentation(rigid, Gaussian(found["loc"], found["scale_tril"]))
        original = rigid(x, torch.zeros(1, 3))[0]
        with torch.no_grad():
            g = augmentation.sample(3, torch.Generator().manual_seed(0))
            samples = g(x.expand(3, -1, -1, -1))
        for j, image in enumerate([original, *samples]):
            title = f"sample {j}" if j > 0 else ""
            plots.draw_image(axes[4 * i + j], image, title)
        _set_row_title(axes[4 * i], row)
    fig.savefig(path)


def draw_spreads(path: Path, trials: Sequence[Trial], learned: Sequence[Row]) -> None:
    """Standard deviations of rotation (left) and translations (right): one line per seed."""
    fig, axes = plots.figure(1, 2, 8.6, 3.4)
    rotation, translations = axes
    for color, row in zip(plots.CLASSES, learned, strict=False):
        for found in of_row(trials, row):
            curves = found["curves"]
            rotation.plot(degrees(curves["rotate"]), color=color, lw=1.8, label=row.name)
            translations.plot(curves["translate_x"], color=color, lw=1.4, ls="-")
            translations.plot(curves["translate_y"], color=color, lw=1.4, ls="--")
    rotation.axhline(180, color=plots.START, lw=1, ls=":")
    rotation.text(0, 180, " limit", color=plots.START, va="top", fontsize=8)
    rotation.set_title("rotation")
    rotation.set_ylabel("standard deviation, degrees")
    translations.set_title("translations (x solid, y dashed)")
    translations.set_ylabel("standard deviation, pixels")
    for ax in axes:
        ax.set_xlabel("epoch")
        ax.locator_params(axis="x", integer=True)
        ax.set_ylim(bottom=0)
    legend_below(fig, rotation, columns=2)
    fig.savefig(path)


def draw_losses(
    path: Path,
    trials: Sequence[Trial],
    learned: Sequence[Row],
    scales: Mapping[str, Sequence[float]],
) -> None:
    """Increase of the loss with the scale of the augmentation: mean over seeds."""
    fig, axes = plots.figure(1, 2, 8.6, 3.4)
    rotation, translations = axes
    for color, row in zip(plots.CLASSES, learned, strict=False):
        found = [trial["losses"] for trial in of_row(trials, row)]
        for part, style in _LINE_STYLES.items():
            label = f"{row.name}, {_PART_NAMES[part]}"
            rotation.plot(
                degrees(scales["rotate"]),
                _mean_increase([losses[part]["rotate"] for losses in found]),
                color=color,
                ls=style,
                lw=1.8,
                label=label,
            )
            translations.plot(
                scales["translate"],
                _mean_increase([losses[part]["translate"] for losses in found]),
                color=color,
                ls=style,
                lw=1.8,
            )
    lows, highs = zip(*(ax.get_ylim() for ax in axes), strict=True)
    for ax in axes:
        ax.set_ylim(min(lows), max(highs))  # one scale, so that the panels can be compared
        ax.axhline(0, color=plots.START, lw=0.8)
    rotation.set_title("rotation alone")
    rotation.set_xlabel("standard deviation, degrees")
    rotation.set_ylabel("loss minus loss without augmentation")
    translations.set_title("translations alone")
    translations.set_xlabel("standard deviation, pixels")
    legend_below(fig, rotation, columns=2)
    fig.savefig(path)


def _mean_increase(losses: Sequence[Sequence[float]]) -> list[float]:
    """Mean over seeds of the loss, minus its first value."""
    mean = torch.tensor(losses).mean(dim=0)
    increase: list[float] = (mean - mean[0]).tolist()
    return increase


def draw_equivariance(path: Path, trials: Sequence[Trial], rows: Sequence[Row]) -> None:
    """Change of the prediction under rotation of the input: one curve per row, mean over seeds."""
    titles = {
        "labels": "fraction of pixels whose label changes",
        "probabilities": "mean change of class probabilities",
    }
    fig, axes = plots.figure(1, 2, 8.6, 3.6)
    for ax, (key, title) in zip(axes, titles.items(), strict=True):
        for color, row in zip(plots.CLASSES, rows, strict=False):
            found = [trial["equivariance"] for trial in of_row(trials, row)]
            mean = torch.tensor([one[key] for one in found]).mean(dim=0).tolist()
            ax.plot(degrees(found[0]["values"]), mean, color=color, lw=1.8, label=row.name)
        ax.set_title(title)
        ax.set_xlabel("rotation of the input, degrees")
        ax.set_xticks(range(-180, 181, 90))
        ax.set_ylim(bottom=0)
    legend_below(fig, axes[0], columns=2)
    fig.savefig(path)


def draw_rotated(
    path: Path, scene: Tensor, angles: Tensor, trials: Sequence[Trial], rows: Sequence[Row]
) -> None:
    """A rotated scene; per row the prediction rotated back, and where it differs; seed 0.

    scene: (3, H, W) bytes   angles: (n,) radians
    """
    x = (scene.float() / 255).expand(len(angles), -1, -1, -1)
    images = list(Affine2d("rotate")(x, angles[:, None]))
    titles = [f"input rotated by {math.degrees(angle):.0f}°" for angle in angles.tolist()]
    for row in rows:
        labels = from_text(of_row(trials, row)[0]["turning"])
        marked, changed = _mark_changes(labels)
        images += [*colored(labels), *marked]
        titles += [""] * len(labels)
        titles += [f"{100 * fraction:.0f} % differ" for fraction in changed]
    n_rows = 1 + 2 * len(rows)
    fig, axes = plots.figure(n_rows, len(angles), 1.75 * len(angles), 1.55 * n_rows + 0.4)
    for ax, title, image in zip(axes, titles, images, strict=True):
        plots.draw_image(ax, image, title)
    for i, row in enumerate(rows):
        _set_row_title(axes[(1 + 2 * i) * len(angles)], row)
    _class_legend(fig)
    fig.savefig(path)


def _mark_changes(labels: Tensor) -> tuple[Tensor, list[float]]:
    """Gray images with changed labels in red, and the fraction of changed pixels in each map.

    Changes are relative to the first map; pixels unknown in either map are black.

    labels: (N, H, W)   returns (N, 3, H, W) and N fractions
    """
    known = (labels != IGNORE) & (labels[0] != IGNORE)
    changed = (labels != labels[0]) & known
    fractions = changed.sum(dim=(1, 2)) / known.sum(dim=(1, 2)).clamp_min(1)
    gray = 0.6 + 0.25 * colored(labels).mean(dim=1, keepdim=True).expand(-1, 3, -1, -1)
    red = torch.tensor(_CHANGED_COLOR)[:, None, None] / 255
    marked = torch.where(changed[:, None], red, gray) * known[:, None]
    return marked, fractions.tolist()
