"""The problems of the benchmark on embedded data.

Names give kind, coordinate, base and difficulty. Extents, poses and bases vary, so that no setting
fits them by chance. No true extent is near the start of a contestant (0.3, or 0.66 and 0.07 for the
informed ones), so that a contestant that does not move gets a low score.
"""

import math
from functools import cache

import torch

from augerino.benchmark.axis import Axis
from augerino.benchmark.bases import Arrows, Base, Images, Pulses
from augerino.benchmark.glyphs import figures, letters
from augerino.benchmark.problem import N_ITEMS, Difficulty, Problem
from augerino.transforms import (
    Affine2d,
    Affine3d,
    Brightness,
    Compose,
    Contrast,
    Flip,
    Gain,
    TimeShift,
    Transform,
)

SIDE = 24  # of an image, in pixels
LARGE_SIDE = 32  # of an image whose content is small
N_FEW_ITEMS = 300  # of a problem with the difficulty "few"
N_BLOBS = {"clean": 0, "noisy": 2, "few": 0}
NOISE = {"clean": 0.0, "noisy": 0.08, "few": 0.0}
UP_AND_DOWN = (0.0, math.pi)
THREE_WAYS = (-2 * math.pi / 3, 0.0, 2 * math.pi / 3)
MID_GRAY = 128 / 255  # the fixed point of contrast


def embedded() -> tuple[Problem, ...]:
    """All problems on embedded data, in the order of the table."""
    return (
        *_soft_images(),
        *_soft_colors(),
        *_soft_others(),
        *_targets(),
        *_full(),
        *_flips(),
        *_pairs(),
    )


@cache
def pictures(
    which: str, radius: float, difficulty: Difficulty, amplitude: float | None = None
) -> Images:
    """Sprites or letters within a radius.

    Args:
        which: "sprites" or "letters".
        radius: of the content, as a fraction of half the frame.
        difficulty: adds clutter and noise if "noisy".
        amplitude: limits intensities to mid-gray ± amplitude; to [0, 1] by default.
    """
    images, labels = figures(2 * SIDE) if which == "sprites" else letters(2 * SIDE)
    side = SIDE
    blurs: tuple[float, ...] = (0.7,)
    if radius < 0.6:  # several degrees of blur, so that blur does not reveal the scale
        side = LARGE_SIDE
        blurs = (1.0, 1.4, 2.0)
    bases = [Images.of(images, labels, radius=radius, side=side, blur=blur) for blur in blurs]
    return Images(
        images=torch.cat([base.images for base in bases]),
        labels=torch.cat([base.labels for base in bases]),
        radius=radius,
        low=0.0 if amplitude is None else MID_GRAY - amplitude,
        high=1.0 if amplitude is None else MID_GRAY + amplitude,
        clutter=N_BLOBS[difficulty],
        noise=NOISE[difficulty],
    )


def _pulses(difficulty: Difficulty) -> Pulses:
    return Pulses(clutter=N_BLOBS[difficulty], noise=NOISE[difficulty])


def _arrows(along: str, difficulty: Difficulty) -> Arrows:
    return Arrows(along=along, clutter=2 * N_BLOBS[difficulty], noise=NOISE[difficulty] / 2)


def _make(
    name: str, difficulty: Difficulty, *axes: Axis, base: Base, transform: Transform
) -> Problem:
    return Problem(
        name=f"{name}-{difficulty}",
        base=base,
        transform=transform,
        axes=axes,
        difficulty=difficulty,
        n_items=N_FEW_ITEMS if difficulty == "few" else N_ITEMS,
    )


def _soft(name: str, poses: tuple[float, ...], extent: float) -> Axis:
    return Axis(name, "soft", poses=poses, extent=extent)


def _target(name: str, extent: float) -> Axis:
    return Axis(name, "target", extent=extent)


def _soft_image(
    axis: Axis, which: str, difficulty: Difficulty, *, radius: float, transform: Transform
) -> Problem:
    return _make(
        f"soft-{axis.name}-{which}",
        difficulty,
        axis,
        base=pictures(which, radius, difficulty),
        transform=transform,
    )


