"""HTML and SVG built from values: what is not `Markup` already is escaped, so nothing a user named can become a tag."""

import html
import re
from typing import Any

# Controls and halves of surrogate pairs may not stand in a page, and the latter cannot be written as UTF-8 at all.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def escape(value: object) -> Markup:
    """Any value as text that is safe between tags and inside quoted attributes.

    Example:
        >>> escape('<b title="x">')
        '&lt;b title=&quot;x&quot;&gt;'
    """
    return (
        value
        if isinstance(value, Markup)
        else Markup(html.escape(_UNPRINTABLE.sub("\ufffd", str(value)), quote=True))
    )


def join(*children: Any) -> Markup:
    """Children one after another; lists are flattened and None is left out."""
    parts: list[str] = []
    for child in children:
        if isinstance(child, list):
            parts.append(join(*child))
        elif child is not None:
            parts.append(escape(child))
    return Markup("".join(parts))


_VOID = {"br", "img", "input", "meta", "hr"}


def tag(name: str, *children: Any, **attributes: object) -> Markup:
    """An element. Attributes that are None or False are left out; `class_` and `aria_label` are written class and aria-label.

    Example:
        >>> tag("p", "1 < 2", class_="note")
        '<p class="note">1 &lt; 2</p>'
    """
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{join(*children)}</{name}>")


def named(text: str, **attributes: object) -> Markup:
    """A name that a user gave: it may run in either direction without turning its neighbours around."""
    return tag("bdi", text, **attributes)


def short(text: str, most: int = 28) -> str:
    """A text cut to a length, with an ellipsis where something is missing.

    Example:
        >>> short("a very long name", 8)
        'a very …'
    """
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"
