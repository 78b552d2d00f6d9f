"""Several runs side by side: their answers in one table, their bounds in one plot, their accuracies below each other."""

from collections.abc import Sequence
from typing import Any

from augerino.report import charts
from augerino.report.markup import Markup, join, named, short, tag
from augerino.report.parts import (
    answer,
    between_text,
    extent_text,
    figure,
    grid,
    legend,
    percent,
    section,
    table,
)
from augerino.report.run import Coordinate, Run
from augerino.report.values import text


def comparison(runs: Sequence[Run]) -> Markup:
    """What several runs found, side by side."""
    return join(_verdicts(runs), _scores(runs), _bounds(runs))


def _coordinates(runs: Sequence[Run]) -> list[Coordinate]:
    """Each coordinate that any run learned, once, as the first run to have it tells it."""
    return list({c.name: c for run in reversed(runs) for c in reversed(run.coordinates)}.values())[
        ::-1
    ]


def _verdicts(runs: Sequence[Run]) -> Markup | None:
    rows: list[list[Any]] = [
        [named(c.name), *(_cell(run.coordinate(c.name)) for run in runs)]
        for c in _coordinates(runs)
    ]
    best = [run.models[-1].accuracy if run.models else None for run in runs]
    if any(score is not None for score in best):
        names = dict.fromkeys(run.accuracy_name for run in runs)
        rows.append([" or ".join(names), *(percent(score) for score in best)])
    overlaps = [run.models[-1].mean_iou if run.models else None for run in runs]
    if any(overlap is not None for overlap in overlaps):
        rows.append(
            ["mean IoU", *(percent(overlap.mean) if overlap else "" for overlap in overlaps)]
        )
    seeds = [text(run.result.get("seed")) for run in runs]
    if any(seeds):
        rows.append(["seed", *seeds])
    headings = [
        "coordinate",
        *(
            tag("a", named(short(run.label, 40)), href=f"#run-{i + 1}")
            for i, run in enumerate(runs)
        ),
    ]
    return section(
        "What was found", None, table(headings, rows, caption="Answers by run", class_="answers")
    )


def _cell(c: Coordinate | None) -> Markup:
    if c is None:
        return tag("span", "not learned", class_="facts")
    interval = (
        tag("span", f"95 %: {between_text(c, *c.interval)}", class_="facts")
        if c.interval and not c.discrete
        else None
    )
    return join(
        answer(c.answer), tag("b", c.learned_text or extent_text(c, c.learned or 0.0)), interval
    )


def _scores(runs: Sequence[Run]) -> Markup | None:
    names = list(dict.fromkeys(model.name for run in runs for model in run.models))
    figures = []
    for name in names:
        rows = [
            (run.label, model, f"c{i % charts.LINES}")
            for i, run in enumerate(runs)
            for model in run.models
            if model.name == name
        ]
        drawing = charts.scores(rows)
        figures += [figure(name, drawing)] if drawing is not None else []
    return section(
        "Does it help?",
        "Each model on the held-out items of its run, with 95 % intervals.",
        grid(figures),
    )


def _bounds(runs: Sequence[Run]) -> Markup | None:
    keys = legend([(f"c{i % charts.LINES}", short(run.label, 40)) for i, run in enumerate(runs)])
    curves = [
        (run.losses, f"c{i % charts.LINES}") for i, run in enumerate(runs) if len(run.losses) > 1
    ]
    figures = [figure("training loss", charts.losses(curves))] if curves else []
    for c in _coordinates(runs):
        shown = []
        for i, run in enumerate(runs):
            own, curve = run.coordinate(c.name), run.spreads.get(c.name)
            if own is not None and curve:
                shown.append(
                    (
                        [*([own.start] if own.start is not None else []), *curve],
                        f"c{i % charts.LINES}",
                    )
                )
        figures += (
            [figure(c.name, charts.bounds(c, shown))]
            if any(len(curve) > 1 for curve, _ in shown)
            else []
        )
    about = "Loss and extents of all runs, epoch by epoch."
    return section("Training", about, grid(figures), keys if figures else None)
