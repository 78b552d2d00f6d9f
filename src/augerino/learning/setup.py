"""The set-up of a training: builds and validates everything before any training or writing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import data as torch_data

from augerino import models, tree
from augerino.augmentation import Augmentation
from augerino.data import Dataset, arrays, open_dataset
from augerino.data.arrays import Kind, Task
from augerino.data.batches import CheckedBatches
from augerino.data.loading import count_steps, draw_samples, first_batch, make_loader
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
from augerino.learning.recipe import Recipe
from augerino.models import evaluation_mode
from augerino.runtime import distributed
from augerino.training.precision import choose_precision

N_SAMPLE = 256  # training samples of a `Dataset` that scale the default augmentation

RandomState = tuple[Tensor, list[Tensor]]  # of the CPU and of every GPU


@dataclass(frozen=True)
class Setup:
    """A validated training, ready to start, with its initial random state.

    Args:
        dataset: training data, with a test part for the evaluation.
        recipe: settings.
        model: network behind its augmentation, on its device.
        loss: function of predictions and targets.
        method: loader, optimizer and schedule of the chosen method.
        n_epochs: number of epochs.
        n_steps: batches per epoch.
        n_outputs: number of outputs of the network.
        start: extent of each coordinate before the training.
        random_state: state of torch's generators after the set-up.
    """

    dataset: Dataset
    recipe: Recipe
    model: models.InvariantModel
    loss: Callable[[Any, Any], Tensor]
    method: Method
    n_epochs: int
    n_steps: int
    n_outputs: int
    start: dict[str, float]
    random_state: RandomState

    @property
    def can_subset(self) -> bool:
        """Whether a part of the training samples can be selected, unlike from a `DataLoader`."""
        streams = (torch_data.DataLoader, torch_data.IterableDataset)
        return not isinstance(self.dataset.train, streams)

    @property
    def learns(self) -> bool:
        """Whether an extent is learned, by the gradient or by a probe."""
        parameters = self.model.augmentation.parameters()
        return self.method.tuner is not None or any(p.requires_grad for p in parameters)

    @contextmanager
    def random(self) -> Iterator[None]:
        """Restores the random state of the set-up in the block, and the previous one after it."""
        with torch.random.fork_rng():
            cpu, gpus = self.random_state
            torch.set_rng_state(cpu)
            if gpus:
                torch.cuda.set_rng_state_all(gpus)
            yield


def prepare(
    net: nn.Module | str | None,
    data: Any,
    *,
    augmentation: Augmentation | None = None,
    recipe: Recipe,
    n_outputs: int | None = None,
    items: Tensor | None = None,
) -> Setup:
    """Builds and validates a training; other arguments as for `learn`.

    Args:
        items: indices of the training samples to train on; all by default.
    """
    if isinstance(data, str | Path):
        data = open_dataset(data, seed=recipe.seed, standardize=True)
    with torch.random.fork_rng():
        torch.manual_seed(recipe.seed)
        return _prepare(
            net, data, augmentation=augmentation, recipe=recipe, n_outputs=n_outputs, items=items
        )


def _prepare(
    net: nn.Module | str | None,
    data: Any,
    *,
    augmentation: Augmentation | None,
    recipe: Recipe,
    n_outputs: int | None,
    items: Tensor | None,
) -> Setup:
    check_processes(recipe)
    if n_outputs is not None and n_outputs < 1:
        raise InputError(f"n_outputs must be at least 1, but got {n_outputs}.")
    dataset = data if isinstance(data, Dataset) else None
    train = data if dataset is None else dataset.train
    loader = make_loader(
        train, recipe.batch_size, shuffle=True, workers=recipe.workers, shared=True
    )
    sample = first_batch(loader)
    if items is not None:
        loader = loader.only(items)
    n_steps = count_steps(loader)
    n_epochs = recipe.passes(n_steps)
    task = task_of(sample[1])
    kind = kind_of(*sample) if dataset is None else dataset.kind
    if dataset is not None and dataset.task != task:
        raise InputError(
            f"The dataset is for {dataset.task}, but its targets, {sample[1].dtype} "
            f"{tuple(sample[1].shape)}, are for {task}."
        )
    if augmentation is None:
        x = sample[0] if dataset is None else draw_samples(train, N_SAMPLE)[0]
        augmentation = default_augmentation(recipe, kind, x)
    _check_augmentation(augmentation, sample[0])
    start = augmentation.extent
    if net is None or isinstance(net, str):
        check_channels(sample[0])
        if n_outputs is None and dataset is not None:
            n_outputs = dataset.n_outputs
        elif n_outputs is None:
            n_outputs = _needed_outputs(loader, sample, task)
        net = default_net(
            net or "auto", kind=kind, x=sample[0], n_outputs=n_outputs, width=recipe.width
        )
    model, loss = default_model(net, augmentation, task=task, recipe=recipe)
    device = find_device(recipe.device)
    choose_precision(recipe.precision, device)  # raises an error if the device lacks it
    model.to(device)
    n_outputs = _count_outputs(model, sample, task)
    # The slice of a batch that one process loads may contain a single class.
    loader.expect(n_outputs=n_outputs, differing=distributed.world() == 1)
    method = choose_method(model, loader, epochs=n_epochs, recipe=recipe)
    if dataset is None:
        dataset = _describe(data, sample, kind=kind, task=task, n_outputs=n_outputs)
    return Setup(
        dataset=dataset,
        recipe=recipe,
        model=model,
        loss=loss,
        method=method,
        n_epochs=n_epochs,
        n_steps=n_steps,
        n_outputs=n_outputs,
        start=start,
        random_state=_random_state(),
    )


def _describe(
    data: Any, sample: tuple[Any, Tensor], *, kind: Kind, task: Task, n_outputs: int
) -> Dataset:
    """Wraps arrays or a loader in a `Dataset` without a test part."""
    class_names: tuple[str, ...] = ()
    if task != "regression":
        class_names = tuple(str(i) for i in range(n_outputs))
    shape = next(tree.leaves(sample[0])).shape[1:]
    return Dataset(
        name="data",
        kind=kind,
        task=task,
        train=data,
        test=None,
        class_names=class_names,
        n_outputs=n_outputs,
        shape=tuple(shape),
    )


def _random_state() -> RandomState:
    gpus = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    return torch.get_rng_state(), gpus


def _check_augmentation(augmentation: Any, x: Any) -> None:
    if not isinstance(augmentation, Augmentation):
        example = f"ag.Augmentation({type(augmentation).__name__}(...), ag.Uniform([...]))"
        raise InputError(
            f"augmentation must be a transform with a distribution, as in {example}, "
            "but has no distribution."
        )
    check_intensities(x, augmentation.names)


def find_device(name: str) -> torch.device:
    """Device of that name, tested by a computation; with several processes, one per process."""
    name = distributed.own_device(name)
    try:
        one = torch.ones(1, device=name)
        (one + one).item()
        return one.device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        if reason.startswith("Expected one of"):  # a list of twenty types, most of which are absent
            reason = "torch has no device of this type"
        usable = ["cpu"]
        if torch.cuda.is_available():
            usable.append("cuda")
        if torch.backends.mps.is_available():
            usable.append("mps")
        raise InputError(
            f"The device '{name}' cannot be used here: {reason}. Available: {', '.join(usable)}."
        ) from error


def check_processes(recipe: Recipe) -> None:
    """Rejects more processes than a batch has samples."""
    if recipe.batch_size < distributed.world():
        raise InputError(
            f"All processes share a batch, but there are {distributed.world()} of them for a "
            f"batch size of {recipe.batch_size}: start fewer, or give a larger --batch-size."
        )


def _count_outputs(model: models.InvariantModel, sample: tuple[Any, Tensor], task: Task) -> int:
    """Number of outputs of a model. Validates their shape, which a loss may broadcast silently."""
    device = next(model.parameters()).device
    x, y = tree.to(tree.take(sample, slice(2)), device)
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
            f"The network returns {shape} for targets {tuple(y.shape)}: "
            "their shapes must be the same."
        )
    if task == "classification" and len(shape) != 2:
        raise InputError(
            f"The network must return one row of scores per input, "
            f"but returned {shape} for two inputs."
        )
    if task == "segmentation" and (len(shape) != 4 or shape[2:] != tuple(y.shape[1:])):
        raise InputError(
            f"The network must return scores for every pixel, "
            f"but returned {shape} for masks {tuple(y.shape)}."
        )
    return shape[1]


def _needed_outputs(loader: CheckedBatches, sample: tuple[Any, Tensor], task: Task) -> int:
    """Number of outputs that the task needs: one per value of a target, or one per class."""
    if task == "regression":
        return sample[1][0].numel()
    if loader.labels is not None:
        return arrays.count_classes(loader.labels)
    with torch.random.fork_rng():
        labels = torch.cat([labels.flatten().unique() for _, labels in loader]).unique()
        labels = torch.cat(distributed.gather(labels))
    if task == "segmentation":
        labels = labels[labels != arrays.IGNORE]
    return arrays.count_classes(labels)
