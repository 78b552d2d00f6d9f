"""Candidate policies: the field's standard augmentations, and the learned ranges on top of them.

A policy draws each coordinate never, in some of the samples, or in all of them. The candidates are
whole kinds of augmentation, because differences between single operations are too small for a
short trial to see.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from augerino.augmentation import Augmentation, Chain
from augerino.coordinate import RADIAN, LearnedCoordinate
from augerino.data.arrays import Kind
from augerino.distributions import Bernoulli, Haar, Uniform, parts_of
from augerino.learning.defaults import no_augmentation, on_positions
from augerino.transforms import (
    Affine2d,
    Affine3d,
    AutoContrast,
    Brightness,
    Contrast,
    Equalize,
    Flip,
    Gain,
    Gamma,
    NoiseLevel,
    PixelShift,
    Posterize,
    Saturation,
    Sharpness,
    Solarize,
    TimeShift,
    Transform,
)

NONE = "no augmentation"
SHIFT = 0.25  # in half-images or half-signals: an eighth of the side, 4 of 32 pixels
OCCASIONAL = 0.25  # rate of each coordinate that is not always active
# Moderate ranges, in units of the coordinates: 30° in images, 15° in space.
_IMAGE_RANGES = {"rotate": 0.52, "scale": 0.3, "squeeze": 0.2, "shear": 0.3}
_MODERATE: dict[Kind, dict[str, float]] = {
    "images": _IMAGE_RANGES,
    "masks": _IMAGE_RANGES,
    "points": {"rotate_x": 0.26, "rotate_y": 0.26, "rotate_z": 0.26, "scale": 0.1},
}
# Photometric operations with their bounds, in units of their coordinates: about TrivialAugment's.
_TONES: tuple[tuple[type[Transform], float], ...] = ((AutoContrast, 1.0), (Equalize, 1.0))
_TONES_RATE = 1 / 3
_PHOTOMETRIC: tuple[tuple[type[Transform], float], ...] = (
    *_TONES,
    (Brightness, 0.5),
    (Contrast, 0.6),
    (Saturation, 0.9),
    (Sharpness, 0.9),
    (Gamma, 1.0),
    (Solarize, 1.0),
    (Posterize, 1.0),
)
_PHOTOMETRIC_RATE = 1 / 6

_SAME = {"shift_x": ("translate_x",), "shift_y": ("translate_y",)}  # the same motion


@dataclass(frozen=True, eq=False)
class Candidate:
    """A fixed augmentation to train a model with.

    Args:
        name: what it does, in a few words.
        parts: augmentations that are applied in order; none for the identity.
    """

    name: str
    parts: tuple[Augmentation, ...] = ()

    @property
    def augmentation(self) -> Augmentation:
        """A new augmentation of all parts, which requires no gradient."""
        if not self.parts:
            return no_augmentation()
        parts = [copy.deepcopy(part) for part in self.parts]
        whole = parts[0] if len(parts) == 1 else Chain(*parts)
        return whole.requires_grad_(False)

    @property
    def names(self) -> set[str]:
        """Names of all coordinates."""
        return {name for part in self.parts for name in part.names}

    def is_within(self, other: "Candidate") -> bool:
        """Whether each coordinate has a range of the other policy that is as wide or wider.

        Rates are not compared.
        """
        mine = self._extent()
        theirs = other._extent()
        return all(extent <= theirs.get(name, 0.0) for name, extent in mine.items())

    def _extent(self) -> dict[str, float]:
        return {c.name: c.extent for part in self.parts for c in part.coordinates}

    def plus(self, other: "Candidate") -> "Candidate":
        """This policy followed by another; the other alone if they share a coordinate."""
        if not self.parts or self.names & other.names:
            return other
        return Candidate(f"{self.name} + {other.name}", (*self.parts, *other.parts))


def standard_candidates(kind: Kind, x: Any) -> list[Candidate]:
    """The field's standard augmentations for a kind of data, the usual one first.

    Args:
        kind: kind of data.
        x: a batch of inputs.
    """
    if kind in ("images", "masks"):
        shift = _fixed(PixelShift(padding="reflection"), [SHIFT, SHIFT])
        flip = Augmentation(Flip("horizontal"), Bernoulli([0.5])).requires_grad_(False)
        return [Candidate("flip + shift", (flip, shift)), Candidate("shift", (shift,))]
    if kind == "signals":
        gain = _fixed(Gain(), [0.2])
        noise = _fixed(NoiseLevel(), [0.1])
        shift = _fixed(TimeShift(), [SHIFT / 2])
        return [
            Candidate("gain + noise + shift", (gain, noise, shift)),
            Candidate("gain + noise", (gain, noise)),
        ]
    if kind == "points":
        any_axis = on_positions(Affine3d("rotate_x", "rotate_y", "rotate_z"), x)
        upright = on_positions(Affine3d("rotate_z"), x)
        objects = [
            Candidate("rotations", (Augmentation(any_axis, Haar()),)),
            Candidate("rotations about z", (_fixed(upright, [torch.pi]),)),
        ]
        return [*objects, *_standard_of_scenes(x)]
    return []


def _standard_of_scenes(x: Any) -> list[Candidate]:
    """Clouds in which direction matters: ±45° about z, scale ±5 %, noise 2 %; none for molecules.

    Reference: Zhou and Tuzel (2018), "VoxelNet".
    """
    if not isinstance(x, Tensor):
        return []
    turn = _fixed(Affine3d("rotate_z", "scale"), [torch.pi / 4, 0.05])
    noise = _fixed(NoiseLevel(), [0.02])
    return [Candidate("turn + noise", (turn, noise))]


def photometric_candidates(kind: Kind, x: Any) -> list[Candidate]:
    """Few and many photometric operations, about one per image; none for other data.

    Args:
        kind: kind of data.
        x: a batch of inputs; images outside [0, 1] have no photometric candidates.
    """
    if kind not in ("images", "masks") or not isinstance(x, Tensor):
        return []
    if not (x.min() >= 0 and x.max() <= 1):
        return []
    has_color = x.shape[1] == 3
    many = [entry for entry in _PHOTOMETRIC if has_color or entry[0] is not Saturation]
    return [
        Candidate("tones", _operations(_TONES, _TONES_RATE)),
        Candidate("photometric", _operations(many, _PHOTOMETRIC_RATE)),
    ]


def _operations(
    entries: Sequence[tuple[type[Transform], float]], rate: float
) -> tuple[Augmentation, ...]:
    return tuple(_fixed(make(), [bound], rate=rate) for make, bound in entries)


def rotation_candidate(found: Augmentation) -> Candidate | None:
    """The full rotations among the learned ranges, in all samples; None if there are none."""
    names = [c.name for c in found.coordinates if is_full_turn(c)]
    if not names:
        return None
    return Candidate("full rotations", (found.only(*names).requires_grad_(False),))


def geometric_candidates(
    found: Augmentation, base: Candidate, *, kind: Kind, x: Any
) -> list[Candidate]:
    """Geometric additions to a policy: moderate ranges, and the learned ranges.

    Moderate ranges do not depend on the learned ones, which are too small where a network learns
    its task badly. Learned ranges of images are used in some of the samples, because wide ranges
    blur images and move them out of the frame; of points in all samples; of signals either way.
    Negligible ranges are left out, and so are motions that the base has already, and full
    rotations, which are a candidate of their own.

    Args:
        found: augmentation with the learned ranges.
        base: policy that the ranges are added to.
        kind: kind of data.
        x: a batch of inputs.
    """
    present = base.names | {other for name in base.names for other in _SAME.get(name, ())}
    candidates = []
    moderate = {name: e for name, e in _MODERATE.get(kind, {}).items() if name not in present}
    if moderate:
        bounds = list(moderate.values())
        if kind == "points":
            small = _fixed(on_positions(Affine3d(*moderate), x), bounds)
        else:
            small = _fixed(Affine2d(*moderate), bounds, rate=OCCASIONAL)
        candidates.append(Candidate("moderate ranges", (small,)))
    coordinates = [c for c in found.coordinates if c.name not in present]
    learned = [c.name for c in coordinates if not (c.is_negligible or is_full_turn(c))]
    if not learned:
        return candidates
    always = found.only(*learned).requires_grad_(False)
    if kind != "points":
        occasional = copy.deepcopy(always)
        for part in parts_of(occasional.distribution):
            if part.has_settable_rate:
                part.rate = torch.full((part.size,), OCCASIONAL)  # type: ignore[misc]
        candidates.append(Candidate("learned ranges in some samples", (occasional,)))
    if kind not in ("images", "masks"):
        candidates.append(Candidate("learned ranges in all samples", (always,)))
    return candidates


def is_full_turn(coordinate: LearnedCoordinate) -> bool:
    """Whether a range is a full rotation, which has no edge where inputs become harder."""
    return coordinate.unit == RADIAN and coordinate.is_full


def _fixed(transform: Transform, bounds: list[float], rate: float = 1.0) -> Augmentation:
    return Augmentation(transform, Uniform(bounds, rate=rate)).requires_grad_(False)
