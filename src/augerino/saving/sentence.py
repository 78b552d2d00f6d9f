"""A policy in words: "rotate up to 9° in every image; flip half of the images; never shear"."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from augerino.coordinate import FactorUnit, LearnedCoordinate, LevelsUnit, StrengthUnit

_CERTAIN = 0.995  # rates from here on are shown as "every"
_CLOSE = 0.1  # relative error of a rate that is shown as "1 of n"
_AXES = ("x", "y", "z", "xy", "yz", "xz")
_ACROSS = {"x": "horizontally", "y": "vertically"}


class _Words(NamedTuple):
    """An operation in words.

    Args:
        bare: form after "never".
        before: form before an amount; empty if it equals `bare`.
    """

    bare: str
    before: str = ""


_WORDS = {
    "translate": _Words("shift"),
    "shift": _Words("shift by whole pixels"),
    "brightness": _Words("change the brightness", "change the brightness by"),
    "contrast": _Words("change the contrast"),
    "saturation": _Words("change the saturation"),
    "hue": _Words("turn the hue"),
    "gamma": _Words("change the gamma"),
    "sharpness": _Words("change the sharpness"),
    "autocontrast": _Words("stretch the contrast", "stretch the contrast with"),
    "equalize": _Words("equalize", "equalize with"),
    "erase": _Words("erase squares", "erase squares of"),
    "pixel_noise": _Words("add noise", "add"),
    "noise": _Words("add noise", "add"),
    "time_shift": _Words("shift in time"),
    "time_scale": _Words("stretch in time"),
    "gain": _Words("change the gain"),
}
_DISCRETE = {
    "flip_horizontal": ("flip", "horizontally"),
    "flip_vertical": ("flip", "vertically"),
    "grayscale": ("make", "grey"),
}


class _Clause(NamedTuple):
    """An operation in words, and the fraction of the samples that it changes."""

    text: str
    rate: float
    is_discrete: bool


def sentence(coordinates: Iterable[LearnedCoordinate], samples: str = "images") -> str:
    """Writes learned ranges and rates as one sentence, without a full stop.

    Coordinates of one kind with equal ranges, such as translate_x and translate_y, share a clause.
    Clauses are sorted by their rates. Negligible ranges follow as "never ...".

    Args:
        coordinates: coordinates with their ranges and rates.
        samples: plural of the inputs: "images", "signals", "clouds" or "samples".
    """
    groups = _grouped(list(coordinates))
    clauses = [_clause(group, samples) for group in groups if not group[0].is_negligible]
    clauses.sort(key=lambda clause: -clause.rate)
    parts = _joined(clauses, samples)
    never = [_bare(group, samples) for group in groups if group[0].is_negligible]
    if never:
        parts.append(f"never {_listed(never, 'or')}")
    return "; ".join(parts) or f"leave the {samples} unchanged"


def _grouped(coordinates: Sequence[LearnedCoordinate]) -> list[list[LearnedCoordinate]]:
    """Groups coordinates that differ in their axis only."""
    groups: dict[tuple[str, ...], list[LearnedCoordinate]] = {}
    for c in coordinates:
        groups.setdefault(_group_key(c), []).append(c)
    return list(groups.values())


def _group_key(c: LearnedCoordinate) -> tuple[str, ...]:
    stem, axis = _split_axis(c.name)
    if not axis:
        return (c.name,)
    if c.is_negligible:
        return (stem, "negligible")
    return (stem, c.text)


def _split_axis(name: str) -> tuple[str, str]:
    stem, _, axis = name.rpartition("_")
    if stem and axis in _AXES:
        return stem, axis
    return name, ""


def _clause(group: Sequence[LearnedCoordinate], samples: str) -> _Clause:
    first = group[0]
    if first.discrete:
        which = _which(first.rate, samples)
        text = f"apply {first.name} to {which}"
        if first.name in _DISCRETE:
            verb, how = _DISCRETE[first.name]
            text = f"{verb} {which} {how}"
        return _Clause(text, first.rate, is_discrete=True)
    stem, _ = _split_axis(first.name)
    words = _WORDS.get(stem, _Words(stem.replace("_", " ")))
    pieces = [words.before or words.bare, _where(group, samples), _amount(first)]
    text = " ".join(piece for piece in pieces if piece)
    return _Clause(text, first.rate, is_discrete=False)


def _bare(group: Sequence[LearnedCoordinate], samples: str) -> str:
    first = group[0]
    if first.name in _DISCRETE:
        verb, how = _DISCRETE[first.name]
        return f"{verb} {how}"
    stem, _ = _split_axis(first.name)
    words = _WORDS.get(stem, _Words(stem.replace("_", " ")))
    return f"{words.bare} {_where(group, samples)}".strip()


def _where(group: Sequence[LearnedCoordinate], samples: str) -> str:
    """The axes: "horizontally"; nothing for both axes of an image or without an axis."""
    axes = [_split_axis(c.name)[1] for c in group]
    if axes == [""] or (samples == "images" and set(axes) == set(_ACROSS)):
        return ""
    if samples == "images" and axes[0] in _ACROSS:
        return _ACROSS[axes[0]]
    listed = _listed(axes, "and")
    if group[0].name.startswith("rotate"):
        return f"about {listed}"
    return f"along {listed}"


def _amount(c: LearnedCoordinate) -> str:
    """The range: "up to 9°", "by ×0.80 to ×1.25", "by any angle"."""
    if c.range_text != c.unit.extent(c.extent):  # not a symmetric box
        return c.range_text.replace("uniform over", "uniformly over")
    if c.unit.suffix == "°" and c.is_full:
        return "by any angle"
    if isinstance(c.unit, FactorUnit):
        return f"by {c.range_text}"
    if isinstance(c.unit, LevelsUnit):
        return f"to as few as {c.unit.value(c.extent)}"
    text = c.range_text
    if not isinstance(c.unit, StrengthUnit):
        text = f"up to {c.range_text.removeprefix('±')}"
    return re.sub(r"(\d)\.0\b", r"\1", text)


def _joined(clauses: Sequence[_Clause], samples: str) -> list[str]:
    """Clauses with their rates; those of equal rates share one."""
    parts: dict[str, list[_Clause]] = {}
    for clause in clauses:
        key = _how_often(clause.rate, samples)
        if clause.is_discrete:
            key = clause.text
        parts.setdefault(key, []).append(clause)
    return [_shared(found, key) for key, found in parts.items()]


def _shared(clauses: Sequence[_Clause], how_often: str) -> str:
    if clauses[0].is_discrete:
        return clauses[0].text
    listed = _listed([clause.text for clause in clauses], "and")
    if len(clauses) > 1 and clauses[0].rate < _CERTAIN:
        listed += ", each"
    return f"{listed} {how_often}"


def _how_often(rate: float, samples: str) -> str:
    """A rate of a range: "in every image", "in 1 of 4", "in 30 % of the images"."""
    if rate >= _CERTAIN:
        return f"in every {samples.removesuffix('s')}"
    n = round(1 / rate) if rate > 0 else 0
    if n > 2 and abs(1 / n - rate) <= _CLOSE * rate:
        return f"in 1 of {n}"
    return f"in {_which(rate, samples)}"


def _which(rate: float, samples: str) -> str:
    """A fraction of the samples: "every image", "half of the images", "30 % of the images"."""
    if rate >= _CERTAIN:
        return f"every {samples.removesuffix('s')}"
    if abs(rate - 0.5) < 0.01:
        return f"half of the {samples}"
    if rate >= 0.01:
        return f"{100 * rate:.0f} % of the {samples}"
    return f"{100 * rate:.1g} % of the {samples}"


def _listed(texts: Sequence[str], word: str) -> str:
    """Joins texts as in "a, b and c"."""
    *first, last = texts
    if not first:
        return last
    return f"{', '.join(first)} {word} {last}"
