"""Turns the formulas of a page into MathML, which browsers draw without a script or a download."""

import html
import re
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.pages import Page

FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<latex>.*?)\\[)\]]</(?P=tag)>',
    re.DOTALL,
)


def to_mathml(match: re.Match[str]) -> str:
    """MathML of one formula that arithmatex has marked: a span is inline, a div is a block."""
    display = "inline" if match["tag"] == "span" else "block"
    return convert(html.unescape(match["latex"]).strip(), display=display)


def on_page_content(text: str, page: Page, **_: Any) -> str:
    """Called by MkDocs with the body of every page."""
    return FORMULA.sub(to_mathml, text)
