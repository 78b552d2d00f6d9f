"""The one-call front door: data in, learned symmetries out. Wiring only."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, IterableDataset

from augerino import diagnostics, models, tree
from augerino.augmentation import Augmentation
from augerino.data import arrays
from augerino.data.arrays import Batches, CheckedBatches, Kind, Task
from augerino.data.readers.streams import ImageStream, StreamLoader
from augerino.data.shares import Shares
from augerino.diagnostics import Evaluation, Evidence, Verdict
from augerino.errors import InputError
from augerino.learning.defaults import (
    check_channels,
    check_intensities,
    default_augmentation,
    default_model,
    default_net,
    kind_of,
    task_of,
)
from augerino.learning.methods import Method, choose_method
from augerino.learning.probe import refit_fraction
from augerino.learning.recipe import Recipe
from augerino.models import evaluation_mode
from augerino.objective import Objective, Regularizer
from augerino.runtime import distributed
from augerino.saving.policy import Policy
from augerino.training.loop import iter_epochs
from augerino.training.precision import choose_precision
from augerino.training.state import Epoch, History


@dataclass(frozen=True)
class Learned:
    """What `learn` found: the averaged model, its augmentation, and how it got there."""

    model: models.InvariantModel
    objective: Objective
    history: History
    start: dict[str, float]
    task: Task
    kind: Kind
    outputs: int  # of the network: classes, or values
    unfinished: tuple[str, ...] = ()  # coordinates whose bounds were still on their way
    n_probe_items: int = 0  # held-out samples that moved the extents; 0 if the gradient did
    task_score: float | None = None  # information / maximum on these, when the extents were fixed

    @property
    def augmentation(self) -> Augmentation:
        return self.model.augmentation

    @property
    def policy(self) -> Policy:
        return Policy.of(self.augmentation)

    @property
    def extent(self) -> dict[str, float]:
        """The learned extent of each coordinate by name, in the coordinate's own unit."""
        return self.augmentation.extent

    def for_refit(self) -> Augmentation:
        """The learned ranges with a rate per coordinate, for training a new model on them.

        `learn(net, data, augmentation=learned.for_refit())`; see `Augmentation.with_rates`. The higher the score of the
        network on its task, the lower the rates (`refit_fraction`).
        """
        return self.augmentation.with_rates(refit_fraction(self.task_score))

    def verdicts(
        self, true: dict[str, float] | None = None, evidence: Evidence | None = None
    ) -> list[Verdict]:
        """One verdict per coordinate; with `evidence` from held-out data, on what it shows."""
        output_name = "masks" if self.task == "segmentation" else "outputs"
        return diagnostics.verdicts(
            self.augmentation,
            self.start,
            true,
            evidence,
            unfinished=self.unfinished,
            followed=self.model.followed,
            output_name=output_name,
        )

    def evidence(self, data: Any, n_items: int = 500, seed: int = 0) -> Evidence:
        """Measures how each coordinate changes the loss of held-out data, given as to `learn`."""
        if n_items < 1:
            raise InputError(f"n_items must be at least 1, but got n_items={n_items}.")
        x, y = draw_items(data, n_items, seed)
        self._expect(y)
        return diagnostics.gather_evidence(self.model, x, y, seed=seed)

    def check(self, data: Any, n_items: int = 500, seed: int = 0) -> str:
        """A sentence for each coordinate, on the evidence of held-out data, given as to `learn`."""
        evidence = self.evidence(data, n_items, seed)
        return "\n".join(verdict.sentence for verdict in self.verdicts(evidence=evidence))

    def evaluate(self, data: Any, batch_size: int = 256) -> Evaluation:
        """Loss and accuracy on other data, given as to `learn`."""
        loader, (_, y) = _loader(data, batch_size, shuffle=False)
        self._expect(y)
        loader.expect(outputs=self.outputs)
        return diagnostics.evaluate(self.model, self.objective.loss, loader)

    def _expect(self, y: Tensor) -> None:
        if task_of(y) != self.task:
            raise InputError(
                f"This was learned as {self.task}, but targets of {y.dtype} {tuple(y.shape)} are for {task_of(y)}."
            )

    def __str__(self) -> str:
        told = [verdict.sentence for verdict in self.verdicts()]
        return "\n".join([*told, "(as trained; learned.check(data) asks held-out data)"])


