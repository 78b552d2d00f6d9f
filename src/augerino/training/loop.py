"""The training loop. A loop, not a framework."""

import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from augerino import tree
from augerino.augmentation import Augmentation
from augerino.data.arrays import IGNORE
from augerino.errors import InputError, NonFiniteLoss
from augerino.objective import LossTerms, Objective
from augerino.runtime import distributed
from augerino.training.optimizer import theta_of
from augerino.training.precision import Precision, choose_precision
from augerino.training.state import Epoch, History, TrainingState, Tuner, diverged

MAX_BOUND = 100.0  # times its limit or its start; a larger bound has diverged


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

    With `resume`, the records of the checkpoint come first. On a CPU, weights, theta and records
    are bit-identical to those of an uninterrupted training.

    In a process group of `torch.distributed` all processes train one model, each on its part of
    every batch, which the loader must yield. Gradients and losses are those of the joint batch.
    Only the first process reads and writes the checkpoint, and a resume may use another number of
    processes.

    Args:
        model: any module; usually an `InvariantModel` or `EquivariantModel`.
        objective: loss and penalty of a prediction.
        loader: yields (input, target) batches; iterated once per epoch.
        optimizer: over `param_groups(model)`.
        epochs: total number of passes over the loader.
        scheduler: stepped after every optimizer step.
        device: where batches are moved; by default the device of the model's parameters.
        precision: "float32"; "bf16" for autocast and channels_last; "auto" for the faster one on
            this hardware, which on a CPU without bf16 is float32 and channels_last.
        theta_every: number of steps between gradients of theta, from the first step of an epoch.
            In between, inputs are augmented as usual, but neither the warp nor the input of the
            first layer is differentiated, which is most of the cost of learning theta. Multiply
            the learning rate of theta by the same number.
        checkpoint: a file written after every epoch, atomically. Where epochs are so short that
            this would take more than 5 % of the time, some of them are left out; never the last.
        save_every: number of steps of an epoch after which it is also written.
        resume: continue from `checkpoint`; without it an existing file is never overwritten.
        settings: plain values kept in the checkpoint; a resume with other values is rejected.
        on_step: called with epoch, step (both from 1) and loss.
        tuner: moves theta after every step, like `Probe`; by default the optimizer does.
    """
    path = None if checkpoint is None else Path(checkpoint)
    if isinstance(model, nn.parallel.DistributedDataParallel):
        model = model.module
    theta = theta_of(model)
    _validate_counts(epochs=epochs, save_every=save_every, theta_every=theta_every)
    if theta_every > 1 and len(theta) == sum(p.requires_grad for p in model.parameters()):
        raise InputError(
            "theta_every updates only the network's weights in some steps, "
            "but the network has no weights to train."
        )
    if not torch.is_grad_enabled():
        raise InputError(
            "Training needs gradients, but is called under torch.no_grad() or "
            "torch.inference_mode(): call it outside."
        )
    _validate_checkpoint(path, resume)
    if isinstance(scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
        raise InputError(
            "ReduceLROnPlateau waits for a metric; pass a scheduler that is stepped without one."
        )
    if path is not None and getattr(loader, "persistent_workers", False):
        warnings.warn(
            "Persistent workers keep random states that no checkpoint holds: "
            "a resume may draw other data.",
            stacklevel=2,
        )
    if device is None:
        device = next(model.parameters()).device
    device = torch.device(device)
    use_bf16 = choose_precision(precision, device) == "bf16"
    if use_bf16 or (precision == "auto" and device.type == "cpu"):
        # On a CPU, convolutions take a quarter less time in this format.
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    augmentation = objective.augmentation
    largest = _largest_bounds(augmentation)
    state = TrainingState(
        model,
        optimizer,
        scheduler=scheduler,
        loader=loader,
        settings=settings,
        tuner=tuner,
    )
    if resume and path is not None:
        state.load(path)
    parallel = distributed.parallel(model, resting=theta_every > 1)
    yield from list(state.records)
    for epoch in range(len(state.records) + 1, epochs + 1):
        model.train()  # the caller may have changed the mode between two epochs
        started = time.perf_counter() - state.seconds
        state.begin_epoch()
        for step, batch in enumerate(state.batches(), start=state.step + 1):
            x, y = _to_device(batch, device)
            resting = theta if (step - 1) % theta_every else []
            with (
                _without_gradient(resting),
                torch.autocast(device.type, torch.bfloat16, enabled=use_bf16),
            ):
                terms = objective(parallel(x), y)
            total, n_items, loss = _join(terms, y)
            penalty = float(terms.penalty.detach())
            for what, value in (("loss", loss), ("penalty", penalty)):
                if not math.isfinite(value):
                    raise diverged(
                        f"the {what} became {value}",
                        epoch=epoch,
                        step=step,
                        augmentation=augmentation,
                        path=path,
                    )
            optimizer.zero_grad()
            total.backward()
            distributed.require_gradients(model, resting)
            optimizer.step()
            if scheduler is not None:
                scheduler.step()
            if tuner is not None:
                tuner.step()
            state.add(n_items, loss, penalty)
            if on_step is not None:
                on_step(epoch, step, loss)
            if path is not None and save_every is not None and step % save_every == 0:
                state.seconds = time.perf_counter() - started
                state.require_finite_weights(epoch, augmentation, path)
                state.save(path)
        # The running statistics of batch norm differ between processes since the last step.
        distributed.copy_from_first(*model.buffers())
        state.require_finite_weights(epoch, augmentation, path)
        _require_bounds_within(largest, augmentation, epoch)
        record = state.end_epoch(epoch, augmentation, time.perf_counter() - started)
        if path is not None and (epoch == epochs or state.is_save_due()):
            state.save(path)
        yield record


def fit(
    model: nn.Module,
    objective: Objective,
    loader: Iterable[Any],
    optimizer: torch.optim.Optimizer,
    **options: Any,
) -> History:
    """Trains for all epochs and returns their records; takes the arguments of `iter_epochs`."""
    return History(list(iter_epochs(model, objective, loader, optimizer, **options)))


def _validate_counts(**counts: int | None) -> None:
    for name, value in counts.items():
        if value is not None and value < 1:
            raise InputError(f"{name} must be at least 1, but got {value}.")


def _validate_checkpoint(path: Path | None, resume: bool) -> None:
    if path is None:
        if resume:
            raise InputError("resume needs the checkpoint to continue from: pass checkpoint=PATH.")
    elif not resume and distributed.from_first(path.exists):
        raise InputError(
            f"{path} exists already: pass resume=True to continue from it, or choose another file."
        )


@contextmanager
def _without_gradient(parameters: list[nn.Parameter]) -> Iterator[None]:
    """Disables the gradient of some parameters."""
    for parameter in parameters:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in parameters:
            parameter.requires_grad_()


def _to_device(batch: Any, device: torch.device) -> tuple[Any, Any]:
    if not isinstance(batch, list | tuple) or len(batch) != 2:
        raise InputError(
            f"The loader must yield (input, target) pairs, but yielded a {type(batch).__name__}."
        )
    x, y = tree.to(batch, device, non_blocking=True)
    return x, y


def _largest_bounds(augmentation: Augmentation) -> dict[str, float]:
    """The bound of each coordinate beyond which it has diverged; inf without a limit."""
    return {c.name: MAX_BOUND * max(c.limit, c.extent) for c in augmentation.coordinates}


def _require_bounds_within(
    largest: dict[str, float], augmentation: Augmentation, epoch: int
) -> None:
    for name, bound in augmentation.extent.items():
        if bound > largest.get(name, math.inf):
            raise NonFiniteLoss(
                f"Training stopped at epoch {epoch}: the bound of '{name}' diverged to "
                f"{bound:.4g}, far beyond any meaningful value. Lower its learning rate "
                "(augmentation_lr), or the weight of the penalty."
            )


def _join(terms: LossTerms, y: Any) -> tuple[Tensor, int, float]:
    """The joint batch of all processes.

    Gradients are averaged over processes. So that the average is the gradient of the mean loss of
    the joint batch, the loss of each process is weighted by its number of valid targets.

    Returns:
        The loss of this process, and the number of items and the loss of the joint batch.
    """
    n_items = tree.batch_size(y)
    loss = float(terms.loss.detach())
    world = distributed.world()
    if world == 1:
        return terms.total, n_items, loss
    n_targets = n_items
    if isinstance(y, Tensor) and not y.is_floating_point() and y.dim() > 1:
        n_targets = int((y != IGNORE).sum())
    local = torch.tensor([n_items, n_targets, n_targets * loss], dtype=torch.float64)
    all_items, all_targets, loss_sum = distributed.total(local).tolist()
    all_targets = max(all_targets, 1.0)
    weight = n_targets * world / all_targets
    return weight * terms.loss + terms.penalty, int(all_items), loss_sum / all_targets