def _soft_images() -> list[Problem]:
    rotate = Affine2d("translate_x", "translate_y", "rotate", "scale")
    shift = Affine2d("translate_x", "translate_y")
    scale = Affine2d("translate_x", "translate_y", "scale")
    shear = Affine2d("translate_x", "translate_y", "shear")
    made = (
        (_soft("rotate", UP_AND_DOWN, math.pi / 4), "sprites", "clean", 0.95, rotate),
        (_soft("rotate", THREE_WAYS, 0.55), "letters", "clean", 0.95, rotate),
        (_soft("rotate", UP_AND_DOWN, 0.4), "letters", "noisy", 0.95, rotate),
        (_soft("rotate", UP_AND_DOWN, 1.2), "letters", "few", 0.95, rotate),
        (_soft("translate_x", (-0.25, 0.25), 0.05), "sprites", "clean", 0.48, shift),
        (_soft("translate_x", (-0.4, 0.0, 0.4), 0.05), "letters", "few", 0.38, shift),
        (_soft("translate_y", (-0.3, 0.3), 0.1), "letters", "noisy", 0.38, shift),
        (_soft("scale", (-0.4, 0.4), 0.02), "sprites", "clean", 0.42, scale),
        (_soft("scale", (-0.35, 0.35), 0.2), "letters", "noisy", 0.47, scale),
        (_soft("shear", (-0.4, 0.4), 0.02), "letters", "clean", 0.42, shear),
        (_soft("shear", (-0.35, 0.35), 0.2), "sprites", "few", 0.47, shear),
    )
    return [
        _soft_image(axis, which, difficulty, radius=radius, transform=transform)  # type: ignore[arg-type]
        for axis, which, difficulty, radius, transform in made
    ]


def _soft_colors() -> list[Problem]:
    return [
        _brightness("sprites", "clean", pose=0.16, extent=0.06),
        _brightness("letters", "noisy", pose=0.18, extent=0.04),
        _contrast("letters", "clean", pose=0.4, extent=0.1),
        _contrast("sprites", "few", pose=0.45, extent=0.2),
    ]


# At the true extent an item moves to at most twice its pose. The amplitudes below leave some more
# room before intensities are clipped.


def _brightness(which: str, difficulty: Difficulty, *, pose: float, extent: float) -> Problem:
    return _make(
        f"soft-brightness-{which}",
        difficulty,
        _soft("brightness", (-pose, pose), extent),
        base=pictures(which, 0.95, difficulty, amplitude=0.46 - 2 * pose),
        transform=Brightness(),
    )


def _contrast(which: str, difficulty: Difficulty, *, pose: float, extent: float) -> Problem:
    return _make(
        f"soft-contrast-{which}",
        difficulty,
        _soft("contrast", (-pose, pose), extent),
        base=pictures(which, 0.95, difficulty, amplitude=0.46 * math.exp(-2 * pose)),
        transform=Contrast(),
    )


def _time_shift(difficulty: Difficulty, poses: tuple[float, ...], extent: float) -> Problem:
    return _make(
        "soft-time_shift",
        difficulty,
        _soft("time_shift", poses, extent),
        base=_pulses(difficulty),
        transform=Compose([TimeShift(), Gain()]),
    )


def _soft_others() -> list[Problem]:
    return [
        _time_shift("clean", (-0.4, 0.4), 0.02),
        _time_shift("noisy", (-0.35, 0.35), 0.2),
        _time_shift("few", (-0.5, 0.0, 0.5), 0.15),
        _make(
            "soft-rotate_z",
            "clean",
            _soft("rotate_z", UP_AND_DOWN, math.pi / 4),
            base=_arrows("x", "clean"),
            transform=Affine3d("rotate_z", "scale"),
        ),
        _make(
            "soft-rotate_x",
            "noisy",
            _soft("rotate_x", THREE_WAYS, 0.2),
            base=_arrows("y", "noisy"),
            transform=Affine3d("rotate_x", "scale"),
        ),
    ]


def _targets() -> list[Problem]:
    return [
        _make(
            "none-rotate-sprites",
            "clean",
            _target("rotate", 1.0),
            base=pictures("sprites", 0.95, "clean"),
            transform=Affine2d("translate_x", "translate_y", "rotate"),
        ),
        _make(
            "none-translate_x-letters",
            "noisy",
            _target("translate_x", 0.4),
            base=pictures("letters", 0.5, "noisy"),
            transform=Affine2d("translate_x", "translate_y"),
        ),
        _make(
            "none-brightness-letters",
            "clean",
            _target("brightness", 0.2),
            base=pictures("letters", 0.95, "clean", amplitude=0.1),
            transform=Brightness(),
        ),
        _make(
            "none-time_shift",
            "few",
            _target("time_shift", 0.6),
            base=_pulses("few"),
            transform=TimeShift(),
        ),
        _make(
            "none-rotate_y",
            "noisy",
            _target("rotate_y", 1.0),
            base=_arrows("x", "noisy"),
            transform=Affine3d("rotate_y"),
        ),
    ]


