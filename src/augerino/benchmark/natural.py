"""The benchmark's hard level: digits and photographs, which vary within a class, for those who have the files."""

import math
from pathlib import Path

import torch
from torch import Tensor

from augerino.benchmark.axis import Axis
from augerino.benchmark.bases import Images
from augerino.benchmark.catalogue import THREE_WAYS, UP_AND_DOWN
from augerino.benchmark.problem import Problem
from augerino.data import downloads as cache
from augerino.data.readers import archives
from augerino.errors import InputError
from augerino.transforms import Affine2d, Flip, Transform

ITEMS = 3000
DIGITS = (3, 4, 7)  # which look like no digit when turned, and say plainly which way is up
VEHICLES = (1, 8, 9)  # automobile, ship, truck: photographed upright
PER_CLASS = 1500  # pictures of a class at most
#: Names of all of them, whether the files are there or not.
HARD = (
    *(
        "soft-rotate_two-digits-hard",
        "soft-rotate_three-digits-hard",
        "soft-translate_x-digits-hard",
        "soft-scale-digits-hard",
    ),
    *("none-rotate-digits-hard", "full-rotate-digits-hard"),
    *(
        "soft-rotate_two-vehicles-hard",
        "soft-rotate_three-vehicles-hard",
        "mirror-horizontal-vehicles-hard",
    ),
)


def hard(folder: str | Path | None) -> tuple[Problem, ...]:
    """The problems on mnist.npz and cifar10.npz, as far as the folder or the cache has them."""
    return (*_digits(folder), *_vehicles(folder))


def _read(
    name: str, folder: str | Path | None, shape: tuple[int | None, ...], chosen: tuple[int, ...]
) -> tuple[Tensor, Tensor] | None:
    """Training pictures of some classes, numbered anew; None where there is no such file."""
    found = cache.find(name, folder)
    if found is None:
        return None
    arrays = archives.read_npz(found, {"x_train": shape, "y_train": (None,)})
    x, y = torch.from_numpy(arrays["x_train"]), torch.from_numpy(arrays["y_train"]).long()
    kept = [(y == label).nonzero()[:PER_CLASS, 0] for label in chosen]
    if any(len(rows) == 0 for rows in kept):
        raise InputError(
            f"{found} has no pictures of one of the classes {', '.join(map(str, chosen))}."
        )
    numbers = torch.arange(len(chosen)).repeat_interleave(
        torch.tensor([len(rows) for rows in kept])
    )
    return x[torch.cat(kept)], numbers


def _digits(folder: str | Path | None) -> list[Problem]:
    read = _read("mnist.npz", folder, (None, 28, 28), DIGITS)
    if read is None:
        return []
    turned, scaled = (
        Affine2d("translate_x", "translate_y", "rotate", "scale"),
        Affine2d("translate_x", "translate_y", "scale"),
    )
    whole, half = Images.of(*read, radius=0.95), Images.of(*read, radius=0.5, side=32, blur=1.0)
    made = (
        ("soft-rotate_two-digits", whole, turned, Axis("rotate", "soft", UP_AND_DOWN, 0.5)),
        ("soft-rotate_three-digits", whole, turned, Axis("rotate", "soft", THREE_WAYS, 0.55)),
        (
            "soft-translate_x-digits",
            half,
            Affine2d("translate_x", "translate_y"),
            Axis("translate_x", "soft", (-0.25, 0.25), 0.05),
        ),
        ("soft-scale-digits", half, scaled, Axis("scale", "soft", (-0.34, 0.34), 0.2)),
        ("none-rotate-digits", whole, turned, Axis("rotate", "target", extent=1.0)),
        ("full-rotate-digits", whole, turned, Axis("rotate", "full")),
    )
    return [
        Problem(f"{name}-hard", base, family, (axis,), "hard", ITEMS)
        for name, base, family, axis in made
    ]


def _vehicles(folder: str | Path | None) -> list[Problem]:
    read = _read("cifar10.npz", folder, (None, 32, 32, 3), VEHICLES)
    if read is None:
        return []
    base = Images.of(read[0].permute(0, 3, 1, 2), read[1], radius=0.95)
    made: tuple[tuple[str, Transform, Axis], ...] = (
        (
            "soft-rotate_two-vehicles",
            Affine2d("rotate"),
            Axis("rotate", "soft", UP_AND_DOWN, math.pi / 2 - 1.1),
        ),
        (
            "soft-rotate_three-vehicles",
            Affine2d("rotate"),
            Axis("rotate", "soft", THREE_WAYS, 0.25),
        ),
        ("mirror-horizontal-vehicles", Flip("horizontal"), Axis("flip_horizontal", "mirrored")),
    )
    return [
        Problem(f"{name}-hard", base, family, (axis,), "hard", ITEMS) for name, family, axis in made
    ]
