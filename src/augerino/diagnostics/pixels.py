"""Pixel counts of each label map, for accuracy and intersection over union with intervals."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from augerino.diagnostics.items import Estimate, percentile_interval, resample
from augerino.diagnostics.segmentation import confusion, iou, mean_iou, pixel_accuracy

MAX_GROUPS = 2000  # of samples in a bootstrap


@dataclass(frozen=True)
class PixelCounts:
    """Pixel counts of predicted label maps.

    Attributes:
        confusion: confusion matrix of all samples, (classes, classes).
        correct: correctly classified pixels of each sample by class, (samples, classes).
        true: pixels of each sample by true class, (samples, classes).
        predicted: pixels of each sample by predicted class, (samples, classes).

    Example:
        >>> target = torch.tensor([[[0, 1], [1, 255]]])
        >>> counts = PixelCounts.of(torch.tensor([[[0, 1], [0, 0]]]), target, n_classes=2)
        >>> round(counts.accuracy().mean, 3), counts.iou()
        (0.667, [0.5, 0.5])
    """

    confusion: Tensor
    correct: Tensor
    true: Tensor
    predicted: Tensor

    @classmethod
    def of(cls, predicted: Tensor, target: Tensor, n_classes: int) -> "PixelCounts":
        """Counts the pixels of a batch.   predicted, target: (B, H, W)"""
        pairs = zip(predicted.cpu(), target.cpu(), strict=True)
        matrices = torch.stack([confusion(p, y, n_classes) for p, y in pairs])
        return cls(
            confusion=matrices.sum(dim=0),
            correct=matrices.diagonal(dim1=1, dim2=2).double(),
            true=matrices.sum(dim=2).double(),
            predicted=matrices.sum(dim=1).double(),
        )

    @classmethod
    def concatenate(cls, parts: "Sequence[PixelCounts]") -> "PixelCounts":
        """Joins several batches."""
        return cls(
            confusion=torch.stack([part.confusion for part in parts]).sum(dim=0),
            correct=torch.cat([part.correct for part in parts]),
            true=torch.cat([part.true for part in parts]),
            predicted=torch.cat([part.predicted for part in parts]),
        )

    def accuracy(self) -> Estimate:
        """The fraction of correct pixels, with its bootstrap interval over samples."""

        def measure(correct: Tensor, true: Tensor, predicted: Tensor) -> Tensor:
            return correct.sum(dim=1) / true.sum(dim=1)

        return self._estimate(pixel_accuracy(self.confusion), measure)

    def mean_iou(self) -> Estimate:
        """The mean intersection over union of the classes, with its bootstrap interval."""

        def measure(correct: Tensor, true: Tensor, predicted: Tensor) -> Tensor:
            return (correct / (true + predicted - correct)).nanmean(dim=1)

        return self._estimate(mean_iou(self.confusion), measure)

    def iou(self) -> list[float | None]:
        """Intersection over union by class; None for a class that is neither true nor predicted."""
        return [None if math.isnan(value) else value for value in iou(self.confusion).tolist()]

    def items_per_class(self) -> list[int]:
        """The number of samples that contain each class."""
        return (self.true > 0).sum(dim=0).tolist()

    def _estimate(
        self, mean: float, measure: Callable[[Tensor, Tensor, Tensor], Tensor]
    ) -> Estimate:
        """Bootstrap interval of a measure of pooled pixels.

        `measure` maps counts of correct, true and predicted pixels, (resamples, classes) each, to
        one value per resample.
        """
        counts = resample(min(len(self.correct), MAX_GROUPS)).counts
        resampled = measure(
            counts @ _grouped(self.correct),
            counts @ _grouped(self.true),
            counts @ _grouped(self.predicted),
        )
        low, high = percentile_interval(resampled)
        return Estimate(mean=mean, low=low, high=high)


def _grouped(counts: Tensor) -> Tensor:
    """Sums samples into at most MAX_GROUPS groups.   (samples, classes) -> (groups, classes)"""
    group = torch.arange(len(counts)) % MAX_GROUPS
    sums = counts.new_zeros(min(len(counts), MAX_GROUPS), counts.shape[1])
    return sums.index_add(0, group, counts)
