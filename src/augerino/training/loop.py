"""The training loop. A loop, not a framework."""

import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from augerino import tree
from augerino.augmentation import Augmentation
from augerino.data.arrays import IGNORE
from augerino.distributions import LearnedDistribution
from augerino.errors import InputError, NonFiniteLoss
from augerino.objective import LossTerms, Objective
from augerino.runtime import bf16, distributed
from augerino.training.state import Epoch, History, TrainingState, Tuner, non_finite

Precision = Literal["auto", "float32", "bf16"]

EXPLODED = 100.0  # times its limit, or its start: a bound beyond this is an accident


def param_groups(
    model: nn.Module,
    *,
    weight_decay: float = 0.0,
    augmentation_lr: float | None = None,
    augmentation_betas: tuple[float, float] | None = None,
) -> list[dict[str, Any]]:
    """Optimizer groups: the network's weights with weight decay, theta without, with a learning rate of its own if given.

    The gradient of a bound shrinks with the bound, by orders of magnitude while it collapses. Adam with its usual memory of
    a thousand steps then hardly moves it any more; `augmentation_betas=(0.9, 0.9)` lets it forget sooner.

    Example:
        >>> from augerino import Affine2d, InvariantModel, Uniform
        >>> model = InvariantModel(nn.Linear(4, 2), Augmentation(Affine2d("rotate"), Uniform([0.1])))
        >>> [len(group["params"]) for group in param_groups(model, weight_decay=1e-4)]
        [2, 1]
    """
    theta = _theta(model)
    weights = [p for p in model.parameters() if p.requires_grad and id(p) not in theta]
    groups: list[dict[str, Any]] = (
        [{"params": weights, "weight_decay": weight_decay}] if weights else []
    )
    if theta:
        own = {"lr": augmentation_lr, "betas": augmentation_betas}
        given = {name: value for name, value in own.items() if value is not None}
        groups.append({"params": list(theta.values()), "weight_decay": 0.0, **given})
    return groups


def _theta(model: nn.Module) -> dict[int, nn.Parameter]:
    """The parameters of learned distributions that may move, by their identity."""
    distributions = [
        module for module in model.modules() if isinstance(module, LearnedDistribution)
    ]
    return {id(p): p for module in distributions for p in module.parameters() if p.requires_grad}


def cosine_schedule(
    optimizer: torch.optim.Optimizer, steps: int, wait: float = 0.0, rise: float = 0.0
) -> torch.optim.lr_scheduler.LambdaLR:
    """Learning rates that go down by a cosine; that of theta, in `param_groups`' order, is 0 for the first steps.

    Bounds that move while the network knows nothing follow the penalty alone: from a wide start they run away before the
    network could tell them that they mix up what the labels depend on.

    Args:
        optimizer: over `param_groups(model)`.
        steps: of the whole training.
        wait: how many of them theta waits.
        rise: during how many of them the weights' rate also rises, from 0 in a straight line.
    """

    def going_down(step: int) -> float:
        return (1 + math.cos(math.pi * min(step, steps) / steps)) / 2

    def waiting(step: int) -> float:
        return 0.0 if step < wait else going_down(step)

    def rising(step: int) -> float:
        return min(1.0, (step + 1) / max(rise, 1.0)) * going_down(step)

    rates: list[Callable[[int], float]] = [rising, waiting]
    return torch.optim.lr_scheduler.LambdaLR(optimizer, rates[: len(optimizer.param_groups)])


def choose_precision(precision: Precision, device: torch.device) -> Literal["float32", "bf16"]:
    """For "auto", bf16 where the hardware makes it faster and a trial survives it, float32 elsewhere."""
    if precision not in ("auto", "float32", "bf16"):
        raise InputError(f"precision is one of auto, float32, bf16, but got '{precision}'.")
    if precision == "float32":
        return precision
    if device.type == "cpu" and precision == "bf16" and not bf16.survives():
        raise InputError(
            "bf16 ends the process on this machine, which announces AMX instructions that do not work: "
            f"use precision float32 or auto, or set {'='.join(bf16.REMEDY)} in the environment."
        )
    if precision == "bf16":
        return precision
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    return "bf16" if device.type == "cpu" and bf16.pays() else "float32"


