"""How good a model is on data it has not seen."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from augerino import tree
from augerino.diagnostics.items import counts
from augerino.models import evaluation_mode


@dataclass(frozen=True)
class Evaluation:
    """Mean loss over a dataset and, for classes, the share of right answers (of pixels, for label maps)."""

    loss: float
    accuracy: float | None
    items: int


def evaluate(
    model: nn.Module, loss: Callable[[Any, Any], Tensor], loader: Iterable[Any]
) -> Evaluation:
    """Evaluates a model over a loader of (input, target) batches, in evaluation mode; the model's mode is put back."""
    where = next(model.parameters()).device
    items, total, right, answers, classes = 0, 0.0, 0, 0, False
    with evaluation_mode(model):
        for batch in loader:
            x, y = (tree.map(lambda leaf: leaf.to(where), part) for part in batch)
            prediction = model(x)
            count = tree.batch_size(y)
            items, total = items + count, total + count * float(loss(prediction, y))
            if (
                isinstance(y, Tensor)
                and not y.is_floating_point()
                and prediction.dim() == y.dim() + 1
            ):
                counted = counts(y)
                right += int(((prediction.argmax(dim=1) == y) & counted).sum())
                classes, answers = True, answers + int(counted.sum())
    return Evaluation(total / max(items, 1), right / max(answers, 1) if classes else None, items)
