"""Draws from the learned distribution, and the map of one draw on pixels.

Plain Python, because a copy of this module is part of every exported file.
"""

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any

# The first two rows of an affine matrix.
Rows = tuple[tuple[float, float, float], tuple[float, float, float]]


def draw(distributions: Sequence[dict[str, Any]], random: Callable[[], float]) -> list[float]:
    """Draws coordinates; `random()` returns a number in [0, 1)."""
    t: list[float] = []
    for item in distributions:
        if item["kind"] == "Uniform":
            t += draw_uniform(item, random)
        elif item["kind"] == "Interval":
            for low, high in zip(item["low"], item["high"], strict=True):
                t.append(low + (high - low) * random())
        elif item["kind"] == "Bernoulli":
            for probability in item["probability"]:
                t.append(float(random() < probability))
        else:
            t += draw_gaussian(item, random)
    return t


def draw_uniform(item: dict[str, Any], random: Callable[[], float]) -> list[float]:
    """Draws from a box [-bound, bound]; a coordinate is 0 with probability 1 - rate."""
    bounds = item["bound"]
    rates = item.get("rate", [1.0] * len(bounds))
    t = []
    for bound, rate in zip(bounds, rates, strict=True):
        u = 2 * random() - 1
        size = max(0.0, abs(u) - (1 - rate)) / rate
        t.append(math.copysign(bound * size, u))
    return t


def draw_gaussian(item: dict[str, Any], random: Callable[[], float]) -> list[float]:
    """Draws from a normal distribution: loc + scale_tril z."""
    z = []
    for _ in item["loc"]:
        u = min(max(random(), 1e-12), 1 - 1e-12)
        z.append(NormalDist().inv_cdf(u))
    t = []
    for loc, row in zip(item["loc"], item["scale_tril"], strict=True):
        t.append(loc + sum(factor * value for factor, value in zip(row, z, strict=True)))
    return t


def split(
    transforms: Sequence[dict[str, Any]], t: Sequence[float]
) -> list[tuple[dict[str, Any], list[float]]]:
    """Pairs each transform with its own coordinates, in order."""
    names = [name for item in transforms for name in item["names"]]
    if len(t) != len(names):
        raise ValueError(
            f"The augmentation has the coordinates {', '.join(names)}, but got {len(t)} numbers."
        )
    pairs = []
    start = 0
    for item in transforms:
        end = start + len(item["names"])
        pairs.append((item, [float(value) for value in t[start:end]]))
        start = end
    return pairs


def pixel_map(names: Sequence[str], t: Sequence[float], height: int, width: int) -> Rows:
    """The affine map exp(sum t_i G_i) about the centre of an image, in pixels.

    x points right, y down, and pixel centres are at whole numbers. At -t it is the inverse map:
    where a pixel of the result comes from.
    """
    values = dict(zip(names, t, strict=True))
    scale = clamp(values.get("scale", 0.0), 20.0)
    squeeze = clamp(values.get("squeeze", 0.0), 20.0)
    shear = clamp(values.get("shear", 0.0), 20.0)
    rotate = values.get("rotate", 0.0)
    generator = (
        (scale + squeeze, shear - rotate, values.get("translate_x", 0.0) * width / 2),
        (shear + rotate, scale - squeeze, values.get("translate_y", 0.0) * height / 2),
    )
    centre_x = (width - 1) / 2
    centre_y = (height - 1) / 2
    to_centre: Rows = ((1, 0, -centre_x), (0, 1, -centre_y))
    from_centre: Rows = ((1, 0, centre_x), (0, 1, centre_y))
    return times(from_centre, times(exponential(generator), to_centre))


def clamp(value: float, limit: float) -> float:
    """The value within ±limit."""
    return max(-limit, min(value, limit))


def exponential(generator: Rows) -> Rows:
    """The matrix exponential of an affine generator, by scaling, a short series and squaring."""
    (a, b, _), (d, e, _) = generator
    norm = max(abs(a) + abs(b), abs(d) + abs(e), 1e-9)
    halvings = max(0, math.ceil(math.log2(norm)) + 2)
    (a, b, x), (d, e, y) = (tuple(value / 2**halvings for value in row) for row in generator)
    p: Rows = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    for n in range(12, 0, -1):  # Horner's scheme: I + A (I + A (...) / 2) / 1
        (p00, p01, p02), (p10, p11, p12) = p
        p = (
            (
                1 + (a * p00 + b * p10) / n,
                (a * p01 + b * p11) / n,
                (a * p02 + b * p12 + x) / n,
            ),
            (
                (d * p00 + e * p10) / n,
                1 + (d * p01 + e * p11) / n,
                (d * p02 + e * p12 + y) / n,
            ),
        )
    for _ in range(halvings):
        p = times(p, p)
    return p


def times(p: Rows, q: Rows) -> Rows:
    """The composition of two affine maps: q first, then p."""
    (q00, q01, q02), (q10, q11, q12) = q
    (p00, p01, p02), (p10, p11, p12) = p
    return (
        (p00 * q00 + p01 * q10, p00 * q01 + p01 * q11, p00 * q02 + p01 * q12 + p02),
        (p10 * q00 + p11 * q10, p10 * q01 + p11 * q11, p10 * q02 + p11 * q12 + p12),
    )


#: Kinds that move pixels; all others change intensities and leave masks and points alone.
GEOMETRIC = ("Affine2d", "Flip", "PixelShift")


def moves_points(transforms: Sequence[dict[str, Any]]) -> bool:
    """Whether any of the transforms moves pixels, so that masks and points move along."""
    return any(item["kind"] in GEOMETRIC for item in transforms)


def whole_pixels(
    names: Sequence[str], t: Sequence[float], height: int, width: int
) -> tuple[int, int]:
    """The shift to the right and down in whole pixels; halves are rounded to even numbers."""
    values = dict(zip(names, t, strict=True))
    right = round(values.get("shift_x", 0.0) * width / 2)
    down = round(values.get("shift_y", 0.0) * height / 2)
    return right, down


def check_channels(name: str, channels: int) -> None:
    """Raises ValueError for images that are neither grey nor red, green and blue."""
    if channels not in (1, 3):
        raise ValueError(f"{name} needs images with 1 or 3 channels, but got {channels}.")


def contrast_slope(t: float) -> float:
    """The slope of the contrast formula of Benton et al. (2020) about mid-grey; |t| <= 0.95."""
    t = clamp(t, 0.95)
    pole = 259 / 255
    return pole * (t + 1) / (pole - t)
