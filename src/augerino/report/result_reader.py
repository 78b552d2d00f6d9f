"""Reads result.json: JSON values of unknown type, and the result of each coordinate."""

import math
from dataclasses import dataclass
from typing import Any

from augerino.coordinate import Unit, unit_of

LARGEST = 1e12  # larger numbers are neither extents nor losses, and would overflow a drawing


def number(value: Any) -> float | None:
    """A finite number of a reasonable size, or None.

    Example:
        >>> number(2), number("2"), number(True), number(float("nan"))
        (2.0, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if abs(value) > LARGEST or math.isnan(value):
        return None
    return float(value)


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
    if isinstance(value, int):
        return str(value)
    return f"{found:g}"


def items(value: Any) -> list[Any]:
    """A list, or an empty one."""
    if not isinstance(value, list):
        return []
    return value


def entries(value: Any) -> dict[str, Any]:
    """A mapping, or an empty one."""
    if not isinstance(value, dict):
        return {}
    return value


def records(value: Any) -> list[dict[str, Any]]:
    """The mappings of a list."""
    return [entry for entry in items(value) if isinstance(entry, dict)]


def numbers(value: Any) -> list[float] | None:
    """A list of numbers, or None if it is empty or contains anything else."""
    found = [number(entry) for entry in items(value)]
    known = [entry for entry in found if entry is not None]
    if not known or len(known) < len(found):
        return None
    return known


def pair(value: Any) -> tuple[float, float] | None:
    """Two numbers, the lower one first, or None."""
    found = numbers(value)
    if found is None or len(found) != 2:
        return None
    return min(found), max(found)


ANSWERS = ("symmetry", "full", "none", "undecided")
_MAX_DEPTH = 8  # limit of products nested in products


@dataclass(frozen=True)
class Estimate:
    """A mean and its 95 % interval."""

    mean: float
    low: float | None
    high: float | None

    def signed(self, factor: float = 1.0, suffix: str = "") -> str:
        """The mean with its sign and its interval, for a change."""

        def write(value: float) -> str:
            if abs(factor * value) < 1e-9:
                return "0"
            return f"{factor * value:+.3g}".replace("-", "−")

        mean = write(self.mean) + suffix
        if self.low is None or self.high is None:
            return mean
        return f"{mean} (95 %: {write(self.low)} to {write(self.high)})"


@dataclass(frozen=True)
class Change:
    """The change of held-out loss and accuracy when the range of one coordinate is changed."""

    text: str
    loss: Estimate | None
    accuracy: Estimate | None


@dataclass(frozen=True)
class Profile:
    """The rise of the held-out loss as a function of one extent, with a 95 % band."""

    extents: list[float]
    loss: list[float]
    low: list[float] | None
    high: list[float] | None


@dataclass(frozen=True)
class Shape:
    """The distribution of one coordinate.

    Args:
        kind: "uniform" on [a, b], "normal" with mean a and standard deviation b, or "flip" with
            probability a.
    """

    kind: str
    a: float
    b: float


@dataclass(frozen=True)
class CoordinateResult:
    """The verdict on one coordinate and its evidence; numbers are in the raw unit."""

    name: str
    unit: Unit
    start: float | None
    learned: float | None
    limit: float | None
    start_text: str
    learned_text: str
    answer: str | None
    sentence: str
    interval: tuple[float, float] | None
    true: float | None
    support: tuple[float, float] | None
    discrete: bool
    off: Change | None
    wider: Change | None
    profile: Profile | None
    shape: Shape | None  # as learned
    start_shape: Shape | None

    @property
    def range(self) -> tuple[float, float] | None:
        """Lowest and highest value: the support, or [-learned, learned] if it is unbounded."""
        if self.support is not None or self.learned is None:
            return self.support
        return -abs(self.learned), abs(self.learned)

    def interval_text(self, low: float, high: float) -> str:
        """An interval of extents: "±43.1° to ±46.8°", or the larger factors "×1.08 to ×1.27"."""
        return self.unit.span(low, high)


def read_coordinates(result: dict[str, Any], policy: Any) -> list[CoordinateResult]:
    """The coordinates of a result, with the distributions of the policy where both match."""
    found = [entry for entry in records(result.get("coordinates")) if text(entry.get("name"))]
    shapes = _shapes(entries(entries(policy).get("distribution")))
    if len(shapes) != len(found):
        shapes = [None] * len(found)
    return [_coordinate(entry, shape) for entry, shape in zip(found, shapes, strict=True)]


def read_estimate(value: Any) -> Estimate | None:
    """A mean with its interval, or None without a mean."""
    entry = entries(value)
    mean = number(entry.get("mean"))
    if mean is None:
        return None
    return Estimate(mean, low=number(entry.get("low")), high=number(entry.get("high")))


def _coordinate(entry: dict[str, Any], policy_shape: Shape | None) -> CoordinateResult:
    learned = number(entry.get("learned"))
    start = number(entry.get("start"))
    support = pair(entry.get("support"))
    discrete = entry.get("discrete") is True
    answer = text(entry.get("answer"))
    evidence = entries(entry.get("evidence"))
    shape = policy_shape or _shape_of(learned, support, discrete=discrete)
    return CoordinateResult(
        name=text(entry["name"]),
        unit=unit_of(text(entry.get("unit")), discrete=discrete),
        start=start,
        learned=learned,
        limit=number(entry.get("limit")),
        start_text=text(entry.get("start_text")),
        learned_text=text(entry.get("learned_text")),
        answer=answer if answer in ANSWERS else None,
        sentence=text(entry.get("sentence")),
        interval=pair(entry.get("interval")),
        true=number(entry.get("true")),
        support=support,
        discrete=discrete,
        off=_change(evidence.get("off")),
        wider=_change(evidence.get("wider")),
        profile=_profile(evidence.get("profile")),
        shape=shape,
        start_shape=_start_shape(shape, start),
    )


def _shape_of(
    learned: float | None, support: tuple[float, float] | None, *, discrete: bool
) -> Shape | None:
    """The distribution of a coordinate that the policy does not contain."""
    if learned is None:
        return None
    if discrete:
        return _flip(learned / 2)
    low, high = support or (-abs(learned), abs(learned))
    return Shape("uniform", low, high)


def _start_shape(shape: Shape | None, start: float | None) -> Shape | None:
    """The distribution at the start of the training: the same kind, centred on the identity."""
    if shape is None or start is None:
        return None
    if shape.kind == "flip":
        return _flip(start / 2)  # an extent is twice the probability
    if shape.kind == "normal":
        return Shape("normal", 0.0, abs(start))
    low = 0.0
    if shape.a < 0:
        low = -abs(start)
    return Shape("uniform", low, abs(start))


def _flip(probability: float) -> Shape:
    return Shape("flip", min(max(probability, 0.0), 1.0), 0.0)


def _change(value: Any) -> Change | None:
    entry = entries(value)
    loss = read_estimate(entry.get("loss"))
    accuracy = read_estimate(entry.get("accuracy"))
    if loss is None and accuracy is None:
        return None
    return Change(text(entry.get("text")), loss, accuracy)


def _profile(value: Any) -> Profile | None:
    entry = entries(value)
    extents = numbers(entry.get("extents"))
    loss = numbers(entry.get("loss"))
    if extents is None or loss is None or len(extents) != len(loss) or len(loss) < 2:
        return None
    order = sorted(range(len(extents)), key=extents.__getitem__)

    def ordered(curve: list[float] | None) -> list[float] | None:
        if curve is None or len(curve) != len(order):
            return None
        return [curve[i] for i in order]

    return Profile(
        extents=[extents[i] for i in order],
        loss=[loss[i] for i in order],
        low=ordered(numbers(entry.get("low"))),
        high=ordered(numbers(entry.get("high"))),
    )


def _shapes(distribution: dict[str, Any], depth: int = 0) -> list[Shape | None]:
    """One shape per coordinate of a policy's distribution, in order; empty for an unknown kind."""
    settings = entries(distribution.get("settings"))
    match distribution.get("kind"):
        case "Product" if depth < _MAX_DEPTH:
            parts = records(settings.get("distributions"))
            return [shape for part in parts for shape in _shapes(part, depth + 1)]
        case "Uniform":
            bounds = numbers(settings.get("bound")) or []
            return [Shape("uniform", -abs(bound), abs(bound)) for bound in bounds]
        case "Interval":
            lows = numbers(settings.get("low")) or []
            highs = numbers(settings.get("high")) or []
            ends = zip(lows, highs, strict=False)
            return [Shape("uniform", min(low, high), max(low, high)) for low, high in ends]
        case "Gaussian":
            means = numbers(settings.get("loc")) or []
            rows = [numbers(row) or [] for row in items(settings.get("scale_tril"))]
            deviations = [sum(value * value for value in row) ** 0.5 for row in rows]
            pairs = zip(means, deviations, strict=False)
            return [Shape("normal", mean, deviation) for mean, deviation in pairs]
        case "Bernoulli":
            probabilities = numbers(settings.get("probability")) or []
            return [_flip(probability) for probability in probabilities]
    return []
