"""Warping of images and resampling of signals, as plain functions."""

import functools
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor

from augerino import lie
from augerino.errors import InputError
from augerino.lie.eager import eager
from augerino.transforms import chunked

# Pixels are squares, and -1 and +1 are the outer edges of the image: one unit is half the image.
ALIGN_CORNERS = False

Padding = Literal["zeros", "border", "reflection"]
PADDINGS: tuple[str, ...] = get_args(Padding)

Sampling = Literal["bilinear", "nearest"]
SAMPLINGS: tuple[str, ...] = get_args(Sampling)

SignalPadding = Literal["zeros", "border", "circular"]
SIGNAL_PADDINGS: tuple[str, ...] = get_args(SignalPadding)


def frame(height: int, width: int) -> tuple[float, float]:
    """Half-extents (x, y) of an image in the isotropic frame, in which rotations are rigid.

    They are 2w / (w + h) and 2h / (w + h). A square image spans [-1, 1] in both directions; any
    other image keeps its aspect ratio and has a mean half-side of 1.
    """
    return 2 * width / (width + height), 2 * height / (width + height)


def in_pixels(matrix: Tensor, size: tuple[int, int]) -> Tensor:
    """Converts affine matrices from the isotropic `frame` to pixels from the image centre.

    Args:
        matrix: (B, 3, 3).
        size: (height, width) of the image.
    """
    return _scale_translation(matrix, sum(size) / 4)


def in_frame(matrix: Tensor, size: tuple[int, int]) -> Tensor:
    """Converts affine matrices from pixels from the image centre to the isotropic `frame`.

    Args:
        matrix: (B, 3, 3).
        size: (height, width) of the image.
    """
    return _scale_translation(matrix, 4 / sum(size))


def _scale_translation(matrix: Tensor, factor: float) -> Tensor:
    """Multiplies the translations of affine matrices.   matrix: (B, 3, 3)   returns (B, 3, 3)"""
    linear = matrix[:, :2, :2]
    shift = matrix[:, :2, 2:]
    upper = torch.cat([linear, shift * factor], dim=2)
    return torch.cat([upper, matrix[:, 2:]], dim=1)


def warp(
    x: Tensor,
    pull: Tensor,
    padding: Padding = "zeros",
    *,
    size: tuple[int, int] | None = None,
    sampling: Sampling = "bilinear",
) -> Tensor:
    r"""Warps images by affine matrices, \(y(p) = x(\mathrm{pull}\, p)\).

    `pull` maps a point of the output to the point of the input that appears there; the left action
    of g has the pull \(g^{-1}\). Points are in the isotropic `frame` of the input, with y down.
    Sampling runs in float32, or in float64 for float64 images, also under autocast, because half
    precision is wrong for large images. The output has the dtype of x.

    Args:
        x: images, (B, C, H, W).
        pull: one matrix per image, (B, 3, 3).
        padding: values outside the image: "zeros", "border" or "reflection".
        size: (height, width) of the output, with the centre and the pixel size of the input; a
            larger output is padded, a smaller one cropped. The size of x by default.
        sampling: "bilinear", or "nearest" for labels.

    Returns:
        (B, C, H, W), or (B, C, *size).
    """
    if x.dim() != 4 or not x.is_floating_point():
        raise InputError(
            "A warp needs floating-point images (B, C, H, W), "
            f"but got {tuple(x.shape)} of {x.dtype}. "
            "Add the missing dimension, or convert with x.float() / 255."
        )
    if pull.shape != (x.shape[0], 3, 3):
        raise InputError(
            f"A warp of {x.shape[0]} images needs matrices ({x.shape[0]}, 3, 3), "
            f"but got {tuple(pull.shape)}."
        )
    height, width = x.shape[-2:]
    window = (height, width) if size is None else size
    dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
    with torch.autocast(x.device.type, enabled=False):
        if eager(x, pull) and min(height, width, *window) > 0:
            return chunked.warp(
                x,
                pull,
                points=_cached_points(height, width, window, dtype),
                sampling=SAMPLINGS.index(sampling),
                padding=PADDINGS.index(padding),
            )
        factors, plane = _points(height, width, window, dtype=dtype, device=x.device)
        affine = pull[:, :2].to(dtype) * factors
        grid = affine.reshape(-1, 3) @ plane.flatten(1)
        out = F.grid_sample(
            x.to(dtype),
            grid.view(x.shape[0], 2, *window).permute(0, 2, 3, 1),
            mode=sampling,
            padding_mode=padding,
            align_corners=ALIGN_CORNERS,
        )
    return out.to(x.dtype)


