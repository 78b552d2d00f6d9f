"""Draws learned ranges and images on matplotlib axes. The report draws everything else."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from augerino.augmentation import Augmentation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

START = "#9aa5b1"
LEARNED = "#2563eb"
TRUE = "#d97706"
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
    """Context manager with our matplotlib style; the global style is unchanged."""
    import matplotlib

    with matplotlib.rc_context(_STYLE):  # type: ignore[arg-type]
        yield


def figure(rows: int, columns: int, width: float, height: float) -> "tuple[Figure, list[Axes]]":
    """Creates a figure without pyplot, so that no window and no global state is involved.

    Args:
        rows: number of rows of axes.
        columns: number of columns of axes.
        width: in inches.
        height: in inches.

    Returns:
        The figure, and its axes row by row.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    fig = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(fig)
    axes = fig.subplots(rows, columns, squeeze=False)
    return fig, list(axes.flat)


def draw_ranges(
    ax: "Axes",
    augmentation: Augmentation,
    start: dict[str, float],
    true: dict[str, float] | None = None,
) -> None:
    """Draws the learned range of every coordinate as a bar, as a fraction of its limit.

    A coordinate without a limit is drawn as a fraction of 1.25 times its largest extent.

    Args:
        ax: axes to draw on.
        augmentation: the learned augmentation.
        start: initial extents by name; marked by solid lines.
        true: true extents by name, where known; marked by dashed lines.
    """
    known = true or {}
    coordinates = augmentation.coordinates
    first_known = next((name for name in augmentation.names if name in known), None)
    for row, coordinate in enumerate(coordinates):
        name = coordinate.name
        limit = coordinate.limit
        if math.isinf(limit):
            largest = max(coordinate.extent, start[name], known.get(name, 0.0))
            limit = 1.25 * largest if largest > 0 else 1.0
        learned = coordinate.extent / limit
        ax.barh(row, 2 * learned, left=-learned, height=0.56, color=LEARNED, alpha=0.85)
        _mark(ax, row, start[name] / limit, color=START, label="start" if row == 0 else None)
        if name in known:
            label = "true extent" if name == first_known else None
            _mark(ax, row, known[name] / limit, color=TRUE, label=label, dashed=True)
        ax.text(1.04, row, coordinate.text, va="center", color="#334155", clip_on=False)
    ax.set_yticks(range(len(coordinates)), augmentation.names)
    ax.set_ylim(len(coordinates) - 0.5, -0.5)
    ax.set_xlim(-1, 1)
    ax.set_xticks([-1, 0, 1], ["−limit", "0", "+limit"])
    ax.axvline(0, color="#64748b", lw=0.8)


def _mark(
    ax: "Axes", row: int, place: float, *, color: str, label: str | None, dashed: bool = False
) -> None:
    """Marks ±place in a row of bars by two vertical lines."""
    style = (0, (2, 1)) if dashed else "solid"
    height = [row - 0.38, row + 0.38]
    ax.plot([-place, -place], height, color=color, lw=2, ls=style)
    ax.plot([place, place], height, color=color, lw=2, ls=style, label=label)


def draw_image(ax: "Axes", image: Tensor, title: str = "") -> None:
    """Draws one image (C, H, W) with values in [0, 1]; in grey if it has one channel."""
    pixels = image.detach().cpu().float().clamp(0, 1).permute(1, 2, 0).numpy()
    shown = pixels[..., 0] if pixels.shape[-1] == 1 else pixels[..., :3]
    ax.imshow(shown, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    ax.set_axis_off()
    if title:
        ax.set_title(title, fontsize=8)


def sample_gallery(augmentation: Augmentation, x: Tensor, copies: int, seed: int = 0) -> Tensor:
    """Stacks each input with transformed copies of it.

    Args:
        augmentation: the augmentation that the copies are drawn from.
        x: inputs, (B, ...).
        copies: number of copies per input.
        seed: seed of the random numbers.

    Returns:
        (B, 1 + copies, ...), each input first.
    """
    device = augmentation.distribution.extent.device
    generator = torch.Generator(device=device).manual_seed(seed)
    with torch.no_grad():
        moved = [augmentation.sample(len(x), generator)(x) for _ in range(copies)]
    return torch.stack([x, *moved], dim=1)
