"""Whether the learned model pays: its gain over no augmentation, with a paired interval."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from torch import Tensor

from augerino.diagnostics import Estimate, ItemResults
from augerino.diagnostics.comparison import MAX_RESAMPLED
from augerino.diagnostics.items import ItemScores, normal_estimate, resample

if TYPE_CHECKING:
    from augerino.learning.learned import Learned
    from augerino.learning.race import Race

BASELINE = "no augmentation"  # name of the baseline among the compared models

Answer = Literal["yes", "no", "undecided", "none"]


@dataclass(frozen=True)
class Payoff:
    """The gain of the learned model over the baseline.

    Args:
        answer: "yes" or "no" if the interval excludes 0, else "undecided"; "none" if the policy is
            no augmentation.
        gain: in accuracy points, or for regression in percent of the baseline's squared error;
            positive is better. None if the policy is no augmentation.
        over_standard: the same over the field's standard policy, in the trials of the policy step;
            None if there were none, or if the standard policy was chosen.
        standard: name of the standard policy.
        is_accuracy: whether gains are accuracy points.
        n_items: number of held-out samples.
    """

    answer: Answer
    gain: Estimate | None
    over_standard: Estimate | None
    standard: str | None
    is_accuracy: bool
    n_items: int

    @property
    def sentence(self) -> str:
        """The answer in one or two sentences."""
        return " ".join(part for part in (self._main(), self._compared()) if part)

    def _main(self) -> str:
        if self.gain is None:
            return (
                "Not worth it here: in the trials, no policy did better than no augmentation. "
                "The model was trained without augmentation."
            )
        if self.gain.low == self.gain.high == 0:
            return f"No difference from no augmentation on {self.n_items} held-out samples."
        heads = {"yes": "Use it", "no": "Do not use it", "undecided": "Undecided"}
        text = f"{heads[self.answer]}: {self._text(self.gain)} over no augmentation"
        return f"{text}, on {self.n_items} held-out samples."

    def _compared(self) -> str:
        if self.over_standard is None or self.standard in (None, BASELINE):
            return ""
        return f"In short trials: {self._text(self.over_standard)} over {self.standard}."

    def _text(self, gain: Estimate) -> str:
        if self.is_accuracy:
            unit = " points"
        else:
            unit = " % of the squared error"
        mean, low, high = (f"{value:+.1f}".replace("-", "−") for value in _ends(gain))
        return f"{mean}{unit} (95 %: {low} to {high})"


def _ends(estimate: Estimate) -> tuple[float, float, float]:
    return estimate.mean, estimate.low, estimate.high


def measure_payoff(learned: "Learned", results: Mapping[str, ItemResults]) -> Payoff | None:
    """Compares the learned model with the baseline, sample by sample.

    Args:
        learned: the learned model.
        results: held-out results by name; the last one is the learned model as it is saved.
    """
    if BASELINE not in results:
        return None
    baseline = results[BASELINE].scores
    is_accuracy = baseline.correct is not None
    if learned.choice is not None and not learned.choice.augmentation.names:
        return Payoff(
            answer="none",
            gain=None,
            over_standard=None,
            standard=None,
            is_accuracy=is_accuracy,
            n_items=len(baseline.loss),
        )
    final = list(results.values())[-1].scores
    gain = paired_gain(final, baseline)
    answer: Answer = "undecided"
    if gain.low > 0:
        answer = "yes"
    elif gain.high < 0:
        answer = "no"
    race = None if learned.choice is None else learned.choice.race
    return Payoff(
        answer=answer,
        gain=gain,
        over_standard=_gain_over_standard(race),
        standard=None if race is None else race.standard,
        is_accuracy=is_accuracy,
        n_items=len(baseline.loss),
    )


def _gain_over_standard(race: "Race | None") -> Estimate | None:
    """The gain of the winner over the standard policy in the trials."""
    if race is None or race.winner.name == race.standard:
        return None
    winner = race.winner.scores
    standard = race[race.standard].scores
    if winner is None or standard is None:
        return None
    return paired_gain(winner, standard)


def paired_gain(better: ItemScores, worse: ItemScores) -> Estimate:
    """The gain in accuracy points, or in percent of the other's loss, on the same samples."""
    if better.correct is not None and worse.correct is not None:
        return _estimate(100 * (better.correct - worse.correct))
    scale = 100 / float(worse.loss.mean().clamp_min(1e-30))
    return _estimate(scale * (worse.loss - better.loss))


def _estimate(values: Tensor) -> Estimate:
    if len(values) <= MAX_RESAMPLED:
        return resample(len(values)).estimate(values)
    return normal_estimate(values)
