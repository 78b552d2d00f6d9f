"""Cropping and resizing of images to the size given by the user."""

import torch
import torch.nn.functional as F
from torch import Tensor

from augerino.errors import InputError

Size = tuple[int, int]  # height, width
LARGEST_SIDE = 4096
_CHUNK = 256  # images resized at once, to avoid a float copy of the whole dataset


def parse_size(value: int | str | Size | None) -> Size | None:
    """Parses height and width from N, (H, W), "N" or "HxW".

    Example:
        >>> parse_size("48x64"), parse_size(32)
        ((48, 64), (32, 32))
    """
    if value is None:
        return None
    try:
        if isinstance(value, str):
            sides = [int(word) for word in value.lower().replace("×", "x").split("x")]
        elif isinstance(value, int):
            sides = [value]
        else:
            sides = [int(side) for side in value]
    except (TypeError, ValueError):
        sides = []
    if len(sides) == 1:
        sides *= 2
    if len(sides) != 2 or not all(1 <= side <= LARGEST_SIDE for side in sides):
        raise InputError(
            f"A size is N or HxW in pixels, each from 1 to {LARGEST_SIDE}, as in --size 64, "
            f"but got {value!r}."
        )
    return sides[0], sides[1]


def crop_box(height: int, width: int, size: Size) -> tuple[float, float, float, float]:
    """The largest central box with the aspect ratio of `size`, as (left, top, right, bottom).

    Cropping preserves the aspect ratio. Squeezing each image by a different factor would distort
    the symmetries to be learned.

    Example:
        >>> crop_box(100, 300, (10, 10))
        (100.0, 0.0, 200.0, 100.0)
    """
    scale = min(height / size[0], width / size[1])
    box_height = size[0] * scale
    box_width = size[1] * scale
    left = (width - box_width) / 2
    top = (height - box_height) / 2
    return left, top, left + box_width, top + box_height


def describe_resizing(low: Size, high: Size, size: Size) -> str:
    """A note on the resizing of images between the sizes `low` and `high` to `size`."""
    before = f"{low[0]}×{low[1]}"
    if low != high:
        before += f" to {high[0]}×{high[1]}"
    keeps_ratio = low == high and low[0] * size[1] == low[1] * size[0]
    cropped = "" if keeps_ratio else "cropped in the middle and "
    return f"Images of {before} pixels are {cropped}resized to {size[0]}×{size[1]}."


def resize(x: Tensor, size: Size) -> Tensor:
    """Crops the centre of images in memory and resizes it with antialiasing.

    x: (N, C, H, W)   returns (N, C, *size)
    """
    left, top, right, bottom = (round(side) for side in crop_box(x.shape[2], x.shape[3], size))
    cropped = x[:, :, top : max(bottom, top + 1), left : max(right, left + 1)]
    out = torch.empty((len(x), x.shape[1], *size), dtype=x.dtype)
    for i in range(0, len(x), _CHUNK):
        chunk = F.interpolate(
            cropped[i : i + _CHUNK].float(), size, mode="bilinear", antialias=True
        )
        if x.dtype == torch.uint8:
            chunk = chunk.round().clamp(0, 255).to(x.dtype)
        out[i : i + _CHUNK] = chunk
    return out


def resize_masks(y: Tensor, size: Size) -> Tensor:
    """`resize` for masks, by nearest neighbours.   y: (N, H, W)   returns (N, *size)"""
    left, top, right, bottom = (round(side) for side in crop_box(y.shape[1], y.shape[2], size))
    cropped = y[:, top : max(bottom, top + 1), left : max(right, left + 1)]
    rows, columns = (
        ((torch.arange(wanted) + 0.5) * have / wanted).long().clamp(max=have - 1)
        for wanted, have in zip(size, cropped.shape[1:], strict=True)
    )
    return cropped[:, rows][:, :, columns]
