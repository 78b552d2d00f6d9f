"""Small dataclasses drawn on matplotlib axes."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from augerino.augmentation import Augmentation
from augerino.diagnostics import Orbit
from augerino.training.state import History
from augerino.transforms import Transform

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

START, LEARNED, TRUE = "#9aa5b1", "#2563eb", "#d97706"
CLASSES = (
    "#2563eb",
    "#d97706",
    "#059669",
    "#be185d",
    "#7c3aed",
    "#0891b2",
    "#65a30d",
    "#dc2626",
    "#475569",
    "#a16207",
)

_STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.edgecolor": "#64748b",
    "axes.labelcolor": "#334155",
    "xtick.color": "#64748b",
    "ytick.color": "#64748b",
    "legend.frameon": False,
    "figure.dpi": 100,
    "savefig.dpi": 150,
}


@contextmanager
def style() -> Iterator[None]:
    """Our look, for the figures made inside; nothing global changes."""
    import matplotlib

    with matplotlib.rc_context(_STYLE):  # type: ignore[arg-type]
        yield


def figure(rows: int, columns: int, width: float, height: float) -> "tuple[Figure, list[Axes]]":
    """A figure without pyplot (no window, no global state) and its axes in reading order."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    fig = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(fig)
    axes = fig.subplots(rows, columns, squeeze=False)
    return fig, list(axes.flat)


def scale_of(transform: Transform, name: str) -> tuple[float, str]:
    """The factor and the axis label that turn a coordinate into what a person reads."""
    unit = transform.unit(name).symbol
    known = {"rad": (180 / math.pi, "degrees"), "half-images": (50.0, "% of the image")}
    return known.get(unit, (1.0, unit or "own unit"))


def draw_distribution(
    ax: "Axes",
    transform: Transform,
    name: str,
    start: float,
    learned: float,
    limit: float,
    true: float | None = None,
) -> None:
    """The uniform density of one coordinate at the start and as learned; a dashed line where the true extent is known."""
    factor, unit = scale_of(transform, name)
    for bound, color, label in ((start, START, "start"), (learned, LEARNED, "learned")):
        x, height = bound * factor, 1 / (2 * bound * factor)
        ax.fill([-x, -x, x, x], [0, height, height, 0], color=color, alpha=0.25, lw=0)
        ax.plot([-x, -x, x, x], [0, height, height, 0], color=color, lw=1.8, label=label)
    if true is not None:
        for i, side in enumerate((-true, true)):
            ax.axvline(
                side * factor, color=TRUE, ls="--", lw=1.4, label="true extent" if i == 0 else None
            )
    reach = max(start, learned, true or 0) * factor * 1.25
    edge = limit * factor
    ax.set_xlim(-min(reach, edge * 1.05), min(reach, edge * 1.05))
    ax.set_ylim(bottom=0)
    ax.set_title(name)
    ax.set_xlabel(unit)
    ax.set_yticks([])


def draw_bound(
    ax: "Axes",
    history: History,
    transform: Transform,
    name: str,
    start: float,
    true: float | None = None,
) -> None:
    """One coordinate's bound over training."""
    factor, unit = scale_of(transform, name)
    curve = [start, *history.curve(name)]
    ax.plot(range(len(curve)), [value * factor for value in curve], color=LEARNED, lw=1.8)
    if true is not None:
        ax.axhline(true * factor, color=TRUE, ls="--", lw=1.4)
        ax.text(0, true * factor, " true extent", color=TRUE, va="bottom", fontsize=8)
    ax.set_xlim(0, len(curve) - 1)
    ax.set_ylim(0, max([*curve, true or 0]) * factor * 1.15)
    ax.set_title(name)
    ax.set_xlabel("epoch")
    ax.set_ylabel(f"± {unit}")


def draw_ranges(
    ax: "Axes",
    augmentation: Augmentation,
    start: dict[str, float],
    true: dict[str, float] | None = None,
) -> None:
    """Every coordinate in one picture: start and learned range as bars, as a share of the coordinate's limit."""
    names = augmentation.names
    limits = dict(zip(names, augmentation.limits.tolist(), strict=True))
    described = augmentation.describe()
    for row, (name, learned) in enumerate(augmentation.bounds().items()):
        ax.barh(
            row,
            2 * learned / limits[name],
            left=-learned / limits[name],
            height=0.56,
            color=LEARNED,
            alpha=0.85,
        )
        s = start[name] / limits[name]
        ax.plot(
            [-s, -s],
            [row - 0.38, row + 0.38],
            color=START,
            lw=2,
            label="start" if row == 0 else None,
        )
        ax.plot([s, s], [row - 0.38, row + 0.38], color=START, lw=2)
        if true and name in true:
            share = true[name] / limits[name]
            for side in (-share, share):
                label = "true extent" if side > 0 else None
                ax.plot(
                    [side, side],
                    [row - 0.38, row + 0.38],
                    color=TRUE,
                    lw=2,
                    ls=(0, (2, 1)),
                    label=label,
                )
        ax.text(1.04, row, described[name], va="center", color="#334155", clip_on=False)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlim(-1, 1)
    ax.set_xticks([-1, 0, 1], ["−limit", "0", "+limit"])
    ax.axvline(0, color="#64748b", lw=0.8)


def draw_image(ax: "Axes", image: Tensor, title: str = "") -> None:
    """One image (C, H, W) in [0, 1]; grey if it has one channel."""
    pixels = image.detach().cpu().float().clamp(0, 1).permute(1, 2, 0).numpy()
    ax.imshow(
        pixels[..., 0] if pixels.shape[-1] == 1 else pixels[..., :3],
        cmap="gray",
        vmin=0,
        vmax=1,
        interpolation="nearest",
    )
    ax.set_axis_off()
    if title:
        ax.set_title(title, fontsize=8)


def draw_orbit(
    ax: "Axes",
    curve: Orbit,
    transform: Transform,
    class_names: Sequence[str],
    learned: float | None = None,
    true: float | None = None,
) -> None:
    """The probability of every class while one input moves along one coordinate."""
    factor, unit = scale_of(transform, curve.coordinate)
    values = [value * factor for value in curve.values]
    for index, probability in enumerate(zip(*curve.outputs, strict=True)):
        ax.plot(
            values,
            probability,
            color=CLASSES[index % len(CLASSES)],
            lw=1.8,
            label=class_names[index],
        )
    if learned is not None:
        ax.axvspan(-learned * factor, learned * factor, color=LEARNED, alpha=0.08, lw=0)
    if true is not None:
        for side in (-true, true):
            ax.axvline(side * factor, color=TRUE, ls="--", lw=1.2)
    ax.set_xlim(values[0], values[-1])
    ax.set_ylim(-0.03, 1.03)
    ax.set_xlabel(f"{curve.coordinate}, {unit}")
    ax.set_ylabel("probability")


def sample_gallery(augmentation: Augmentation, x: Tensor, copies: int, seed: int = 0) -> Tensor:
    """Each image as it is, then under `copies` elements drawn from the augmentation.   (B, ...) -> (B, 1 + copies, ...)"""
    generator = torch.Generator(device=augmentation.limits.device).manual_seed(seed)
    with torch.no_grad():
        moved = [augmentation.sample(len(x), generator)(x) for _ in range(copies)]
    return torch.stack([x, *moved], dim=1)
