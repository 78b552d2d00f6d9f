"""The learned transforms on tensors, in plain torch, for torchvision and kornia."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from augerino.saving.export.element import (
    check_channels,
    contrast_slope,
    pixel_map,
    split,
    whole_pixels,
)
from augerino.transforms.pixelwise import (
    add_noise,
    blend,
    equalized,
    erase,
    gamma,
    posterize,
    rotate_hue,
    saturate,
    sharpen,
    shift,
    solarize,
    stretched,
    to_gray,
)


def apply(
    x: Tensor,
    transforms: Sequence[dict[str, Any]],
    rows: Sequence[Sequence[float]],
    *,
    mask: bool = False,
) -> Tensor:
    """Moves floating-point images, each by its own row of coordinates.

    Args:
        x: (B, C, H, W).
        transforms: the learned transforms, in order.
        rows: B rows of coordinates, or one for all images.
        mask: whether x are masks, whose values are neither interpolated nor recoloured.
    """
    if len(x) == 0:
        return x
    mode = "bilinear"
    if mask:
        mode = "nearest"
    for step in zip(*(split(transforms, row) for row in rows), strict=True):
        item = step[0][0]
        values = [t for _, t in step]
        if item["kind"] == "Affine2d":
            x = _warp(x, item, values, mode=mode)
        elif item["kind"] == "Flip":
            x = _flip(x, item, values)
        elif item["kind"] == "PixelShift":
            x = _shift(x, item, values)
        elif not mask:
            x = _change_intensities(x, item, values)
    return x


def _brighten(x: Tensor, t: Tensor) -> Tensor:
    return (x + t.view(-1, 1, 1, 1)).clamp(0, 1)


def _change_contrast(x: Tensor, t: Tensor) -> Tensor:
    slope = t.new_tensor([contrast_slope(value) for value in t.flatten().tolist()])
    return (slope.view(-1, 1, 1, 1) * (x - 128 / 255) + 128 / 255).clamp(0, 1)


def _stretch(x: Tensor, t: Tensor) -> Tensor:
    return blend(x, stretched(x), t.abs().clamp(max=1))


def _equalize(x: Tensor, t: Tensor) -> Tensor:
    return blend(x, equalized(x), t.abs().clamp(max=1))


# Functions of images (B, C, H, W) and strengths (B, 1).
INTENSITIES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "AutoContrast": _stretch,
    "Brightness": _brighten,
    "Contrast": _change_contrast,
    "Equalize": _equalize,
    "Erase": erase,
    "Gamma": gamma,
    "Grayscale": to_gray,
    "Hue": rotate_hue,
    "PixelNoise": add_noise,
    "Posterize": posterize,
    "Saturation": saturate,
    "Sharpness": sharpen,
    "Solarize": solarize,
}


def _change_intensities(
    x: Tensor, item: dict[str, Any], values: Sequence[Sequence[float]]
) -> Tensor:
    if item["kind"] in ("Grayscale", "Hue", "Saturation"):
        check_channels(item["kind"], x.shape[1])
    with torch.autocast(x.device.type, enabled=False):
        images = x if x.dtype in (torch.float32, torch.float64) else x.float()
        t = torch.tensor(values, dtype=images.dtype, device=x.device).expand(len(x), 1)
        changed = INTENSITIES[item["kind"]](images, t)
        return torch.where((t == 0).view(-1, 1, 1, 1), images, changed).to(x.dtype)


def _shift(x: Tensor, item: dict[str, Any], values: Sequence[Sequence[float]]) -> Tensor:
    height, width = x.shape[-2:]
    pixels = [whole_pixels(item["names"], t, height, width) for t in values]
    right, down = torch.tensor(pixels, device=x.device).expand(len(x), 2).unbind(1)
    return shift(x, right, down, padding=item["padding"])


def _flip(x: Tensor, item: dict[str, Any], values: Sequence[Sequence[float]]) -> Tensor:
    for i, name in enumerate(item["names"]):
        is_flipped = torch.tensor([t[i] > 0.5 for t in values], device=x.device)
        axis = -1 if name == "flip_horizontal" else -2
        x = torch.where(is_flipped.view(-1, 1, 1, 1), x.flip(axis), x)
    return x


def _warp(
    x: Tensor, item: dict[str, Any], values: Sequence[Sequence[float]], *, mode: str
) -> Tensor:
    height, width = x.shape[-2:]
    theta = [_sampling_matrix(item["names"], t, height, width) for t in values]
    with torch.autocast(x.device.type, enabled=False):  # half precision would be off by pixels
        images = x if x.dtype in (torch.float32, torch.float64) else x.float()
        matrices = torch.tensor(theta, dtype=images.dtype, device=x.device).expand(len(x), 2, 3)
        grid = F.affine_grid(matrices, list(x.shape), align_corners=False)
        warped = F.grid_sample(
            images, grid, mode=mode, padding_mode=item["padding"], align_corners=False
        )
        return warped.to(x.dtype)


def _sampling_matrix(
    names: Sequence[str], t: Sequence[float], height: int, width: int
) -> list[list[float]]:
    """The inverse map in the frame of `affine_grid`: -1 to 1 between the edges of the image."""
    (a, b, c), (d, e, f) = pixel_map(names, [-value for value in t], height, width)
    centre_x = (width - 1) / 2
    centre_y = (height - 1) / 2
    shift_x = a * centre_x + b * centre_y + c - centre_x
    shift_y = d * centre_x + e * centre_y + f - centre_y
    return [
        [a, b * height / width, 2 * shift_x / width],
        [d * width / height, e, 2 * shift_y / height],
    ]
