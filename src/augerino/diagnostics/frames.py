"""Small pictures of inputs (images, masks, signals, point clouds), and strips of them as PNG."""

import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from PIL.Image import Image

SMALL = 96  # pixels of the longest side of a frame, at least
LARGE = 160  # and at most
CLOUD_SIDE = 128  # pixels of a frame that shows a point cloud
SUPERSAMPLING = 3  # lines and points are drawn this much larger, then reduced for smooth edges
MAX_POINTS = 600  # of a point cloud that are drawn
MIN_SIDE = 32  # pixels; a frame is not reduced further to save bytes

# Legible on white and on near-black, so that one picture serves a light and a dark page.
INK = (
    (59, 130, 246),
    (234, 118, 32),
    (22, 163, 116),
    (219, 68, 142),
    (139, 110, 246),
    (20, 160, 190),
)
BACKGROUND = (128, 128, 128, 0)  # transparent

# From the palettes of Okabe and Ito and of Tol (muted), which are safe for colour-blind readers.
# The most different colours come first.
CLASS_COLORS = (
    *("#0072b2", "#f0e442", "#d55e00", "#332288", "#009e73", "#cc79a7"),
    *("#e69f00", "#882255", "#aa4499", "#ddcc77", "#56b4e9", "#88ccee"),
)
UNKNOWN = 255  # label of pixels without a known class
# Palette of a mask: the classes, then background and lines of the hatching, then transparent.
_PALETTE = (*CLASS_COLORS, "#c8c8c8", "#606060", "#000000")
_HATCH_BACKGROUND = len(CLASS_COLORS)
_HATCH_LINE = len(CLASS_COLORS) + 1
_TRANSPARENT = len(CLASS_COLORS) + 2


def draw(kind: str, x: Tensor) -> "list[Image]":
    """Draws one picture per frame.

    Args:
        kind: images, masks, signals, points or values.
        x: the frames: (F, C, H, W), (F, C, T), (F, P, 2 or 3) or (F, D).
    """
    x = reduced(x.detach().cpu().float().nan_to_num(0.0, 0.0, 0.0))
    if kind == "points" and x.dim() == 3 and x.shape[-1] in (2, 3):
        return _draw_points(x)
    if x.dim() == 4:
        return _draw_images(x)
    if x.dim() == 1:
        return _draw_signals(x[:, None, None])
    return _draw_signals(x.reshape(x.shape[0], -1, x.shape[-1]))


