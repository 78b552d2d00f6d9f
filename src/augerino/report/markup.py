"""HTML and SVG from values. Everything but `Markup` is escaped: names cannot become tags."""

import html
import re
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
    return f" {name}" if value is True else f' {name}="{escape(value)}"'


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
    return text if len(text) <= most else text[: most - 1] + "…"
