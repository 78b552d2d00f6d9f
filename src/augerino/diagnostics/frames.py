"""Inputs as small pictures: images, masks to lay over them, signals, point clouds; and a row of them as one PNG."""

import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from PIL.Image import Image

SMALL, LARGE = 96, 160  # the longest side of a frame is brought between the two
_FINE = 3  # lines are drawn this much larger and then reduced, which smooths them

# Legible on white and on near-black, so that one picture serves a light page and a dark one.
INK = (
    (59, 130, 246),
    (234, 118, 32),
    (22, 163, 116),
    (219, 68, 142),
    (139, 110, 246),
    (20, 160, 190),
)

# From Okabe and Ito's colours and Tol's muted ones, which readers of any colour vision tell apart, the most different ones first.
CLASS_COLORS = (
    *("#0072b2", "#f0e442", "#d55e00", "#332288", "#009e73", "#cc79a7"),
    *("#e69f00", "#882255", "#aa4499", "#ddcc77", "#56b4e9", "#88ccee"),
)
UNKNOWN = 255  # the label of a pixel of which nothing is known
_GROUND, _HATCH, _CLEAR = range(
    len(CLASS_COLORS), len(CLASS_COLORS) + 3
)  # places in a mask's palette, after the colours


def draw(kind: str, x: Tensor) -> "list[Image]":
    """One picture per frame.

    Args:
        kind: images, masks, signals, points or values.
        x: the frames: (F, C, H, W), (F, C, T), (F, P, 2 or 3) or (F, D).
    """
    x = reduced(x.detach().cpu().float().nan_to_num(0.0, 0.0, 0.0))
    if kind == "points" and x.dim() == 3 and x.shape[-1] in (2, 3):
        return _points(x)
    if x.dim() == 4:
        return _images(x)
    return _signals(x.reshape(x.shape[0], -1, x.shape[-1]) if x.dim() > 1 else x[:, None, None])


