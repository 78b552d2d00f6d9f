"""The one size that all pictures of a dataset are brought to, where the user gives one."""

import torch
import torch.nn.functional as F
from torch import Tensor

from augerino.errors import InputError

Size = tuple[int, int]  # height, width
LARGEST_SIDE = 4096
_CHUNK = (
    256  # pictures resized at once: floats of them are a passing need, not a copy of the dataset
)


def parse_size(value: int | str | Size | None) -> Size | None:
    """Height and width from N, (H, W), or the command line's "N" and "HxW".

    Example:
        >>> parse_size("48x64"), parse_size(32)
        ((48, 64), (32, 32))
    """
    if value is None:
        return None
    try:
        if isinstance(value, str):
            sides = [int(word) for word in value.lower().replace("×", "x").split("x")]
        else:
            sides = [value] if isinstance(value, int) else [int(side) for side in value]
    except (TypeError, ValueError):
        sides = []
    if len(sides) == 1:
        sides *= 2
    if len(sides) != 2 or not all(1 <= side <= LARGEST_SIDE for side in sides):
        raise InputError(
            f"A size is N or HxW in pixels, each from 1 to {LARGEST_SIDE}, as in --size 64, but got {value!r}."
        )
    return sides[0], sides[1]


def crop_box(height: int, width: int, size: Size) -> tuple[float, float, float, float]:
    """The largest box of the size's proportions in the middle of a picture, as (left, top, right, bottom).

    Cropping keeps shapes as they are. Squeezing each picture by its own factor would bend the very symmetries to be learned.

    Example:
        >>> crop_box(100, 300, (10, 10))
        (100.0, 0.0, 200.0, 100.0)
    """
    scale = min(height / size[0], width / size[1])
    box_height, box_width = size[0] * scale, size[1] * scale
    left, top = (width - box_width) / 2, (height - box_height) / 2
    return left, top, left + box_width, top + box_height


def describe_resizing(low: Size, high: Size, size: Size) -> str:
    """A sentence on what is done to pictures from one size to another."""
    was = f"{low[0]}×{low[1]}" + ("" if low == high else f" to {high[0]}×{high[1]}")
    cropped = (
        "" if low == high and low[0] * size[1] == low[1] * size[0] else "cropped in the middle and "
    )
    return f"Images of {was} pixels are {cropped}resized to {size[0]}×{size[1]}."


def resize(x: Tensor, size: Size) -> Tensor:
    """Crops pictures in memory in the middle and resizes them with antialiasing.   x: (N, C, H, W)   returns (N, C, *size)"""
    left, top, right, bottom = (round(side) for side in crop_box(x.shape[2], x.shape[3], size))
    cropped = x[:, :, top : max(bottom, top + 1), left : max(right, left + 1)]
    out = torch.empty((len(x), x.shape[1], *size), dtype=x.dtype)
    for i in range(0, len(x), _CHUNK):
        chunk = F.interpolate(
            cropped[i : i + _CHUNK].float(), size, mode="bilinear", antialias=True
        )
        out[i : i + _CHUNK] = (
            chunk.round().clamp(0, 255).to(x.dtype) if x.dtype == torch.uint8 else chunk
        )
    return out


def resize_masks(y: Tensor, size: Size) -> Tensor:
    """The same for class numbers, of which there is nothing in between: the nearest pixel counts.   y: (N, H, W)"""
    left, top, right, bottom = (round(side) for side in crop_box(y.shape[1], y.shape[2], size))
    cropped = y[:, top : max(bottom, top + 1), left : max(right, left + 1)]
    rows, columns = (
        ((torch.arange(wanted) + 0.5) * have / wanted).long().clamp(max=have - 1)
        for wanted, have in zip(size, cropped.shape[1:], strict=True)
    )
    return cropped[:, rows][:, :, columns]
