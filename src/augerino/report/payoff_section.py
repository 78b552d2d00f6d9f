"""The first section: whether the learned policy pays, the models, the policy and its trials."""

from augerino.report.axis import Axis
from augerino.report.markup import (
    PAYOFF_WORDS,
    Markup,
    join,
    named,
    payoff_sign,
    percent,
    section,
    tag,
    unbroken,
)
from augerino.report.payoff_result import Payoff, PolicyChoice, Trial
from augerino.report.result_reader import Estimate
from augerino.report.run import Run
from augerino.report.score_section import about_scores, scores
from augerino.report.trial_chart import gain_on_axis, trial_axis, trial_row, trial_scale

_SUMMARY = {
    "yes": "The learned policy helps",
    "no": "The learned policy makes predictions worse",
    "undecided": "Whether the learned policy helps is undecided",
    "none": "Augmentation does not help here",
}
_NOT_MEASURED = "Not measured: this run has no comparison with a model without augmentation."


def payoff(run: Run, level: int) -> Markup | None:
    """The answer, the scores of the models, the policy in words and its trials."""
    if not run.has_payoff:
        return None
    content = [_answer(run.payoff)]
    body = scores(run)
    if body is not None:
        content.append(tag("p", unbroken(about_scores(run)), class_="explanation"))
        content.append(body)
    if run.policy is not None:
        content.append(_policy(run, run.policy, level + 1))
    return section("Does it help?", None, *content, level=level)


def payoff_summary(found: Payoff | None) -> str:
    """The answer in a few words; empty if there is none."""
    if found is None or found.answer is None:
        return ""
    words = _SUMMARY[found.answer]
    if found.gain is None:
        return f"{words}."
    return f"{words}: {gain_text(found.gain, found.unit)} over no augmentation."


def gain_text(gain: Estimate, unit: str) -> str:
    """The mean of a gain with its sign and unit."""
    return _signed(gain.mean) + unit


def gain_interval(gain: Estimate) -> str:
    """The 95 % interval of a gain; empty if it is unknown."""
    if gain.low is None or gain.high is None:
        return ""
    return f"95 %: {_signed(gain.low)} to {_signed(gain.high)}"


def _signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")


def _answer(found: Payoff | None) -> Markup:
    """The answer as a sign and a sentence that starts with emphasised words."""
    if found is None:
        return tag("p", _NOT_MEASURED, class_="payoff")
    words = PAYOFF_WORDS.get(found.answer or "", "")
    sentence = found.sentence or f"{words}."
    head = None
    if words and sentence.startswith(words):
        head = tag("b", words)
        sentence = sentence.removeprefix(words)
    text = tag("span", head, named(unbroken(sentence)))
    class_ = f"payoff {found.answer or ''}".strip()
    return tag("p", payoff_sign(found.answer), text, class_=class_)


def _policy(run: Run, choice: PolicyChoice, level: int) -> Markup:
    """The policy in words, and its trials."""
    words = [("Policy", choice.sentence or choice.name), ("Predictions", choice.copies_text)]
    lines = [
        tag("p", tag("b", f"{title}:"), " ", named(unbroken(text)), ".", class_="policy")
        for title, text in words
        if text
    ]
    if not choice.trials:
        return join(lines)
    return join(
        lines,
        tag(f"h{level}", "Trials"),
        tag("p", unbroken(_about_trials(run, choice)), class_="explanation"),
        _trials(run, choice),
    )


def _about_trials(run: Run, choice: PolicyChoice) -> str:
    samples = "other training samples"
    if choice.n_samples:
        samples = f"{choice.n_samples} {samples}"
    return (
        "Each trial is a short training with one candidate policy on some of the training"
        f" samples, judged by its {_loss_name(run)} on {samples}."
        " Dots show the decrease of this loss relative to no augmentation, lines the paired 95 %"
        " interval: further to the right is better."
        " The final model is trained with the chosen policy."
    )


def _loss_name(run: Run) -> str:
    if run.task == "regression":
        return "squared error"
    return "loss"


def _trials(run: Run, choice: PolicyChoice) -> Markup:
    """One row per trial and, below, the labels of the common axis."""
    axis = trial_axis(choice.trials)
    chosen = choice.position(choice.name)
    standard = choice.position(choice.standard) or None  # 0 is no augmentation
    line = None
    if standard is not None:
        line = _mean(choice.trials[standard].gain)
    rows = []
    for i, trial in enumerate(choice.trials):
        row_class = "trial"
        mark_class = "start"
        if i == chosen:
            row_class = "trial chosen"
            mark_class = "learned"
        plot = None
        if axis is not None:
            plot = trial_row(trial.gain, axis, mark_class, line)
        facts = _trial_facts(run, trial, axis, is_reference=i == 0)
        words = _words(trial.name, facts, _tags(i, chosen=chosen, standard=standard))
        rows.append(tag("li", words, plot, class_=row_class))
    listed = tag("ol", *rows, class_="trials")
    if axis is None:
        return listed
    label = tag("p", _axis_label(run), class_="facts")
    return join(listed, tag("div", label, trial_scale(axis), class_="trial scale"))


def _mean(gain: Estimate | None) -> float | None:
    if gain is None:
        return None
    return gain.mean


def _axis_label(run: Run) -> str:
    if run.task == "regression":
        return "Decrease of the squared error"
    return "Decrease of the loss, nats"


def _tags(i: int, *, chosen: int | None, standard: int | None) -> list[str]:
    tags = []
    if i == chosen:
        tags.append("chosen")
    if i == standard:
        tags.append("standard policy, dashed line")
    return tags


def _words(trial_name: str, facts: str, tags: list[str]) -> Markup:
    marks = [join(" ", tag("span", words, class_="mark")) for words in tags]
    name = tag("p", named(trial_name), marks, class_="name")
    return tag("div", name, tag("p", unbroken(facts), class_="facts"))


def _trial_facts(run: Run, trial: Trial, axis: Axis | None, *, is_reference: bool) -> str:
    """The gain, or else the loss, and the accuracy."""
    if trial.is_diverged:
        return "diverged"
    parts = []
    if trial.gain is not None and axis is not None and not is_reference:
        parts.append(gain_on_axis(trial.gain, axis))
    elif trial.loss is not None:
        parts.append(f"{_loss_name(run)} {trial.loss:.4g}")
    if trial.accuracy is not None:
        parts.append(f"{run.accuracy_name}\u00a0{percent(trial.accuracy)}")
    return ", ".join(parts)
