"""The sections of one run, in the order in which they are read: answer first, then what it rests on, then how it was made."""

from typing import Any

from augerino.report import charts
from augerino.report.markup import Markup, join, named, short, tag
from augerino.report.parts import (
    ANSWERS,
    answer,
    between_text,
    extent_text,
    figure,
    grid,
    legend,
    percent,
    section,
    signed,
    table,
)
from augerino.report.pictures import gallery
from augerino.report.run import Change, Coordinate, Estimate, Run
from augerino.report.values import count, entries, items, number, records, text

_MANY = 12  # classes past which the breakdown is folded


def sections(run: Run, level: int = 2) -> Markup:
    """Everything there is to say about one run."""
    parts = (
        verdicts,
        models,
        pictures,
        evidence,
        distributions,
        training,
        orbits,
        classes,
        seeds,
        configuration,
    )
    return join(*(part(run, level) for part in parts))


def summary(run: Run) -> str:
    """How many coordinates got which answer, and on what data, in words."""
    data, counted = entries(run.result.get("data")), []
    words = {
        "symmetry": "a symmetry in part",
        "full": "all the way",
        "none": "not at all",
        "undecided": "not decided",
    }
    for kind in ANSWERS:
        number_of = sum(c.answer == kind for c in run.coordinates)
        counted += [f"{number_of} {words[kind]}"] if number_of else []
    several = f"{len(run.coordinates)} coordinates" if len(run.coordinates) != 1 else "1 coordinate"
    told = [f"{several}: {', '.join(counted)}." if counted else f"{several} learned."]
    train, test = count(data.get("train_items")), count(data.get("test_items"))
    if train is not None and test is not None:
        told.append(
            f"Learned from {train:,} items and judged on {test:,} others.".replace(",", "\u202f")
        )
    return " ".join(told)


def verdicts(run: Run, level: int) -> Markup | None:
    """One row a coordinate: its answer, a sentence, and its extent drawn."""
    rows = []
    for c in run.coordinates:
        sentence = c.sentence.removeprefix(f"{c.name}:").strip()
        bar, facts = charts.range_bar(c), _facts(c)
        title = tag(
            f"h{level + 1}",
            named(c.name),
            " " if c.learned_text else None,
            tag("span", c.learned_text, class_="value"),
        )
        said = (
            tag("p", named(sentence[:1].upper() + sentence[1:]), class_="sentence")
            if sentence
            else None
        )
        told = tag("div", answer(c.answer), title, said, class_="told")
        shown = tag("div", bar, tag("p", facts, class_="facts") if facts else None, class_="shown")
        rows.append(tag("li", told, shown, class_="verdict"))
    if not rows:
        return None
    marks = [
        ("key extent-key", "learned extent"),
        ("key start-key", "start"),
        ("key whisker-key", "95 % interval"),
    ]
    marks += (
        [("key true-key", "true extent")]
        if any(c.true is not None for c in run.coordinates)
        else []
    )
    marks += [("key limit-key", "limit of the coordinate")]
    keys = tag(
        "ul",
        *(
            tag("li", tag("span", class_=class_, aria_hidden="true"), words)
            for class_, words in marks
        ),
        class_="legend",
    )
    return section("What was found", None, tag("ol", *rows, class_="verdicts"), keys, level=level)


def _facts(c: Coordinate) -> str:
    parts = [f"start {c.start_text}" if c.start_text else ""]
    parts.append(
        f"95 %: {between_text(c, *c.interval)}" if c.interval is not None and not c.discrete else ""
    )
    parts.append(f"true {extent_text(c, c.true)}" if c.true is not None else "")
    return " · ".join(part for part in parts if part)


def models(run: Run, level: int) -> Markup | None:
    """The models on held-out items."""
    marks = ["start", *["learned"] * len(run.models)] if len(run.models) > 1 else ["learned"]
    drawing = charts.scores(
        [(model.name, model, mark) for model, mark in zip(run.models, marks, strict=False)]
    )
    if drawing is None:
        return None
    share = run.models[0].accuracy is not None
    held_out = next((model.items for model in run.models if model.items), None)
    what = run.accuracy_name.capitalize() if share else "Loss (lower is better)"
    about = f"{what} on {f'{held_out} ' if held_out else ''}held-out items, with 95 % intervals."
    overlap = any(model.mean_iou is not None for model in run.models)
    about += (
        " Ignored pixels do not count. Mean IoU is the mean over classes of intersection over union."
        if overlap
        else ""
    )
    columns: list[tuple[str, list[Any]]] = [
        ("model", [named(model.name) for model in run.models]),
        ("copies", [model.copies for model in run.models]),
        (run.accuracy_name, [percent(model.accuracy) for model in run.models] if share else []),
        ("mean IoU", [_overlap(model.mean_iou) for model in run.models] if overlap else []),
        ("loss", ["" if model.loss is None else f"{model.loss:.4g}" for model in run.models]),
    ]
    headings = [heading for heading, cells in columns if cells]
    rows = [list(row) for row in zip(*(cells for _, cells in columns if cells), strict=True)]
    beside = table(headings, rows, caption="Models on held-out items")
    return section(
        "Does it help?",
        about,
        tag("div", tag("figure", drawing, class_="small"), beside, class_="pair"),
        level=level,
    )


