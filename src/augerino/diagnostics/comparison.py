"""Models side by side on the same held-out items."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from augerino import tree
from augerino.diagnostics.evaluation import evaluation_mode
from augerino.diagnostics.evidence import Change, resample
from augerino.diagnostics.items import Items, judge

MOST_RESAMPLED = 10_000


@dataclass(frozen=True)
class Score:
    """One model's result: its mean loss and, for classes, the share of right answers, each with its bootstrap 95 % interval."""

    name: str
    copies: int
    items: int
    loss: Change
    accuracy: Change | None


def judge_all(model: nn.Module, loader: Iterable[Any]) -> tuple[Items, Tensor]:
    """Loss and correctness of every item of a loader, in evaluation mode, and the targets; all on the CPU."""
    where = next(model.parameters()).device
    losses, rights, targets = [], [], []
    with evaluation_mode(model):
        for batch in loader:
            x, y = (tree.map(lambda leaf: leaf.to(where), part) for part in batch)
            found = judge(model(x), y)
            losses.append(found.loss.double().cpu())
            rights.append(torch.empty(0) if found.right is None else found.right.double().cpu())
            targets.append(y.cpu())
    right = torch.cat(rights)
    return Items(torch.cat(losses), right if right.numel() else None), torch.cat(targets)


def score(name: str, copies: int, items: Items) -> Score:
    """Means over items, with intervals; of very many items the normal ones, which are the same there."""
    change = resample(len(items.loss)).change if len(items.loss) <= MOST_RESAMPLED else _normal
    accuracy = None if items.right is None else change(items.right)
    return Score(name, copies, len(items.loss), change(items.loss), accuracy)


def _normal(values: Tensor) -> Change:
    mean, error = float(values.mean()), 1.96 * float(values.std()) / len(values) ** 0.5
    return Change(mean, mean - error, mean + error)


def per_class(right: Tensor, y: Tensor, classes: int) -> list[tuple[int, float | None]]:
    """For each class the number of items and the share of right answers; None where a class has no item."""
    counts = [(y == label).sum().item() for label in range(classes)]
    return [(int(n), right[y == label].mean().item() if n else None) for label, n in enumerate(counts)]
