"""One draw from the learned distribution, and where it takes points. Plain Python: it stands in every exported file."""

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any

Rows = tuple[
    tuple[float, float, float], tuple[float, float, float]
]  # the first two rows of an affine matrix


def draw(distributions: Sequence[dict[str, Any]], random: Callable[[], float]) -> list[float]:
    """Draws coordinates; `random()` returns a number in [0, 1)."""
    t: list[float] = []
    for item in distributions:
        if item["kind"] == "Uniform":
            rates = item.get("rate", [1.0] * len(item["bound"]))
            for bound, rate in zip(item["bound"], rates, strict=True):
                side = 2 * random() - 1
                t.append(math.copysign(bound * max(0.0, abs(side) - (1 - rate)) / rate, side))
        elif item["kind"] == "Interval":
            t += [
                low + (high - low) * random()
                for low, high in zip(item["low"], item["high"], strict=True)
            ]
        elif item["kind"] == "Bernoulli":
            t += [float(random() < probability) for probability in item["probability"]]
        else:  # a Gaussian
            z = [NormalDist().inv_cdf(min(max(random(), 1e-12), 1 - 1e-12)) for _ in item["loc"]]
            for loc, row in zip(item["loc"], item["scale_tril"], strict=True):
                t.append(loc + sum(factor * value for factor, value in zip(row, z, strict=True)))
    return t


def split(
    transforms: Sequence[dict[str, Any]], t: Sequence[float]
) -> list[tuple[dict[str, Any], list[float]]]:
    """Each transform with its own coordinates, in order."""
    if len(t) != sum(len(item["names"]) for item in transforms):
        names = ", ".join(name for item in transforms for name in item["names"])
        raise ValueError(f"The augmentation has the coordinates {names}, but got {len(t)} numbers.")
    rest = [float(value) for value in t]
    return [(item, [rest.pop(0) for _ in item["names"]]) for item in transforms]


def pixel_map(names: Sequence[str], t: Sequence[float], height: int, width: int) -> Rows:
    """Where an affine element takes the points of a picture, in pixels: x right, y down, centres at whole numbers.

    At -t it is the inverse: where a pixel of the result comes from. The element is exp(sum t_i G_i) about the middle.
    """
    c = dict(zip(names, t, strict=True))
    scale, squeeze, shear = (
        max(-20.0, min(c.get(name, 0.0), 20.0)) for name in ("scale", "squeeze", "shear")
    )
    turn = c.get("rotate", 0.0)
    (a, b), (d, e) = (scale + squeeze, shear - turn), (shear + turn, scale - squeeze)
    move = (c.get("translate_x", 0.0) * width / 2, c.get("translate_y", 0.0) * height / 2)
    # The exponential by halving, a short series, and squaring.
    halvings = max(0, math.ceil(math.log2(max(abs(a) + abs(b), abs(d) + abs(e), 1e-9))) + 2)
    a, b, d, e, x, y = (value / 2**halvings for value in (a, b, d, e, *move))
    p: Rows = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    for n in range(12, 0, -1):  # Horner's scheme: I + A (I + A (...) / 2) / 1
        (p00, p01, p02), (p10, p11, p12) = p
        p = (
            (1 + (a * p00 + b * p10) / n, (a * p01 + b * p11) / n, (a * p02 + b * p12 + x) / n),
            ((d * p00 + e * p10) / n, 1 + (d * p01 + e * p11) / n, (d * p02 + e * p12 + y) / n),
        )
    for _ in range(halvings):
        p = times(p, p)
    middle_x, middle_y = (width - 1) / 2, (height - 1) / 2
    return times(
        ((1, 0, middle_x), (0, 1, middle_y)), times(p, ((1, 0, -middle_x), (0, 1, -middle_y)))
    )


def times(p: Rows, q: Rows) -> Rows:
    """The affine map that does q and then p."""
    (q00, q01, q02), (q10, q11, q12) = q
    return tuple((u * q00 + v * q10, u * q01 + v * q11, u * q02 + v * q12 + w) for u, v, w in p)  # type: ignore[return-value]


def contrast_slope(t: float) -> float:
    """How steep the contrast formula of Benton et al. (2020) is about mid-grey, t held within ±0.95."""
    t, pole = max(-0.95, min(t, 0.95)), 259 / 255
    return pole * (t + 1) / (pole - t)
