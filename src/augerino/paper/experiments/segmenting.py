"""Trains a row of the segmentation experiment. Rows differ in the augmentation only."""

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
_ZERO_BOUND = 1e-6  # bounds must be positive; this one has no visible effect


@dataclass(frozen=True)
class SegmentationSettings(Settings):
    """Settings of experiments whose network labels pixels."""

    net: Literal["fc_densenet_small", "fc_densenet56", "fc_densenet67", "fc_densenet103"] = (
        "fc_densenet67"
    )
    """the network; the paper's is fc_densenet67"""
    reg_weights: tuple[float, ...] = (0.01, 0.05)
    """weights λ of the regularizer, one row for each and regularizer"""
    rotate_start: float = 0.3
    """standard deviation at which the rotation starts, in radians"""
    translate_start: float = 2.0
    """standard deviation at which both translations start, in pixels"""
    translate_cap: float = 10.0
    """standard deviation of a translation above which the penalty is constant, in pixels"""
    padding: float = 0.0
    """margin around a transformed scene, as a fraction of its mean side; predictions outside of it
    come from the network without augmentation"""
    crop: int = 224
    """side of the square cut out of each training scene"""
    full_scene_fraction: float = 0.25
    """fraction of the training, at its end, that uses full scenes instead of crops"""

    def check(self) -> None:
        super().check()
        self._require_at_least_one("crop")
        if not 0 <= self.full_scene_fraction <= 1:
            raise InputError(
                f"full_scene_fraction must lie between 0 and 1, but got {self.full_scene_fraction}."
            )


class Scenes:
    """Batches of scenes with the standard augmentation: random horizontal flips and crops.

    Args:
        x: images (N, C, H, W), bytes; yielded as floats in [0, 1].
        y: label maps (N, H, W), bytes; yielded as integers.
        batch_size: scenes per batch.
        crop: side of the square cut out, at most the side of the scene.
        crop_epochs: epochs that yield crops; later ones yield full scenes.
    """

    def __init__(self, x: Tensor, y: Tensor, batch_size: int, crop: int, crop_epochs: int) -> None:
        self.batches = ag.data.Batches(x, y, batch_size)
        self.crop = crop
        self.crop_epochs = crop_epochs
        self.epochs = 0

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        crop = self.epochs < self.crop_epochs
        self.epochs += 1
        for batch in self.batches:
            x, y = self._flip(*batch)
            if crop:
                x, y = self._crop(x, y)
            yield x.float() / 255, y.long()

    def _flip(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        chosen = torch.rand(len(x), 1, 1) < 0.5
        return torch.where(chosen[:, None], x.flip(-1), x), torch.where(chosen, y.flip(-1), y)

    def _crop(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Cuts one square out of each scene, at a random position."""
        height = min(self.crop, x.shape[-2])
        width = min(self.crop, x.shape[-1])
        tops = torch.randint(x.shape[-2] - height + 1, (len(x),)).tolist()
        lefts = torch.randint(x.shape[-1] - width + 1, (len(x),)).tolist()
        images = []
        masks = []
        for image, mask, top, left in zip(x, y, tops, lefts, strict=True):
            images.append(image[:, top : top + height, left : left + width])
            masks.append(mask[top : top + height, left : left + width])
        return torch.stack(images), torch.stack(masks)


def make_augmentation(settings: SegmentationSettings, row: Row) -> ag.Augmentation:
    """None, a fixed full rotation, or a learned Gaussian over rotation and translation."""
    if row.kind == "none":
        return no_augmentation()
    rigid = ag.RotoTranslate2d(settings.padding, settings.translate_cap)
    if row.kind == "fixed":
        full_circle = ag.Uniform([math.pi, _ZERO_BOUND, _ZERO_BOUND])
        return ag.Augmentation(rigid, full_circle).requires_grad_(False)
    start = [settings.rotate_start, settings.translate_start, settings.translate_start]
    return ag.Augmentation(rigid, ag.Gaussian([0.0] * 3, start))


def train_row(
    settings: SegmentationSettings, row: Row, seed: int, x: Tensor, y: Tensor, n_classes: int
) -> tuple[ag.EquivariantModel, ag.History]:
    """Trains one row on one seed.   x: (N, C, H, W) bytes   y: (N, H, W) bytes"""
    torch.manual_seed(seed)
    augmentation = make_augmentation(settings, row)
    net = NAMED[settings.net](x.shape[1], n_classes)
    model = ag.EquivariantModel(net, augmentation, average=ag.mean_log_prob)
    # A third faster on a CPU.
    model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    objective = ag.Objective(
        masked_nll,
        augmentation,
        regularizer=REGULARIZERS[row.regularizer],
        reg_weight=row.reg_weight,
    )
    groups = ag.param_groups(
        model,
        weight_decay=1e-4,
        augmentation_lr=settings.augmentation_lr,
        augmentation_betas=(0.9, settings.augmentation_beta2),
    )
    optimizer = torch.optim.Adam(groups, lr=settings.lr)
    scenes = Scenes(
        x,
        y,
        batch_size=settings.batch_size,
        crop=settings.crop,
        crop_epochs=round(settings.epochs * (1 - settings.full_scene_fraction)),
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
    model: nn.Module, x: Tensor, y: Tensor, n_classes: int, batch_size: int = 16
) -> Tensor:
    """The confusion matrix (n_classes, n_classes) of a model over scenes.   x, y: bytes"""
    total = torch.zeros(n_classes, n_classes, dtype=torch.long)
    with evaluation_mode(model):
        for images, labels in zip(x.split(batch_size), y.split(batch_size), strict=True):
            predicted = model(images.float() / 255).argmax(dim=1)
            total += confusion(predicted, labels, n_classes)
    return total


def loss_at(
    model: ag.EquivariantModel,
    x: Tensor,
    y: Tensor,
    scales: Sequence[float],
    draws: int = 2,
    batch_size: int = 16,
) -> float:
    """The mean loss per pixel with one copy per scene and the distribution N(0, diag(scales²)).

    All calls use the same standard normal draws, so that losses at two scales can be compared.
    """
    generator = torch.Generator().manual_seed(0)
    total = 0.0
    pixels = 0
    with evaluation_mode(model):
        for images, labels in zip(x.split(batch_size), y.long().split(batch_size), strict=True):
            n_labeled = int((labels != IGNORE).sum())
            for _ in range(draws):
                noise = torch.randn(len(images), len(scales), generator=generator)
                g = Element(model.augmentation.transform, noise * torch.tensor(scales))
                prediction = model.average_over(images.float() / 255, g)
                total += n_labeled * float(masked_nll(prediction, labels))
                pixels += n_labeled
    return total / max(pixels, 1)
