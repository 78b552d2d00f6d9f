"""What a training accepts of a checkpoint: what is built as the state that it replaces, and nothing else.

torch itself takes attributes, shapes and numbers as they come in the states of optimizers and schedulers, and numpy would read
beyond its own; but a checkpoint may be damaged, or come from anybody.
"""

import inspect
from typing import Any

import torch

from augerino.runtime import rng
from augerino.training.checkpoint import check_like

SUMS = ("step", "items", "loss", "penalty", "seconds")  # of an epoch so far
_RECORD = ("epoch", "loss", "penalty", "total", "lr", "seconds")
_PER_WEIGHT = (
    "exp_avg",
    "exp_avg_sq",
    "max_exp_avg_sq",
    "momentum_buffer",
    "square_avg",
    "sum",
)  # that optimizers keep


def check(
    saved: dict[str, Any],
    optimizer: torch.optim.Optimizer,
    scheduler: dict[str, Any] | None,
    loader: Any,
) -> None:
    """Raises where a loaded state does not fit the training that is to go on with it: ValueError, or whatever nonsense leads to.

    Args:
        saved: the state of a training.
        optimizer: as it was built anew.
        scheduler: the state of the scheduler as it was built anew, if there is one.
        loader: whose generators are to go on.
    """
    _check_optimizer(saved["optimizer"], optimizer)
    if scheduler is not None:
        check_like(saved["scheduler"], scheduler, "scheduler")
    check_like(saved["sums"], dict.fromkeys(SUMS, 0), "sums")
    if type(saved["sums"]["step"]) is not int or saved["sums"]["step"] < 0:
        raise ValueError("sums['step'] is not as it should be")
    for i, record in enumerate(saved["records"]):
        like = {**dict.fromkeys(_RECORD, 0.0), "extent": dict.fromkeys(record["extent"], 0.0)}
        check_like(record, like, f"records[{i}]")
    rng.check_state(saved["rng"], loader)
    if saved["order"] is not None:
        rng.check_state(saved["order"], loader)


def _check_optimizer(saved: dict[str, Any], optimizer: torch.optim.Optimizer) -> None:
    check_like({**saved, "state": None}, {**optimizer.state_dict(), "state": None}, "optimizer")
    known = inspect.signature(type(optimizer)).parameters.keys() & optimizer.defaults.keys()
    for group in saved["param_groups"]:  # a new optimizer judges its numbers; loading does not
        type(optimizer)([torch.zeros(1)], **{name: group[name] for name in known})
    if len({frozenset(values) for values in saved["state"].values()}) > 1:
        raise ValueError("the optimizer remembers more of some weights than of others")
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for i, values in saved["state"].items():
        for name, value in values.items():
            if name in _PER_WEIGHT:
                check_like(value, parameters[i].detach(), f"optimizer[{i}][{name!r}]")
