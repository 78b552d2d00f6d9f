"""The section on the scores of the models."""

from typing import Any

from augerino.report.markup import Markup, join, named, percent, section, table, tag
from augerino.report.result_reader import Estimate
from augerino.report.run import Run
from augerino.report.score_chart import ScoreRow, score_chart


def models(run: Run, level: int) -> Markup | None:
    """The models on held-out samples; None for a run with a payoff, which includes them."""
    body = scores(run)
    if body is None or run.has_payoff:
        return None
    return section("Held-out performance", about_scores(run), body, level=level)


def scores(run: Run) -> Markup | None:
    """A chart and a table of the models; None without a score."""
    chart = score_chart(
        [ScoreRow(model.name, model, _css_class(model.name)) for model in run.models]
    )
    if chart is None:
        return None
    return tag("div", tag("figure", chart, class_="small"), _model_table(run), class_="pair")


def _css_class(model_name: str) -> str:
    """The colour of a learned model or of a baseline."""
    return "learned" if model_name.startswith("learned") else "start"


def about_scores(run: Run) -> str:
    """The metric, the number of samples and the intervals in words."""
    metric = run.accuracy_name.capitalize()
    if run.models[0].accuracy is None:
        metric = "Loss (lower is better)"
    n_samples = next((model.n_samples for model in run.models if model.n_samples), None)
    samples = "held-out samples"
    if n_samples:
        samples = f"{n_samples} held-out samples"
    about = f"{metric} on {samples}, with 95 % intervals."
    if any(model.mean_iou is not None for model in run.models):
        about += (
            " Ignored pixels are excluded."
            " Mean IoU is the mean over classes of the intersection over union."
        )
    return about


def _model_table(run: Run) -> Markup:
    columns: dict[str, list[Any]] = {
        "model": [named(model.name) for model in run.models],
        "copies": [model.copies for model in run.models],
    }
    if run.models[0].accuracy is not None:
        columns[run.accuracy_name] = [percent(model.accuracy) for model in run.models]
    if any(model.mean_iou is not None for model in run.models):
        columns["mean IoU"] = [_estimate_cell(model.mean_iou) for model in run.models]
    columns["loss"] = [_short(model.loss) for model in run.models]
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    return table(list(columns), rows, caption="Models on held-out samples")


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _estimate_cell(estimate: Estimate | None) -> Markup | None:
    """A fraction and, smaller, its interval."""
    if estimate is None:
        return None
    if estimate.low is None or estimate.high is None:
        return join(percent(estimate.mean))
    interval = f"{percent(estimate.low)} to {percent(estimate.high)}"
    return join(percent(estimate.mean), " ", tag("span", interval, class_="facts"))
