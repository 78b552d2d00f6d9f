"""What JSON may hold, read without trust: a value of the wrong kind is as good as none."""

import math
from typing import Any

LARGEST = 1e12  # numbers past this are nobody's extent or loss, and would only overflow a drawing


def number(value: Any) -> float | None:
    """A finite number of a reasonable size, or None.

    Example:
        >>> number(2), number("2"), number(True), number(float("nan"))
        (2.0, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) <= LARGEST and math.isfinite(value) else None


def count(value: Any) -> int | None:
    """A whole number of at least 0, or None."""
    found = number(value)
    return int(found) if found is not None and found >= 0 and found == int(found) else None


def text(value: Any, otherwise: str = "") -> str:
    """A text, or a number as text."""
    if isinstance(value, str):
        return value
    found = number(value)
    return otherwise if found is None else str(value) if isinstance(value, int) else f"{found:g}"


def items(value: Any) -> list[Any]:
    """A list, or an empty one."""
    return value if isinstance(value, list) else []


def entries(value: Any) -> dict[str, Any]:
    """A mapping, or an empty one."""
    return value if isinstance(value, dict) else {}


def records(value: Any) -> list[dict[str, Any]]:
    """The mappings of a list."""
    return [entry for entry in items(value) if isinstance(entry, dict)]


def numbers(value: Any) -> list[float] | None:
    """A list of numbers, or None where one of them is none."""
    found = [number(entry) for entry in items(value)]
    return None if not found or None in found else [entry for entry in found if entry is not None]


def pair(value: Any) -> tuple[float, float] | None:
    """Two numbers, the lower one first, or None."""
    found = numbers(value)
    return (min(found), max(found)) if found is not None and len(found) == 2 else None