def _points(
    height: int,
    width: int,
    window: tuple[int, int],
    *,
    dtype: torch.dtype,
    device: torch.device,
) -> tuple[Tensor, Tensor]:
    """Factors (2, 3) for affine matrices, and homogeneous output points (3, rows, columns).

    The points are in the coordinates of `grid_sample`, in which every image spans [-1, 1] in both
    directions. The factors convert a matrix from the isotropic `frame` to these coordinates, so
    that one matrix product gives the sampling grid of a batch.

    Args:
        height: height of the input.
        width: width of the input.
        window: (rows, columns) of the output.
        dtype: dtype of the results.
        device: device of the results.
    """
    rows, columns = window
    half_x, half_y = frame(height, width)
    column = torch.arange(columns, dtype=dtype, device=device)
    row = torch.arange(rows, dtype=dtype, device=device)
    u = (column * 2 + 1) / width - columns / width
    v = (row * 2 + 1) / height - rows / height
    plane = torch.stack(
        [
            u.expand(rows, columns),
            v[:, None].expand(rows, columns),
            torch.ones_like(u).expand(rows, columns),
        ]
    )
    factors = [
        [1.0, half_y / half_x, 1 / half_x],
        [half_x / half_y, 1.0, 1 / half_y],
    ]
    return torch.tensor(factors, dtype=dtype, device=device), plane


@functools.lru_cache(maxsize=8)
def _cached_points(
    height: int, width: int, window: tuple[int, int], dtype: torch.dtype
) -> chunked.Points:
    """`_points` on the CPU, computed once per size."""
    with torch.inference_mode(mode=False):  # the cached tensors are also used outside of it
        factors, plane = _points(height, width, window, dtype=dtype, device=torch.device("cpu"))
        return chunked.Points(factors, plane)


def resample(x: Tensor, offset: Tensor, padding: SignalPadding = "zeros") -> Tensor:
    r"""Resamples signals by linear interpolation, \(y_i = x(i + \mathrm{offset}_i)\).

    Offsets are in samples and relative to each sample, not to the start of the signal. Precision
    therefore does not depend on the length, and an offset of 0 is exact. Runs in float32, or in
    float64 for float64 signals, also under autocast. The output has the dtype of x.

    Args:
        x: signals, (B, C, T).
        offset: (B, T).
        padding: values outside the signal: "zeros", "border" or "circular".

    Returns:
        (B, C, T).
    """
    if x.dim() != 3 or not x.is_floating_point():
        raise InputError(
            "Resampling needs floating-point signals (B, C, T), "
            f"but got {tuple(x.shape)} of {x.dtype}. "
            "Add the missing dimension, or convert with x.float()."
        )
    samples = x.shape[-1]
    if offset.shape != (x.shape[0], samples):
        raise InputError(
            f"Resampling {tuple(x.shape)} needs offsets {(x.shape[0], samples)}, "
            f"but got {tuple(offset.shape)}."
        )
    with torch.autocast(x.device.type, enabled=False):
        signals = lie.at_least_float32(x)
        whole = offset.detach().floor()
        weight = (offset - whole).to(signals.dtype)[:, None]
        index = torch.arange(samples, device=x.device) + whole.long()
        left = _samples(signals, index, padding)
        right = _samples(signals, index + 1, padding)
        out = (1 - weight) * left + weight * right
    return out.to(x.dtype)


def _samples(x: Tensor, index: Tensor, padding: SignalPadding) -> Tensor:
    """Samples at integer positions, inside the signal or not.   x: (B, C, T)   index: (B, T)"""
    length = x.shape[-1]
    within = index.clamp(0, length - 1)
    if padding == "circular":
        within = index.remainder(length)
    picked = x.gather(-1, within[:, None].expand_as(x))
    if padding == "zeros":
        return picked * (index == within)[:, None]
    return picked
