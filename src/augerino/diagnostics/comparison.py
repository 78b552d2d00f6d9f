"""Several models compared on the same held-out samples."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from augerino import tree
from augerino.diagnostics.items import (
    Estimate,
    ItemScores,
    has_valid_target,
    normal_estimate,
    resample,
    score_items,
)
from augerino.diagnostics.pixels import PixelCounts
from augerino.errors import InputError
from augerino.models import evaluation_mode

MAX_RESAMPLED = 10_000  # samples; above, the normal approximation is as good and far cheaper


@dataclass(frozen=True)
class ItemResults:
    """The results of one model on held-out samples, on the CPU.

    Attributes:
        scores: loss and accuracy of each sample.
        targets: the targets of a classification or regression, (samples, ...); None for label maps.
        pixels: pixel counts of label maps; None for other targets.
    """

    scores: ItemScores
    targets: Tensor | None
    pixels: PixelCounts | None

    @classmethod
    def concatenate(cls, parts: "Sequence[ItemResults]") -> "ItemResults":
        """Joins the results of several batches or processes, in order."""
        loss = torch.cat([part.scores.loss for part in parts])
        correct = [part.scores.correct for part in parts if part.scores.correct is not None]
        targets = [part.targets for part in parts if part.targets is not None]
        pixels = [part.pixels for part in parts if part.pixels is not None]
        return cls(
            scores=ItemScores(loss, torch.cat(correct) if correct else None),
            targets=torch.cat(targets) if targets else None,
            pixels=PixelCounts.concatenate(pixels) if pixels else None,
        )


@dataclass(frozen=True)
class Score:
    """The result of one model, each value with its 95 % interval.

    `accuracy` is the fraction of correct labels (of pixels, for label maps); None for regression.
    """

    name: str
    copies: int
    n_items: int
    loss: Estimate
    accuracy: Estimate | None
    mean_iou: Estimate | None = None


def evaluate_items(model: nn.Module, loader: Iterable[Any]) -> ItemResults:
    """Scores every sample of a loader of (input, target) batches, in evaluation mode.

    Label maps in which every pixel is ignored are left out.
    """
    device = next(model.parameters()).device
    parts = []
    with evaluation_mode(model):
        for batch in loader:
            x, y = tree.to(batch, device)
            valid = has_valid_target(y)
            prediction = model(x)[valid]
            y = y[valid]
            if len(y) > 0:
                parts.append(_batch_results(prediction, y))
    if not parts:
        raise InputError(
            "There are no held-out samples to evaluate on: the loader is empty, "
            "or every pixel of its masks is ignored."
        )
    return ItemResults.concatenate(parts)


def _batch_results(prediction: Tensor, y: Tensor) -> ItemResults:
    loss, correct = score_items(prediction, y)
    scores = ItemScores(
        loss=loss.double().cpu(),
        correct=None if correct is None else correct.double().cpu(),
    )
    if y.is_floating_point() or y.dim() == 1:
        return ItemResults(scores, targets=y.cpu(), pixels=None)
    # The counts are kept instead of whole label maps, which would need too much memory.
    n_classes = prediction.shape[1]
    pixels = PixelCounts.of(prediction.argmax(dim=1), y, n_classes)
    return ItemResults(scores, targets=None, pixels=pixels)


def score(name: str, copies: int, results: ItemResults) -> Score:
    """Means over samples with their 95 % intervals. Pixels are pooled over samples."""
    loss, correct = results.scores
    estimate = normal_estimate
    if len(loss) <= MAX_RESAMPLED:
        estimate = resample(len(loss)).estimate
    accuracy = None
    mean_iou = None
    if results.pixels is not None:
        accuracy = results.pixels.accuracy()
        mean_iou = results.pixels.mean_iou()
    elif correct is not None:
        accuracy = estimate(correct)
    return Score(
        name=name,
        copies=copies,
        n_items=len(loss),
        loss=estimate(loss),
        accuracy=accuracy,
        mean_iou=mean_iou,
    )


def per_class(correct: Tensor, y: Tensor, n_classes: int) -> list[tuple[int, float | None]]:
    """The number of samples and the accuracy of each class; None for a class without samples."""
    rows: list[tuple[int, float | None]] = []
    for label in range(n_classes):
        of_class = correct[y == label]
        accuracy = of_class.mean().item() if len(of_class) else None
        rows.append((len(of_class), accuracy))
    return rows