def _overlap(estimate: Estimate | None) -> Markup | None:
    """A mean IoU and, smaller, its interval."""
    if estimate is None:
        return None
    between = (
        ""
        if estimate.low is None or estimate.high is None
        else f"{percent(estimate.low)} to {percent(estimate.high)}"
    )
    return join(
        percent(estimate.mean), " ", tag("span", between, class_="facts") if between else None
    )


def pictures(run: Run, level: int) -> Markup | None:
    """Examples moved along each coordinate."""
    return gallery(run.gallery, level) if run.gallery is not None else None


def evidence(run: Run, level: int) -> Markup | None:
    """What happens to the held-out loss at other extents."""
    figures = []
    for c in run.coordinates:
        said = [
            _told("Switched off", c.off, run.accuracy_name),
            _told(
                f"Widened to {c.wider.text}" if c.wider and c.wider.text else "Widened",
                c.wider,
                run.accuracy_name,
            ),
        ]
        if c.profile is not None:
            figures.append(figure(c.name, charts.profile(c, c.profile), *said))
        elif join(*said):
            figures.append(tag("figure", tag("figcaption", named(c.name)), *said, class_="small"))
    about = (
        "How much the held-out loss rises when every input is moved by exactly that much along one coordinate, both ways; the "
        "learned extent is shaded, the band a paired 95 % bootstrap interval. Flat in the shade and rising beyond it is a "
        "symmetry with an end. Switched off and widened are changes against the learned augmentation."
    )
    if run.task == "segmentation":
        about += " Masks are brought back to where they belong before they are judged."
    return section("Evidence", about, grid(figures), level=level)


def _told(what: str, change: Change | None, accuracy: str) -> Markup | None:
    if change is None:
        return None
    parts = [
        f"loss {signed(change.loss)}" if change.loss else "",
        f"{accuracy} {signed(change.accuracy, 100, ' points')}" if change.accuracy else "",
    ]
    return tag("p", tag("b", what), ": ", ", ".join(part for part in parts if part), class_="facts")


def distributions(run: Run, level: int) -> Markup | None:
    """What copies are drawn from."""
    drawn = [(c, charts.distribution(c)) for c in run.coordinates]
    figures = [figure(c.name, drawing) for c, drawing in drawn if drawing is not None]
    keys = [("start", "start"), ("learned", "learned")] + (
        [("true", "true extent")] if any(c.true is not None for c in run.coordinates) else []
    )
    about = "What copies are drawn from, before training and after it."
    return section(
        "From start to learned",
        about,
        grid(figures),
        legend(keys) if figures else None,
        level=level,
    )


def training(run: Run, level: int) -> Markup | None:
    """Loss and extents over the epochs."""
    figures = (
        [figure("training loss", charts.losses([(run.losses, "learned")]))]
        if len(run.losses) > 1
        else []
    )
    for c in run.coordinates:
        curve = run.spreads.get(c.name, [])
        curve = curve if c.start is None else [c.start, *curve]
        figures += (
            [figure(c.name, charts.bounds(c, [(curve, "learned")]))]
            if len(curve) > 1 and c.name in run.spreads
            else []
        )
    return section(
        "Training",
        "The loss and the extent of each coordinate, epoch by epoch.",
        grid(figures),
        level=level,
    )


def orbits(run: Run, level: int) -> Markup | None:
    """Outputs along one coordinate."""
    figures, drawn = [], sorted({i for o in run.orbits for i in charts.orbit_classes(o)})
    for o in run.orbits:
        shown = charts.orbit_classes(o)
        order = (
            drawn if len(drawn) <= charts.LINES else shown
        )  # the same colour for a class everywhere, where there are enough
        marks = [f"c{order.index(i)}" for i in shown]
        names = [run.class_names[i] if i < len(run.class_names) else f"output {i}" for i in shown]
        keys = legend([(mark, short(name, 40)) for mark, name in zip(marks, names, strict=True)])
        more = len(o.outputs[0]) - len(shown)
        rest = (
            tag("p", f"{more} more outputs stay below these.", class_="facts") if more > 0 else None
        )
        figures.append(
            figure(
                f"{o.title}, along {o.coordinate}",
                charts.orbit(o, run.coordinate(o.coordinate), run.task, marks),
                keys,
                rest,
            )
        )
    about = "What the model says while one input is moved; shaded is the learned extent."
    return section("Along an orbit", about, grid(figures), level=level)


