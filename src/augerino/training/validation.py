"""Validation of a loaded training state: it must have the structure of the state it replaces.

A checkpoint may be damaged or come from an untrusted source. Optimizers and schedulers of torch
accept any attributes, shapes and numbers, and numpy reads beyond its buffer.
"""

import inspect
import math
from typing import Any

import torch
from torch import Tensor

from augerino.runtime import rng

SUMS = ("step", "items", "loss", "penalty", "seconds")  # running sums of an unfinished epoch
_RECORD = ("epoch", "loss", "penalty", "total", "lr", "seconds")
# State of optimizers with the shape of the weight it belongs to.
_PER_WEIGHT = (
    "exp_avg",
    "exp_avg_sq",
    "max_exp_avg_sq",
    "momentum_buffer",
    "square_avg",
    "sum",
)


def validate_state(
    saved: dict[str, Any],
    optimizer: torch.optim.Optimizer,
    scheduler: dict[str, Any] | None,
    loader: Any,
) -> None:
    """Raises where a loaded state does not fit the training: ValueError, or any error of torch.

    Args:
        saved: the loaded state.
        optimizer: newly created.
        scheduler: the state of the newly created scheduler, if there is one.
        loader: whose generators are restored.
    """
    _validate_optimizer(saved["optimizer"], optimizer)
    if scheduler is not None:
        validate_structure(saved["scheduler"], scheduler, "scheduler")
    validate_structure(saved["sums"], dict.fromkeys(SUMS, 0), "sums")
    step = saved["sums"]["step"]
    if type(step) is not int or step < 0:
        raise ValueError("sums['step'] has an invalid value")
    for i, record in enumerate(saved["records"]):
        expected = {
            **dict.fromkeys(_RECORD, 0.0),
            "extent": dict.fromkeys(record["extent"], 0.0),
        }
        validate_structure(record, expected, f"records[{i}]")
    rng.validate_state(saved["rng"], loader)
    if saved["order"] is not None:
        rng.validate_state(saved["order"], loader)


def _validate_optimizer(saved: dict[str, Any], optimizer: torch.optim.Optimizer) -> None:
    own = optimizer.state_dict()
    validate_structure({**saved, "state": None}, {**own, "state": None}, "optimizer")
    arguments = inspect.signature(type(optimizer)).parameters.keys() & optimizer.defaults.keys()
    for group in saved["param_groups"]:
        # The constructor of an optimizer validates its numbers; loading does not.
        type(optimizer)([torch.zeros(1)], **{name: group[name] for name in arguments})
    names = {frozenset(values) for values in saved["state"].values()}
    if len(names) > 1:
        raise ValueError("the optimizer's state differs between weights")
    parameters = []
    for group in optimizer.param_groups:
        parameters += group["params"]
    for i, values in saved["state"].items():
        for name, value in values.items():
            if name in _PER_WEIGHT:
                validate_structure(value, parameters[i].detach(), f"optimizer[{i}][{name!r}]")


def validate_structure(saved: Any, own: Any, where: str) -> None:
    """Raises ValueError where a loaded value has another structure than the one it replaces.

    Tensors must agree in shape and dtype, lists in length, dicts in keys, and other values in type.
    Numbers must be finite; ints and floats are exchangeable, and may replace None.
    """
    if not _fits(saved, own):
        raise ValueError(f"{where} has an invalid value")
    if isinstance(own, dict):
        for key, value in own.items():
            validate_structure(saved[key], value, f"{where}[{key!r}]")
    elif isinstance(own, list | tuple):
        for i, value in enumerate(own):
            validate_structure(saved[i], value, f"{where}[{i}]")


def _fits(saved: Any, own: Any) -> bool:
    """Whether a loaded value can replace another one, not considering its entries."""
    if isinstance(own, Tensor):
        return isinstance(saved, Tensor) and saved.shape == own.shape and saved.dtype == own.dtype
    if isinstance(own, dict):
        return isinstance(saved, dict) and saved.keys() == own.keys()
    if isinstance(own, list | tuple):
        return isinstance(saved, list | tuple) and len(saved) == len(own)
    if isinstance(own, bool | str):
        return type(saved) is type(own)
    if own is None and saved is None:
        return True
    return type(saved) in (int, float) and math.isfinite(saved)
