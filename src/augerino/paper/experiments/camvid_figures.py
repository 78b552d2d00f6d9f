"""The figures of the segmentation experiment, from its trials and the scenes."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from augerino import plots
from augerino.augmentation import Augmentation
from augerino.data.arrays import IGNORE
from augerino.distributions import Gaussian
from augerino.paper.datasets.camvid import COLORS
from augerino.paper.experiments.settings import Row
from augerino.runtime.trials import Trial, of_row
from augerino.transforms import Affine2d, RotoTranslate2d

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LETTERS = "abcdefghijk"  # one a class; a dot where nothing is known
_CHANGED = (220, 38, 38)


def to_text(labels: Tensor) -> list[list[str]]:
    """Label maps as JSON holds them shortest: a list of rows a map, a letter a pixel.   labels: (N, H, W)

    Example:
        >>> to_text(torch.tensor([[[0, 2], [255, 1]]]))
        [['ac', '.b']]
    """
    return [
        ["".join("." if i == IGNORE else _LETTERS[i] for i in row) for row in one]
        for one in labels.tolist()
    ]


def from_text(maps: Sequence[Sequence[str]]) -> Tensor:
    """What `to_text` wrote, (N, H, W)."""
    return torch.tensor(
        [[[IGNORE if c == "." else _LETTERS.index(c) for c in row] for row in one] for one in maps]
    )


def colored(labels: Tensor) -> Tensor:
    """Label maps in CamVid's colors, black where nothing is known.   (N, H, W) -> (N, 3, H, W) in [0, 1]"""
    table = torch.zeros(IGNORE + 1, 3)
    table[: len(COLORS)] = torch.tensor(list(COLORS.values())) / 255
    return table[labels.long()].permute(0, 3, 1, 2)


def draw_data(path: Path, x: Tensor, y: Tensor) -> None:
    """Scenes above their labels."""
    fig, axes = plots.figure(2, len(x), 1.7 * len(x), 3.2)
    for ax, image in zip(axes, [*(x.float() / 255), *colored(y)], strict=True):
        plots.draw_image(ax, image)
    _legend(fig)
    fig.suptitle("rotCamVid: every scene turned once; black is ignored", x=0.01, ha="left")
    fig.savefig(path)


def _legend(fig: "Figure") -> None:
    from matplotlib.patches import Patch

    patches = [
        Patch(color=(r / 255, g / 255, b / 255), label=name) for name, (r, g, b) in COLORS.items()
    ]
    fig.legend(handles=patches, loc="outside lower center", ncols=6, fontsize=8)


def _name(ax: "Axes", row: Row) -> None:
    """A row's name over its first picture, on two lines where it is long."""
    ax.set_title(row.name.replace(", λ", "\nλ"), loc="left", fontsize=8)


def draw_samples(
    path: Path, x: Tensor, trials: Sequence[Trial], learned: Sequence[Row], rigid: RotoTranslate2d
) -> None:
    """A scene as it is and under three draws from each learned distribution, seed 0."""
    fig, axes = plots.figure(len(learned), 4, 7.2, 1.75 * len(learned) + 0.2)
    for i, row in enumerate(learned):
        found = of_row(trials, row)[0]["distribution"]
        augmentation = Augmentation(rigid, Gaussian(found["loc"], found["scale_tril"]))
        still = rigid(x.float() / 255, torch.zeros(1, 3))
        with torch.no_grad():
            moved = augmentation.sample(3, torch.Generator().manual_seed(0))(
                (x.float() / 255).expand(3, -1, -1, -1)
            )
        for j, image in enumerate([still[0], *moved]):
            plots.draw_image(axes[4 * i + j], image, "" if j == 0 else f"sample {j}")
        _name(axes[4 * i], row)
    fig.savefig(path)


def draw_spreads(path: Path, trials: Sequence[Trial], learned: Sequence[Row]) -> None:
    """The standard deviations over training: of the rotation on the left, of translations on the right; one line a seed."""
    fig, axes = plots.figure(1, 2, 8.6, 3.4)
    for color, row in zip(plots.CLASSES, learned, strict=False):
        for i, found in enumerate(of_row(trials, row)):
            label = row.name if i == 0 else None
            axes[0].plot(
                [math.degrees(v) for v in found["curves"]["rotate"]],
                color=color,
                lw=1.8,
                label=label,
            )
            for name, style in (("translate_x", "-"), ("translate_y", "--")):
                axes[1].plot(found["curves"][name], color=color, lw=1.4, ls=style)
    axes[0].axhline(180, color=plots.START, lw=1, ls=":")
    axes[0].text(0, 180, " limit", color=plots.START, va="top", fontsize=8)
    for ax, title, unit in zip(
        axes, ("rotation", "translations (x solid, y dashed)"), ("degrees", "pixels"), strict=True
    ):
        ax.set_title(title)
        ax.set_xlabel("epoch")
        ax.locator_params(axis="x", integer=True)
        ax.set_ylabel(f"standard deviation, {unit}")
        ax.set_ylim(bottom=0)
    fig.legend(loc="outside lower center", ncols=2)
    fig.savefig(path)


