"""Loss and correctness of single items, for any of our kinds of targets."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from augerino.data.arrays import IGNORE


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
    counted = y != IGNORE
    count = counted.flatten(1).sum(dim=1).clamp_min(1) if y.dim() > 1 else torch.ones_like(y)
    loss = F.nll_loss(prediction.float(), y, reduction="none", ignore_index=IGNORE)
    right = ((prediction.argmax(dim=1) == y) & counted).float()
    return Items(*(part.reshape(len(y), -1).sum(dim=1) / count for part in (loss, right)))


def chance(y: Tensor) -> float:
    """The mean loss of the best guess that does not look at the input: the entropy of labels, or the variance of values."""
    if y.is_floating_point():
        return float((y - y.mean(dim=0)).square().mean())
    share = y[y != IGNORE].bincount().double()
    share = share[share > 0] / share.sum()
    return float(-(share * share.log()).sum())