def iter_epochs(
    model: nn.Module,
    objective: Objective,
    loader: Iterable[Any],
    optimizer: torch.optim.Optimizer,
    *,
    epochs: int,
    scheduler: torch.optim.lr_scheduler.LRScheduler | None = None,
    device: torch.device | str | None = None,
    precision: Precision = "float32",
    theta_every: int = 1,
    checkpoint: str | Path | None = None,
    save_every: int | None = None,
    resume: bool = False,
    settings: dict[str, Any] | None = None,
    on_step: Callable[[int, int, float], None] | None = None,
    tuner: Tuner | None = None,
) -> Iterator[Epoch]:
    """Trains, and yields one record per epoch.

    With `resume`, the records before the interruption come first, from the checkpoint, and training goes on behind
    them: on a CPU, weights, theta and records end up the same bits as if nothing had happened.

    In a process group of `torch.distributed` all processes train one model, each on its share of every batch, which the loader
    must yield: the gradients of weights and theta are those of the joined batch, losses are its losses, the first process
    alone reads and writes the checkpoint, and a resume may have another number of processes.

    Args:
        model: any module; usually an `InvariantModel` or `EquivariantModel`.
        objective: loss and penalty of a prediction.
        loader: yields (input, target) batches; iterated once per epoch.
        optimizer: over `param_groups(model)`.
        epochs: passes over the loader, in all.
        scheduler: stepped after every optimizer step.
        device: where batches are moved; by default where the model's parameters are.
        precision: "float32"; "bf16" for autocast and channels_last; "auto" for whichever is faster on this hardware,
            which on a CPU without bf16 is float32 and channels_last.
        theta_every: theta has a gradient in the first step of an epoch and every so many steps after it. In between, inputs are
            moved as ever, but neither the warp nor the first layer's input is differentiated, which is most of what learning
            theta costs; the optimizer then leaves theta alone. Give theta that many times the learning rate.
        checkpoint: a file written after every epoch, atomically.
        save_every: also write it after every so many steps of an epoch.
        resume: go on from `checkpoint`; without it an existing file is never overwritten.
        settings: plain values kept in the checkpoint; a resume with other ones is refused.
        on_step: called with epoch, step (both from 1) and loss.
        tuner: moves theta after every step, as a `Probe` does; by default the optimizer does.
    """
    if epochs < 1:
        raise InputError(f"epochs must be at least 1, but got {epochs}.")
    if save_every is not None and save_every < 1:
        raise InputError(f"save_every must be at least 1, but got {save_every}.")
    theta = list(_theta(model).values())
    if theta_every < 1:
        raise InputError(f"theta_every must be at least 1, but got {theta_every}.")
    if theta_every > 1 and len(theta) == sum(p.requires_grad for p in model.parameters()):
        raise InputError(
            "theta_every leaves the steps in between to the network's weights, but there are none to train."
        )
    path = None if checkpoint is None else Path(checkpoint)
    model = model.module if isinstance(model, nn.parallel.DistributedDataParallel) else model
    if resume and path is None:
        raise InputError("resume needs the checkpoint to go on from: pass checkpoint=PATH.")
    if path is not None and not resume and distributed.from_first(path.exists):
        raise InputError(
            f"{path} exists already: pass resume=True to go on from it, or choose another file."
        )
    if isinstance(scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
        raise InputError(
            "ReduceLROnPlateau waits for a metric; pass a scheduler that is stepped without one."
        )
    if path is not None and getattr(loader, "persistent_workers", False):
        warnings.warn(
            "Persistent workers keep random states that no checkpoint holds: a resume may draw other data.",
            stacklevel=2,
        )
    where = torch.device(device) if device is not None else next(model.parameters()).device
    kind = choose_precision(precision, where)
    if kind == "bf16" or (
        precision == "auto" and where.type == "cpu"
    ):  # where convolutions take a quarter less time so
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    state = TrainingState(model, optimizer, scheduler, loader, settings, tuner)
    highest = _highest(objective.augmentation)
    if resume and path is not None:
        state.load(path)
    parallel = distributed.parallel(model, resting=theta_every > 1)
    yield from list(state.records)
    for epoch in range(len(state.records) + 1, epochs + 1):
        model.train()  # whatever the caller did with the model between two epochs
        started = time.perf_counter() - state.seconds
        state.begin_epoch()
        for step, batch in enumerate(state.batches(), start=state.step + 1):
            x, y = _pair(batch, where)
            resting = theta if (step - 1) % theta_every else []
            with (
                _without_gradient(resting),
                torch.autocast(where.type, torch.bfloat16, enabled=kind == "bf16"),
            ):
                terms = objective(parallel(x), y)
            total, items, loss = _join(terms, y)
            penalty = float(terms.penalty.detach())
            for what, value in (("loss", loss), ("penalty", penalty)):
                if not math.isfinite(value):
                    raise NonFiniteLoss(
                        non_finite(
                            f"the {what} became {value}", epoch, step, objective.augmentation, path
                        )
                    )
            optimizer.zero_grad()
            total.backward()
            distributed.check_gradients(model, resting)
            optimizer.step()
            if scheduler is not None:
                scheduler.step()
            if tuner is not None:
                tuner.step()
            state.add(items, loss, penalty)
            if on_step is not None:
                on_step(epoch, step, loss)
            if path is not None and save_every is not None and step % save_every == 0:
                state.seconds = time.perf_counter() - started
                state.check_weights(epoch, objective.augmentation, path)
                state.save(path)
        distributed.copy_from_first(
            *model.buffers()
        )  # batch norms of the others have seen other items since the last step
        state.check_weights(epoch, objective.augmentation, path)
        _check_bounds(objective.augmentation, highest, epoch)
        record = state.end_epoch(epoch, objective.augmentation, time.perf_counter() - started)
        if path is not None:
            state.save(path)
        yield record


def fit(
    model: nn.Module,
    objective: Objective,
    loader: Iterable[Any],
    optimizer: torch.optim.Optimizer,
    **options: Any,
) -> History:
    """Runs `train` to its end and returns its records."""
    return History(list(iter_epochs(model, objective, loader, optimizer, **options)))


@contextmanager
def _without_gradient(parameters: list[nn.Parameter]) -> Iterator[None]:
    """What is computed here has no gradient along these."""
    for parameter in parameters:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in parameters:
            parameter.requires_grad_()


def _pair(batch: Any, device: torch.device) -> tuple[Any, Any]:
    if not isinstance(batch, list | tuple) or len(batch) != 2:
        raise InputError(
            f"The loader must yield (input, target) pairs, but yielded a {type(batch).__name__}."
        )
    x, y = (tree.map(lambda leaf: leaf.to(device, non_blocking=True), part) for part in batch)
    return x, y


def _highest(augmentation: Augmentation) -> dict[str, float]:
    """How far each coordinate may reach: far beyond where it means anything, and beyond where it starts; inf without a limit."""
    return {c.name: EXPLODED * max(c.limit, c.extent) for c in augmentation.coordinates}


def _check_bounds(augmentation: Augmentation, highest: dict[str, float], epoch: int) -> None:
    for name, bound in augmentation.extent.items():
        if bound > highest.get(name, math.inf):
            raise NonFiniteLoss(
                f"Training stopped at epoch {epoch}: the bound of '{name}' exploded to {bound:.4g}, where it means nothing any "
                "more. Lower its learning rate (augmentation_lr), or the weight of the penalty."
            )


def _join(terms: LossTerms, y: Any) -> tuple[Tensor, int, float]:
    """What this process minimises, and the number of items and the loss of the batch that all processes have together.

    Gradients become the mean over processes. So that this is the gradient of the mean over the joined batch, each share counts
    by how many targets it has, of label maps those that are not ignored.
    """
    items, loss = tree.batch_size(y), float(terms.loss.detach())
    if distributed.world() == 1:
        return terms.total, items, loss
    maps = isinstance(y, Tensor) and not y.is_floating_point() and y.dim() > 1
    counted = int((y != IGNORE).sum()) if maps else items
    sums = distributed.total(
        torch.tensor([items, counted, counted * loss], dtype=torch.float64)
    ).tolist()
    targets = max(sums[1], 1.0)
    return (
        counted * distributed.world() / targets * terms.loss + terms.penalty,
        int(sums[0]),
        sums[2] / targets,
    )