def draw_losses(
    path: Path,
    trials: Sequence[Trial],
    learned: Sequence[Row],
    scales: Mapping[str, Sequence[float]],
) -> None:
    """What moving scenes further costs trained models: the loss above that of scenes left alone, the mean of the seeds."""
    fig, axes = plots.figure(1, 2, 8.6, 3.4)
    for color, row in zip(plots.CLASSES, learned, strict=False):
        found = [trial["losses"] for trial in of_row(trials, row)]
        for part, style in (("trained on", "-"), ("not seen", "--")):
            for ax, name in zip(axes, scales, strict=True):
                losses = torch.tensor([one[part][name] for one in found]).mean(dim=0)
                x = (
                    [math.degrees(v) for v in scales[name]]
                    if name == "rotate"
                    else list(scales[name])
                )
                label = f"{row.name}, scenes {part}" if name == "rotate" else None
                ax.plot(
                    x, (losses - losses[0]).tolist(), color=color, ls=style, lw=1.8, label=label
                )
    low, high = (
        pick(limit)
        for pick, limit in zip(
            (min, max), zip(*(ax.get_ylim() for ax in axes), strict=True), strict=True
        )
    )
    for ax, title, unit in zip(
        axes, ("rotation alone", "translations alone"), ("degrees", "pixels"), strict=True
    ):
        ax.set_ylim(low, high)  # one scale, so that the two can be compared
        ax.set_title(title)
        ax.set_xlabel(f"standard deviation, {unit}")
        ax.axhline(0, color=plots.START, lw=0.8)
    axes[0].set_ylabel("loss above that of scenes left alone")
    fig.legend(loc="outside lower center", ncols=2)
    fig.savefig(path)


def draw_equivariance(path: Path, trials: Sequence[Trial], rows: Sequence[Row]) -> None:
    """How much of a prediction changes as the input turns, one curve a row, the mean of its seeds."""
    fig, axes = plots.figure(1, 2, 8.6, 3.6)
    for color, row in zip(plots.CLASSES, rows, strict=False):
        found = [trial["equivariance"] for trial in of_row(trials, row)]
        degrees = [math.degrees(value) for value in found[0]["values"]]
        for ax, key in zip(axes, ("labels", "probabilities"), strict=True):
            mean = torch.tensor([one[key] for one in found]).mean(dim=0).tolist()
            ax.plot(degrees, mean, color=color, lw=1.8, label=row.name if key == "labels" else None)
    for ax, title in zip(
        axes,
        ("share of pixels whose label changes", "mean change of class probabilities"),
        strict=True,
    ):
        ax.set_title(title)
        ax.set_xlabel("input turned by, degrees")
        ax.set_xticks(range(-180, 181, 90))
        ax.set_ylim(bottom=0)
    fig.legend(loc="outside lower center", ncols=2)
    fig.savefig(path)


def draw_turning(
    path: Path, x: Tensor, angles: Tensor, trials: Sequence[Trial], rows: Sequence[Row]
) -> None:
    """A scene as it turns, and for each row what is said of it, turned back, and where that differs from the first; seed 0."""
    turned = Affine2d("rotate")((x.float() / 255).expand(len(angles), -1, -1, -1), angles[:, None])
    pictures = [
        (f"input turned by {math.degrees(a):.0f}°", image)
        for a, image in zip(angles.tolist(), turned, strict=True)
    ]
    for row in rows:
        said = from_text(of_row(trials, row)[0]["turning"])
        known = (said != IGNORE) & (said[0] != IGNORE)
        changed = (said != said[0]) & known
        pictures += [("", image) for image in colored(said)]
        red = torch.tensor(_CHANGED)[:, None, None] / 255
        shares = [
            100 * float(c.sum() / k.sum().clamp_min(1)) for c, k in zip(changed, known, strict=True)
        ]
        faded = 0.6 + 0.25 * colored(said).mean(dim=1, keepdim=True).expand(-1, 3, -1, -1)
        marked = torch.where(changed[:, None], red, faded) * known[:, None]
        pictures += [
            (f"{share:.0f} % differ", image) for share, image in zip(shares, marked, strict=True)
        ]
    fig, axes = plots.figure(
        1 + 2 * len(rows), len(angles), 1.75 * len(angles), 1.55 * (1 + 2 * len(rows)) + 0.4
    )
    for ax, (title, image) in zip(axes, pictures, strict=True):
        plots.draw_image(ax, image, title)
    for i, row in enumerate(rows):
        _name(axes[(1 + 2 * i) * len(angles)], row)
    _legend(fig)
    fig.savefig(path)
