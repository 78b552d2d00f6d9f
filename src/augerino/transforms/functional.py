"""The one warp of images and the one resampling of signals, as plain functions."""

import functools
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor

from augerino import lie
from augerino.errors import InputError
from augerino.lie.eager import eager
from augerino.transforms import chunked

# Pixels are little squares and -1, +1 are the outer edges of the image: one unit is exactly half the image.
ALIGN_CORNERS = False

Padding = Literal["zeros", "border", "reflection"]
PADDINGS: tuple[str, ...] = get_args(Padding)

Sampling = Literal["bilinear", "nearest"]
SAMPLINGS: tuple[str, ...] = get_args(Sampling)

SignalPadding = Literal["zeros", "border", "circular"]
SIGNAL_PADDINGS: tuple[str, ...] = get_args(SignalPadding)


def frame(height: int, width: int) -> tuple[float, float]:
    """Half-extents (x, y) of an image in the frame where geometry happens: isotropic, so that a rotation is rigid.

    A square image spans [-1, 1] both ways; others keep their aspect ratio and a mean half-side of 1.
    """
    return 2 * width / (width + height), 2 * height / (width + height)


def in_pixels(matrix: Tensor, size: tuple[int, int]) -> Tensor:
    """An affine matrix in the isotropic `frame` as one in pixels from the centre of the image.   matrix: (B, 3, 3)"""
    return _with_unit(matrix, sum(size) / 4)


def in_frame(matrix: Tensor, size: tuple[int, int]) -> Tensor:
    """An affine matrix in pixels from the centre of the image as one in the isotropic `frame`.   matrix: (B, 3, 3)"""
    return _with_unit(matrix, 4 / sum(size))


def _with_unit(matrix: Tensor, unit: float) -> Tensor:
    linear, shift = matrix[:, :2, :2], matrix[:, :2, 2:]
    return torch.cat([torch.cat([linear, shift * unit], dim=2), matrix[:, 2:]], dim=1)


def warp(
    x: Tensor,
    pull: Tensor,
    padding: Padding = "zeros",
    *,
    size: tuple[int, int] | None = None,
    sampling: Sampling = "bilinear",
) -> Tensor:
    """Warps images by affine matrices.   x: (B, C, H, W)   pull: (B, 3, 3)   returns (B, C, H, W), or (B, C, *size)

    `pull` takes a point of the output to the point of the input that is seen there (for a left action of g: g^-1),
    in the isotropic `frame` of the input, y pointing down. Sampling runs in float32 (float64 for float64 images)
    whatever autocast says, since half precision is wrong on large images; half-precision images come back as such.

    Args:
        x: images.
        pull: one matrix an image.
        padding: what lies outside the image: "zeros", "border" or "reflection".
        size: (height, width) of the output, a window onto the same plane: same centre, pixels of the same size. Larger than
            the image it pads, smaller it crops. The image's own by default.
        sampling: "bilinear", or "nearest" for labels, which have no values in between.
    """
    if x.dim() != 4 or not x.is_floating_point():
        raise InputError(
            f"A warp needs floating-point images (B, C, H, W), but got {tuple(x.shape)} of {x.dtype}. "
            "Add the missing dimension, or convert with x.float() / 255."
        )
    if pull.shape != (x.shape[0], 3, 3):
        raise InputError(
            f"A warp of {x.shape[0]} images needs matrices ({x.shape[0]}, 3, 3), but got {tuple(pull.shape)}."
        )
    height, width = x.shape[-2:]
    window = (height, width) if size is None else size
    dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
    with torch.autocast(x.device.type, enabled=False):
        if eager(x, pull) and min(height, width, *window) > 0:
            points = _kept_points(height, width, window, dtype)
            return chunked.warp(x, pull, points, SAMPLINGS.index(sampling), PADDINGS.index(padding))
        factors, plane = _points(height, width, window, dtype, x.device)
        affine = pull[:, :2].to(dtype) * factors
        grid = (
            (affine.reshape(-1, 3) @ plane.flatten(1))
            .view(x.shape[0], 2, *window)
            .permute(0, 2, 3, 1)
        )
        out = F.grid_sample(
            x.to(dtype), grid, mode=sampling, padding_mode=padding, align_corners=ALIGN_CORNERS
        )
    return out.to(x.dtype)


def _points(
    height: int, width: int, window: tuple[int, int], dtype: torch.dtype, device: torch.device
) -> tuple[Tensor, Tensor]:
    """The homogeneous points of a window, (3, rows, columns), and factors (2, 3) for matrices that move them.

    Points are in the coordinates of torch's sampler, where any image spans [-1, 1] both ways; the factors take a matrix in the
    isotropic `frame` there. One product of matrices and points warps a batch.
    """
    rows, columns = window
    half_x, half_y = frame(height, width)
    u = (torch.arange(columns, dtype=dtype, device=device) * 2 + 1) / width - columns / width
    v = (torch.arange(rows, dtype=dtype, device=device) * 2 + 1) / height - rows / height
    plane = torch.stack(
        [
            u.expand(rows, columns),
            v[:, None].expand(rows, columns),
            torch.ones_like(u).expand(rows, columns),
        ]
    )
    factors = [[1.0, half_y / half_x, 1 / half_x], [half_x / half_y, 1.0, 1 / half_y]]
    return torch.tensor(factors, dtype=dtype, device=device), plane


@functools.lru_cache(maxsize=8)
def _kept_points(
    height: int, width: int, window: tuple[int, int], dtype: torch.dtype
) -> chunked.Points:
    """`_points` in this machine's memory, made once for each size."""
    with torch.inference_mode(mode=False):  # what is kept must serve outside as well
        return chunked.Points(*_points(height, width, window, dtype, torch.device("cpu")))


def resample(x: Tensor, offset: Tensor, padding: SignalPadding = "zeros") -> Tensor:
    """Moves the samples of signals.   x: (B, C, T)   offset: (B, T)   returns (B, C, T)

    Sample i of the output shows the input at i + offset[i], in samples, linearly between the two neighbours. Counting from each
    sample, not from the start of the signal, keeps long signals sharp: an offset of 0 is exact at any length. Runs in
    float32 (float64 for float64 signals) whatever autocast says; half-precision signals come back as such.
    """
    if x.dim() != 3 or not x.is_floating_point():
        raise InputError(
            f"Resampling needs floating-point signals (B, C, T), but got {tuple(x.shape)} of {x.dtype}. "
            "Add the missing dimension, or convert with x.float()."
        )
    samples = x.shape[-1]
    if offset.shape != (x.shape[0], samples):
        raise InputError(
            f"Resampling {tuple(x.shape)} needs offsets {(x.shape[0], samples)}, but got {tuple(offset.shape)}."
        )
    with torch.autocast(x.device.type, enabled=False):
        signals = lie.at_least_float32(x)
        whole = offset.detach().floor()
        weight = (offset - whole).to(signals.dtype)[:, None]
        left = torch.arange(samples, device=x.device) + whole.long()
        out = (1 - weight) * _samples(signals, left, padding) + weight * _samples(
            signals, left + 1, padding
        )
    return out.to(x.dtype)


def _samples(x: Tensor, index: Tensor, padding: SignalPadding) -> Tensor:
    """The samples at any whole numbers, inside the signal or not.   x: (B, C, T)   index: (B, T)"""
    length = x.shape[-1]
    within = index.remainder(length) if padding == "circular" else index.clamp(0, length - 1)
    picked = x.gather(-1, within[:, None].expand_as(x))
    return picked * (index == within)[:, None] if padding == "zeros" else picked
