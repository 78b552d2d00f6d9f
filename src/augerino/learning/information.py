"""How much predictions tell of targets, in nats, so that classes and values are measured alike."""

import math

import torch
from torch import Tensor

from augerino.diagnostics.items import chance, score_items

RESOLUTION = 0.003  # of a value's variance: errors below an eighteenth of its standard deviation hardly count


class InformationScore:
    """Measures what predictions leave unsaid about targets of one kind.

    Of classes that is the mean log-loss. Of values it is the log of their error in units of their spread, averaged over the
    outputs: what a Gaussian of that error leaves unsaid. Taken to the letter, a network that is nearly exact would lose much
    by erring a little, so errors below the resolution count as good as none. And no item counts for more than the best guess
    would lose by it: a few that a network is sure of and wrong about would outweigh all others.

    Args:
        y: targets, from which the best guess follows that does not look at the input.

    Attributes:
        most: how much there is to know: the loss of that guess, above that of a prediction without error.
        least: what a prediction without error leaves unsaid.
    """

    def __init__(self, y: Tensor) -> None:
        self._values = y.is_floating_point()
        if self._values:
            spread = (y - y.mean(dim=0)).square().flatten(1).mean(dim=0).double().cpu()
            self._spread = spread.clamp_min(torch.finfo(torch.float64).tiny)
            self._guess = 0.5 * math.log(1 + RESOLUTION)
            self.least = 0.5 * math.log(RESOLUTION)
            self.most = self._guess - self.least
        else:
            self._guess, self.least = chance(y), 0.0
            self.most = self._guess

    def errors(self, prediction: Tensor, y: Tensor) -> Tensor:
        """What each item adds: its log-loss, or its squared errors.   returns (n,) or (n, outputs), float64 on the CPU"""
        rows = (
            (prediction - y).square().flatten(1)
            if self._values
            else score_items(prediction, y).loss.clamp_max(self.most)
        )
        return rows.double().cpu()

    def residual(self, mean: Tensor) -> float:
        """What is left unsaid, in nats, where errors have this mean over items.   mean: () or (outputs,)"""
        if self._values:
            return float(0.5 * (RESOLUTION + mean / self._spread).log().mean())
        return float(mean)

    def information(self, mean: Tensor) -> float:
        """What is said, in nats: how much better than the best guess; below 0 where it is worse."""
        return self._guess - self.residual(mean)
