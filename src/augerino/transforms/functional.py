"""The one warp of the library, as a plain function."""

from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor

from augerino import lie
from augerino.errors import InputError

# Pixels are little squares and -1, +1 are the outer edges of the image: one unit is exactly half the image.
ALIGN_CORNERS = False

Padding = Literal["zeros", "border", "reflection"]
PADDINGS: tuple[str, ...] = get_args(Padding)


def frame(height: int, width: int) -> tuple[float, float]:
    """Half-extents (x, y) of an image in the frame where geometry happens: isotropic, so that a rotation is rigid.

    A square image spans [-1, 1] both ways; others keep their aspect ratio and a mean half-side of 1.
    """
    return 2 * width / (width + height), 2 * height / (width + height)


def warp(x: Tensor, pull: Tensor, padding: Padding = "zeros") -> Tensor:
    """Warps images by affine matrices.   x: (B, C, H, W)   pull: (B, 3, 3)   returns (B, C, H, W)

    `pull` takes a point of the output to the point of the input that is seen there (for a left action of g: g^-1),
    in the isotropic `frame`, y pointing down. Sampling is bilinear and runs in float32 (float64 for float64 images)
    whatever autocast says, since half precision is wrong on large images; half-precision images come back as such.
    """
    if x.dim() != 4 or not x.is_floating_point():
        raise InputError(
            f"A warp needs floating-point images (B, C, H, W), but got {tuple(x.shape)} of {x.dtype}. "
            "Add the missing dimension, or convert with x.float() / 255."
        )
    if pull.shape != (x.shape[0], 3, 3):
        raise InputError(f"A warp of {x.shape[0]} images needs matrices ({x.shape[0]}, 3, 3), but got {tuple(pull.shape)}.")
    with torch.autocast(x.device.type, enabled=False):
        images = lie.at_least_float32(x)
        batch, _, height, width = images.shape
        affine = pull[:, :2].reshape(batch, 6).to(images.dtype)
        grid = (affine @ _points(height, width, images)).view(batch, height, width, 2)
        out = F.grid_sample(images, grid, mode="bilinear", padding_mode=padding, align_corners=ALIGN_CORNERS)
    return out.to(x.dtype)


def _points(height: int, width: int, like: Tensor) -> Tensor:
    """The linear map from the six entries of a matrix to a sampling grid, (6, H * W * 2): one product warps a batch."""
    half_x, half_y = frame(height, width)
    u = (torch.arange(width, dtype=like.dtype, device=like.device) * 2 + 1) / width - 1
    v = (torch.arange(height, dtype=like.dtype, device=like.device) * 2 + 1) / height - 1
    points = like.new_zeros(6, height, width, 2)
    points[0, :, :, 0], points[1, :, :, 0], points[2, :, :, 0] = u, v[:, None] * (half_y / half_x), 1 / half_x
    points[3, :, :, 1], points[4, :, :, 1], points[5, :, :, 1] = u * (half_x / half_y), v[:, None], 1 / half_y
    return points.view(6, -1)
