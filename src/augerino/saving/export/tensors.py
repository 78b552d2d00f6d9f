"""The learned transforms on tensors, in plain torch, for the libraries that are made of it."""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from augerino.saving.export.element import contrast_slope, pixel_map, split


def apply(
    x: Tensor,
    transforms: Sequence[dict[str, Any]],
    rows: Sequence[Sequence[float]],
    *,
    mask: bool = False,
) -> Tensor:
    """Moves floating-point images (B, C, H, W), each by its own row of coordinates; masks keep their values."""
    steps = list(zip(*(split(transforms, row) for row in rows), strict=True))
    for step in steps if len(x) else ():
        item, values = step[0][0], [t for _, t in step]
        if item["kind"] == "Affine2d":
            x = _warp(x, item, values, "nearest" if mask else "bilinear")
        elif item["kind"] == "Flip":
            for i, name in enumerate(item["names"]):
                chosen = torch.tensor([t[i] > 0.5 for t in values], device=x.device).view(
                    -1, 1, 1, 1
                )
                x = torch.where(chosen, x.flip(-1 if name == "flip_horizontal" else -2), x)
        elif not mask and item["kind"] == "Brightness":
            x = (x + x.new_tensor(values).view(-1, 1, 1, 1)).clamp(0, 1)
        elif not mask:  # Contrast
            slope = x.new_tensor([contrast_slope(t[0]) for t in values]).view(-1, 1, 1, 1)
            x = (slope * (x - 128 / 255) + 128 / 255).clamp(0, 1)
    return x


def _warp(x: Tensor, item: dict[str, Any], values: Sequence[Sequence[float]], mode: str) -> Tensor:
    height, width = x.shape[-2:]
    middle_x, middle_y = (width - 1) / 2, (height - 1) / 2
    theta = []
    for t in values:  # from pixels to -1..1 between the outer edges of the image
        (a, b, c), (d, e, f) = pixel_map(item["names"], [-value for value in t], height, width)
        shift_x, shift_y = (
            a * middle_x + b * middle_y + c - middle_x,
            d * middle_x + e * middle_y + f - middle_y,
        )
        theta.append(
            [
                [a, b * height / width, 2 * shift_x / width],
                [d * width / height, e, 2 * shift_y / height],
            ]
        )
    with torch.autocast(
        x.device.type, enabled=False
    ):  # half-precision coordinates would be off by pixels
        images = x if x.dtype in (torch.float32, torch.float64) else x.float()
        matrices = torch.tensor(theta, dtype=images.dtype, device=x.device).expand(len(x), 2, 3)
        grid = F.affine_grid(matrices, list(x.shape), align_corners=False)
        return F.grid_sample(
            images, grid, mode=mode, padding_mode=item["padding"], align_corners=False
        ).to(x.dtype)