def reduced(x: Tensor, mode: str = "area") -> Tensor:
    """Reduces images (F, C, H, W) to at most `LARGE` pixels a side; other tensors are unchanged."""
    if x.dim() != 4 or max(x.shape[-2:]) <= LARGE:
        return x
    longest = max(x.shape[-2:])
    size = [max(1, side * LARGE // longest) for side in x.shape[-2:]]
    return torch.nn.functional.interpolate(x, size=size, mode=mode)


def strip(frames: "Sequence[Image]", max_bytes: int) -> tuple[bytes, int, int]:
    """Joins frames of one size into a PNG of at most about `max_bytes` bytes.

    Reduces the number of colours first, then the number of pixels.

    Returns:
        The PNG, and the width and height of one frame in it.
    """
    from PIL import Image

    width, height = frames[0].size
    while True:
        row = _side_by_side(frames, width, height)
        data = _png(row)
        if len(data) > max_bytes and row.mode in ("RGB", "RGBA"):
            method = Image.Quantize.FASTOCTREE if row.mode == "RGBA" else Image.Quantize.MEDIANCUT
            data = _png(row.quantize(64, method=method))
        if len(data) <= max_bytes or max(width, height) <= MIN_SIDE:
            return data, width, height
        width = max(1, width * 4 // 5)
        height = max(1, height * 4 // 5)


def _side_by_side(frames: "Sequence[Image]", width: int, height: int) -> "Image":
    """One row of frames, each resized to the given size."""
    from PIL import Image

    has_palette = frames[0].mode == "P"
    row = Image.new(frames[0].mode, (width * len(frames), height))
    if has_palette:
        row.putpalette(frames[0].getpalette() or [])
        row.info["transparency"] = frames[0].info["transparency"]
    resampling = Image.Resampling.NEAREST if has_palette else Image.Resampling.BOX
    for i, frame in enumerate(frames):
        fits = frame.size == (width, height)
        scaled = frame if fits else frame.resize((width, height), resampling)
        row.paste(scaled, (i * width, 0))
    return row


def _png(picture: "Image") -> bytes:
    options: dict[str, Any] = {}
    if picture.mode == "P" and "transparency" in picture.info:
        options["bits"] = 4  # a mask has at most 16 colours
    file = io.BytesIO()
    picture.save(file, "PNG", optimize=True, **options)
    return file.getvalue()


def _draw_images(x: Tensor) -> "list[Image]":
    from PIL import Image

    low = float(x.min())
    high = float(x.max())
    if low < -1e-3 or high > 1 + 1e-3:  # normalised in an unknown way: show the actual range
        x = (x - low) / max(high - low, 1e-12)
    if x.shape[1] == 2:
        x = x.mean(dim=1, keepdim=True)
    pixels = (x[:, :3].clamp(0, 1) * 255).round().to(torch.uint8).permute(0, 2, 3, 1)
    factor = _enlargement(x)
    size = (x.shape[-1] * factor, x.shape[-2] * factor)
    pictures = []
    for frame in pixels.numpy():
        picture = Image.fromarray(frame[..., 0] if frame.shape[-1] == 1 else frame)
        if factor > 1:
            picture = picture.resize(size, Image.Resampling.NEAREST)
        pictures.append(picture)
    return pictures


def draw_labels(labels: Tensor) -> "list[Image]":
    """Draws label maps to be laid over the pictures of `draw`, in the same size.

    One colour per class, hatched where the class is unknown. From the thirteenth class on, the
    colours repeat in a chequered pattern.

    Args:
        labels: (F, H, W), 255 where the class is unknown.
    """
    from PIL import Image

    factor = _enlargement(labels)
    large = labels.repeat_interleave(factor, 1).repeat_interleave(factor, 2)
    rows = torch.arange(large.shape[1])[:, None]
    columns = torch.arange(large.shape[2])
    is_repeated = large // len(CLASS_COLORS) % 2 == 1
    is_gap = (rows // 3 + columns // 3) % 2 == 1
    hatching = torch.where((rows + columns) % 8 < 2, _HATCH_LINE, _HATCH_BACKGROUND)
    colors = (large % len(CLASS_COLORS)).masked_fill(is_repeated & is_gap, _TRANSPARENT)
    colors = torch.where(large == UNKNOWN, hatching, colors)
    palette = list(b"".join(bytes.fromhex(color[1:]) for color in _PALETTE))
    pictures = []
    for frame in colors.to(torch.uint8).numpy():
        picture = Image.frombytes("P", frame.shape[::-1], frame.tobytes())
        picture.putpalette(palette)
        picture.info["transparency"] = _TRANSPARENT
        pictures.append(picture)
    return pictures


def label_key(label: int) -> tuple[str, bool]:
    """The colour of a class in `draw_labels`, and whether it is chequered.

    Example:
        >>> label_key(1), label_key(13)
        (('#f0e442', False), ('#f0e442', True))
    """
    n_colors = len(CLASS_COLORS)
    return CLASS_COLORS[label % n_colors], label // n_colors % 2 == 1


def _enlargement(x: Tensor) -> int:
    """The integer factor by which small images are enlarged; integer, so that they stay sharp."""
    longest = max(x.shape[-2:])
    return -(-SMALL // longest) if longest < SMALL else 1


def _draw_signals(x: Tensor) -> "list[Image]":
    """Lines over time, all frames on the same scale.   x: (F, C, T)"""
    from PIL import Image, ImageDraw

    width = LARGE * SUPERSAMPLING
    height = SMALL * SUPERSAMPLING
    margin = 6 * SUPERSAMPLING
    kept = _evenly_spaced(x.shape[-1], 2 * LARGE)
    x = x[:, : len(INK), kept]
    low = float(x.min())
    high = float(x.max())
    y = margin + (high - x) / max(high - low, 1e-12) * (height - 2 * margin)
    times = [width / 2]
    if len(kept) > 1:
        times = torch.linspace(margin, width - margin, len(kept)).tolist()
    pictures = []
    for frame in y.tolist():
        picture = Image.new("RGBA", (width, height), BACKGROUND)
        pen = ImageDraw.Draw(picture)
        for ink, channel in zip(INK, frame, strict=False):
            color = (*ink, 255)
            line = list(zip(times, channel, strict=True))
            pen.line(line, fill=color, width=int(1.6 * SUPERSAMPLING), joint="curve")
            if len(line) <= 32:
                for center in line:
                    pen.ellipse(_square(center, 2 * SUPERSAMPLING), fill=color)
        pictures.append(picture.resize((LARGE, SMALL), Image.Resampling.BOX))
    return pictures


def _draw_points(x: Tensor) -> "list[Image]":
    """Points seen from slightly above, near ones larger and darker, all frames on the same scale.

    x: (F, P, 2 or 3)
    """
    from PIL import Image, ImageDraw

    side = CLOUD_SIDE * SUPERSAMPLING
    right, up, depth = _project(x[:, _evenly_spaced(x.shape[1], MAX_POINTS)])
    scale = 0.47 * side / max(float(torch.stack([right, up]).abs().max()), 1e-12)
    far = float(depth.max())
    near = float(depth.min())
    closeness = (far - depth) / max(far - near, 1e-12)
    horizontal = side / 2 + right.double() * scale
    vertical = side / 2 - up.double() * scale
    pictures = []
    for i in range(len(x)):
        picture = Image.new("RGBA", (side, side), BACKGROUND)
        pen = ImageDraw.Draw(picture)
        for point in closeness[i].argsort().tolist():  # far points first
            close = float(closeness[i, point])
            center = (float(horizontal[i, point]), float(vertical[i, point]))
            square = _square(center, (1.3 + 1.5 * close) * SUPERSAMPLING)
            pen.ellipse(square, fill=(*INK[0], int(90 + 165 * close)))
        pictures.append(picture.resize((CLOUD_SIDE, CLOUD_SIDE), Image.Resampling.BOX))
    return pictures


def _project(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Positions on the screen, right and up, and the depth.   (F, P, 2 or 3) -> three of (F, P)"""
    if x.shape[-1] == 2:
        return x[..., 0], x[..., 1], torch.zeros_like(x[..., 0])
    turn = math.radians(30)
    tilt = math.radians(22)
    right = math.cos(turn) * x[..., 0] - math.sin(turn) * x[..., 1]
    away = math.sin(turn) * x[..., 0] + math.cos(turn) * x[..., 1]
    up = math.cos(tilt) * x[..., 2] + math.sin(tilt) * away
    depth = math.cos(tilt) * away - math.sin(tilt) * x[..., 2]
    return right, up, depth


def _square(center: tuple[float, float], radius: float) -> tuple[float, float, float, float]:
    """The square around a circle: left, top, right, bottom."""
    x, y = center
    return x - radius, y - radius, x + radius, y + radius


def _evenly_spaced(n: int, at_most: int) -> Tensor:
    """Evenly spaced indices into n entries."""
    return torch.linspace(0, n - 1, min(n, at_most)).round().long()
