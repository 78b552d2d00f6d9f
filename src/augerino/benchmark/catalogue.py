"""The problems of the benchmark on embedded data: three dozen, all of one construction.

Names tell kind, coordinate, base and difficulty. Extents, poses and bases vary, so that no setting fits them by chance; and no
extent lies where a contestant starts (0.3, and 0.66 or 0.07 for those that are told), so that standing still is no answer.
"""

import math
from functools import cache

import torch

from augerino.benchmark.axis import Axis
from augerino.benchmark.bases import Arrows, Base, Images, Pulses
from augerino.benchmark.glyphs import figures, letters
from augerino.benchmark.problem import ITEMS, Difficulty, Problem
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

SIDE, LARGE = 24, 32
FEW = 300  # items of a problem with few data
NOISE = {
    "clean": (0, 0.0),
    "noisy": (2, 0.08),
    "few": (0, 0.0),
}  # blobs, and the amplitude of noise
UP_AND_DOWN = (0.0, math.pi)
THREE_WAYS = (-2 * math.pi / 3, 0.0, 2 * math.pi / 3)
MIDDLE = 128 / 255  # about which contrast turns


def embedded() -> tuple[Problem, ...]:
    """All of them, in the order of the table."""
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
    which: str, radius: float, difficulty: Difficulty, reach: float | None = None
) -> Images:
    """Sprites or letters within a radius; with a reach, intensities leave that much room below and above."""
    clutter, noise = NOISE[difficulty]
    low, high = (0.0, 1.0) if reach is None else (MIDDLE - reach, MIDDLE + reach)
    images, labels = figures(2 * SIDE) if which == "sprites" else letters(2 * SIDE)
    small = (
        radius < 0.6
    )  # what is small is drawn in more pixels, and more or less softly, so that blur by itself tells nothing
    made = [
        Images.of(images, labels, radius=radius, side=LARGE if small else SIDE, blur=blur)
        for blur in ((1.0, 1.4, 2.0) if small else (0.7,))
    ]
    x, y = torch.cat([base.images for base in made]), torch.cat([base.labels for base in made])
    return Images(x, y, radius, low, high, clutter, noise)


def _pulses(difficulty: Difficulty) -> Pulses:
    clutter, noise = NOISE[difficulty]
    return Pulses(clutter=clutter, noise=noise)


def _arrows(along: str, difficulty: Difficulty) -> Arrows:
    clutter, noise = NOISE[difficulty]
    return Arrows(along=along, clutter=2 * clutter, noise=noise / 2)


def _make(
    name: str, base: Base, transform: Transform, difficulty: Difficulty, *axes: Axis
) -> Problem:
    return Problem(
        f"{name}-{difficulty}",
        base,
        transform,
        axes,
        difficulty,
        FEW if difficulty == "few" else ITEMS,
    )


def _soft_images() -> list[Problem]:
    turned, shifted = (
        Affine2d("translate_x", "translate_y", "rotate", "scale"),
        Affine2d("translate_x", "translate_y"),
    )
    scaled, sheared = (
        Affine2d("translate_x", "translate_y", "scale"),
        Affine2d("translate_x", "translate_y", "shear"),
    )

    def soft(
        name: str,
        which: str,
        difficulty: Difficulty,
        poses: tuple[float, ...],
        extent: float,
        radius: float,
        family: Transform,
    ) -> Problem:
        base = pictures(which, radius, difficulty)
        return _make(
            f"soft-{name}-{which}", base, family, difficulty, Axis(name, "soft", poses, extent)
        )

    return [
        soft("rotate", "sprites", "clean", UP_AND_DOWN, math.pi / 4, 0.95, turned),
        soft("rotate", "letters", "clean", THREE_WAYS, 0.55, 0.95, turned),
        soft("rotate", "letters", "noisy", UP_AND_DOWN, 0.4, 0.95, turned),
        soft("rotate", "letters", "few", UP_AND_DOWN, 1.2, 0.95, turned),
        soft("translate_x", "sprites", "clean", (-0.25, 0.25), 0.05, 0.48, shifted),
        soft("translate_x", "letters", "few", (-0.4, 0.0, 0.4), 0.05, 0.38, shifted),
        soft("translate_y", "letters", "noisy", (-0.3, 0.3), 0.1, 0.38, shifted),
        soft("scale", "sprites", "clean", (-0.4, 0.4), 0.02, 0.42, scaled),
        soft("scale", "letters", "noisy", (-0.35, 0.35), 0.2, 0.47, scaled),
        soft("shear", "letters", "clean", (-0.4, 0.4), 0.02, 0.42, sheared),
        soft("shear", "sprites", "few", (-0.35, 0.35), 0.2, 0.47, sheared),
    ]


def _soft_colors() -> list[Problem]:
    def soft(name: str, which: str, difficulty: Difficulty, pose: float, extent: float) -> Problem:
        # Twice the pose is as far as an item comes at the true extent; a little more stays unclipped too.
        reach = 0.46 - 2 * pose if name == "brightness" else 0.46 * math.exp(-2 * pose)
        family = Brightness() if name == "brightness" else Contrast()
        axis = Axis(name, "soft", (-pose, pose), extent)
        return _make(
            f"soft-{name}-{which}",
            pictures(which, 0.95, difficulty, reach),
            family,
            difficulty,
            axis,
        )

    return [
        soft("brightness", "sprites", "clean", 0.16, 0.06),
        soft("brightness", "letters", "noisy", 0.18, 0.04),
        soft("contrast", "letters", "clean", 0.4, 0.1),
        soft("contrast", "sprites", "few", 0.45, 0.2),
    ]


