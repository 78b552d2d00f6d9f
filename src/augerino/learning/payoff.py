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
        over_standard: the same over the field's standard policy; None if there is no model or
            trial with it, or if it was chosen.
        standard: name of the standard policy.
        in_trials: whether `over_standard` is from the trials of the policy step, not from a full
            training on the same held-out samples.
        is_accuracy: whether gains are accuracy points.
        n_items: number of held-out samples.
    """

    answer: Answer
    gain: Estimate | None
    over_standard: Estimate | None
    standard: str | None
    in_trials: bool
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
        where = "In short trials" if self.in_trials else "On the same samples"
        return f"{where}: {self._text(self.over_standard)} over {self.standard}."

    def _text(self, gain: Estimate) -> str:
        if self.is_accuracy:
            unit = " points"
        else:
            unit = " % of the squared error"
        mean, low, high = (f"{value:+.1f}".replace("-", "−") for value in _ends(gain))
        return f"{mean}{unit} (95 %: {low} to {high})"


def _ends(estimate: Estimate) -> tuple[float, float, float]:
    return estimate.mean, estimate.low, estimate.high


def measure_payoff(
    learned: "Learned", final: ItemResults, baselines: Mapping[str, ItemResults]
) -> Payoff | None:
    """Compares the learned model with the baselines, sample by sample.

    Args:
        learned: the learned model.
        final: held-out results of the learned model as it is saved.
        baselines: held-out results by name: without augmentation (`BASELINE`), and possibly with
            the standard policy. None is returned without the first.
    """
    if BASELINE not in baselines:
        return None
    baseline = baselines[BASELINE].scores
    race = None if learned.choice is None else learned.choice.race
    standard = next((name for name in baselines if name != BASELINE), None)
    gain: Estimate | None = paired_gain(final.scores, baseline)
    if race is not None and race.winner.name == BASELINE:
        gain = None
    over_standard: Estimate | None = None
    if standard is not None:
        over_standard = paired_gain(final.scores, baselines[standard].scores)
    elif race is not None:
        over_standard = _gain_in_trials(race)
    return Payoff(
        answer=_answer(gain),
        gain=gain,
        over_standard=over_standard,
        standard=race.standard if standard is None and race is not None else standard,
        in_trials=standard is None,
        is_accuracy=baseline.correct is not None,
        n_items=len(baseline.loss),
    )


def _answer(gain: Estimate | None) -> Answer:
    if gain is None:
        return "none"
    if gain.low > 0:
        return "yes"
    if gain.high < 0:
        return "no"
    return "undecided"


def _gain_in_trials(race: "Race") -> Estimate | None:
    """The gain of the winner over the standard policy in the trials."""
    if race.winner.name == race.standard:
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