def reduced(x: Tensor, mode: str = "area") -> Tensor:
    """Images (F, C, H, W) whose longest side is brought to at most `LARGE` pixels; anything else as it is."""
    if x.dim() != 4 or max(x.shape[-2:]) <= LARGE:
        return x
    longest = max(x.shape[-2:])
    height, width = (max(1, side * LARGE // longest) for side in x.shape[-2:])
    return torch.nn.functional.interpolate(x, size=(height, width), mode=mode)


def strip(frames: "Sequence[Image]", most: int) -> tuple[bytes, int, int]:
    """Frames of one size side by side as a PNG of at most about `most` bytes, and the width and height of a frame.

    What is too large gets fewer colours first, then fewer pixels.
    """
    from PIL import Image

    width, height = frames[0].size
    resampling = Image.Resampling.NEAREST if frames[0].mode == "P" else Image.Resampling.BOX
    while True:
        row = Image.new(frames[0].mode, (width * len(frames), height))
        if frames[0].mode == "P":
            row.putpalette(frames[0].getpalette() or [])
            row.info["transparency"] = frames[0].info["transparency"]
        for i, frame in enumerate(frames):
            row.paste(
                frame
                if frame.size == (width, height)
                else frame.resize((width, height), resampling),
                (i * width, 0),
            )
        data = _png(row)
        if len(data) > most and row.mode != "P":
            method = Image.Quantize.FASTOCTREE if row.mode == "RGBA" else Image.Quantize.MEDIANCUT
            data = _png(row if row.mode == "L" else row.quantize(64, method=method))
        if len(data) <= most or max(width, height) <= 32:
            return data, width, height
        width, height = max(1, width * 4 // 5), max(1, height * 4 // 5)


def _png(picture: "Image") -> bytes:
    out = io.BytesIO()
    picture.save(
        out,
        "PNG",
        optimize=True,
        **({"bits": 4} if picture.mode == "P" and "transparency" in picture.info else {}),
    )
    return out.getvalue()


def _images(x: Tensor) -> "list[Image]":
    from PIL import Image

    low, high = float(x.min()), float(x.max())
    if (
        low < -1e-3 or high > 1 + 1e-3
    ):  # normalised in some way that we do not know: show the range that is there
        x = (x - low) / max(high - low, 1e-12)
    x = x.mean(dim=1, keepdim=True) if x.shape[1] == 2 else x[:, :3]
    pixels = (x.clamp(0, 1) * 255).round().to(torch.uint8).permute(0, 2, 3, 1).numpy()
    factor = _growth(x)
    size = x.shape[-1] * factor, x.shape[-2] * factor
    pictures = [
        Image.fromarray(frame[..., 0] if frame.shape[-1] == 1 else frame) for frame in pixels
    ]
    return [
        picture if factor == 1 else picture.resize(size, Image.Resampling.NEAREST)
        for picture in pictures
    ]


def draw_labels(labels: Tensor) -> "list[Image]":
    """Label maps as pictures to lay over those of `draw`: one colour a class, hatched where nothing is known.

    They are as large as the pictures of images of their size; from the thirteenth class on, colours return chequered.

    Args:
        labels: (F, H, W), 255 where nothing is known.
    """
    from PIL import Image

    grown = labels.repeat_interleave(_growth(labels), 1).repeat_interleave(_growth(labels), 2)
    rows, columns = torch.arange(grown.shape[1])[:, None], torch.arange(grown.shape[2])
    chequered = (grown // len(CLASS_COLORS) % 2 == 1) & ((rows // 3 + columns // 3) % 2 == 1)
    places = (grown % len(CLASS_COLORS)).masked_fill(chequered, _CLEAR)
    places = torch.where(
        grown == UNKNOWN, torch.where((rows + columns) % 8 < 2, _HATCH, _GROUND), places
    )
    palette = [
        part
        for color in (*CLASS_COLORS, "#c8c8c8", "#606060", "#000000")
        for part in bytes.fromhex(color[1:])
    ]
    pictures = []
    for frame in places.to(torch.uint8).numpy():
        picture = Image.frombytes("P", frame.shape[::-1], frame.tobytes())
        picture.putpalette(palette)
        picture.info["transparency"] = _CLEAR
        pictures.append(picture)
    return pictures


def label_key(label: int) -> tuple[str, bool]:
    """The colour of a class in `draw_labels`, and whether it is chequered.

    Example:
        >>> label_key(1), label_key(13)
        (('#f0e442', False), ('#f0e442', True))
    """
    return CLASS_COLORS[label % len(CLASS_COLORS)], label // len(CLASS_COLORS) % 2 == 1


def _growth(x: Tensor) -> int:
    """The whole factor by which small images grow, so that they stay sharp."""
    longest = max(x.shape[-2:])
    return -(-SMALL // longest) if longest < SMALL else 1


def _signals(x: Tensor) -> "list[Image]":
    """Lines over time, all frames on one scale.   x: (F, C, T)"""
    from PIL import Image, ImageDraw

    width, height, margin = LARGE * _FINE, SMALL * _FINE, 6 * _FINE
    kept = torch.linspace(0, x.shape[-1] - 1, min(x.shape[-1], LARGE * 2)).round().long()
    x = x[:, : len(INK), kept]
    low, high = float(x.min()), float(x.max())
    y = margin + (high - x) / max(high - low, 1e-12) * (height - 2 * margin)
    across = (
        torch.linspace(margin, width - margin, len(kept)).tolist() if len(kept) > 1 else [width / 2]
    )
    pictures = []
    for frame in y.tolist():
        picture = Image.new("RGBA", (width, height), (128, 128, 128, 0))
        pen = ImageDraw.Draw(picture)
        for color, channel in zip(INK, frame, strict=False):
            line = list(zip(across, channel, strict=True))
            pen.line(line, fill=(*color, 255), width=int(1.6 * _FINE), joint="curve")
            if len(line) <= 32:
                for u, v in line:
                    pen.ellipse(
                        (u - 2 * _FINE, v - 2 * _FINE, u + 2 * _FINE, v + 2 * _FINE),
                        fill=(*color, 255),
                    )
        pictures.append(picture.resize((LARGE, SMALL), Image.Resampling.BOX))
    return pictures


def _points(x: Tensor) -> "list[Image]":
    """Points seen from a little above, near ones larger and darker, all frames on one scale.   x: (F, P, 2 or 3)"""
    from PIL import Image, ImageDraw

    side = 128 * _FINE
    kept = torch.linspace(0, x.shape[1] - 1, min(x.shape[1], 600)).round().long()
    x = x[:, kept]
    if x.shape[-1] == 2:
        across, up, depth = x[..., 0], x[..., 1], torch.zeros_like(x[..., 0])
    else:
        turn, tilt = math.radians(30), math.radians(22)
        across = math.cos(turn) * x[..., 0] - math.sin(turn) * x[..., 1]
        away = math.sin(turn) * x[..., 0] + math.cos(turn) * x[..., 1]
        up = math.cos(tilt) * x[..., 2] + math.sin(tilt) * away
        depth = math.cos(tilt) * away - math.sin(tilt) * x[..., 2]
    scale = 0.47 * side / max(float(torch.stack([across, up]).abs().max()), 1e-12)
    far, near = float(depth.max()), float(depth.min())
    closeness = (far - depth) / max(far - near, 1e-12)
    pictures = []
    for u, v, close in zip(across, up, closeness, strict=True):
        picture = Image.new("RGBA", (side, side), (128, 128, 128, 0))
        pen = ImageDraw.Draw(picture)
        for i in close.argsort().tolist():
            near_by, size = float(close[i]), (1.3 + 1.5 * float(close[i])) * _FINE
            a, b = side / 2 + float(u[i]) * scale, side / 2 - float(v[i]) * scale
            pen.ellipse(
                (a - size, b - size, a + size, b + size), fill=(*INK[0], int(90 + 165 * near_by))
            )
        pictures.append(picture.resize((side // _FINE, side // _FINE), Image.Resampling.BOX))
    return pictures
