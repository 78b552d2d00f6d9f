"""Loss and correctness of single items, for any of our kinds of targets."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from augerino.data.arrays import IGNORE

_NONE = -100  # no label at all, for torch


class Items(NamedTuple):
    """One number an item: its loss and, for classes, its share of right answers."""

    loss: Tensor
    right: Tensor | None


def judge(prediction: Tensor, y: Tensor) -> Items:
    """Judges log-probabilities against labels (B,) or label maps (B, H, W), or values against values.

    prediction: (B, classes), (B, classes, H, W) or (B, outputs)   returns (B,) each
    """
    if y.is_floating_point():
        return Items((prediction - y).square().flatten(1).mean(dim=1), None)
    counted = counts(y)
    count = counted.flatten(1).sum(dim=1).clamp_min(1) if y.dim() > 1 else torch.ones_like(y)
    loss = F.nll_loss(
        prediction.float(), y, reduction="none", ignore_index=IGNORE if y.dim() > 1 else _NONE
    )
    right = ((prediction.argmax(dim=1) == y) & counted).float()
    return Items(*(part.reshape(len(y), -1).sum(dim=1) / count for part in (loss, right)))


def says_something(y: Tensor) -> Tensor:
    """Whether there is anything to judge an item by: not by a label map of ignored pixels alone.   returns (B,) bool"""
    return (
        counts(y).flatten(1).any(dim=1)
        if not y.is_floating_point() and y.dim() > 1
        else y.new_ones(len(y)).bool()
    )


def counts(y: Tensor) -> Tensor:
    """Which labels count: of a map those that are not ignored; of single ones all, since 255 is a class there."""
    return y != IGNORE if y.dim() > 1 else torch.ones_like(y, dtype=torch.bool)


def chance(y: Tensor) -> float:
    """The mean loss of the best guess that does not look at the input: the entropy of labels, or the variance of values."""
    if y.is_floating_point():
        return float((y - y.mean(dim=0)).square().mean())
    share = y[counts(y)].bincount().double()
    share = share[share > 0] / share.sum()
    return float(-(share * share.log()).sum())