def learn(
    net: nn.Module | str | None,
    data: Any,
    *,
    augmentation: Augmentation | None = None,
    recipe: Recipe | None = None,
    outputs: int | None = None,
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
        data: a pair of tensors or arrays (inputs, targets), a `Dataset` of such pairs, or a `DataLoader`.
            Integer targets make a classification, maps of them a segmentation, floating ones a regression.
        augmentation: what to learn; by default the recipe's transforms for this kind of data.
        recipe: the settings; `Recipe()` by default.
        outputs: of a network that is built here; by default the classes are counted, or the values of a target.
        regularizer: R of the gradient's way; `NegativeL2()` by default.
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
    with _seeded(recipe.seed):
        ready = _prepare(net, data, augmentation, recipe, outputs)
        model, method = ready.model, ready.method
        objective = Objective(ready.loss, model.augmentation, regularizer, method.reg_weight)
        options: dict[str, Any] = {
            "checkpoint": checkpoint,
            "resume": resume,
            "on_step": on_step,
            "precision": recipe.precision,
        }
        options["theta_every"] = recipe.theta_every
        options["settings"] = {
            **recipe.to_flat(),
            "device": None,
            "workers": None,
        }  # where it runs may change
        history = History()
        records = iter_epochs(
            model,
            objective,
            method.loader if distributed.world() == 1 else Shares(method.loader),
            method.optimizer,
            epochs=ready.epochs,
            scheduler=method.scheduler,
            tuner=method.tuner,
            **options,
        )
        for record in _explained(records):
            history.epochs.append(record)
            if on_epoch is not None:
                on_epoch(record)
    model.requires_grad_()
    found = (method.unfinished(), method.n_probe_items, method.task_score())
    return Learned(
        model.eval(), objective, history, ready.start, ready.task, ready.kind, ready.outputs, *found
    )


def rehearse(
    net: nn.Module | str | None,
    data: Any,
    *,
    augmentation: Augmentation,
    recipe: Recipe,
    outputs: int | None = None,
) -> None:
    """All that `learn` does before it trains, so that what is wrong is told before anything is written."""
    with _seeded(recipe.seed):
        _prepare(net, data, augmentation, recipe, outputs)


@dataclass(frozen=True)
class _Ready:
    """A training that could begin."""

    model: models.InvariantModel
    loss: Callable[[Any, Any], Tensor]
    method: Method
    epochs: int
    start: dict[str, float]
    task: Task
    kind: Kind
    outputs: int


def _prepare(
    net: nn.Module | str | None,
    data: Any,
    augmentation: Augmentation | None,
    recipe: Recipe,
    outputs: int | None,
) -> _Ready:
    check_processes(recipe)
    if outputs is not None and outputs < 1:
        raise InputError(f"outputs must be at least 1, but got {outputs}.")
    loader, sample = _loader(
        data, recipe.batch_size, shuffle=True, workers=recipe.workers, shared=True
    )
    epochs = recipe.passes(_steps(loader))
    task, kind = task_of(sample[1]), kind_of(*sample)
    augmentation = (
        default_augmentation(recipe, kind, sample[0]) if augmentation is None else augmentation
    )
    if not isinstance(augmentation, Augmentation):
        kinds = f"ag.Augmentation({type(augmentation).__name__}(...), ag.Uniform([...]))"
        raise InputError(
            f"augmentation must be a transform with a distribution, as in {kinds}, but has no distribution."
        )
    check_intensities(sample[0], augmentation.names)
    start = augmentation.extent
    if net is None or isinstance(net, str):
        check_channels(sample[0])
        needed = _needed_outputs(loader, sample, task) if outputs is None else outputs
        net = default_net(net or "auto", kind, sample[0], needed, recipe.width)
    model, loss = default_model(net, augmentation, task, recipe)
    where = find_device(recipe.device)
    choose_precision(recipe.precision, where)  # refuses now what would end the process later
    model.to(where)
    found = _count_outputs(model, sample, task)
    # A process that sees its share only need not see two classes in it.
    loader.expect(outputs=found, differing=distributed.world() == 1)
    method = choose_method(model, loader, epochs, recipe)
    return _Ready(model, loss, method, epochs, start, task, kind, found)


def _explained(records: Iterator[Epoch]) -> Iterator[Epoch]:
    """The records of a training; what torch says of a batch norm that meets a lone item is said as one sentence."""
    try:
        yield from records
    except ValueError as error:
        if "more than 1 value per channel" in str(error):
            raise InputError(
                "Batch norm cannot train on a batch of one item: use a larger batch_size, or a loader with drop_last=True."
            ) from error
        raise


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Runs on a seed of its own and leaves torch's global generator as it was."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


def find_device(name: str) -> torch.device:
    """The device of that name, once something has been computed there; of several processes each has its own."""
    name = distributed.own_device(name)
    try:
        one = torch.ones(1, device=name)
        (one + one).item()
        return one.device
    except (RuntimeError, AssertionError) as error:
        raise InputError(
            f"The device '{name}' cannot be used here: {str(error).splitlines()[0]}"
        ) from error


def check_processes(recipe: Recipe) -> None:
    """Refuses more processes than a batch has items."""
    if recipe.batch_size < distributed.world():
        raise InputError(
            f"All processes share a batch, but there are {distributed.world()} of them for a batch size of {recipe.batch_size}: "
            "start fewer, or give a larger --batch-size."
        )


def draw_items(data: Any, most: int, seed: int = 0) -> tuple[Any, Tensor]:
    """At most so many items of data given as to `learn`, drawn at random with a seed, as one checked batch.

    A loader can only be read in its own order, so from one come its first items.
    """
    if isinstance(data, list | tuple) and len(data) == 2:
        x, y = arrays.check_whole(*data)
        chosen = torch.randperm(len(y), generator=torch.Generator().manual_seed(seed))[:most]
        return arrays.check(tree.map(lambda leaf: leaf[chosen], x), y[chosen])
    if isinstance(data, Dataset) and not isinstance(data, IterableDataset):
        count = len(data)  # type: ignore[arg-type]
        chosen = torch.randperm(count, generator=torch.Generator().manual_seed(seed))[:most]
        some = (
            data.only(chosen)
            if isinstance(data, ImageStream)
            else torch.utils.data.Subset(data, chosen.tolist())
        )
        data = DataLoader(some, most)
    loader, _ = _loader(data, most, shuffle=False)
    pairs, count = [], 0
    with torch.random.fork_rng():
        for pair in loader:
            pairs.append(pair)
            count += len(pair[1])
            if count >= most:
                break
    x = pairs[0][0] if len(pairs) == 1 else _join([x for x, _ in pairs])
    return tree.map(lambda leaf: leaf[:most], x), torch.cat([y for _, y in pairs])[:most]


def _join(batches: list[Any]) -> Any:
    if isinstance(batches[0], dict):
        return {key: _join([batch[key] for batch in batches]) for key in batches[0]}
    return torch.cat(batches)


def count_steps(data: Any, recipe: Recipe) -> int:
    """How many steps a pass over data takes, given as to `learn`."""
    return _steps(
        _batches(data, recipe.batch_size, shuffle=True, workers=recipe.workers, shared=True)
    )


def _loader(
    data: Any, batch_size: int, **options: Any
) -> tuple[CheckedBatches, tuple[Any, Tensor]]:
    """A checking loader for whatever data came, and its first batch (or, in memory, the first items)."""
    loader = _batches(data, batch_size, **options)
    if isinstance(loader.batches, Batches):
        x, y = loader.batches.x, loader.batches.y
        return loader, arrays.check(tree.map(lambda leaf: leaf[:batch_size], x), y[:batch_size])
    with torch.random.fork_rng():
        sample = next(iter(loader), None)
    if sample is None:
        raise InputError("The data loader yields nothing.")
    return loader, sample


def _batches(
    data: Any, batch_size: int, *, shuffle: bool, workers: int = 0, shared: bool = False
) -> CheckedBatches:
    if isinstance(data, list | tuple) and len(data) == 2:
        x, y = arrays.check_whole(*data)
        _enough(len(y), shared)
        return CheckedBatches(Batches(x, y, batch_size, shuffle=shuffle, shared=shared), labels=y)
    if isinstance(data, Dataset) and not isinstance(data, IterableDataset):
        count = len(data)  # type: ignore[arg-type]
        if count == 0:
            raise InputError("The dataset is empty.")
        _enough(count, shared)
        data = StreamLoader(data, batch_size, shuffle=shuffle, num_workers=workers, shared=shared)
    elif isinstance(data, Dataset):
        data = DataLoader(data, batch_size, num_workers=workers)
    if not isinstance(data, DataLoader):
        raise InputError(
            f"data must be a pair (inputs, targets), a Dataset or a DataLoader, but is a {type(data).__name__}."
        )
    return CheckedBatches(data)


def _enough(items: int, shared: bool) -> None:
    if shared and items < distributed.world():
        raise InputError(
            f"There are {items} items for {distributed.world()} processes: start fewer, or give more data."
        )


def _steps(loader: CheckedBatches) -> int:
    try:
        return len(loader)
    except TypeError as error:
        raise InputError(
            "learn needs data whose length is known, for its schedule; for a stream, give its Dataset a __len__, or use ag.train."
        ) from error


def _count_outputs(model: models.InvariantModel, sample: tuple[Any, Tensor], task: Task) -> int:
    """Predicts for two items before any training, to tell now what a loss would tell badly or not at all."""
    device = next(model.parameters()).device
    x, y = (tree.map(lambda leaf: leaf[:2].to(device), part) for part in sample)
    try:
        with evaluation_mode(model):
            shape = tuple(model(x).shape)
    except InputError:
        raise
    except (RuntimeError, IndexError, TypeError, ValueError) as error:
        shapes = ", ".join(str(tuple(leaf.shape)) for leaf in tree.leaves(x))
        raise InputError(
            f"The network does not take inputs of shape {shapes}: {str(error).splitlines()[0]}"
        ) from error
    if task == "regression" and shape != tuple(y.shape):
        raise InputError(
            f"The network returns {shape} for targets {tuple(y.shape)}: their shapes must be the same."
        )
    if task == "classification" and len(shape) != 2:
        raise InputError(
            f"The network must return one row of scores an input, but returned {shape} for two inputs."
        )
    if task == "segmentation" and (len(shape) != 4 or shape[2:] != tuple(y.shape[1:])):
        raise InputError(
            f"The network must return scores for every pixel, but returned {shape} for masks {tuple(y.shape)}."
        )
    return shape[1]


def _needed_outputs(loader: CheckedBatches, sample: tuple[Any, Tensor], task: Task) -> int:
    """How many outputs a network needs: the values of a target, or the classes that the labels tell apart."""
    if task == "regression":
        return sample[1][0].numel()
    if loader.labels is not None:
        return arrays.count_classes(loader.labels)
    with torch.random.fork_rng():
        labels = torch.cat([labels.flatten().unique() for _, labels in loader]).unique()
        labels = torch.cat(distributed.gather(labels))
    return arrays.count_classes(
        labels[labels != arrays.IGNORE] if task == "segmentation" else labels
    )
