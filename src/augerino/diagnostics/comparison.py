"""Models side by side on the same held-out items."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from augerino import tree
from augerino.diagnostics.evidence import Change, resample
from augerino.diagnostics.items import Items, judge, says_something
from augerino.diagnostics.pixels import Pixels
from augerino.errors import InputError
from augerino.models import evaluation_mode

MOST_RESAMPLED = 10_000


@dataclass(frozen=True)
class Judged:
    """What one model made of held-out items, on the CPU: each item's loss and correctness, and beside them the targets of a
    classification or regression, or the pixels of label maps."""

    items: Items
    targets: Tensor | None
    pixels: Pixels | None

    @classmethod
    def join(cls, parts: "Sequence[Judged]") -> "Judged":
        """What one model made of several lots of items, as one."""
        rights = [part.items.right for part in parts if part.items.right is not None]
        targets = [part.targets for part in parts if part.targets is not None]
        pixels = [part.pixels for part in parts if part.pixels is not None]
        items = Items(
            torch.cat([part.items.loss for part in parts]), torch.cat(rights) if rights else None
        )
        return cls(
            items, torch.cat(targets) if targets else None, Pixels.join(pixels) if pixels else None
        )


@dataclass(frozen=True)
class Score:
    """One model's result: its mean loss and, for classes, the share of right answers (for label maps: of right pixels, and the
    mean intersection over union), each with its bootstrap 95 % interval."""

    name: str
    copies: int
    items: int
    loss: Change
    accuracy: Change | None
    mean_iou: Change | None = None


def judge_all(model: nn.Module, loader: Iterable[Any]) -> Judged:
    """Judges a model on every item of a loader, in evaluation mode; label maps without a pixel that counts are left out."""
    where = next(model.parameters()).device
    judged, targets, pixels = list[Items](), list[Tensor](), list[Pixels]()
    with evaluation_mode(model):
        for batch in loader:
            x, y = (tree.map(lambda leaf: leaf.to(where), part) for part in batch)
            prediction, known = model(x), says_something(y)
            prediction, y = prediction[known], y[known]
            if len(y) == 0:
                continue
            judged.append(judge(prediction, y))
            if not y.is_floating_point() and y.dim() > 1:  # whole maps would be too much to keep
                pixels.append(Pixels.of(prediction.argmax(dim=1), y, prediction.shape[1]))
            else:
                targets.append(y.cpu())
    if not judged:
        raise InputError(
            "There is no held-out item to judge the model by: none came, or every pixel of their masks is ignored."
        )
    rights = [found.right.double().cpu() for found in judged if found.right is not None]
    items = Items(
        torch.cat([found.loss.double().cpu() for found in judged]),
        torch.cat(rights) if rights else None,
    )
    return Judged(
        items, torch.cat(targets) if targets else None, Pixels.join(pixels) if pixels else None
    )


def score(name: str, copies: int, judged: Judged) -> Score:
    """Means over items, with intervals; of very many items the normal ones, which are the same there. Pixels are pooled."""
    items = judged.items
    change = resample(len(items.loss)).change if len(items.loss) <= MOST_RESAMPLED else _normal
    if judged.pixels is not None:
        accuracy: Change | None = judged.pixels.accuracy()
    else:
        accuracy = None if items.right is None else change(items.right)
    mean_iou = None if judged.pixels is None else judged.pixels.mean_iou()
    return Score(name, copies, len(items.loss), change(items.loss), accuracy, mean_iou)


def _normal(values: Tensor) -> Change:
    mean, error = float(values.mean()), 1.96 * float(values.std()) / len(values) ** 0.5
    return Change(mean, mean - error, mean + error)


def per_class(right: Tensor, y: Tensor, classes: int) -> list[tuple[int, float | None]]:
    """For each class the number of items and the share of right answers; None where a class has no item."""
    counts = [(y == label).sum().item() for label in range(classes)]
    return [
        (int(n), right[y == label].mean().item() if n else None) for label, n in enumerate(counts)
    ]
