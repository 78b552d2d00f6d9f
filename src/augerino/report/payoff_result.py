"""The payoff and the policy step of a run, read from result.json."""

from dataclasses import dataclass
from typing import Any

from augerino.report.result_reader import (
    Estimate,
    count,
    entries,
    number,
    read_estimate,
    records,
    text,
)

PAYOFF_ANSWERS = ("yes", "no", "undecided", "none")


@dataclass(frozen=True)
class Payoff:
    """The gain of the learned model over no augmentation, on held-out samples.

    Args:
        answer: one of `PAYOFF_ANSWERS`, or None if the file has another one.
        gain: gain in accuracy points, or in percent of the baseline's squared error.
        is_accuracy: whether the gain is in accuracy points.
        sentence: the answer in words.
    """

    answer: str | None
    gain: Estimate | None
    is_accuracy: bool
    sentence: str

    @property
    def unit(self) -> str:
        """The unit of the gain, with a space in front."""
        if self.is_accuracy:
            return " points"
        return " % of the squared error"


@dataclass(frozen=True)
class Trial:
    """One short training of the policy step.

    Args:
        name: the candidate policy in a few words.
        loss: loss on training samples that the trial was not trained on.
        accuracy: accuracy on the same samples; None for regression.
        gain: decrease of the loss relative to the first trial, which is without augmentation.
        is_diverged: whether the training diverged, so that there is no loss.
    """

    name: str
    loss: float | None
    accuracy: float | None
    gain: Estimate | None
    is_diverged: bool


@dataclass(frozen=True)
class PolicyChoice:
    """The chosen policy and the trials that led to the choice.

    Args:
        name: the chosen policy in a few words, as among the trials.
        sentence: its ranges and rates in words.
        copies_text: the copies that are averaged for a prediction, in words.
        standard: name of the field's standard policy among the trials.
        n_samples: number of samples on which the trials were evaluated.
        trials: trials in the order of their runs; the first one is without augmentation.
    """

    name: str
    sentence: str
    copies_text: str
    standard: str
    n_samples: int | None
    trials: list[Trial]

    def position(self, name: str) -> int | None:
        """The index of the first trial of this name."""
        names = [trial.name for trial in self.trials]
        if name not in names:
            return None
        return names.index(name)


def read_payoff(value: Any) -> Payoff | None:
    """The payoff, or None if it has neither an answer nor a sentence."""
    entry = entries(value)
    answer = text(entry.get("answer"))
    sentence = _text(entry.get("sentence"))
    if answer not in PAYOFF_ANSWERS and not sentence:
        return None
    return Payoff(
        answer=answer if answer in PAYOFF_ANSWERS else None,
        gain=read_estimate(entry.get("gain")),
        is_accuracy=entry.get("is_accuracy") is not False,
        sentence=sentence,
    )


def read_policy(value: Any) -> PolicyChoice | None:
    """The chosen policy, or None if there is neither a sentence nor a trial."""
    entry = entries(value)
    trials = [_trial(trial) for trial in records(entry.get("trials"))]
    choice = PolicyChoice(
        name=_text(entry.get("name")),
        sentence=_text(entry.get("sentence")),
        copies_text=_text(entry.get("copies_text")),
        standard=_text(entry.get("standard")),
        n_samples=count(entry.get("items")),
        trials=[trial for trial in trials if trial.name],
    )
    if not (choice.sentence or choice.trials):
        return None
    return choice


def _trial(entry: dict[str, Any]) -> Trial:
    return Trial(
        name=_text(entry.get("name")),
        loss=number(entry.get("loss")),
        accuracy=number(entry.get("accuracy")),
        gain=read_estimate(entry.get("gain")),
        is_diverged="loss" in entry and entry["loss"] is None,
    )


def _text(value: Any) -> str:
    """A text without space around it; empty for any other value."""
    return value.strip() if isinstance(value, str) else ""