def _soft_others() -> list[Problem]:
    heard = Compose([TimeShift(), Gain()])
    return [
        _make("soft-time_shift", _pulses("clean"), heard, "clean", Axis("time_shift", "soft", (-0.4, 0.4), 0.02)),
        _make("soft-time_shift", _pulses("noisy"), heard, "noisy", Axis("time_shift", "soft", (-0.35, 0.35), 0.2)),
        _make("soft-time_shift", _pulses("few"), heard, "few", Axis("time_shift", "soft", (-0.5, 0.0, 0.5), 0.15)),
        _make(
            "soft-rotate_z", _arrows("x", "clean"), Affine3d("rotate_z", "scale"), "clean",
            Axis("rotate_z", "soft", UP_AND_DOWN, math.pi / 4),
        ),
        _make(
            "soft-rotate_x", _arrows("y", "noisy"), Affine3d("rotate_x", "scale"), "noisy",
            Axis("rotate_x", "soft", THREE_WAYS, 0.2),
        ),
    ]  # fmt: skip


def _targets() -> list[Problem]:
    return [
        _make(
            "none-rotate-sprites", pictures("sprites", 0.95, "clean"), Affine2d("translate_x", "translate_y", "rotate"), "clean",
            Axis("rotate", "target", extent=1.0),
        ),
        _make(
            "none-translate_x-letters", pictures("letters", 0.5, "noisy"), Affine2d("translate_x", "translate_y"), "noisy",
            Axis("translate_x", "target", extent=0.4),
        ),
        _make(
            "none-brightness-letters", pictures("letters", 0.95, "clean", 0.1), Brightness(), "clean",
            Axis("brightness", "target", extent=0.2),
        ),
        _make("none-time_shift", _pulses("few"), TimeShift(), "few", Axis("time_shift", "target", extent=0.6)),
        _make("none-rotate_y", _arrows("x", "noisy"), Affine3d("rotate_y"), "noisy", Axis("rotate_y", "target", extent=1.0)),
    ]  # fmt: skip


def _full() -> list[Problem]:
    turned = Affine2d("translate_x", "translate_y", "rotate")
    return [
        _make(
            "full-rotate-letters",
            pictures("letters", 0.95, "clean"),
            turned,
            "clean",
            Axis("rotate", "full"),
        ),
        _make(
            "full-rotate-sprites",
            pictures("sprites", 0.95, "noisy"),
            turned,
            "noisy",
            Axis("rotate", "full"),
        ),
        _make(
            "full-rotate_z",
            _arrows("x", "few"),
            Affine3d("rotate_z"),
            "few",
            Axis("rotate_z", "full"),
        ),
        _make(
            "full-time_shift",
            _pulses("noisy"),
            TimeShift(padding="circular"),
            "noisy",
            Axis("time_shift", "full", period=2.0),
        ),
    ]


def _flips() -> list[Problem]:
    across = Compose([Affine2d("translate_x", "translate_y"), Flip("horizontal")])
    down = Compose([Affine2d("translate_x", "translate_y"), Flip("vertical")])
    return [
        _make(
            "sides-horizontal-letters",
            pictures("letters", 0.7, "clean"),
            across,
            "clean",
            Axis("flip_horizontal", "sides"),
        ),
        _make(
            "sides-vertical-sprites",
            pictures("sprites", 0.7, "few"),
            down,
            "few",
            Axis("flip_vertical", "sides"),
        ),
        _make(
            "mirror-horizontal-sprites",
            pictures("sprites", 0.7, "noisy"),
            across,
            "noisy",
            Axis("flip_horizontal", "mirrored"),
        ),
        _make(
            "mirror-vertical-letters",
            pictures("letters", 0.7, "few"),
            down,
            "few",
            Axis("flip_vertical", "mirrored"),
        ),
    ]


def _pairs() -> list[Problem]:
    both, shifts = Affine2d("rotate", "scale"), Affine2d("translate_x", "translate_y")
    up_and_down = Axis("rotate", "soft", UP_AND_DOWN, 0.6)
    left_and_right = Axis("translate_x", "soft", (-0.25, 0.25), 0.05)
    return [
        _make("pair-rotate-scale_target-sprites", pictures("sprites", 0.55, "clean"), both, "clean", up_and_down,
              Axis("scale", "target", extent=0.4)),
        _make("pair-full_rotate-scale_target-letters", pictures("letters", 0.55, "noisy"), both, "noisy", Axis("rotate", "full"),
              Axis("scale", "target", extent=0.4)),
        _make("pair-rotate-scale-letters", pictures("letters", 0.48, "clean"), both, "clean", up_and_down,
              Axis("scale", "soft", (-0.35, 0.35), 0.2)),
        _make("pair-translate_x-translate_y-sprites", pictures("sprites", 0.45, "noisy"), shifts, "noisy", left_and_right,
              Axis("translate_y", "soft", (-0.25, 0.25), 0.1)),
        _make("pair-translate_x-translate_y_target-letters", pictures("letters", 0.45, "few"), shifts, "few", left_and_right,
              Axis("translate_y", "target", extent=0.4)),
        _make("pair-time_shift-gain_target", _pulses("clean"), Compose([TimeShift(), Gain()]), "clean",
              Axis("time_shift", "soft", (-0.4, 0.4), 0.25), Axis("gain", "target", extent=math.log(2))),
        _make("pair-rotate-mirror-letters", pictures("letters", 0.95, "clean"),
              Compose([Affine2d("rotate"), Flip("horizontal")]), "clean", up_and_down, Axis("flip_horizontal", "mirrored")),
        _make("pair-translate_x-swap-letters", pictures("letters", 0.48, "clean"), Compose([Flip("horizontal"), shifts]), "clean",
              Axis("flip_horizontal", "swapped"), left_and_right),
    ]  # fmt: skip
