"""The section with transformed examples: strips of frames, which a script turns into sliders."""

from augerino.report.gallery_reader import Gallery, Key, Step, Strip
from augerino.report.markup import Markup, named, section, short, tag

_ABOUT_MASKS = (
    " The predicted mask is overlaid; the true mask can be shown instead,"
    " and is printed below the image."
    " Hatched pixels of the true mask are ignored."
)
_SHARP = ("images", "masks")  # drawn pixel by pixel; plots of signals and points are smoothed
_FEW = 3  # steps of a discrete coordinate


def gallery(shown: Gallery, level: int) -> Markup | None:
    """One card per coordinate with one strip per example; without JavaScript, the whole strip."""
    names = dict.fromkeys(strip.coordinate for strip in shown.strips)
    cards = [_card(name, shown, level + 1) for name in names]
    masks = any(strip.masks for strip in shown.strips)
    key = None
    if masks:
        key = _legend(shown.legend)
    class_ = "gallery"
    if len(cards) in (3, 5, 6, 9):
        class_ = "gallery three"
    return section(
        "Transformed examples",
        _about(shown, masks=masks),
        key,
        tag("div", *cards, class_=class_),
        level=level,
        class_="pictures",
    )


def _about(shown: Gallery, *, masks: bool) -> str:
    about = (
        "Held-out examples transformed along each coordinate, with the model's output at each step."
        " The line below a strip marks the learned range."
    )
    if any(step.correct is not None for strip in shown.strips for step in strip.steps):
        about += " Filled squares are correct predictions, hollow squares wrong ones."
    if masks:
        about += _ABOUT_MASKS
    return about


def _card(name: str, shown: Gallery, level: int) -> Markup:
    strips = [_strip(strip, shown) for strip in shown.strips if strip.coordinate == name]
    return tag("div", tag(f"h{level}", named(name)), *strips, class_="card", data_name=name)


def _strip(strip: Strip, shown: Gallery) -> Markup:
    truth = shown.truths[strip.example]
    title = f"Example {strip.example + 1}"
    suffix = None
    if truth:
        suffix = tag("span", ": ", named(truth))
    steps = [tag("li", _step(step, discrete=strip.discrete)) for step in strip.steps]
    return tag(
        "figure",
        tag("figcaption", title, suffix),
        _belt(strip, sharp=shown.kind in _SHARP, truth=truth),
        tag("details", tag("summary", "List of all steps"), tag("ol", *steps)),
        class_="strip",
        data_example=strip.example,
        data_start=strip.start,
        data_truth=short(truth, 60),
    )


def _belt(strip: Strip, *, sharp: bool, truth: str) -> Markup:
    """The frames with their masks, the marks of the steps and the values at both ends."""
    first = strip.steps[0].place
    last = strip.steps[-1].place
    n_steps = len(strip.steps)
    example = f"Example {strip.example + 1}"
    if truth:
        example += f" ({short(truth, 60)})"
    path = f"along {strip.coordinate}, from {first} to {last} in {n_steps} steps"
    image = tag(
        "img",
        src=strip.image,
        alt=f"{example} transformed {path}",
        width=strip.width * n_steps,
        height=strip.height,
        class_="sharp" if sharp else "smooth",
        decoding="async",
    )
    masks = {layer: _mask(strip, layer, source) for layer, source in strip.masks}
    class_ = "belt"
    if n_steps <= _FEW:
        class_ = "belt few"
    stack = tag("div", image, masks.get("predicted"), class_="stack")
    return tag(
        "div",
        tag("div", stack, masks.get("true"), class_="window"),
        _cells(strip.steps),
        tag("p", tag("span", first), tag("span", last), class_="ends"),
        class_=class_,
    )


def _mask(strip: Strip, layer: str, source: str) -> Markup:
    """A mask of the same size as the strip."""
    return tag(
        "img",
        src=source,
        alt=f"The {layer} mask at each step",
        width=strip.width * len(strip.steps),
        height=strip.height,
        class_=f"mask {layer} sharp",
        decoding="async",
    )


def _legend(keys: list[Key]) -> Markup:
    """The classes and their colours, and the meaning of hatching."""
    rows = [tag("li", _swatch(key), named(short(key.name, 60))) for key in keys]
    lines = [tag("path", d=f"M{x} 14l14 -14", class_="hatch") for x in (-8, -2, 4, 10)]
    hatched = _swatch_box([tag("rect", width=16, height=12, fill="#c8c8c8"), *lines])
    ignored = tag("li", hatched, "ignored, or outside the image")
    return tag("ul", *rows, ignored, class_="legend swatches")


def _swatch(key: Key) -> Markup:
    if not key.chequered:
        return _swatch_box([tag("rect", width=16, height=12, fill=key.color)])
    squares = [
        tag("rect", x=x, y=y, width=4, height=4, fill=key.color)
        for x in range(0, 16, 4)
        for y in range(0, 12, 4)
        if (x + y) // 4 % 2 == 0
    ]
    return _swatch_box([tag("rect", width=16, height=12, class_="clear"), *squares])


def _swatch_box(marks: list[Markup]) -> Markup:
    return tag("svg", *marks, viewBox="0 0 16 12", aria_hidden="true")


def _step(step: Step, *, discrete: bool) -> list[Markup]:
    class_ = "where"
    if step.inside:
        class_ = "where inside"
    parts = [
        tag("b", step.place, class_="place"),
        tag("span", _position(step, discrete=discrete), class_=class_),
    ]
    if step.output:
        parts.append(tag("span", named(step.output), " ", _correctness(step), class_="said"))
    return _spaced(parts)


def _position(step: Step, *, discrete: bool) -> str:
    if discrete:
        return "sampled" if step.inside else "not sampled"
    if step.inside:
        return "within the learned range"
    return "beyond the learned range"


def _correctness(step: Step) -> Markup | None:
    if step.correct is None:
        return None
    if step.correct:
        return tag("i", "correct", class_="right")
    return tag("i", "wrong", class_="wrong")


def _spaced(parts: list[Markup]) -> list[Markup]:
    """Parts with spaces in between, so that copied or spoken text has word breaks."""
    return [piece for part in parts for piece in (part, Markup(" "))][:-1]


def _cells(steps: list[Step]) -> Markup:
    """One square per step, and a line along the steps within the learned range."""
    width = 6 if len(steps) > _FEW else 1.2
    marks = []
    for i, step in enumerate(steps):
        kind = {None: "unknown", True: "right", False: "wrong"}[step.correct]
        left = 10 * i + (10 - width) / 2
        marks.append(tag("rect", x=left, y=1.5, width=width, height=5, class_=f"cell {kind}"))
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
