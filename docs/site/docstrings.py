"""Prepares our docstrings for the API reference."""

import re
from typing import Any

import griffe

SHAPE = re.compile(r" {3,}([^`\\]+?)(?= {3}|$)", re.MULTILINE)


def mark_shapes(line: str) -> str:
    """Sets the shapes behind a sentence as code on a line of their own.

    They are what three spaces set apart, as in "Warps images.   x: (B, C, H, W)   returns (B,)".
    """
    shapes = list(SHAPE.finditer(line))
    if not shapes or line.startswith((" ", ">>>")):
        return line
    sentence = line[: shapes[0].start()]
    return f"{sentence} <br>" + " &nbsp; ".join(f"`{shape[1].strip()}`" for shape in shapes)


def readable(text: str) -> str:
    """Marks shapes, and makes `Example:` the section `Examples:` of Google style."""
    lines = ["Examples:" if line == "Example:" else line for line in text.splitlines()]
    return "\n".join(mark_shapes(line) for line in lines)


def comment_above(attribute: griffe.Attribute) -> str:
    """The `#:` comment that documents an attribute, or an empty string."""
    source = attribute.lines_collection[attribute.filepath]
    end = (attribute.lineno or 1) - 1
    start = end
    while start > 0 and source[start - 1].lstrip().startswith("#:"):
        start -= 1
    return "\n".join(line.strip().removeprefix("#:").strip() for line in source[start:end])


class Docstrings(griffe.Extension):
    """Rewrites docstrings as they are collected."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        comment = comment_above(attr)
        if attr.docstring is None and comment:
            attr.docstring = griffe.Docstring(comment, parent=attr, lineno=attr.lineno)

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = readable(obj.docstring.value)
