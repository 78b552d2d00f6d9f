"""The quantity that training minimises: loss + weight * R(theta)."""

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Tensor

from augerino.augmentation import Augmentation
from augerino.errors import InputError
from augerino.regularizers import NegativeL2

Regularizer = Callable[[Augmentation], Tensor]


class Terms(NamedTuple):
    """The parts of an objective: `total = loss + penalty`, with the penalty already weighted."""

    loss: Tensor
    penalty: Tensor
    total: Tensor


class Objective:
    r"""\(\ell(\bar f(x), y) + \lambda R(\theta)\) (Benton et al. 2020, Eq. 5).

    It takes predictions, not the model, so a compiled or distributed wrapper changes nothing.

    Args:
        loss: from prediction and target to a scalar; `F.nll_loss` beside `mean_log_prob`, `F.mse_loss` beside `mean`.
        augmentation: whose theta is regularised.
        regularizer: R, `NegativeL2()` by default.
        weight: lambda.
    """

    def __init__(
        self,
        loss: Callable[[Any, Any], Tensor],
        augmentation: Augmentation,
        regularizer: Regularizer | None = None,
        weight: float = 0.05,
    ) -> None:
        if not 0 <= weight < float("inf"):
            raise InputError(f"The weight of the penalty must be a number of at least 0, but got {weight}.")
        self.loss, self.augmentation, self.weight = loss, augmentation, weight
        self.regularizer = NegativeL2() if regularizer is None else regularizer

    def __call__(self, prediction: Any, target: Any) -> Terms:
        loss = self.loss(prediction, target)
        penalty = self.weight * self.regularizer(self.augmentation)
        return Terms(loss, penalty, loss + penalty)
