"""The rule by which an array of inputs is told to be images, point clouds, signals or values, and brought into form.

(N, a, b, c)   images; channels are whichever of a and c is 1 to 4; if both or neither are, the smaller; if equal, a
(N, a, b)      bytes or booleans: images of one channel; else b = 3: point clouds; else a and b differ by a factor of 4 or
               more: signals, the shorter being the channels; else images of one channel
(N, a)         at least 32 numbers: signals of one channel; fewer: values

A kind that is asked for wins wherever the shape allows it.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from augerino.data.arrays import Kind
from augerino.errors import InputError

FEWEST_SAMPLES = 32
LONGER = 4


class Layout(NamedTuple):
    """How an array is read: its kind, the axis of the channels (None: there is none yet), and what to tell of it."""

    kind: Kind
    channels: int | None
    note: str


def find_layout(shape: tuple[int, ...], dtype: np.dtype, kind: Kind | None = None) -> Layout:
    """Reads the shape of a whole array, (N, ...), by the rule above.

    Example:
        >>> find_layout((10, 32, 32, 3), np.dtype("uint8")).note
        'Inputs (10, 32, 32, 3) are images, channel last; moved to channel first.'
    """
    if any(side < 1 for side in shape):
        raise InputError(f"The inputs are empty: their shape is {shape}.")
    if kind == "masks":
        kind = "images"
    chosen: Kind = kind or _kind(shape, dtype)
    dimensions = {"images": (3, 4), "points": (3,), "signals": (2, 3), "values": range(2, 9)}[
        chosen
    ]
    if len(shape) not in dimensions or (chosen == "points" and shape[2] != 3):
        wanted = {
            "images": "(N, H, W), (N, C, H, W) or (N, H, W, C)",
            "points": "(N, points, 3)",
            "signals": "(N, T), (N, C, T) or (N, T, C)",
            "values": "(N, values)",
        }
        raise InputError(
            f"Inputs of the kind {chosen} have shape {wanted[chosen]}, but these have {shape}."
        )
    said = f"Inputs {shape} are"
    if chosen == "values":
        return Layout(chosen, None, f"{said} {int(np.prod(shape[1:]))} values an item.")
    if chosen == "points":
        return Layout(chosen, 2, f"{said} point clouds of {shape[1]} points.")
    if chosen == "signals":
        return _signals(shape, said)
    if len(shape) == 3:
        return Layout(chosen, None, f"{said} images of one channel, {shape[1]}×{shape[2]}.")
    if _channels_last(shape):
        return Layout(chosen, 3, f"{said} images, channel last; moved to channel first.")
    return Layout(chosen, 1, f"{said} images, channel first.")


def _kind(shape: tuple[int, ...], dtype: np.dtype) -> Kind:
    if len(shape) == 4:
        return "images"
    if len(shape) == 3:
        _, a, b = shape
        if dtype.kind == "b" or dtype == np.uint8:
            return "images"
        return "points" if b == 3 else "signals" if max(a, b) >= LONGER * min(a, b) else "images"
    if len(shape) == 2:
        return "signals" if shape[1] >= FEWEST_SAMPLES else "values"
    raise InputError(
        f"Inputs must have shape (N, C, H, W) for images, (N, points, 3) for point clouds, (N, C, T) for signals or (N, values), "
        f"but have {shape}."
    )


def _channels_last(shape: tuple[int, ...]) -> bool:
    first, last = shape[1], shape[3]
    if (first <= 4) != (last <= 4):
        return last <= 4
    return last < first


def _signals(shape: tuple[int, ...], said: str) -> Layout:
    if len(shape) == 2:
        return Layout("signals", None, f"{said} signals of one channel and {shape[1]} samples.")
    if shape[2] < shape[1]:
        return Layout(
            "signals",
            2,
            f"{said} signals of {shape[2]} channels, channel last; moved to channel first.",
        )
    return Layout("signals", 1, f"{said} signals of {shape[1]} channels and {shape[2]} samples.")


def arrange(x: np.ndarray, layout: Layout) -> Tensor:
    """Brings an array into the order (N, C, ...) that its layout says; points stay (N, P, 3), values become (N, values)."""
    if layout.kind == "values":
        x = x.reshape(len(x), -1)
    elif layout.kind != "points":
        x = x[:, None] if layout.channels is None else np.moveaxis(x, layout.channels, 1)
    return torch.from_numpy(np.ascontiguousarray(x))


def numbers(x: np.ndarray, kind: Kind) -> tuple[np.ndarray, str | None]:
    """Values as they are trained on, and what was done to them.

    Images: bytes stay bytes, whole numbers of other types in 0 to 255 become bytes, unsigned 16-bit ones are divided by 65535,
    other floats are kept. Everything else becomes float32 as it is. NaN and Inf are refused.
    """
    if x.dtype.kind not in "biuf":
        raise InputError(f"Inputs must be numbers, but are of type {x.dtype}.")
    if x.dtype.kind == "f":
        finite = np.isfinite(x).reshape(len(x), -1).all(axis=1)
        if not finite.all():
            raise InputError(
                f"{int((~finite).sum())} of {len(x)} inputs contain NaN or Inf (the first is number {int((~finite).argmax())}): "
                "remove or repair them."
            )
    if kind not in ("images", "masks"):
        return (
            _as_float(x),
            f"Whole numbers from {x.min()} to {x.max()} are kept as they are."
            if x.dtype.kind in "iu"
            else None,
        )
    if x.dtype == np.uint8:
        return x, None
    if x.dtype.kind == "b":
        return x.astype(np.uint8) * np.uint8(255), "Booleans are made black and white."
    low, high = float(x.min()), float(x.max())
    if low >= 0 and 1 < high <= 255 and (x.dtype.kind != "f" or bool((x == np.floor(x)).all())):
        return x.astype(
            np.uint8
        ), f"Values are whole numbers from {low:g} to {high:g}: read as bytes, 0 to 255."
    if x.dtype == np.uint16:
        return x.astype(np.float32) / 65535, "Values have 16 bits: divided by 65535."
    if x.dtype.kind == "f" or (low >= 0 and high <= 1):
        return (
            _as_float(x),
            None
            if low >= 0 and high <= 1
            else f"Values from {low:.3g} to {high:.3g} are kept as they are.",
        )
    raise InputError(
        f"Images of {x.dtype} must have values from 0 to 255, but go from {low:g} to {high:g}: save them as uint8 or floats."
    )


def _as_float(x: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        floats = x.astype(np.float32)
    if not np.isfinite(floats).all():
        raise InputError("Inputs must lie within the range of float32: some are larger.")
    return floats
