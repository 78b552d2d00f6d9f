"""The one training that every row of a segmentation experiment runs: same scenes, same loop, another augmentation."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

import augerino as ag
from augerino.augmentation import Element
from augerino.data.arrays import IGNORE
from augerino.diagnostics.segmentation import confusion
from augerino.errors import InputError
from augerino.learning.defaults import masked_nll, no_augmentation
from augerino.models import evaluation_mode
from augerino.nets.fc_densenet import NAMED
from augerino.objective import Regularizer
from augerino.paper.experiments.settings import Row, Settings

REGULARIZERS: dict[str, Regularizer] = {"l2": ag.NegativeL2(), "entropy": ag.NegativeEntropy()}
_NOTHING = 1e-6  # a bound that moves nothing


@dataclass(frozen=True)
class SegmentationSettings(Settings):
    """What experiments can be told whose network labels pixels."""

    net: Literal["fc_densenet_small", "fc_densenet56", "fc_densenet67", "fc_densenet103"] = (
        "fc_densenet67"
    )
    """the network; the paper's is fc_densenet67"""
    weights: tuple[float, ...] = (0.01, 0.05)
    """the penalty's weights, one row each and regularizer"""
    rotate: float = 0.3
    """standard deviation that the rotation starts at, in radians"""
    translate: float = 2.0
    """standard deviation that both translations start at, in pixels"""
    limit: float = 10.0
    """standard deviation of a translation past which the penalty gains nothing more, in pixels"""
    padding: float = 0.0
    """margin around a scene while it is moved, as a fraction of its mean side; what leaves it takes the bare prediction"""
    crop: int = 224
    """side of the square cut out of each scene in training"""
    whole: float = 0.25
    """share of the training, at its end, that sees whole scenes"""

    def check(self) -> None:
        super().check()
        self._at_least_one("crop")
        if not 0 <= self.whole <= 1:
            raise InputError(
                f"whole is a share of the training, from 0 to 1, but got {self.whole}."
            )


class Scenes:
    """Batches of scenes with the standard augmentation: each flipped or not, and cropped at a place of its own.

    Args:
        x: images (N, C, H, W), bytes, served as floats in [0, 1].
        y: label maps (N, H, W), bytes, served as integers.
        batch_size: scenes per batch.
        crop: side of the square cut out; a scene that is smaller stays whole that way.
        cropped: how many passes see crops; the later ones see whole scenes.
    """

    def __init__(self, x: Tensor, y: Tensor, batch_size: int, crop: int, cropped: int) -> None:
        self.batches = ag.data.Batches(x, y, batch_size)
        self.crop, self.cropped, self.passes = crop, cropped, 0

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        crop, self.passes = self.passes < self.cropped, self.passes + 1
        for batch in self.batches:
            x, y = self._flip(*batch)
            x, y = self._cut(x, y) if crop else (x, y)
            yield x.float() / 255, y.long()

    def _flip(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        chosen = torch.rand(len(x), 1, 1) < 0.5
        return torch.where(chosen[:, None], x.flip(-1), x), torch.where(chosen, y.flip(-1), y)

    def _cut(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        sides = [min(self.crop, side) for side in x.shape[-2:]]
        starts = [
            torch.randint(side - kept + 1, (len(x),)).tolist()
            for side, kept in zip(x.shape[-2:], sides, strict=True)
        ]
        cuts = [
            (i, slice(a, a + sides[0]), slice(b, b + sides[1]))
            for i, (a, b) in enumerate(zip(*starts, strict=True))
        ]
        return torch.stack([x[i, :, a, b] for i, a, b in cuts]), torch.stack(
            [y[i, a, b] for i, a, b in cuts]
        )


def make_augmentation(settings: SegmentationSettings, row: Row) -> ag.Augmentation:
    """The row's augmentation: none, any rotation with nothing to learn, or a learned Gaussian over rotation and translation."""
    if row.kind == "none":
        return no_augmentation()
    rigid = ag.RotoTranslate2d(settings.padding, settings.limit)
    if row.kind == "fixed":
        return ag.Augmentation(rigid, ag.Uniform([math.pi, _NOTHING, _NOTHING])).requires_grad_(
            False
        )
    start = [settings.rotate, settings.translate, settings.translate]
    return ag.Augmentation(rigid, ag.Gaussian([0.0] * 3, start))


def train_row(
    settings: SegmentationSettings, row: Row, seed: int, x: Tensor, y: Tensor, classes: int
) -> tuple[ag.EquivariantModel, ag.History]:
    """Trains one row on one seed."""
    torch.manual_seed(seed)
    augmentation = make_augmentation(settings, row)
    model = ag.EquivariantModel(
        NAMED[settings.net](x.shape[1], classes), augmentation, average=ag.mean_log_prob
    )
    model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # a third faster on a CPU
    objective = ag.Objective(masked_nll, augmentation, REGULARIZERS[row.regularizer], row.weight)
    betas = (0.9, settings.memory)
    rate = settings.augmentation_lr
    groups = ag.param_groups(
        model, weight_decay=1e-4, augmentation_lr=rate, augmentation_betas=betas
    )
    optimizer = torch.optim.Adam(groups, lr=settings.lr)
    scenes = Scenes(
        x, y, settings.batch_size, settings.crop, round(settings.epochs * (1 - settings.whole))
    )
    steps = settings.epochs * len(scenes)
    scheduler = ag.training.cosine_schedule(optimizer, steps, settings.warm_up * steps)
    history = ag.fit(
        model,
        objective,
        scenes,
        optimizer,
        epochs=settings.epochs,
        scheduler=scheduler,
        precision="auto",
    )
    return model.eval(), history


def confusion_of(
    model: nn.Module, x: Tensor, y: Tensor, classes: int, batch_size: int = 16
) -> Tensor:
    """The confusion matrix of a model over scenes as bytes, (classes, classes)."""
    total = torch.zeros(classes, classes, dtype=torch.long)
    with evaluation_mode(model):
        for images, labels in zip(x.split(batch_size), y.split(batch_size), strict=True):
            total += confusion(model(images.float() / 255).argmax(dim=1), labels, classes)
    return total


def loss_at(
    model: ag.EquivariantModel,
    x: Tensor,
    y: Tensor,
    scales: Sequence[float],
    draws: int = 2,
    batch_size: int = 16,
) -> float:
    """The mean loss per pixel over scenes as bytes, one copy each, were the distribution N(0, diag(scales²)).

    The draws are always the same ones but for their scale, so that two scales can be compared.
    """
    generator = torch.Generator().manual_seed(0)
    total, pixels = 0.0, 0
    with evaluation_mode(model):
        for images, labels in zip(x.split(batch_size), y.long().split(batch_size), strict=True):
            for _ in range(draws):
                t = torch.randn(len(images), len(scales), generator=generator) * torch.tensor(
                    scales
                )
                said = model.average_over(
                    images.float() / 255, Element(model.augmentation.transform, t)
                )
                counted = int((labels != IGNORE).sum())
                total, pixels = total + counted * float(masked_nll(said, labels)), pixels + counted
    return total / max(pixels, 1)
