"""Label maps judged item by item, so that shares of all their pixels come with intervals."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from augerino.diagnostics.evidence import Change, resample
from augerino.diagnostics.segmentation import confusion, iou, mean_iou, pixel_accuracy

MOST_RESAMPLED = 2000  # groups of items in a bootstrap


@dataclass(frozen=True)
class Pixels:
    """What a model made of label maps: the confusion matrix of all items, and each item's pixels by class.

    Example:
        >>> target = torch.tensor([[[0, 1], [1, 255]]])
        >>> pixels = Pixels.join([Pixels.of(torch.tensor([[[0, 1], [0, 0]]]), target, classes=2)])
        >>> round(pixels.accuracy().mean, 3), pixels.iou()
        (0.667, [0.5, 0.5])
    """

    confusion: Tensor  # (classes, classes)
    right: Tensor  # (items, classes)
    true: Tensor
    predicted: Tensor

    @classmethod
    def of(cls, predicted: Tensor, target: Tensor, classes: int) -> "Pixels":
        """Judges a batch.   predicted, target: (B, H, W)"""
        each = torch.stack(
            [confusion(*pair, classes) for pair in zip(predicted.cpu(), target.cpu(), strict=True)]
        )
        return cls(
            each.sum(dim=0),
            each.diagonal(dim1=1, dim2=2).double(),
            each.sum(dim=2).double(),
            each.sum(dim=1).double(),
        )

    @classmethod
    def join(cls, parts: "Sequence[Pixels]") -> "Pixels":
        """Several batches as one."""
        whole = torch.stack([part.confusion for part in parts]).sum(dim=0)
        return cls(
            whole,
            *(
                torch.cat([getattr(p, name) for p in parts])
                for name in ("right", "true", "predicted")
            ),
        )

    def accuracy(self) -> Change:
        """The share of pixels whose class is right, with its bootstrap 95 % interval over items."""
        return self._change(
            pixel_accuracy(self.confusion),
            lambda right, true, _: right.sum(dim=1) / true.sum(dim=1),
        )

    def mean_iou(self) -> Change:
        """The mean intersection over union of the classes, with its bootstrap 95 % interval over items."""
        return self._change(
            mean_iou(self.confusion),
            lambda right, true, said: (right / (true + said - right)).nanmean(dim=1),
        )

    def iou(self) -> list[float | None]:
        """Intersection over union by class; None for a class that is neither there nor predicted."""
        return [None if math.isnan(value) else value for value in iou(self.confusion).tolist()]

    def holding(self) -> list[int]:
        """In how many items each class is."""
        return (self.true > 0).sum(dim=0).tolist()

    def _change(self, mean: float, share: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Change:
        """A share of resampled items, each draw pooling the pixels of its items as `mean` pools those of all."""
        counts = resample(min(len(self.right), MOST_RESAMPLED)).counts
        drawn = share(
            *(counts @ _grouped(part) for part in (self.right, self.true, self.predicted))
        )
        low, high = drawn.nanquantile(torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
        return Change(mean, low, high)


def _grouped(part: Tensor) -> Tensor:
    """Very many items as groups of a few, which vary as the items do.   (items, classes) -> (groups, classes)"""
    groups = torch.arange(len(part)) % MOST_RESAMPLED
    return part.new_zeros(min(len(part), MOST_RESAMPLED), part.shape[1]).index_add(0, groups, part)
