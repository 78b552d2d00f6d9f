"""The set-up of a training: everything is built and validated once, before anything is trained or written."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

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

N_SAMPLE = 256  # training samples of a `Dataset` from which the default augmentation is scaled

RandomState = tuple[Tensor, list[Tensor]]  # of the CPU and of every GPU


@dataclass(frozen=True)
class Setup:
    """A training that is ready to start: built, validated, and with the random state to start from.

    Args:
        dataset: what is trained on; its test part is used after the training.
        recipe: the settings.
        model: the network behind its augmentation, on its device.
        loss: of predictions and targets.
        method: loader, optimizer and schedule of the chosen way of learning extents.
        n_epochs: passes over the training part.
        n_steps: batches per pass.
        n_outputs: of the network.
        start: extent of each coordinate before the training.
        random_state: of torch after the set-up.
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

    @contextmanager
    def random(self) -> Iterator[None]:
        """Continues from the random state of the set-up, and leaves torch's global generators unchanged."""
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
) -> Setup:
    """Builds and validates everything that a training needs; arguments as for `learn`."""
    if isinstance(data, str | Path):
        data = open_dataset(data, seed=recipe.seed, standardize=True)
    with torch.random.fork_rng():
        torch.manual_seed(recipe.seed)
        return _prepare(net, data, augmentation, recipe, n_outputs)


def _prepare(
    net: nn.Module | str | None,
    data: Any,
    augmentation: Augmentation | None,
    recipe: Recipe,
    n_outputs: int | None,
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
    n_steps = count_steps(loader)
    n_epochs = recipe.passes(n_steps)
    task = task_of(sample[1])
    kind = kind_of(*sample) if dataset is None else dataset.kind
    if dataset is not None and dataset.task != task:
        raise InputError(
            f"The dataset is for {dataset.task}, but its targets, {sample[1].dtype} {tuple(sample[1].shape)}, are for {task}."
        )
    if augmentation is None:
        x = sample[0] if dataset is None else draw_samples(train, N_SAMPLE)[0]
        augmentation = default_augmentation(recipe, kind, x)
    _check_augmentation(augmentation, sample[0])
    start = augmentation.extent
    if net is None or isinstance(net, str):
        check_channels(sample[0])
        if n_outputs is None:
            n_outputs = (
                _needed_outputs(loader, sample, task) if dataset is None else dataset.n_outputs
            )
        net = default_net(net or "auto", kind, sample[0], n_outputs, recipe.width)
    model, loss = default_model(net, augmentation, task, recipe)
    device = find_device(recipe.device)
    choose_precision(recipe.precision, device)  # raises now what would end the training later
    model.to(device)
    n_outputs = _count_outputs(model, sample, task)
    # A process that loads a slice of each batch need not see two classes in it.
    loader.expect(n_outputs=n_outputs, differing=distributed.world() == 1)
    method = choose_method(model, loader, n_epochs, recipe)
    return Setup(
        dataset=_describe(data, sample, kind, task, n_outputs) if dataset is None else dataset,
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
    data: Any, sample: tuple[Any, Tensor], kind: Kind, task: Task, n_outputs: int
) -> Dataset:
    """A `Dataset` without a test part, for data that came as arrays or as a loader."""
    class_names = () if task == "regression" else tuple(str(i) for i in range(n_outputs))
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
            f"augmentation must be a transform with a distribution, as in {example}, but has no distribution."
        )
    check_intensities(x, augmentation.names)


def find_device(name: str) -> torch.device:
    """The device of that name, after a computation on it; each of several processes has its own."""
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
    """Rejects more processes than a batch has samples."""
    if recipe.batch_size < distributed.world():
        raise InputError(
            f"All processes share a batch, but there are {distributed.world()} of them for a batch size of "
            f"{recipe.batch_size}: start fewer, or give a larger --batch-size."
        )


def _count_outputs(model: models.InvariantModel, sample: tuple[Any, Tensor], task: Task) -> int:
    """Outputs of the network; predicts two samples to validate the shape before a loss broadcasts it silently."""
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
            f"The network returns {shape} for targets {tuple(y.shape)}: their shapes must be the same."
        )
    if task == "classification" and len(shape) != 2:
        raise InputError(
            f"The network must return one row of scores per input, but returned {shape} for two inputs."
        )
    if task == "segmentation" and (len(shape) != 4 or shape[2:] != tuple(y.shape[1:])):
        raise InputError(
            f"The network must return scores for every pixel, but returned {shape} for masks {tuple(y.shape)}."
        )
    return shape[1]


def _needed_outputs(loader: CheckedBatches, sample: tuple[Any, Tensor], task: Task) -> int:
    """Outputs that a network needs: one per number of a target, or one per class."""
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
