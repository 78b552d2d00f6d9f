"""`learn`: trains a network behind an augmentation whose ranges are learned with it."""

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from augerino.augmentation import Augmentation
from augerino.data.process_slices import ProcessSlices
from augerino.errors import InputError
from augerino.learning.learned import Learned
from augerino.learning.pipeline import Pipeline
from augerino.learning.recipe import Recipe
from augerino.learning.setup import Setup, prepare
from augerino.objective import Objective, Regularizer
from augerino.runtime import distributed
from augerino.runtime.deadline import Deadline
from augerino.training.loop import iter_epochs
from augerino.training.state import Epoch, History


def learn(
    net: nn.Module | str | None,
    data: Any,
    *,
    augmentation: Augmentation | None = None,
    recipe: Recipe | None = None,
    n_outputs: int | None = None,
    regularizer: Regularizer | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    on_epoch: Callable[[Epoch], None] | None = None,
    on_step: Callable[[int, int, float], None] | None = None,
    budget: float | None = None,
    **changes: Any,
) -> Learned:
    """Learns ranges and a policy, and returns them with a model that was trained with the policy.

    Four steps: *find* the range of each coordinate with a probe, *choose* a policy by short trials
    (`race`), *train* the final model on all training samples, and choose how to *average* it. The
    last three are skipped for `trial_length=0`, the method "gradient", and data that cannot be
    probed; then the model is the one that found the ranges.

    In a `torch.distributed` process group (`torchrun`), all processes train one model: call
    `learn` in each of them with the same arguments. docs/data.md describes how batches and random
    numbers are split.

    The task follows from the targets: integers (B,) mean classification, integer maps (B, H, W)
    segmentation, and floating-point targets regression.

    Args:
        net: network from a batch of inputs to class scores or values, or a name: "layer13",
            "small", a timm model or "package.module:function"; None builds a small network for
            this kind of data.
        data: a path (as for `augerino learn`), an `ag.data.Dataset`, a pair of tensors or arrays
            (inputs, targets), a torch `Dataset` of such pairs, or a `DataLoader`. A path or an
            `ag.data.Dataset` is trained on its training part.
        augmentation: augmentation to learn; by default the recipe's transforms for this kind of
            data.
        recipe: settings; `Recipe()` by default.
        n_outputs: number of outputs of a network that is built here; by default the number of
            classes, or of values per target.
        regularizer: R in the objective of the method "gradient"; `NegativeL2()` by default.
        checkpoint: as in `iter_epochs`; later steps have files of their own beside it.
        resume: as in `iter_epochs`.
        on_epoch: called with the record of each epoch of the first step.
        on_step: called with epoch, step and loss of the first step.
        budget: time limit in minutes. Training ends with the first epoch after it, with a usable
            model (`Learned.interrupted`); `resume=True` continues.
        changes: fields of the recipe to change, as in `learn(net, data, epochs=10)`.

    Example:
        >>> from augerino.data.synthetic.sprites import sprites
        >>> data = sprites(64)
        >>> learned = learn(None, (data.x, data.y), coordinates=("rotate",), epochs=1)
        >>> sorted(learned.extent)
        ['rotate']
    """
    if not isinstance(recipe, Recipe | None):
        raise InputError(
            f"recipe must be an ag.Recipe, but is a {type(recipe).__name__}: "
            "give settings by name, as in epochs=10."
        )
    named = [name for name in ("coordinates", "transforms") if name in changes]
    if named and augmentation is not None:
        raise InputError(
            f"{named[0]} select the default augmentation, but an augmentation is given: "
            "leave out one of the two."
        )
    recipe = (recipe or Recipe()).but(**changes)
    deadline = Deadline.after(budget)
    initial = copy.deepcopy(net)
    setup = prepare(net, data, augmentation=augmentation, recipe=recipe, n_outputs=n_outputs)

    def rebuild(recipe: Recipe, augmentation: Augmentation, items: Tensor | None) -> Setup:
        own = copy.deepcopy(initial)
        if items is None and isinstance(net, nn.Module) and isinstance(initial, nn.Module):
            net.load_state_dict(initial.state_dict())  # the final model is the caller's network
            own = net
        return prepare(own, setup.dataset, augmentation=augmentation, recipe=recipe, items=items)

    def run(name: str, setup: Setup, title: str) -> Learned:
        is_first = name == "checkpoint"
        path = _stage_path(checkpoint, name)
        continues = resume and (is_first or distributed.from_first(lambda: _exists(path)))
        return train(
            setup,
            regularizer=regularizer if is_first else None,
            checkpoint=path,
            resume=continues,
            on_epoch=on_epoch if is_first else None,
            on_step=on_step if is_first else None,
            deadline=deadline,
        )

    pipeline = Pipeline(setup, prepare=rebuild, train=run, deadline=deadline)
    if pipeline.chooses and not resume:
        _check_unused(checkpoint)
    return pipeline.run()


