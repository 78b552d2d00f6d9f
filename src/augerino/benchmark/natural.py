"""The hard problems of the benchmark, made of MNIST digits and CIFAR-10 photographs."""

import math
from pathlib import Path

import torch
from torch import Tensor

from augerino.benchmark.axis import Axis
from augerino.benchmark.bases import Images
from augerino.benchmark.catalogue import THREE_WAYS, UP_AND_DOWN
from augerino.benchmark.problem import Problem
from augerino.data import downloads
from augerino.data.readers import archives
from augerino.errors import InputError
from augerino.transforms import Affine2d, Flip, Transform

N_ITEMS = 3000
DIGITS = (3, 4, 7)  # resemble no digit when rotated
VEHICLES = (1, 8, 9)  # automobile, ship, truck: photographed upright
MAX_PER_CLASS = 1500
#: Names of all hard problems, also of those whose file is missing.
HARD = (
    "soft-rotate_two-digits-hard",
    "soft-rotate_three-digits-hard",
    "soft-translate_x-digits-hard",
    "soft-scale-digits-hard",
    "none-rotate-digits-hard",
    "full-rotate-digits-hard",
    "soft-rotate_two-vehicles-hard",
    "soft-rotate_three-vehicles-hard",
    "mirror-horizontal-vehicles-hard",
)


def hard(folder: str | Path | None) -> tuple[Problem, ...]:
    """The problems whose file, mnist.npz or cifar10.npz, is in the folder or the cache."""
    return (*_digits(folder), *_vehicles(folder))


def _read(
    name: str, folder: str | Path | None, shape: tuple[int | None, ...], classes: tuple[int, ...]
) -> tuple[Tensor, Tensor] | None:
    """Training images of some classes and labels from 0; None if the file is not found."""
    path = downloads.find(name, folder)
    if path is None:
        return None
    arrays = archives.read_npz(path, {"x_train": shape, "y_train": (None,)})
    x = torch.from_numpy(arrays["x_train"])
    y = torch.from_numpy(arrays["y_train"]).long()
    by_class = [(y == label).nonzero()[:MAX_PER_CLASS, 0] for label in classes]
    sizes = torch.tensor([len(indices) for indices in by_class])
    if 0 in sizes:
        expected = ", ".join(map(str, classes))
        raise InputError(f"{path} should have images of the classes {expected}, but lacks one.")
    return x[torch.cat(by_class)], torch.arange(len(classes)).repeat_interleave(sizes)


def _make(name: str, base: Images, transform: Transform, axis: Axis) -> Problem:
    return Problem(
        name=f"{name}-hard",
        base=base,
        transform=transform,
        axes=(axis,),
        difficulty="hard",
        n_items=N_ITEMS,
    )


def _digits(folder: str | Path | None) -> list[Problem]:
    read = _read("mnist.npz", folder, shape=(None, 28, 28), classes=DIGITS)
    if read is None:
        return []
    large = Images.of(*read, radius=0.95)
    small = Images.of(*read, radius=0.5, side=32, blur=1.0)
    rotate = Affine2d("translate_x", "translate_y", "rotate", "scale")
    shift = Affine2d("translate_x", "translate_y")
    scale = Affine2d("translate_x", "translate_y", "scale")
    two_ways = Axis("rotate", "soft", poses=UP_AND_DOWN, extent=0.5)
    three_ways = Axis("rotate", "soft", poses=THREE_WAYS, extent=0.55)
    sideways = Axis("translate_x", "soft", poses=(-0.25, 0.25), extent=0.05)
    scaled = Axis("scale", "soft", poses=(-0.34, 0.34), extent=0.2)
    return [
        _make("soft-rotate_two-digits", large, rotate, two_ways),
        _make("soft-rotate_three-digits", large, rotate, three_ways),
        _make("soft-translate_x-digits", small, shift, sideways),
        _make("soft-scale-digits", small, scale, scaled),
        _make("none-rotate-digits", large, rotate, Axis("rotate", "target", extent=1.0)),
        _make("full-rotate-digits", large, rotate, Axis("rotate", "full")),
    ]


def _vehicles(folder: str | Path | None) -> list[Problem]:
    read = _read("cifar10.npz", folder, shape=(None, 32, 32, 3), classes=VEHICLES)
    if read is None:
        return []
    x, labels = read
    base = Images.of(x.permute(0, 3, 1, 2), labels, radius=0.95)
    rotate = Affine2d("rotate")
    two_ways = Axis("rotate", "soft", poses=UP_AND_DOWN, extent=math.pi / 2 - 1.1)
    three_ways = Axis("rotate", "soft", poses=THREE_WAYS, extent=0.25)
    mirrored = Axis("flip_horizontal", "mirrored")
    return [
        _make("soft-rotate_two-vehicles", base, rotate, two_ways),
        _make("soft-rotate_three-vehicles", base, rotate, three_ways),
        _make("mirror-horizontal-vehicles", base, Flip("horizontal"), mirrored),
    ]
