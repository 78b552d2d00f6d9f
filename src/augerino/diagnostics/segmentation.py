"""The confusion matrix of predicted label maps, and the measures derived from it."""

from torch import Tensor

from augerino.data.arrays import IGNORE
from augerino.errors import InputError


def confusion(predicted: Tensor, target: Tensor, n_classes: int, ignore: int = IGNORE) -> Tensor:
    """Counts pixels by true class (row) and predicted class (column).

    Matrices of several batches can be added.

    Args:
        predicted: labels, of any shape.
        target: true labels, of the same shape.
        n_classes: number of classes; labels are 0 to n_classes - 1.
        ignore: true label of pixels that are not counted.

    Returns:
        (n_classes, n_classes), int64

    Example:
        >>> import torch
        >>> confusion(torch.tensor([0, 1, 1, 0]), torch.tensor([0, 1, 0, 255]), n_classes=2)
        tensor([[1, 1],
                [0, 1]])
    """
    if predicted.shape != target.shape:
        raise InputError(
            "Predicted and true label maps must have the same shape, "
            f"but are {tuple(predicted.shape)} and {tuple(target.shape)}."
        )
    valid = target != ignore
    true_labels = target[valid].long()
    predicted_labels = predicted[valid].long()
    _validate_labels(true_labels, "true", n_classes)
    _validate_labels(predicted_labels, "predicted", n_classes)
    pairs = n_classes * true_labels + predicted_labels
    return pairs.bincount(minlength=n_classes**2).reshape(n_classes, n_classes)


def _validate_labels(labels: Tensor, what: str, n_classes: int) -> None:
    if labels.numel() == 0:
        return
    low = int(labels.min())
    high = int(labels.max())
    if low < 0 or high >= n_classes:
        raise InputError(
            f"With {n_classes} classes labels are 0 to {n_classes - 1}, but the {what} labels "
            f"range from {low} to {high}: increase `n_classes`, or pass the label to `ignore`."
        )


def pixel_accuracy(confusion: Tensor) -> float:
    """The fraction of pixels with the correct class; NaN without pixels.

    Example:
        >>> import torch
        >>> pixel_accuracy(torch.tensor([[1, 1], [0, 2]]))
        0.75
    """
    return float(confusion.diagonal().sum().double() / confusion.sum())


def iou(confusion: Tensor) -> Tensor:
    """Intersection over union of each class, (classes,).

    NaN for a class that neither occurs nor is predicted.

    Example:
        >>> import torch
        >>> iou(torch.tensor([[1, 1, 0], [0, 2, 0], [0, 0, 0]]))
        tensor([0.5000, 0.6667,    nan], dtype=torch.float64)
    """
    intersection = confusion.diagonal().double()
    union = confusion.sum(dim=0) + confusion.sum(dim=1) - intersection
    return intersection / union


def mean_iou(confusion: Tensor) -> float:
    """The unweighted mean of `iou` over the classes that occur or are predicted.

    NaN without pixels.

    Example:
        >>> import torch
        >>> round(mean_iou(torch.tensor([[1, 1, 0], [0, 2, 0], [0, 0, 0]])), 4)
        0.5833
    """
    return float(iou(confusion).nanmean())
