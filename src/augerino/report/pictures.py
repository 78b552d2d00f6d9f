"""The gallery on the page: strips that stand on their own, and that the page's script turns into sliders."""

from augerino.report.gallery import Gallery, Key, Step, Strip
from augerino.report.markup import Markup, named, short, tag
from augerino.report.parts import section

_ABOUT_MASKS = (
    " Tinted is the predicted mask; the true one, moved along, is a switch away, and on paper below. "
    "Where the true mask is hatched, pixels count nowhere."
)
_SHARP = ("images", "masks")  # drawn pixel by pixel; lines and points are drawn smoothly


def gallery(shown: Gallery, level: int) -> Markup | None:
    """One card per coordinate with one strip per example; without script, and in print, the strips are what is seen."""
    names = list(dict.fromkeys(strip.coordinate for strip in shown.strips))
    cards = [
        tag(
            "div",
            tag(f"h{level + 1}", named(name)),
            *(_strip(strip, shown) for strip in shown.strips if strip.coordinate == name),
            class_="card",
            data_name=name,
        )
        for name in names
    ]
    judged = any(step.right is not None for strip in shown.strips for step in strip.steps)
    about = "Real held-out examples moved along each coordinate, with what the model says at each step. "
    about += "The line below marks the learned extent."
    about += " A filled square is a right answer, a hollow one a wrong one." if judged else ""
    masks = any(strip.masks for strip in shown.strips)
    about += _ABOUT_MASKS if masks else ""
    return section(
        "Examples on the move",
        about,
        _legend(shown.legend) if masks else None,
        tag("div", *cards, class_="gallery three" if len(cards) in (3, 5, 6, 9) else "gallery"),
        level=level,
        class_="pictures",
    )


def _strip(strip: Strip, shown: Gallery) -> Markup:
    truth = shown.truths[strip.example]
    said = f"Example {strip.example + 1}{f' ({short(truth, 60)})' if truth else ''} moved along {strip.coordinate}"
    count = len(strip.steps)
    picture = tag(
        "img",
        src=strip.image,
        alt=f"{said}, from {strip.steps[0].place} to {strip.steps[-1].place} in {count} steps",
        width=strip.width * count,
        height=strip.height,
        class_="sharp" if shown.kind in _SHARP else "smooth",
        decoding="async",
    )
    picture = tag(
        "div",
        picture,
        *(_mask(strip, layer) for layer in strip.masks if layer[0] == "predicted"),
        class_="stack",
    )
    below = [_mask(strip, layer) for layer in strip.masks if layer[0] == "true"]
    ends = tag(
        "p", tag("span", strip.steps[0].place), tag("span", strip.steps[-1].place), class_="ends"
    )
    steps = tag("ol", *(tag("li", _step(step, discrete=strip.discrete)) for step in strip.steps))
    return tag(
        "figure",
        tag(
            "figcaption",
            f"Example {strip.example + 1}",
            tag("span", ": ", named(truth)) if truth else None,
        ),
        tag(
            "div",
            tag("div", picture, *below, class_="window"),
            _cells(strip.steps),
            ends,
            class_="belt few" if count <= 3 else "belt",
        ),
        tag("details", tag("summary", "Every step in words"), steps),
        class_="strip",
        data_example=strip.example,
        data_start=strip.start,
        data_truth=short(truth, 60),
    )


def _mask(strip: Strip, layer: tuple[str, str]) -> Markup:
    """A mask as large as the strip that it belongs to."""
    name, source = layer
    size = {"width": strip.width * len(strip.steps), "height": strip.height}
    return tag(
        "img",
        src=source,
        alt=f"The {name} mask in each step",
        **size,
        class_=f"mask {name} sharp",
        decoding="async",
    )


def _legend(keys: list[Key]) -> Markup:
    """The classes and their colours, and what hatching means."""
    rows = [tag("li", _swatch(key), named(short(key.name, 60))) for key in keys]
    lines = [tag("path", d=f"M{x} 14l14 -14", class_="hatch") for x in (-8, -2, 4, 10)]
    hatched = tag(
        "svg",
        tag("rect", width=16, height=12, fill="#c8c8c8"),
        *lines,
        viewBox="0 0 16 12",
        aria_hidden="true",
    )
    return tag(
        "ul", *rows, tag("li", hatched, "ignored, or outside the picture"), class_="legend swatches"
    )


def _swatch(key: Key) -> Markup:
    squares = [
        (x, y)
        for x in range(0, 16, 4)
        for y in range(0, 12, 4)
        if not key.chequered or (x + y) // 4 % 2 == 0
    ]
    side = {"width": 4, "height": 4}
    parts = (
        [tag("rect", x=x, y=y, **side, fill=key.color) for x, y in squares] if key.chequered else []
    )
    whole = (
        tag("rect", width=16, height=12, class_="clear")
        if parts
        else tag("rect", width=16, height=12, fill=key.color)
    )
    return tag("svg", whole, *parts, viewBox="0 0 16 12", aria_hidden="true")


def _step(step: Step, *, discrete: bool) -> list[Markup]:
    where = (
        ("drawn by the model" if step.inside else "not drawn by the model")
        if discrete
        else ("within the learned extent" if step.inside else "beyond it")
    )
    parts = [
        tag("b", step.place, class_="place"),
        tag("span", where, class_="where inside" if step.inside else "where"),
    ]
    if step.said:
        verdict = (
            None
            if step.right is None
            else tag(
                "i", "right" if step.right else "wrong", class_="right" if step.right else "wrong"
            )
        )
        parts.append(tag("span", named(step.said), " ", verdict, class_="said"))
    return _spaced(parts)


def _spaced(parts: list[Markup]) -> list[Markup]:
    """Spaces between, so that a list item reads as words when copied or spoken."""
    return [piece for part in parts for piece in (part, Markup(" "))][:-1]


def _cells(steps: list[Step]) -> Markup:
    """One square a step, and a line along those within the learned extent."""
    marks = []
    for i, step in enumerate(steps):
        kind = "unknown" if step.right is None else "right" if step.right else "wrong"
        width = 6 if len(steps) > 3 else 1.2
        marks.append(
            tag(
                "rect",
                x=10 * i + (10 - width) / 2,
                y=1.5,
                width=width,
                height=5,
                class_=f"cell {kind}",
            )
        )
        if step.inside:
            marks.append(tag("rect", x=10 * i, y=9, width=10, height=1.6, class_="within"))
    return tag(
        "svg",
        marks,
        viewBox=f"0 0 {10 * len(steps)} 12",
        class_="cells",
        preserveAspectRatio="none",
        aria_hidden="true",
    )
