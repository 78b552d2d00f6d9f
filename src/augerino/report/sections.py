"""The sections on one run: the verdicts, the evidence, the configuration."""

from typing import Any

from augerino.report import charts
from augerino.report.bars import range_bar
from augerino.report.gallery_section import gallery
from augerino.report.markup import (
    Markup,
    answer_badge,
    figure,
    grid,
    join,
    legend,
    named,
    percent,
    section,
    short,
    table,
    tag,
    unbroken,
)
from augerino.report.result_reader import (
    Change,
    CoordinateResult,
    count,
    entries,
    items,
    number,
    records,
    text,
)
from augerino.report.run import Orbit, Run

_MAX_CLASSES = 12  # largest number of classes in a table that is not folded
_N_WORST = 5


def verdicts(run: Run, level: int) -> Markup | None:
    """One row per coordinate: the answer, a sentence and the range as a bar."""
    if not run.coordinates:
        return None
    rows = [_verdict(c, level + 1) for c in run.coordinates]
    body = tag("ol", *rows, class_="verdicts")
    return section("Learned symmetries", None, body, _range_legend(run), level=level)


def _verdict(c: CoordinateResult, level: int) -> Markup:
    heading = [named(c.name)]
    if c.learned_text:
        heading += [Markup(" "), tag("span", c.learned_text, class_="value")]
    words = [answer_badge(c.answer), tag(f"h{level}", heading)]
    sentence = c.sentence.removeprefix(f"{c.name}:").strip()
    if sentence:
        capitalized = sentence[:1].upper() + sentence[1:]
        words.append(tag("p", named(unbroken(capitalized)), class_="sentence"))
    drawing = [range_bar(c)]
    facts = _facts(c)
    if facts:
        drawing.append(tag("p", facts, class_="facts"))
    return tag(
        "li",
        tag("div", words, class_="words"),
        tag("div", drawing, class_="shown"),
        class_="verdict",
    )


def _facts(c: CoordinateResult) -> str:
    parts = []
    if c.start_text:
        parts.append(f"start {c.start_text}")
    if c.interval is not None and not c.discrete:
        parts.append(f"95 %: {c.interval_text(*c.interval)}")
    if c.true is not None:
        parts.append(f"true {c.unit.extent(c.true)}")
    return unbroken(" · ".join(parts))


def _range_legend(run: Run) -> Markup:
    keys = [
        ("extent-key", "learned range"),
        ("start-key", "start"),
        ("whisker-key", "95 % interval"),
    ]
    if any(c.true is not None for c in run.coordinates):
        keys.append(("true-key", "true extent"))
    if any(c.limit for c in run.coordinates):
        keys.append(("limit-key", "limit of the coordinate"))
    rows = [
        tag("li", tag("span", class_=f"key {class_}", aria_hidden="true"), words)
        for class_, words in keys
    ]
    return tag("ul", *rows, class_="legend")


def examples(run: Run, level: int) -> Markup | None:
    """Examples transformed along each coordinate."""
    if run.gallery is None:
        return None
    return gallery(run.gallery, level)


def evidence(run: Run, level: int) -> Markup | None:
    """The held-out loss at other extents."""
    figures = []
    for c in run.coordinates:
        below = [
            _change("Disabled", c.off, run.accuracy_name),
            _change(_wider_title(c.wider), c.wider, run.accuracy_name),
        ]
        if c.profile is not None:
            figures.append(figure(c.name, charts.profile_plot(c, c.profile), *below))
        elif join(*below):
            figures.append(tag("figure", tag("figcaption", named(c.name)), *below, class_="small"))
    about = (
        "Rise of the held-out loss when every input is transformed by exactly this extent,"
        " in both directions."
        " The learned range is shaded; the band is a paired 95 % bootstrap interval."
        " A curve that is flat within the shaded range and rises beyond it indicates a symmetry"
        " with a limited range."
        " Below each plot: the change relative to the learned augmentation when the coordinate"
        " is disabled or widened."
    )
    if run.task == "segmentation":
        about += " Predicted masks are transformed back before they are compared."
    return section("Evidence", about, grid(figures), level=level)


def _wider_title(wider: Change | None) -> str:
    if wider is None or not wider.text:
        return "Widened"
    return f"Widened to {wider.text}"


