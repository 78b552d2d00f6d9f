"""How well predicted label maps agree with the true ones: a confusion matrix, and what is read off it."""

from torch import Tensor

from augerino.data.arrays import IGNORE
from augerino.errors import InputError


def confusion(predicted: Tensor, target: Tensor, classes: int, ignore: int = IGNORE) -> Tensor:
    """Counts pixels by true class (row) and predicted class (column); those whose true label is `ignore` count nowhere.

    Matrices of several batches add up to that of all.

    Args:
        predicted: labels, of any shape.
        target: true labels, of the same shape.
        classes: how many there are.
        ignore: the label of pixels of which nothing is known.

    Returns:
        (classes, classes), int64

    Example:
        >>> import torch
        >>> confusion(torch.tensor([0, 1, 1, 0]), torch.tensor([0, 1, 0, 255]), classes=2)
        tensor([[1, 1],
                [0, 1]])
    """
    if predicted.shape != target.shape:
        raise InputError(
            f"Predicted and true label maps must have one shape, but are {tuple(predicted.shape)} and {tuple(target.shape)}."
        )
    known = target != ignore
    true, said = target[known].long(), predicted[known].long()
    for labels, what in ((true, "true"), (said, "predicted")):
        if labels.numel() and (int(labels.min()) < 0 or int(labels.max()) >= classes):
            raise InputError(
                f"With {classes} classes labels are 0 to {classes - 1}, but {what} ones go from {int(labels.min())} to "
                f"{int(labels.max())}: raise `classes`, or name the label to `ignore`."
            )
    return (classes * true + said).bincount(minlength=classes * classes).reshape(classes, classes)


def pixel_accuracy(confusion: Tensor) -> float:
    """The share of pixels whose class is right; NaN where no pixel counts.

    Example:
        >>> import torch
        >>> pixel_accuracy(torch.tensor([[1, 1], [0, 2]]))
        0.75
    """
    return float(confusion.diagonal().sum().double() / confusion.sum())


def iou(confusion: Tensor) -> Tensor:
    """Intersection over union of each class, (classes,); NaN for a class that is neither there nor predicted.

    Example:
        >>> import torch
        >>> iou(torch.tensor([[1, 1, 0], [0, 2, 0], [0, 0, 0]]))
        tensor([0.5000, 0.6667,    nan], dtype=torch.float64)
    """
    both = confusion.diagonal().double()
    return both / (confusion.sum(dim=0) + confusion.sum(dim=1) - both)


def mean_iou(confusion: Tensor) -> float:
    """The mean of `iou` over the classes that are there or predicted, each counting the same; NaN where no pixel counts.

    Example:
        >>> import torch
        >>> round(mean_iou(torch.tensor([[1, 1, 0], [0, 2, 0], [0, 0, 0]])), 4)
        0.5833
    """
    return float(iou(confusion).nanmean())
