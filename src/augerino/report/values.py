"""Reads JSON values of unknown type: a value of the wrong type counts as missing."""

import math
from typing import Any

LARGEST = 1e12  # larger numbers are neither extents nor losses, and would overflow a drawing


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
    """An integer of at least 0, or None."""
    found = number(value)
    if found is None or found < 0 or found != int(found):
        return None
    return int(found)


def text(value: Any, otherwise: str = "") -> str:
    """A text, or a number as text."""
    if isinstance(value, str):
        return value
    found = number(value)
    if found is None:
        return otherwise
    return str(value) if isinstance(value, int) else f"{found:g}"


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
    """A list of numbers, or None if it is empty or contains anything else."""
    found = [number(entry) for entry in items(value)]
    known = [entry for entry in found if entry is not None]
    return known if known and len(known) == len(found) else None


def pair(value: Any) -> tuple[float, float] | None:
    """Two numbers, the lower one first, or None."""
    found = numbers(value)
    if found is None or len(found) != 2:
        return None
    return min(found), max(found)
