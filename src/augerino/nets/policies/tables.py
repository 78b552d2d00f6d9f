"""Samplers of published policies: operations with probabilities, strengths and signs."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from augerino.errors import InputError

Draw = list[tuple[str, float]]  # operations with their values, in order
Drawing = Callable[[random.Random], Draw]

_SIGNED = ("ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate")
_FACTORS = ("Brightness", "Color", "Contrast", "Sharpness")
_PLAIN = ("Identity", "AutoContrast", "Equalize", "Invert")  # have no strength


@dataclass(frozen=True)
class Space:
    """Strengths of operations, from none at 0 to the strongest at 1.

    Args:
        shear: largest slope.
        translate: largest shift as a fraction of the side.
        rotate: largest angle in degrees.
        factor: largest deviation of an enhancement factor from 1.
        bits: number of bits that the strongest posterization removes.
    """

    shear: float
    translate: float
    rotate: float
    factor: float
    bits: int

    def value(self, name: str, strength: float, rng: random.Random) -> float:
        """The value of an operation at a strength in [0, 1], with a random sign where it has one.

        Factors are 1 ± factor · strength.
        """
        sign = rng.choice((-1, 1))
        if name in _FACTORS:
            return 1 + sign * self.factor * strength
        if name in _SIGNED:
            largest = {"Shear": self.shear, "Translate": self.translate, "Rotate": self.rotate}
            return sign * largest[name.rstrip("XY")] * strength
        if name == "Posterize":
            return 8 - round(self.bits * strength)
        if name == "Solarize":
            return round(255 * (1 - strength), 6)
        return 0.0


#: Strengths of AutoAugment and RandAugment, whose shifts were published for images of 331 pixels.
USUAL = Space(shear=0.3, translate=150 / 331, rotate=30, factor=0.9, bits=4)
#: Strengths of TrivialAugment, whose shifts reach 32 pixels, the side of an image of CIFAR-10.
WIDE = Space(shear=0.99, translate=1.0, rotate=135, factor=0.99, bits=6)

#: The operations of RandAugment and TrivialAugment.
FOURTEEN = (
    "Identity",
    "ShearX",
    "ShearY",
    "TranslateX",
    "TranslateY",
    "Rotate",
    "Brightness",
    "Color",
    "Contrast",
    "Sharpness",
    "Posterize",
    "Solarize",
    "AutoContrast",
    "Equalize",
)

#: The 25 pairs of AutoAugment for CIFAR-10 (Cubuk et al. 2019, Table 7): operation, probability,
#: strength in ninths.
AUTO_AUGMENT: tuple[tuple[tuple[str, float, int], tuple[str, float, int]], ...] = (
    (("Invert", 0.1, 7), ("Contrast", 0.2, 6)),
    (("Rotate", 0.7, 2), ("TranslateX", 0.3, 9)),
    (("Sharpness", 0.8, 1), ("Sharpness", 0.9, 3)),
    (("ShearY", 0.5, 8), ("TranslateY", 0.7, 9)),
    (("AutoContrast", 0.5, 8), ("Equalize", 0.9, 2)),
    (("ShearY", 0.2, 7), ("Posterize", 0.3, 7)),
    (("Color", 0.4, 3), ("Brightness", 0.6, 7)),
    (("Sharpness", 0.3, 9), ("Brightness", 0.7, 9)),
    (("Equalize", 0.6, 5), ("Equalize", 0.5, 1)),
    (("Contrast", 0.6, 7), ("Sharpness", 0.6, 5)),
    (("Color", 0.7, 7), ("TranslateX", 0.5, 8)),
    (("Equalize", 0.3, 7), ("AutoContrast", 0.4, 8)),
    (("TranslateY", 0.4, 3), ("Sharpness", 0.2, 6)),
    (("Brightness", 0.9, 6), ("Color", 0.2, 8)),
    (("Solarize", 0.5, 2), ("Invert", 0.0, 3)),
    (("Equalize", 0.2, 0), ("AutoContrast", 0.6, 0)),
    (("Equalize", 0.2, 8), ("Equalize", 0.6, 4)),
    (("Color", 0.9, 9), ("Equalize", 0.6, 6)),
    (("AutoContrast", 0.8, 4), ("Solarize", 0.2, 8)),
    (("Brightness", 0.1, 3), ("Color", 0.7, 0)),
    (("Solarize", 0.4, 5), ("AutoContrast", 0.9, 3)),
    (("TranslateY", 0.9, 9), ("TranslateY", 0.7, 9)),
    (("AutoContrast", 0.9, 2), ("Solarize", 0.8, 3)),
    (("Equalize", 0.8, 8), ("Invert", 0.1, 3)),
    (("TranslateY", 0.7, 9), ("AutoContrast", 0.9, 1)),
)


def auto_augment(rng: random.Random) -> Draw:
    """One of 25 pairs; each of its operations with its probability."""
    return [
        (name, USUAL.value(name, strength / 9, rng))
        for name, probability, strength in rng.choice(AUTO_AUGMENT)
        if rng.random() < probability
    ]


def rand_augment(rng: random.Random, n_operations: int = 2, strength: float = 9 / 30) -> Draw:
    """N of 14 operations, always at the strength M / 30 (Cubuk et al. 2020)."""
    names = rng.choices(FOURTEEN, k=n_operations)
    return [(name, USUAL.value(name, strength, rng)) for name in names]


def trivial_augment(rng: random.Random) -> Draw:
    """One of 14 operations at one of 31 strengths (Müller and Hutter 2021, "wide")."""
    name = rng.choice(FOURTEEN)
    return [(name, WIDE.value(name, rng.randrange(31) / 30, rng))]


#: Lowest and highest value of a level of Fast AutoAugment; geometric values change sign at random.
_FAST_RANGES = {
    "ShearX": (-0.3, 0.3),
    "ShearY": (-0.3, 0.3),
    "TranslateX": (-0.45, 0.45),
    "TranslateY": (-0.45, 0.45),
    "Rotate": (-30.0, 30.0),
    "Solarize": (0.0, 256.0),
    "Posterize": (4.0, 8.0),
    "Contrast": (0.1, 1.9),
    "Color": (0.1, 1.9),
    "Brightness": (0.1, 1.9),
    "Sharpness": (0.1, 1.9),
    "Cutout": (0.0, 0.2),
}


def fast_auto_augment(pairs: Sequence[Any]) -> Drawing:
    """Sub-policies of Fast AutoAugment (Lim et al. 2019), as read from a file.

    Args:
        pairs: lists of [operation, probability, level], both numbers in [0, 1].
    """
    if not isinstance(pairs, Sequence) or not pairs:
        raise InputError("A policy of Fast AutoAugment needs at least one sub-policy.")
    for pair in pairs:
        _check_fast(pair)

    def draw(rng: random.Random) -> Draw:
        return [
            (name, _fast_value(name, level, rng))
            for name, probability, level in rng.choice(pairs)
            if rng.random() < probability
        ]

    return draw


def _fast_value(name: str, level: float, rng: random.Random) -> float:
    low, high = _FAST_RANGES.get(name, (0.0, 0.0))
    value = low + level * (high - low)
    return value * rng.choice((-1, 1)) if name in _SIGNED else value


def _check_fast(pair: Any) -> None:
    known = (*_FAST_RANGES, *_PLAIN)
    valid = isinstance(pair, Sequence) and all(
        isinstance(step, Sequence)
        and len(step) == 3
        and step[0] in known
        and all(isinstance(number, int | float) and 0 <= number <= 1 for number in step[1:])
        for step in pair
    )
    if not valid:
        raise InputError(
            "A sub-policy of Fast AutoAugment is a list of [operation, probability, level], "
            f"but one is {str(pair)[:80]}."
        )
