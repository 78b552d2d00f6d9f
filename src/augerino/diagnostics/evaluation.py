"""Mean loss and accuracy of a model."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from augerino import tree
from augerino.diagnostics.items import valid_mask
from augerino.models import evaluation_mode


@dataclass(frozen=True)
class Evaluation:
    """The mean loss over a dataset and the fraction of correct labels (of pixels, for label maps).

    `accuracy` is None for regression.
    """

    loss: float
    accuracy: float | None
    n_items: int


def evaluate(
    model: nn.Module, loss: Callable[[Any, Any], Tensor], loader: Iterable[Any]
) -> Evaluation:
    """Evaluates a model over a loader of (input, target) batches, in evaluation mode.

    The mean is over samples, not batches. The mode of the model is restored afterwards.
    """
    device = next(model.parameters()).device
    n_items = 0
    loss_sum = 0.0
    n_correct = 0
    n_labels: int | None = None
    with evaluation_mode(model):
        for batch in loader:
            x, y = tree.to(batch, device)
            prediction = model(x)
            size = tree.batch_size(y)
            n_items += size
            loss_sum += size * float(loss(prediction, y))
            if _has_class_scores(prediction, y):
                valid = valid_mask(y)
                n_correct += int(((prediction.argmax(dim=1) == y) & valid).sum())
                n_labels = (n_labels or 0) + int(valid.sum())
    return Evaluation(
        loss=loss_sum / max(n_items, 1),
        accuracy=None if n_labels is None else n_correct / max(n_labels, 1),
        n_items=n_items,
    )


def _has_class_scores(prediction: Any, y: Any) -> bool:
    """Whether a prediction (B, classes, ...) belongs to labels (B, ...)."""
    if not isinstance(y, Tensor) or y.is_floating_point():
        return False
    return prediction.dim() == y.dim() + 1
