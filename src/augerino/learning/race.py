"""The policy step: chooses how to augment the training of the final model by short trials.

A range says how far labels survive. A policy says what a network should see in order to do best on
new data, which is another question: a rotation may preserve every label and still only make the
task harder. So candidate policies are compared by what they are for, the loss on new samples.

Each trial trains on a part of the training samples for a part of the steps and is judged on the
other samples. Fewer steps alone would favour weak augmentation, and fewer samples alone would
favour strong augmentation. With nearly as many epochs as in the full training, a network overfits
about as much. All trials share samples, initial weights and order, so that losses can be compared
sample by sample.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from augerino.augmentation import Augmentation
from augerino.data.arrays import Kind
from augerino.diagnostics.items import Estimate, ItemScores, normal_estimate
from augerino.learning.candidates import (
    NONE,
    Candidate,
    geometric_candidates,
    photometric_candidates,
    rotation_candidate,
    standard_candidates,
)

# The fraction of the samples in a trial divided by its fraction of the steps: a trial has five
# sixths of the epochs of the full training.
SAMPLES_PER_STEP = 1.2
SMALLEST_PART = 100  # training samples of a trial
SOLVED = 0.001  # loss in nats below which samples count as equally solved
MIN_TEMPERATURE = 0.2
MAX_TEMPERATURE = 20.0


@dataclass(frozen=True, eq=False)
class Trial:
    """One candidate and its scores on the other training samples.

    Args:
        candidate: the policy.
        scores: loss (calibrated, for classes) and accuracy of each held-out sample; None if the
            training diverged.
    """

    candidate: Candidate
    scores: ItemScores | None

    @property
    def name(self) -> str:
        return self.candidate.name

    @property
    def loss(self) -> float:
        """Mean loss; infinite if the training diverged."""
        return float("inf") if self.scores is None else float(self.scores.loss.mean())

    @property
    def accuracy(self) -> float | None:
        """Fraction of correct labels; None for regression or if the training diverged."""
        if self.scores is None or self.scores.correct is None:
            return None
        return float(self.scores.correct.mean())

    def gain_over(self, other: "Trial") -> Estimate | None:
        """Decrease of the loss from another trial, paired by sample; None if one diverged."""
        if self.scores is None or other.scores is None:
            return None
        return normal_estimate(other.scores.loss - self.scores.loss)

    def is_accepted_after(self, other: "Trial") -> bool:
        """Whether the loss is lower, or higher by less than its paired standard error."""
        if self.scores is None or other.scores is None:
            return self.loss < other.loss
        gain = other.scores.loss - self.scores.loss
        standard_error = gain.std(correction=0) / len(gain) ** 0.5
        return bool(gain.mean() > -standard_error)


@dataclass(frozen=True, eq=False)
class Race:
    """All trials of the policy step, in the order in which they were run.

    Args:
        trials: the trials; the first one is without augmentation.
        standard: name of the best accepted standard policy of the field, or of no augmentation.
        winner: the trial of the chosen policy.
    """

    trials: tuple[Trial, ...]
    standard: str
    winner: Trial

    def __getitem__(self, name: str) -> Trial:
        return next(trial for trial in self.trials if trial.name == name)


def run_race(found: Augmentation, *, kind: Kind, x: Any, run: Callable[[Candidate], Trial]) -> Race:
    """Compares kinds of augmentation: a standard policy, then geometric ones, then tones.

    1. No augmentation, the field's standard policies for this kind of data, and full rotations if
       they were found. Of the accepted ones, that with the lowest loss counts.
    2. Geometric operations added to that policy, and photometric ones. Of each kind, the accepted
       one with the lowest loss counts. Ranges within rejected ones are not tried: a weaker form of
       what costs accuracy gains little.
    3. Both kinds together, if both have one.

    If no augmentation solves the task, no other policy is tried, because none can have a lower
    loss.

    A policy is accepted if its loss is lower than before, or higher by less than a standard error.
    The reason is that short trials underrate augmentation: a full training has the steps to profit
    from it.

    Args:
        found: augmentation with the learned ranges.
        kind: kind of data.
        x: a batch of inputs.
        run: trains with a candidate and judges it.
    """
    plain = run(Candidate(NONE))
    if plain.loss <= SOLVED:
        return Race((plain,), standard=NONE, winner=plain)
    trials = [plain, *(run(candidate) for candidate in standard_candidates(kind, x))]
    standard = _best_accepted(trials[1:], plain)
    rotations = rotation_candidate(found)
    if rotations is not None:
        trials.append(run(rotations))
    base = _best_accepted(trials[1:], plain)
    accepted = []
    for additions in (
        geometric_candidates(found, base.candidate, kind=kind, x=x),
        photometric_candidates(kind, x),
    ):
        good = []
        rejected: list[Candidate] = []
        for addition in additions:
            if any(addition.is_within(other) for other in rejected):
                continue
            trial = run(base.candidate.plus(addition))
            trials.append(trial)
            if trial.is_accepted_after(base):
                good.append((trial, addition))
            else:
                rejected.append(addition)
        if good:
            accepted.append(min(good, key=lambda pair: pair[0].loss))
    winner = min((trial for trial, _ in accepted), key=lambda trial: trial.loss, default=base)
    if len(accepted) == 2:
        (_, first), (_, second) = accepted
        both = run(base.candidate.plus(first).plus(second))
        trials.append(both)
        if both.is_accepted_after(winner):
            winner = both
    return Race(tuple(trials), standard=standard.name, winner=winner)


def _best_accepted(trials: Sequence[Trial], before: Trial) -> Trial:
    """The accepted trial with the lowest loss; the trial before them if none is accepted."""
    accepted = [trial for trial in trials if trial.is_accepted_after(before)]
    return min(accepted, key=lambda trial: trial.loss, default=before)


def calibrated_loss(log_prob: Tensor, y: Tensor) -> Tensor:
    r"""Computes \(-\log \mathrm{softmax}(\log p / T)_y\) at the temperature T with the lowest mean.

    A network without augmentation is often right but far too sure. Its log-loss would be worse than
    that of a network that knows nothing; at the best temperature it is not. The loss of a sample is
    at least 0.001, so that policies that all solve a task are equally good.

    Reference: Guo et al. (2017), "On Calibration of Modern Neural Networks".

    Args:
        log_prob: log-probabilities, (n, classes).
        y: labels, (n,).
    """
    log_prob = log_prob.double()
    low = math.log(MIN_TEMPERATURE)
    high = math.log(MAX_TEMPERATURE)
    for _ in range(40):  # golden-section search: the mean is convex in 1 / T
        left = low + 0.382 * (high - low)
        right = low + 0.618 * (high - low)
        if _loss_at(log_prob, y, left).mean() < _loss_at(log_prob, y, right).mean():
            high = right
        else:
            low = left
    return _loss_at(log_prob, y, (low + high) / 2).clamp_min(SOLVED)


def _loss_at(log_prob: Tensor, y: Tensor, log_temperature: float) -> Tensor:
    return F.cross_entropy(log_prob / math.exp(log_temperature), y, reduction="none")


def count_parts(trial_length: float, n_samples: int) -> int:
    """The number of parts of the training samples, one of which a trial trains on.

    Small data are split into fewer parts, of at least 100 samples where possible.

    Example:
        >>> [count_parts(length, 1000) for length in (1 / 6, 0.25, 0.5, 1.0)]
        [5, 3, 2, 2]
        >>> [count_parts(1 / 6, n) for n in (60, 300, 400)]
        [2, 3, 4]
    """
    parts = round(1 / (SAMPLES_PER_STEP * trial_length))
    return max(2, min(parts, n_samples // SMALLEST_PART))


def split_samples(y: Tensor | None, n: int, parts: int) -> tuple[Tensor, Tensor]:
    """Splits n samples at random: one of so many parts to train on, the others to judge by.

    Every class is in both, where possible.

    Args:
        y: labels, (n,); None or other targets for a split without regard to classes.
        n: number of samples.
        parts: number of parts.
    """
    order = torch.randperm(n)
    if y is not None and y.dim() == 1 and not y.is_floating_point():
        order = order[y[order].argsort(stable=True)]
    is_trained = torch.arange(n) % parts == 0
    return order[is_trained].sort().values, order[~is_trained].sort().values
