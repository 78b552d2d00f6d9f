"""The one-call front door: data in, learned symmetries out. Wiring only."""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, IterableDataset

from augerino import models, tree
from augerino.augmentation import Augmentation
from augerino.data import arrays
from augerino.data.arrays import Batches, CheckedBatches, Task
from augerino.diagnostics import Evaluation, Verdict, evaluate, verdicts
from augerino.diagnostics.evaluation import evaluation_mode
from augerino.distributions import Uniform
from augerino.errors import InputError
from augerino.nets.small import SmallCNN
from augerino.objective import Objective
from augerino.policy import Policy
from augerino.recipe import Recipe
from augerino.training import Epoch, History, cosine_schedule, param_groups, train
from augerino.transforms import Affine2d

_LOSSES: dict[Task, tuple[Callable[[Any, Any], Tensor], models.Average]] = {
    "classification": (F.nll_loss, models.mean_log_prob),
    "regression": (F.mse_loss, models.mean),
}


@dataclass(frozen=True)
class Learned:
    """What `learn` found: the averaged model, its augmentation, and how it got there."""

    model: models.InvariantModel
    objective: Objective
    history: History
    start: dict[str, float]
    task: Task
    outputs: int  # of the network: classes, or values

    @property
    def augmentation(self) -> Augmentation:
        return self.model.augmentation

    @property
    def policy(self) -> Policy:
        return Policy.of(self.augmentation)

    @property
    def bounds(self) -> dict[str, float]:
        return self.augmentation.bounds()

    def verdicts(self, true: dict[str, float] | None = None) -> list[Verdict]:
        return verdicts(self.augmentation, self.start, true)

    def evaluate(self, data: Any, batch_size: int = 256) -> Evaluation:
        """Loss and accuracy on other data, given as to `learn`."""
        loader, _ = _loader(data, batch_size, shuffle=False)
        loader.expect(outputs=self.outputs)
        return evaluate(self.model, self.objective.loss, loader)

    def __str__(self) -> str:
        return "\n".join(verdict.sentence for verdict in self.verdicts())


def learn(
    net: nn.Module | None,
    data: Any,
    *,
    augmentation: Augmentation | None = None,
    recipe: Recipe | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    on_epoch: Callable[[Epoch], None] | None = None,
    on_step: Callable[[int, int, float], None] | None = None,
    **changes: Any,
) -> Learned:
    """Trains a network behind a learned augmentation and returns both.

    Args:
        net: any network from a batch of inputs to class scores or values; None builds a small CNN that suits the data.
        data: a pair of tensors or arrays (inputs, targets), a `Dataset` of such pairs, or a `DataLoader`.
            Integer targets make a classification, floating ones a regression.
        augmentation: what to learn; `default_augmentation(recipe)` by default.
        recipe: the settings; `Recipe()` by default.
        checkpoint, resume: as in `train`.
        on_epoch, on_step: called with each record, and with epoch, step and loss.
        changes: fields of the recipe to change, as in `learn(net, data, epochs=10)`.

    Example:
        >>> from augerino.data.sprites import sprites
        >>> data = sprites(64)
        >>> learned = learn(None, (data.x, data.y), coordinates=("rotate",), epochs=1)
        >>> sorted(learned.bounds)
        ['rotate']
    """
    recipe = (recipe or Recipe()).but(**changes)
    augmentation = default_augmentation(recipe) if augmentation is None else augmentation
    start = augmentation.bounds()
    with _seeded(recipe.seed):
        loader, sample = _loader(data, recipe.batch_size, shuffle=True)
        steps = _steps(loader)
        task: Task = "regression" if sample[1].is_floating_point() else "classification"
        if net is None:
            net = _small_net(loader, sample, task, recipe.width)
        loss, average = _LOSSES[task]
        model = models.InvariantModel(
            net, augmentation, train_copies=recipe.train_copies, test_copies=recipe.copies, average=average
        ).to(find_device(recipe.device))
        outputs = _count_outputs(model, sample, task)
        loader.expect(outputs=outputs, two_classes=task == "classification")
        objective = Objective(loss, augmentation, weight=recipe.weight)
        groups = param_groups(model, weight_decay=recipe.weight_decay, augmentation_lr=recipe.augmentation_lr)
        optimizer = torch.optim.Adam(groups, lr=recipe.lr)
        scheduler = cosine_schedule(optimizer, recipe.epochs * steps, wait=recipe.warm_up * recipe.epochs * steps)
        options: dict[str, Any] = {"checkpoint": checkpoint, "resume": resume, "on_step": on_step, "precision": recipe.precision}
        options["settings"] = {**dataclasses.asdict(recipe), "device": None}  # where it runs may change
        history = History()
        for record in train(model, objective, loader, optimizer, epochs=recipe.epochs, scheduler=scheduler, **options):
            history.epochs.append(record)
            if on_epoch is not None:
                on_epoch(record)
    return Learned(model.eval(), objective, history, start, task, outputs)


