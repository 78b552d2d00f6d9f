"""Loss and accuracy of single samples, and their means with 95 % intervals by the bootstrap."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from augerino.data.arrays import IGNORE

RESAMPLES = 1000
_IGNORE_NOTHING = -100  # torch's default ignore_index, which is no valid label


class ItemScores(NamedTuple):
    """The loss of each sample and, for classes, its fraction of correct labels; both (B,)."""

    loss: Tensor
    correct: Tensor | None


def score_items(prediction: Tensor, y: Tensor) -> ItemScores:
    """Scores each sample: negative log-likelihood of labels, or mean squared error of values.

    Args:
        prediction: log-probabilities (B, classes) or (B, classes, H, W), or values (B, ...).
        y: labels (B,), label maps (B, H, W), or values (B, ...).
    """
    if y.is_floating_point():
        return ItemScores((prediction - y).square().flatten(1).mean(dim=1), None)
    ignore_index = IGNORE if y.dim() > 1 else _IGNORE_NOTHING
    loss = F.nll_loss(prediction.float(), y, reduction="none", ignore_index=ignore_index)
    valid = valid_mask(y)
    correct = ((prediction.argmax(dim=1) == y) & valid).float()
    n_labels = valid.reshape(len(y), -1).sum(dim=1).clamp_min(1)
    return ItemScores(
        loss=loss.reshape(len(y), -1).sum(dim=1) / n_labels,
        correct=correct.reshape(len(y), -1).sum(dim=1) / n_labels,
    )


def valid_mask(y: Tensor) -> Tensor:
    """True where a label counts. Label maps may ignore pixels; for single labels 255 is a class."""
    if y.dim() > 1:
        return y != IGNORE
    return torch.ones_like(y, dtype=torch.bool)


def has_valid_target(y: Tensor) -> Tensor:
    """False for label maps in which every pixel is ignored.   returns (B,) bool"""
    if y.is_floating_point() or y.dim() == 1:
        return torch.ones(len(y), dtype=torch.bool, device=y.device)
    return valid_mask(y).flatten(1).any(dim=1)


def chance(y: Tensor) -> float:
    """The mean loss of the best constant prediction: entropy of labels, or variance of values."""
    if y.is_floating_point():
        return float((y - y.mean(dim=0)).square().mean())
    counts = y[valid_mask(y)].bincount().double()
    frequency = counts[counts > 0] / counts.sum()
    return float(-(frequency * frequency.log()).sum())


@dataclass(frozen=True)
class Estimate:
    """A mean over held-out samples and its 95 % interval [low, high]."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Resamples:
    """Bootstrap resamples: `counts[r, i]` is how often resample r contains sample i.

    Shape: (resamples, samples).
    """

    counts: Tensor

    def means(self, values: Tensor) -> Tensor:
        """The mean of each resample.   values: (samples,)   returns (resamples,)"""
        return self.counts @ values.double().cpu() / values.numel()

    def estimate(self, values: Tensor) -> Estimate:
        """The mean of all samples with its percentile interval.   values: (samples,)"""
        low, high = percentile_interval(self.means(values))
        return Estimate(mean=float(values.double().mean()), low=low, high=high)


def resample(n_items: int, seed: int = 0) -> Resamples:
    """Draws resamples of n_items samples each, with replacement."""
    generator = torch.Generator().manual_seed(seed)
    counts = []
    for _ in range(RESAMPLES):
        drawn = torch.randint(n_items, (n_items,), generator=generator)
        counts.append(drawn.bincount(minlength=n_items))
    return Resamples(torch.stack(counts).double())


def percentile_interval(values: Tensor) -> tuple[float, float]:
    """The 2.5 % and 97.5 % quantiles of resampled values, NaN excluded.   values: (resamples,)"""
    ends = torch.tensor([0.025, 0.975], dtype=values.dtype)
    low, high = values.nanquantile(ends).tolist()
    return low, high


def normal_estimate(values: Tensor) -> Estimate:
    """The mean with the normal approximation of its 95 % interval, for many samples."""
    mean = float(values.mean())
    error = 1.96 * float(values.std()) / len(values) ** 0.5
    return Estimate(mean=mean, low=mean - error, high=mean + error)