def _stage_path(checkpoint: str | Path | None, name: str) -> Path | None:
    """The checkpoint of a step: "run.safetensors", then "run-trial-1.safetensors" and so on."""
    if checkpoint is None:
        return None
    path = Path(checkpoint)
    if name == "checkpoint":
        return path
    return path.with_name(f"{path.stem}-{name}{path.suffix}")


def _exists(path: Path | None) -> bool:
    return path is not None and path.exists()


def _check_unused(checkpoint: str | Path | None) -> None:
    """Raises an error before any training if a later step would find another run's checkpoint."""
    for name in ("trial-1", "final"):
        path = _stage_path(checkpoint, name)
        if distributed.from_first(lambda path=path: _exists(path)):  # type: ignore[misc]
            raise InputError(
                f"{path} exists already: pass resume=True to continue from it, "
                "or choose another file."
            )


def train(
    setup: Setup,
    *,
    regularizer: Regularizer | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    on_epoch: Callable[[Epoch], None] | None = None,
    on_step: Callable[[int, int, float], None] | None = None,
    deadline: Deadline | None = None,
) -> Learned:
    """Trains a set-up, which cannot be trained again; other arguments as for `learn`.

    Args:
        deadline: the training ends with the first epoch after it.
    """
    recipe = setup.recipe
    model = setup.model
    method = setup.method
    objective = Objective(setup.loss, model.augmentation, regularizer, method.reg_weight)
    loader = method.loader
    if distributed.world() > 1:
        loader = ProcessSlices(loader)
    # A run may be resumed on another machine, so device and workers need not agree.
    settings = {**recipe.to_flat(), "device": None, "workers": None}
    history = History()
    with setup.random():
        records = iter_epochs(
            model,
            objective,
            loader,
            method.optimizer,
            epochs=setup.n_epochs,
            scheduler=method.scheduler,
            tuner=method.tuner,
            checkpoint=checkpoint,
            resume=resume,
            on_step=on_step,
            precision=recipe.precision,
            theta_every=recipe.theta_every,
            settings=settings,
        )
        for record in _explain_batch_norm(records):
            history.epochs.append(record)
            if on_epoch is not None:
                on_epoch(record)
            if deadline is not None and deadline.is_over():
                break
    method.resume_gradients()
    return Learned(
        model=model.eval(),
        objective=objective,
        history=history,
        start=setup.start,
        dataset=setup.dataset,
        recipe=recipe,
        n_outputs=setup.n_outputs,
        unfinished=method.unfinished(),
        n_probe_items=method.n_probe_items,
        task_score=method.task_score(),
    )


def _explain_batch_norm(records: Iterator[Epoch]) -> Iterator[Epoch]:
    """Yields the records, and adds a remedy to the error of batch norm on one sample."""
    try:
        yield from records
    except ValueError as error:
        if "more than 1 value per channel" in str(error):
            raise InputError(
                "Batch norm cannot train on a batch of one sample: use a larger batch_size, "
                "or a loader with drop_last=True."
            ) from error
        raise