def default_augmentation(recipe: Recipe) -> Augmentation:
    """What `learn` learns unless told otherwise: `Affine2d` with the recipe's coordinates, all from the same start."""
    affine = Affine2d(*recipe.coordinates)
    return Augmentation(affine, Uniform.named(affine.names, start=recipe.start))


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Runs on a seed of its own and leaves torch's global generator as it was."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


def find_device(name: str) -> torch.device:
    """The device of that name, once something has been computed there."""
    try:
        one = torch.ones(1, device=name)
        (one + one).item()
        return one.device
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"The device '{name}' cannot be used here: {str(error).splitlines()[0]}") from error


def _loader(data: Any, batch_size: int, *, shuffle: bool) -> tuple[CheckedBatches, tuple[Any, Tensor]]:
    """A checking loader for whatever data came, and its first batch (or, in memory, all of it)."""
    if isinstance(data, list | tuple) and len(data) == 2:
        x, y = arrays.check(*data)
        return CheckedBatches(Batches(x, y, batch_size, shuffle=shuffle), labels=y), (x, y)
    if isinstance(data, Dataset) and not isinstance(data, IterableDataset):
        if len(data) == 0:  # type: ignore[arg-type]
            raise InputError("The dataset is empty.")
        data = DataLoader(data, batch_size, shuffle=shuffle)
    elif isinstance(data, Dataset):
        data = DataLoader(data, batch_size)
    if not isinstance(data, DataLoader):
        raise InputError(f"data must be a pair (inputs, targets), a Dataset or a DataLoader, but is a {type(data).__name__}.")
    loader = CheckedBatches(data)
    with torch.random.fork_rng():
        sample = next(iter(loader), None)
    if sample is None:
        raise InputError("The data loader yields nothing.")
    return loader, sample


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
        raise InputError(f"The network does not take inputs of shape {shapes}: {str(error).splitlines()[0]}") from error
    if task == "regression" and shape != tuple(y.shape):
        raise InputError(f"The network returns {shape} for targets {tuple(y.shape)}: their shapes must be the same.")
    if len(shape) < 2:
        raise InputError(f"The network must return one row of scores an input, but returned {shape} for two inputs.")
    return shape[1]


def _small_net(loader: CheckedBatches, sample: tuple[Any, Tensor], task: Task, width: int) -> nn.Module:
    x, y = sample
    if not isinstance(x, Tensor) or x.dim() != 4:
        got = tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__
        raise InputError(f"A network is built for images (N, C, H, W) only, but the inputs are {got}: pass a net of your own.")
    if task == "regression":
        return SmallCNN(x.shape[1], y[0].numel(), width)
    with torch.random.fork_rng():
        labels = torch.cat([labels for _, labels in loader]) if loader.labels is None else loader.labels
    return SmallCNN(x.shape[1], arrays.count_classes(labels), width)
