"""HTML and SVG from values, and small parts of sections. Everything but `Markup` is escaped."""

import html
import re
from collections.abc import Sequence
from typing import Any

# Control characters are not allowed in HTML; surrogates cannot be encoded as UTF-8.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Markup(str):
    """Text that is markup and is not escaped again."""

    __slots__ = ()


def escape(value: object) -> Markup:
    """A value as text that is safe between tags and in quoted attributes.

    Example:
        >>> escape('<b title="x">')
        '&lt;b title=&quot;x&quot;&gt;'
    """
    if isinstance(value, Markup):
        return value
    printable = _UNPRINTABLE.sub("\ufffd", str(value))
    return Markup(html.escape(printable, quote=True))


def join(*children: Any) -> Markup:
    """Concatenates children; lists are flattened and None is skipped."""
    parts: list[str] = []
    for child in children:
        if isinstance(child, list):
            parts.append(join(*child))
        elif child is not None:
            parts.append(escape(child))
    return Markup("".join(parts))


_VOID = {"br", "img", "input", "meta", "hr"}


def tag(name: str, *children: Any, **attributes: object) -> Markup:
    """An element; attributes that are None or False are skipped, and `class_` becomes class.

    Example:
        >>> tag("p", "1 < 2", class_="note")
        '<p class="note">1 &lt; 2</p>'
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{join(*children)}</{name}>")


def _attribute(key: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    return f' {name}="{escape(value)}"'


def named(text: str, **attributes: object) -> Markup:
    """A name given by a user; text in either direction does not affect its surroundings."""
    return tag("bdi", text, **attributes)


def short(text: str, most: int = 28) -> str:
    """A text cut to a length, with an ellipsis at the cut.

    Example:
        >>> short("a very long name", 8)
        'a very …'
    """
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    return text[: most - 1] + "…"


_ANSWER_WORDS = {
    "symmetry": "Symmetry",
    "full": "Full range",
    "none": "None found",
    "undecided": "Undecided",
}
PAYOFF_WORDS = {
    "yes": "Use it",
    "no": "Do not use it",
    "undecided": "Undecided",
    "none": "Not worth it here",
}

_CIRCLE = {"cx": 11, "cy": 11, "r": 8}
_SIGNS = {
    "symmetry": [
        tag("circle", **_CIRCLE, class_="thin"),
        tag("path", d="M3.5 8.2A8 8 0 0 1 18.5 8.2", class_="thick"),
    ],
    "full": [tag("circle", **_CIRCLE, class_="thick")],
    "none": [tag("circle", **_CIRCLE, class_="thin"), tag("path", d="M7 11h8", class_="thick")],
    "undecided": [tag("circle", **_CIRCLE, class_="dashed")],
    "yes": [
        tag("circle", **_CIRCLE, class_="thin"),
        tag("path", d="M7 11.4l3 3l5 -6.2", class_="thick"),
    ],
    "no": [
        tag("circle", **_CIRCLE, class_="thin"),
        tag("path", d="M8 8l6 6M14 8l-6 6", class_="thick"),
    ],
}


def answer_badge(answer: str | None) -> Markup | None:
    """An answer as a sign and a word; the signs differ in shape as well as in colour."""
    if answer is None:
        return None
    return tag("span", _sign(answer), _ANSWER_WORDS[answer], class_=f"answer {answer}")


def payoff_badge(answer: str | None) -> Markup | None:
    """The answer to whether the learned policy pays, as a sign and words."""
    if answer is None:
        return None
    return tag("span", payoff_sign(answer), PAYOFF_WORDS[answer], class_=f"answer {answer}")


def payoff_sign(answer: str | None) -> Markup | None:
    """The sign alone."""
    if answer is None:
        return None
    return _sign(answer)


def _sign(answer: str) -> Markup:
    return tag("svg", _SIGNS[answer], viewBox="0 0 22 22", class_="sign", aria_hidden="true")


def legend(entries: Sequence[tuple[str, str]]) -> Markup:
    """Samples of lines and their meaning, from pairs of CSS class and text."""
    rows = []
    for class_, words in entries:
        line = tag("line", x1=0, x2=22, y1=5, y2=5, class_=f"line {class_}")
        sample = tag("svg", line, viewBox="0 0 22 10", aria_hidden="true")
        rows.append(tag("li", sample, named(words)))
    return tag("ul", rows, class_="legend")


def section(
    title: str, explanation: str | None, *content: Any, level: int = 2, class_: str | None = None
) -> Markup | None:
    """A titled section; None without content."""
    if not join(*content):
        return None
    head = [tag(f"h{level}", title)]
    if explanation:
        head.append(tag("p", unbroken(explanation), class_="explanation"))
    return tag("section", *head, *content, class_=class_)


def figure(title: str, drawing: Markup, *below: Any) -> Markup:
    """A titled drawing, for a grid."""
    return tag("figure", tag("figcaption", named(title)), drawing, *below, class_="small")


def grid(figures: Sequence[Markup]) -> Markup | None:
    """Figures side by side, as many as fit."""
    if not figures:
        return None
    return tag("div", *figures, class_="grid")


def table(
    headings: Sequence[Any], rows: Sequence[Sequence[Any]], *, caption: str, class_: str = ""
) -> Markup:
    """A table with row headings in the first column; wide tables scroll horizontally."""
    head = tag("tr", *(tag("th", heading, scope="col") for heading in headings))
    inner = tag(
        "table",
        tag("caption", caption, class_="hidden"),
        tag("thead", head),
        tag("tbody", *(_table_row(row) for row in rows)),
        class_=class_ or None,
    )
    return tag("div", inner, class_="scroll", tabindex="0", role="region", aria_label=caption)


def _table_row(row: Sequence[Any]) -> Markup:
    head = tag("th", row[0], scope="row")
    cells = [tag("td", cell) for cell in row[1:]]
    return tag("tr", head, *cells)


def unbroken(text: str) -> str:
    """A text without line breaks between a number and its percent sign."""
    return text.replace(" %", "\u00a0%")


def percent(fraction: float | None) -> str:
    """A fraction as a percentage; empty for None."""
    return "" if fraction is None else f"{100 * fraction:.1f}\u00a0%"
