"""The front door: data in, learned symmetries out."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from torch import nn

from augerino.augmentation import Augmentation
from augerino.data.process_slices import ProcessSlices
from augerino.errors import InputError
from augerino.learning.learned import Learned
from augerino.learning.recipe import Recipe
from augerino.learning.setup import Setup, prepare
from augerino.objective import Objective, Regularizer
from augerino.runtime import distributed
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
    **changes: Any,
) -> Learned:
    """Trains a network behind a learned augmentation and returns both.

    In a process group of `torch.distributed` (`torchrun`) all processes train one model: call it in each with the same
    arguments. docs/data.md says how batches and random draws are split.

    Args:
        net: any network from a batch of inputs to class scores or values, or a name: "layer13", "small", a network of timm's,
            "package.module:function"; None builds a small one that suits the data.
        data: a path (as `augerino learn` reads it), an `ag.data.Dataset`, a pair of tensors or arrays (inputs, targets), a torch
            `Dataset` of such pairs, or a `DataLoader`. Integer targets make a classification, maps of them a segmentation,
            floating ones a regression. Of a path or an `ag.data.Dataset` the training part is learned from.
        augmentation: what to learn; by default the recipe's transforms for this kind of data.
        recipe: the settings; `Recipe()` by default.
        n_outputs: of a network that is built here; by default the number of classes, or of values in a target.
        regularizer: R in the objective of the method "gradient"; `NegativeL2()` by default.
        checkpoint: as in `iter_epochs`.
        resume: as in `iter_epochs`.
        on_epoch: called with the record of each epoch.
        on_step: called with epoch, step and loss.
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
            f"recipe must be an ag.Recipe, but is a {type(recipe).__name__}: give settings by name, as in epochs=10."
        )
    named = [name for name in ("coordinates", "transforms") if name in changes]
    if named and augmentation is not None:
        raise InputError(
            f"{named[0]} name what is learned by default, and an augmentation is given: leave out one of the two."
        )
    recipe = (recipe or Recipe()).but(**changes)
    setup = prepare(net, data, augmentation=augmentation, recipe=recipe, n_outputs=n_outputs)
    return train(
        setup,
        regularizer=regularizer,
        checkpoint=checkpoint,
        resume=resume,
        on_epoch=on_epoch,
        on_step=on_step,
    )


def train(
    setup: Setup,
    *,
    regularizer: Regularizer | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    on_epoch: Callable[[Epoch], None] | None = None,
    on_step: Callable[[int, int, float], None] | None = None,
) -> Learned:
    """Trains a set-up, which is used up by it; arguments as for `learn`."""
    recipe = setup.recipe
    model = setup.model
    method = setup.method
    objective = Objective(setup.loss, model.augmentation, regularizer, method.reg_weight)
    loader = method.loader if distributed.world() == 1 else ProcessSlices(method.loader)
    # A run may go on elsewhere: device and workers are no part of the settings that must agree.
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
    model.requires_grad_()
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
    """The records of a training; torch's error on a batch of one sample says what to do about it."""
    try:
        yield from records
    except ValueError as error:
        if "more than 1 value per channel" in str(error):
            raise InputError(
                "Batch norm cannot train on a batch of one sample: use a larger batch_size, or a loader with drop_last=True."
            ) from error
        raise
