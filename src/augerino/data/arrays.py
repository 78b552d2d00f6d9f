"""Data in memory: kinds, tasks, and the validation of inputs and targets."""

from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from augerino import tree
from augerino.errors import InputError

IGNORE = 255  # label of mask pixels that are ignored

Kind = Literal["images", "masks", "points", "signals", "values"]
Task = Literal["classification", "regression", "segmentation"]

_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_WIDE_UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)  # few operations of torch take these


def as_tensor(value: Any, what: str) -> Tensor:
    """Converts an array of numbers to a tensor; `what` names the value in error messages."""
    if isinstance(value, Tensor):
        return value
    try:
        return torch.from_numpy(np.ascontiguousarray(value))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{what} must be a tensor or an array of numbers, "
            f"but got {type(value).__name__}: {error}."
        ) from error


def validate_batch(x: Any, y: Any) -> tuple[Any, Tensor]:
    """Validates a batch and converts its types.

    - Inputs: uint8 becomes floats in [0, 1], other floats the default dtype of torch; NaN and Inf
      raise an error.
    - Targets: integers and booleans are class labels, (N,), or label maps, (N, H, W), and become
      int64; floats become float32, (N, n_outputs).
    """
    x, y = validate_arrays(x, y)
    return tree.map(to_float, x), y


def validate_arrays(x: Any, y: Any) -> tuple[Any, Tensor]:
    """Validates a whole dataset as `validate_batch` does, but keeps uint8 inputs as uint8.

    They are converted to floats batch by batch.
    """
    y = as_tensor(y, "The targets")
    if not isinstance(x, dict):
        x = as_tensor(x, "The inputs")
    for leaf in tree.leaves(x):
        _check_storage(leaf, "The inputs")
    _check_storage(y, "The targets")
    if y.dim() == 0 or any(leaf.dim() == 0 or len(leaf) != len(y) for leaf in tree.leaves(x)):
        shapes = ", ".join(str(tuple(leaf.shape)) for leaf in tree.leaves(x))
        raise InputError(
            f"There must be one target per input, "
            f"but inputs are {shapes} and targets {tuple(y.shape)}."
        )
    if len(y) == 0 or any(leaf.numel() == 0 for leaf in tree.leaves(x)):
        raise InputError("The dataset is empty.")
    return tree.map(_check_inputs, x), _check_targets(y)


def _check_storage(value: Tensor, name: str) -> None:
    """Raises an error unless a tensor is dense, with values of a type that can be computed with."""
    if value.is_meta:
        raise InputError(f"{name} are on the device meta, which has no values: load them first.")
    if value.layout != torch.strided:
        raise InputError(f"{name} are sparse ({value.layout}): convert with .to_dense().")
    if value.is_quantized:
        raise InputError(f"{name} are quantized ({value.dtype}): convert with .dequantize().")
    if value.is_complex():
        raise InputError(
            f"{name} are complex ({value.dtype}): give real and imaginary parts as "
            "two channels, with torch.view_as_real."
        )
    if value.is_floating_point() and value.dtype not in _FLOATS:
        raise InputError(f"{name} have the type {value.dtype}: convert with .float().")


def _check_inputs(x: Tensor) -> Tensor:
    if x.dtype in _WIDE_UNSIGNED:
        raise InputError(
            f"The inputs have the type {x.dtype}: convert to floats in [0, 1], "
            f"as with x.float() / {torch.iinfo(x.dtype).max}."
        )
    if not x.is_floating_point():
        return x
    bad = ~x.reshape(len(x), -1).isfinite().all(dim=1)
    if bad.any():
        count = f"{int(bad.sum())} of {len(x)} inputs"
        raise InputError(
            f"{count} contain NaN or Inf (the first is number {int(bad.nonzero()[0])}): "
            "remove or repair them."
        )
    return x.to(torch.get_default_dtype())


def to_float(x: Tensor) -> Tensor:
    """Converts uint8 in 0 to 255 to floats in [0, 1]; returns other types unchanged."""
    if x.dtype != torch.uint8:
        return x
    return x.to(torch.get_default_dtype()) / 255


def _check_targets(y: Tensor) -> Tensor:
    if y.is_floating_point():
        if not y.isfinite().all():
            raise InputError("The targets contain NaN or Inf: remove or repair those samples.")
        if y.dim() == 1:
            y = y[:, None]
        return y.float()
    if y.dim() not in (1, 3):
        raise InputError(
            f"Class labels must be one integer per input, or a map (H, W) of integers, "
            f"but have shape {tuple(y.shape)}."
        )
    y = y.long()
    if int(y.min()) < 0:
        raise InputError(f"Class labels must be 0, 1, 2, ..., but the lowest is {int(y.min())}.")
    return y


def count_classes(y: Tensor) -> int:
    """Number of classes K; raises an error unless the labels are 0, 1, ..., K - 1 with K >= 2."""
    if y.dim() > 1:
        y = y[y != IGNORE]
    present = y.unique().tolist()
    if len(present) < 2:
        raise InputError(
            f"There is only one class ({present or 'none'}) in the data: "
            "classification needs at least two."
        )
    missing = next((i for i, label in enumerate(present) if i != label), None)
    if missing is not None:
        raise InputError(
            f"Class labels must be 0 to {present[-1]} without gaps, "
            f"but no sample has label {missing}: renumber them, or pass your own network."
        )
    return len(present)