def classes(run: Run, level: int) -> Markup | None:
    """Accuracy, or intersection over union of masks, class by class; many classes are folded."""
    if not run.per_class:
        return None
    names = list(dict.fromkeys(name for row in run.per_class for name in row.scores))
    best = names[-1]
    rows = [
        [named(row.name), row.items, *(percent(row.scores.get(name)) for name in names)]
        for row in run.per_class
    ]
    headings = ["class", "items", *(named(name) for name in names)]
    what, about = "accuracy", "Share of right answers on held-out items, class by class."
    if run.task == "segmentation":
        what = "IoU"
        about = "Intersection over union (IoU) on held-out items, class by class: of the pixels that are of the class or predicted "
        about += "to be, the share that is both. Items are those that hold the class."
    whole = table(
        headings, rows, caption=f"{what[:1].upper()}{what[1:]} by class", class_="numbers"
    )
    if len(rows) <= _MANY:
        return section("By class", about, whole, level=level)
    order = sorted(range(len(rows)), key=lambda i: run.per_class[i].scores.get(best, 0.0))
    worst = table(
        headings,
        [rows[i] for i in order[:5]],
        caption=f"The five classes with the lowest {what}",
        class_="numbers",
    )
    folded = tag("details", tag("summary", f"All {len(rows)} classes"), whole)
    return section(
        "By class", f"{about} First the five with the lowest {what}.", worst, folded, level=level
    )


def seeds(run: Run, level: int) -> Markup | None:
    """What was learned from other seeds."""
    found = records(run.result.get("seeds"))
    shown = [
        c
        for c in run.coordinates
        if any(c.name in entries(entry.get("learned")) for entry in found)
    ]
    if not shown:
        return None
    rows, values = (
        [],
        {
            c.name: [number(entries(entry.get("learned")).get(c.name)) for entry in found]
            for c in shown
        },
    )
    scores = [number(entry.get("accuracy")) for entry in found]
    for i, entry in enumerate(found):
        learned = [values[c.name][i] for c in shown]
        told = [
            "" if value is None else extent_text(c, value)
            for c, value in zip(shown, learned, strict=True)
        ]
        rows.append([text(entry.get("seed")), *told, percent(scores[i])])
    spread = [
        between_text(c, min(known), max(known))
        if (known := [v for v in values[c.name] if v is not None])
        else ""
        for c in shown
    ]
    known = [score for score in scores if score is not None]
    rows.append(
        ["spread", *spread, f"{100 * min(known):.1f} to {100 * max(known):.1f} %" if known else ""]
    )
    headings = ["seed", *(named(c.name) for c in shown), run.accuracy_name]
    about = "The same training from other random numbers: what differs between the rows is chance."
    return section(
        "Seeds",
        about,
        table(headings, rows, caption="Learned extents by seed", class_="numbers"),
        level=level,
    )


def configuration(run: Run, level: int) -> Markup | None:
    """The command, the data, the settings and the versions."""
    result, data = run.result, entries(run.result.get("data"))
    facts: list[tuple[str, Any]] = [
        ("data", text(data.get("path"))),
        ("fingerprint", text(data.get("fingerprint"))),
    ]
    shape = [text(side) for side in items(data.get("shape"))]
    facts += [
        ("shape of an input", " × ".join(shape)),
        ("kind", text(result.get("kind"))),
        ("task", text(result.get("task"))),
    ]
    facts += [
        ("classes", str(len(run.class_names)) if run.class_names else ""),
        ("seed", text(result.get("seed"))),
    ]
    seconds = number(result.get("seconds"))
    facts += [
        ("training time", "" if seconds is None else f"{seconds:.0f} s"),
        ("date", text(result.get("date"))),
    ]
    asked = number(result.get("asked"))
    facts += [
        (
            "bounds moved by",
            ""
            if asked is None
            else f"asking {asked:.0f} held-back items"
            if asked
            else "the gradient",
        )
    ]
    facts += [
        (f"{name} version", text(value)) for name, value in entries(result.get("versions")).items()
    ]
    recipe = [(name, _setting(value)) for name, value in entries(result.get("recipe")).items()]
    command, notes = (
        text(result.get("command")),
        [text(note) for note in items(data.get("notes")) if text(note)],
    )
    return section(
        "How it was made",
        None,
        tag("pre", tag("code", command), class_="command") if command else None,
        tag("ul", *(tag("li", named(note)) for note in notes), class_="notes") if notes else None,
        tag(
            "div",
            _listed("Data and run", facts, level),
            _listed("Settings", recipe, level),
            class_="pair",
        ),
        level=level,
        class_="made",
    )


def _setting(value: Any) -> str:
    return (
        ", ".join(text(entry) for entry in value)
        if isinstance(value, list)
        else "yes"
        if value is True
        else "no"
        if value is False
        else text(value)
    )


def _listed(title: str, facts: list[tuple[str, Any]], level: int) -> Markup | None:
    rows = [join(tag("dt", named(name)), tag("dd", named(value))) for name, value in facts if value]
    return tag("div", tag(f"h{level + 1}", title), tag("dl", *rows)) if rows else None
