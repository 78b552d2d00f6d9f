"""Means over held-out samples with 95 % intervals, by the bootstrap."""

from dataclasses import dataclass

import torch
from torch import Tensor

RESAMPLES = 1000


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