def _change(title: str, change: Change | None, accuracy: str) -> Markup | None:
    if change is None:
        return None
    parts = []
    if change.loss:
        parts.append(f"loss {change.loss.signed()}")
    if change.accuracy:
        parts.append(f"{accuracy} {change.accuracy.signed(100, ' points')}")
    details = unbroken(", ".join(parts))
    return tag("p", tag("b", unbroken(title)), ": ", details, class_="facts")


def distributions(run: Run, level: int) -> Markup | None:
    """The distribution of each coordinate before and after the training."""
    drawn = [(c.name, charts.distribution_plot(c)) for c in run.coordinates]
    figures = [figure(name, drawing) for name, drawing in drawn if drawing is not None]
    if not figures:
        return None
    keys = [("start", "start"), ("learned", "learned")]
    if any(c.true is not None for c in run.coordinates):
        keys.append(("true", "true extent"))
    about = "The distribution of each coordinate, at the start of the training and as learned."
    return section("Distributions", about, grid(figures), legend(keys), level=level)


def training(run: Run, level: int) -> Markup | None:
    """Loss and extents over the epochs."""
    figures = []
    if len(run.losses) > 1:
        figures.append(figure("training loss", charts.loss_plot([(run.losses, "learned")])))
    for c in run.coordinates:
        curve = run.extent_curve(c)
        if len(curve) > 1:
            figures.append(figure(c.name, charts.extent_plot(c, [(curve, "learned")])))
    about = "The training loss and the extent of each coordinate after every epoch."
    return section("Training", about, grid(figures), level=level)


def orbits(run: Run, level: int) -> Markup | None:
    """The model's output along one coordinate."""
    everywhere = sorted({i for orbit in run.orbits for i in charts.orbit_classes(orbit)})
    figures = [_orbit(run, orbit, everywhere) for orbit in run.orbits]
    about = "The model's output while one input is transformed; the learned range is shaded."
    return section("Output along orbits", about, grid(figures), level=level)


def _orbit(run: Run, orbit: Orbit, everywhere: list[int]) -> Markup:
    """One orbit; a class has the same colour in all plots if there are enough colours."""
    shown = charts.orbit_classes(orbit)
    order = everywhere
    if len(everywhere) > charts.MAX_LINES:
        order = shown
    colors = [f"c{order.index(i)}" for i in shown]
    names = [short(_output_name(run, i), 40) for i in shown]
    keys = list(zip(colors, names, strict=True))
    drawing = charts.orbit_plot(orbit, run.coordinate(orbit.coordinate), run.task, colors)
    n_hidden = len(orbit.outputs[0]) - len(shown)
    note = None
    if n_hidden > 0:
        more = f"{n_hidden} more outputs with lower peaks"
        if n_hidden == 1:
            more = "1 more output with a lower peak"
        note = tag("p", more, class_="facts")
    return figure(f"{orbit.title}, {orbit.coordinate}", drawing, legend(keys), note)


def _output_name(run: Run, i: int) -> str:
    if i < len(run.class_names):
        return run.class_names[i]
    return f"output {i}"


def classes(run: Run, level: int) -> Markup | None:
    """Accuracy or IoU by class; a long table is folded."""
    if not run.per_class:
        return None
    names = list(dict.fromkeys(name for row in run.per_class for name in row.scores))
    metric = "IoU" if run.task == "segmentation" else "accuracy"
    headings = ["class", "samples", *(named(name) for name in names)]
    rows = [
        [named(row.name), row.n_samples, *(percent(row.scores.get(name)) for name in names)]
        for row in run.per_class
    ]
    caption = f"{metric[:1].upper()}{metric[1:]} by class"
    whole = table(headings, rows, caption=caption, class_="numbers")
    about = _about_classes(run)
    if len(rows) <= _MAX_CLASSES:
        return section("Results by class", about, whole, level=level)
    best_model = [row.scores.get(names[-1], 0.0) for row in run.per_class]
    order = sorted(range(len(rows)), key=best_model.__getitem__)
    worst = table(
        headings,
        [rows[i] for i in order[:_N_WORST]],
        caption=f"The {_N_WORST} classes with the lowest {metric}",
        class_="numbers",
    )
    folded = tag("details", tag("summary", f"All {len(rows)} classes"), whole)
    about += f" The first table shows the {_N_WORST} classes with the lowest {metric}."
    return section("Results by class", about, worst, folded, level=level)


