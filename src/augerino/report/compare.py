"""The sections that compare several runs: payoffs, verdicts, scores and trainings."""

from collections.abc import Sequence
from typing import Any

from augerino.report import charts
from augerino.report.markup import (
    Markup,
    answer_badge,
    figure,
    grid,
    join,
    legend,
    named,
    payoff_badge,
    percent,
    section,
    short,
    table,
    tag,
    unbroken,
)
from augerino.report.payoff_result import Payoff, PolicyChoice
from augerino.report.payoff_section import gain_interval, gain_text
from augerino.report.result_reader import CoordinateResult, text
from augerino.report.run import Run
from augerino.report.score_chart import ScoreRow, score_chart


def comparison(runs: Sequence[Run]) -> Markup:
    """Payoffs, verdicts, scores and trainings of several runs."""
    return join(_payoffs(runs), _verdicts(runs), _scores(runs), _trainings(runs))


def _coordinates(runs: Sequence[Run]) -> list[CoordinateResult]:
    """Every coordinate that any run learned, from the first run that has it."""
    found: dict[str, CoordinateResult] = {}
    for run in runs:
        for c in run.coordinates:
            found.setdefault(c.name, c)
    return list(found.values())


def _color(i: int) -> str:
    """The CSS class of the i-th run."""
    return f"c{i % charts.MAX_LINES}"


def _payoffs(runs: Sequence[Run]) -> Markup | None:
    if not any(run.has_payoff for run in runs):
        return None
    policies = [run.policy for run in runs]
    rows: list[list[Any]] = [["payoff", *(_payoff_cell(run.payoff) for run in runs)]]
    if any(policies):
        rows.append(["policy", *(_policy_cell(policy) for policy in policies)])
        rows.append(["predictions", *(_copies_cell(policy) for policy in policies)])
    links = [_link(run, i) for i, run in enumerate(runs)]
    body = table(["run", *links], rows, caption="Payoff by run", class_="answers")
    about = "The gain of each learned model over no augmentation, on held-out samples."
    return section("Does it help?", about, body)


def _policy_cell(policy: PolicyChoice | None) -> Markup | None:
    if policy is None:
        return None
    return named(unbroken(policy.sentence))


def _copies_cell(policy: PolicyChoice | None) -> Markup | None:
    if policy is None:
        return None
    return named(policy.copies_text)


def _payoff_cell(payoff: Payoff | None) -> Markup:
    if payoff is None:
        return tag("span", "not measured", class_="facts")
    if payoff.gain is None:
        return join(payoff_badge(payoff.answer))
    gain = tag("b", unbroken(gain_text(payoff.gain, payoff.unit)))
    interval = tag("span", unbroken(gain_interval(payoff.gain)), class_="facts")
    return join(payoff_badge(payoff.answer), gain, interval)


def _verdicts(runs: Sequence[Run]) -> Markup | None:
    rows: list[list[Any]] = [
        [named(c.name), *(_cell(run.coordinate(c.name)) for run in runs)]
        for c in _coordinates(runs)
    ]
    accuracies = [_accuracy(run) for run in runs]
    if any(accuracy is not None for accuracy in accuracies):
        names = dict.fromkeys(run.accuracy_name for run in runs)
        rows.append([" or ".join(names), *(percent(accuracy) for accuracy in accuracies)])
    overlaps = [_mean_iou(run) for run in runs]
    if any(overlap is not None for overlap in overlaps):
        rows.append(["mean IoU", *(percent(overlap) for overlap in overlaps)])
    seeds = [text(run.result.get("seed")) for run in runs]
    if any(seeds):
        rows.append(["seed", *seeds])
    links = [_link(run, i) for i, run in enumerate(runs)]
    body = table(["coordinate", *links], rows, caption="Verdicts by run", class_="answers")
    return section("Learned symmetries", None, body)


def _accuracy(run: Run) -> float | None:
    """The accuracy of the last model, which is the learned one."""
    if not run.models:
        return None
    return run.models[-1].accuracy


def _mean_iou(run: Run) -> float | None:
    """The mean IoU of the last model, which is the learned one."""
    if not run.models or run.models[-1].mean_iou is None:
        return None
    return run.models[-1].mean_iou.mean


def _link(run: Run, i: int) -> Markup:
    return tag("a", named(short(run.label, 40)), href=f"#run-{i + 1}")


def _cell(c: CoordinateResult | None) -> Markup:
    if c is None:
        return tag("span", "not learned", class_="facts")
    interval = None
    if c.interval and not c.discrete:
        interval = tag("span", f"95 %: {c.interval_text(*c.interval)}", class_="facts")
    learned = c.learned_text or c.unit.extent(c.learned or 0.0)
    return join(answer_badge(c.answer), tag("b", learned), interval)


def _scores(runs: Sequence[Run]) -> Markup | None:
    names = dict.fromkeys(model.name for run in runs for model in run.models)
    figures = []
    for name in names:
        rows = [
            ScoreRow(run.label, model, _color(i))
            for i, run in enumerate(runs)
            for model in run.models
            if model.name == name
        ]
        drawing = score_chart(rows)
        if drawing is not None:
            figures.append(figure(name, drawing))
    about = "Each model on the held-out samples of its run, with 95 % intervals."
    return section("Held-out performance", about, grid(figures))


def _trainings(runs: Sequence[Run]) -> Markup | None:
    figures = []
    losses = [(run.losses, _color(i)) for i, run in enumerate(runs) if len(run.losses) > 1]
    if losses:
        figures.append(figure("training loss", charts.loss_plot(losses)))
    for c in _coordinates(runs):
        curves = _extent_curves(runs, c.name)
        if any(len(curve) > 1 for curve, _ in curves):
            figures.append(figure(c.name, charts.extent_plot(c, curves)))
    if not figures:
        return None
    keys = legend([(_color(i), short(run.label, 40)) for i, run in enumerate(runs)])
    about = "The training loss and the extents of all runs after every epoch."
    return section("Training", about, grid(figures), keys)


def _extent_curves(runs: Sequence[Run], name: str) -> list[charts.Curve]:
    curves: list[charts.Curve] = []
    for i, run in enumerate(runs):
        c = run.coordinate(name)
        if c is None:
            continue
        curve = run.extent_curve(c)
        if curve:
            curves.append((curve, _color(i)))
    return curves