def _full() -> list[Problem]:
    rotate = Affine2d("translate_x", "translate_y", "rotate")
    return [
        _make(
            "full-rotate-letters",
            "clean",
            Axis("rotate", "full"),
            base=pictures("letters", 0.95, "clean"),
            transform=rotate,
        ),
        _make(
            "full-rotate-sprites",
            "noisy",
            Axis("rotate", "full"),
            base=pictures("sprites", 0.95, "noisy"),
            transform=rotate,
        ),
        _make(
            "full-rotate_z",
            "few",
            Axis("rotate_z", "full"),
            base=_arrows("x", "few"),
            transform=Affine3d("rotate_z"),
        ),
        _make(
            "full-time_shift",
            "noisy",
            Axis("time_shift", "full", period=2.0),
            base=_pulses("noisy"),
            transform=TimeShift(padding="circular"),
        ),
    ]


def _flips() -> list[Problem]:
    horizontal = Compose([Affine2d("translate_x", "translate_y"), Flip("horizontal")])
    vertical = Compose([Affine2d("translate_x", "translate_y"), Flip("vertical")])
    return [
        _make(
            "sides-horizontal-letters",
            "clean",
            Axis("flip_horizontal", "sides"),
            base=pictures("letters", 0.7, "clean"),
            transform=horizontal,
        ),
        _make(
            "sides-vertical-sprites",
            "few",
            Axis("flip_vertical", "sides"),
            base=pictures("sprites", 0.7, "few"),
            transform=vertical,
        ),
        _make(
            "mirror-horizontal-sprites",
            "noisy",
            Axis("flip_horizontal", "mirrored"),
            base=pictures("sprites", 0.7, "noisy"),
            transform=horizontal,
        ),
        _make(
            "mirror-vertical-letters",
            "few",
            Axis("flip_vertical", "mirrored"),
            base=pictures("letters", 0.7, "few"),
            transform=vertical,
        ),
    ]


def _pairs() -> list[Problem]:
    rotate_scale = Affine2d("rotate", "scale")
    shift = Affine2d("translate_x", "translate_y")
    up_and_down = _soft("rotate", UP_AND_DOWN, 0.6)
    left_and_right = _soft("translate_x", (-0.25, 0.25), 0.05)
    return [
        _make(
            "pair-rotate-scale_target-sprites",
            "clean",
            up_and_down,
            _target("scale", 0.4),
            base=pictures("sprites", 0.55, "clean"),
            transform=rotate_scale,
        ),
        _make(
            "pair-full_rotate-scale_target-letters",
            "noisy",
            Axis("rotate", "full"),
            _target("scale", 0.4),
            base=pictures("letters", 0.55, "noisy"),
            transform=rotate_scale,
        ),
        _make(
            "pair-rotate-scale-letters",
            "clean",
            up_and_down,
            _soft("scale", (-0.35, 0.35), 0.2),
            base=pictures("letters", 0.48, "clean"),
            transform=rotate_scale,
        ),
        _make(
            "pair-translate_x-translate_y-sprites",
            "noisy",
            left_and_right,
            _soft("translate_y", (-0.25, 0.25), 0.1),
            base=pictures("sprites", 0.45, "noisy"),
            transform=shift,
        ),
        _make(
            "pair-translate_x-translate_y_target-letters",
            "few",
            left_and_right,
            _target("translate_y", 0.4),
            base=pictures("letters", 0.45, "few"),
            transform=shift,
        ),
        _make(
            "pair-time_shift-gain_target",
            "clean",
            _soft("time_shift", (-0.4, 0.4), 0.25),
            _target("gain", math.log(2)),
            base=_pulses("clean"),
            transform=Compose([TimeShift(), Gain()]),
        ),
        _make(
            "pair-rotate-mirror-letters",
            "clean",
            up_and_down,
            Axis("flip_horizontal", "mirrored"),
            base=pictures("letters", 0.95, "clean"),
            transform=Compose([Affine2d("rotate"), Flip("horizontal")]),
        ),
        _make(
            "pair-translate_x-swap-letters",
            "clean",
            Axis("flip_horizontal", "swapped"),
            left_and_right,
            base=pictures("letters", 0.48, "clean"),
            transform=Compose([Flip("horizontal"), shift]),
        ),
    ]