def _about_classes(run: Run) -> str:
    if run.task != "segmentation":
        return "Fraction of correct predictions on held-out samples, by class."
    return (
        "Intersection over union (IoU) on held-out samples, by class: pixels that have the class"
        " and are predicted as it, divided by pixels for which either holds."
        " Samples are those that contain the class."
    )


def seeds(run: Run, level: int) -> Markup | None:
    """The extents that were learned with other seeds."""
    found = records(run.result.get("seeds"))
    learned = [entries(entry.get("learned")) for entry in found]
    shown = [c for c in run.coordinates if any(c.name in extents for extents in learned)]
    if not shown:
        return None
    values = [[number(extents.get(c.name)) for extents in learned] for c in shown]
    scores = [number(entry.get("accuracy")) for entry in found]
    rows = []
    for i, entry in enumerate(found):
        cells = [_extent_cell(c, column[i]) for c, column in zip(shown, values, strict=True)]
        rows.append([text(entry.get("seed")), *cells, percent(scores[i])])
    spans = [_span_cell(c, column) for c, column in zip(shown, values, strict=True)]
    rows.append(["range", *spans, _percent_span(scores)])
    headings = ["seed", *(named(c.name) for c in shown), run.accuracy_name]
    about = "The same training with different seeds. Differences between the rows are random."
    body = table(headings, rows, caption="Learned extents by seed", class_="numbers")
    return section("Seeds", about, body, level=level)


def _extent_cell(c: CoordinateResult, value: float | None) -> str:
    if value is None:
        return ""
    return c.unit.extent(value)


def _span_cell(c: CoordinateResult, values: list[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return ""
    return c.interval_text(min(known), max(known))


def _percent_span(values: list[float | None]) -> str:
    known = [100 * value for value in values if value is not None]
    if not known:
        return ""
    return f"{min(known):.1f} to {max(known):.1f} %"


def configuration(run: Run, level: int) -> Markup | None:
    """The command, the data, the settings and the versions."""
    result = run.result
    content: list[Markup] = []
    command = text(result.get("command"))
    if command:
        content.append(tag("pre", tag("code", command), class_="command"))
    notes = [text(note) for note in items(entries(result.get("data")).get("notes"))]
    rows = [tag("li", named(note)) for note in notes if note]
    if rows:
        content.append(tag("ul", *rows, class_="notes"))
    settings = _settings(entries(result.get("recipe")))
    lists = tag(
        "div",
        _listed("Data and run", _run_facts(run), level),
        _listed("Settings", settings, level),
        class_="pair",
    )
    return section("Configuration", None, *content, lists, level=level, class_="made")


def _run_facts(run: Run) -> dict[str, str]:
    result = run.result
    data = entries(result.get("data"))
    n_classes = ""
    if run.class_names:
        n_classes = str(len(run.class_names))
    training_time = ""
    seconds = number(result.get("seconds"))
    if seconds is not None:
        training_time = f"{seconds:.0f} s"
    versions = entries(result.get("versions"))
    return {
        "data": text(data.get("path")),
        "fingerprint": text(data.get("fingerprint")),
        "shape of an input": " × ".join(text(side) for side in items(data.get("shape"))),
        "kind": text(result.get("kind")),
        "task": text(result.get("task")),
        "classes": n_classes,
        "seed": text(result.get("seed")),
        "training time": training_time,
        "date": text(result.get("date")),
        "method": _method(count(result.get("n_probe_items"))),
        **{f"{name} version": text(value) for name, value in versions.items()},
    }


def _method(n_probe_items: int | None) -> str:
    if n_probe_items is None:
        return ""
    if n_probe_items == 0:
        return "gradient"
    return f"probing with {n_probe_items} held-out training samples"


def _settings(recipe: dict[str, Any]) -> dict[str, str]:
    """The settings as text; groups are flattened to names such as probe.shell."""
    settings: dict[str, str] = {}
    for name, value in recipe.items():
        if isinstance(value, dict):
            settings |= {f"{name}.{key}": _setting(inner) for key, inner in value.items()}
        else:
            settings[name] = _setting(value)
    return settings


def _setting(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(text(entry) for entry in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return text(value)


def _listed(title: str, facts: dict[str, str], level: int) -> Markup | None:
    rows = [
        join(tag("dt", named(name)), tag("dd", named(value)))
        for name, value in facts.items()
        if value
    ]
    if not rows:
        return None
    return tag("div", tag(f"h{level + 1}", title), tag("dl", *rows))
