"""Detects whether an array contains images, point clouds, signals or values, and converts it.

The first rule that applies:

(N, a, b, c)   images; the channels are the one of a and c that is at most 4; if both or neither
               are, the smaller; if equal, a
(N, a, b)      uint8 or bool: images of one channel
               b = 3: point clouds
               a and b differ by a factor of at least 4: signals; the smaller is the channels
               otherwise: images of one channel
(N, a)         a >= 32: signals of one channel; otherwise: values

A kind given by the user takes precedence, if the shape allows it.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from augerino.data.arrays import Kind
from augerino.errors import InputError

FEWEST_SAMPLES = 32  # length of the shortest signal
LONGER = 4  # ratio of the axes from which (a, b) is a signal rather than an image
DIMENSIONS = {"images": (3, 4), "points": (3,), "signals": (2, 3), "values": range(2, 9)}
SHAPES = {
    "images": "(N, H, W), (N, C, H, W) or (N, H, W, C)",
    "points": "(N, points, 3)",
    "signals": "(N, T), (N, C, T) or (N, T, C)",
    "values": "(N, values)",
}


class Layout(NamedTuple):
    """Kind and axis order of an array."""

    kind: Kind
    channels: int | None  # axis of the channels; None if there is none
    note: str  # description for the report


def find_layout(shape: tuple[int, ...], dtype: np.dtype, kind: Kind | None = None) -> Layout:
    """Detects the layout of a whole array of shape (N, ...) by the rules above.

    Example:
        >>> find_layout((10, 32, 32, 3), np.dtype("uint8")).note
        'Inputs (10, 32, 32, 3) are images, channel last; moved to channel first.'
    """
    if any(side < 1 for side in shape):
        raise InputError(f"The inputs are empty: their shape is {shape}.")
    if kind == "masks":
        kind = "images"
    chosen: Kind = kind or _kind(shape, dtype)
    if len(shape) not in DIMENSIONS[chosen] or (chosen == "points" and shape[2] != 3):
        raise InputError(
            f"Inputs of the kind {chosen} have shape {SHAPES[chosen]}, but these have {shape}."
        )
    subject = f"Inputs {shape} are"
    if chosen == "values":
        return Layout(chosen, None, f"{subject} {int(np.prod(shape[1:]))} values per sample.")
    if chosen == "points":
        return Layout(chosen, 2, f"{subject} point clouds of {shape[1]} points.")
    if chosen == "signals":
        return _signals(shape, subject)
    if len(shape) == 3:
        return Layout(chosen, None, f"{subject} images of one channel, {shape[1]}×{shape[2]}.")
    if _channels_last(shape):
        return Layout(chosen, 3, f"{subject} images, channel last; moved to channel first.")
    return Layout(chosen, 1, f"{subject} images, channel first.")


def _kind(shape: tuple[int, ...], dtype: np.dtype) -> Kind:
    if len(shape) == 4:
        return "images"
    if len(shape) == 3:
        _, a, b = shape
        if dtype.kind == "b" or dtype == np.uint8:
            return "images"
        if b == 3:
            return "points"
        if max(a, b) >= LONGER * min(a, b):
            return "signals"
        return "images"
    if len(shape) == 2:
        if shape[1] >= FEWEST_SAMPLES:
            return "signals"
        return "values"
    raise InputError(
        "Inputs must have shape (N, C, H, W) for images, (N, points, 3) for point clouds, "
        f"(N, C, T) for signals or (N, values), but have {shape}."
    )


def _channels_last(shape: tuple[int, ...]) -> bool:
    first = shape[1]
    last = shape[3]
    if (first <= 4) != (last <= 4):
        return last <= 4
    return last < first


def _signals(shape: tuple[int, ...], subject: str) -> Layout:
    if len(shape) == 2:
        note = f"{subject} signals of one channel and {shape[1]} samples."
        return Layout("signals", None, note)
    if shape[2] < shape[1]:
        note = f"{subject} signals of {shape[2]} channels, channel last; moved to channel first."
        return Layout("signals", 2, note)
    note = f"{subject} signals of {shape[1]} channels and {shape[2]} samples."
    return Layout("signals", 1, note)


def arrange(x: np.ndarray, layout: Layout) -> Tensor:
    """Converts an array to a tensor: (N, C, ...), points (N, P, 3), or values (N, values)."""
    if layout.kind == "values":
        x = x.reshape(len(x), -1)
    elif layout.channels is None:
        x = x[:, None]
    elif layout.kind != "points":
        x = np.moveaxis(x, layout.channels, 1)
    return torch.from_numpy(np.ascontiguousarray(x))


def numbers(x: np.ndarray, kind: Kind) -> tuple[np.ndarray, str | None]:
    """Converts inputs to uint8 or float32; returns them and a note on the conversion, if any.

    - Images: integers in 0 to 255 of any type become uint8; other uint16 values are divided by
      65535; other floats become float32.
    - Everything else becomes float32, unscaled.
    - NaN and Inf raise an error.
    """
    if x.dtype.kind not in "biuf":
        raise InputError(f"Inputs must be numbers, but are of type {x.dtype}.")
    if x.dtype.kind == "f":
        finite = np.isfinite(x).reshape(len(x), -1).all(axis=1)
        if not finite.all():
            raise InputError(
                f"{int((~finite).sum())} of {len(x)} inputs contain NaN or Inf "
                f"(the first is number {int((~finite).argmax())}): remove or repair them."
            )
    if kind in ("images", "masks"):
        return _pixels(x)
    note = None
    if x.dtype.kind in "iu":
        note = f"Integers from {x.min()} to {x.max()} are kept unscaled."
    return _as_float(x), note


def _pixels(x: np.ndarray) -> tuple[np.ndarray, str | None]:
    if x.dtype == np.uint8:
        return x, None
    if x.dtype.kind == "b":
        return x.astype(np.uint8) * np.uint8(255), "Booleans are converted to black and white."
    low = float(x.min())
    high = float(x.max())
    is_integer = x.dtype.kind != "f" or bool((x == np.floor(x)).all())
    if low >= 0 and 1 < high <= 255 and is_integer:
        note = f"Values are integers from {low:g} to {high:g}: read as bytes, 0 to 255."
        return x.astype(np.uint8), note
    if x.dtype == np.uint16:
        return x.astype(np.float32) / 65535, "Values have 16 bits: divided by 65535."
    if low >= 0 and high <= 1:
        return _as_float(x), None
    if x.dtype.kind == "f":
        return _as_float(x), f"Values from {low:.3g} to {high:.3g} are kept unscaled."
    raise InputError(
        f"Images of {x.dtype} must have values from 0 to 255, but go from {low:g} to {high:g}: "
        "save them as uint8 or floats."
    )


def _as_float(x: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        floats = x.astype(np.float32)
    if not np.isfinite(floats).all():
        raise InputError("Inputs must lie within the range of float32: some are larger.")
    return floats
