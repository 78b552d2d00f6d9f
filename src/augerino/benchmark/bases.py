"""Where the items of a problem come from before they are moved: pictures, pulses, clouds of points.

Whatever makes a problem difficult belongs to the base and moves with it: noise and clutter lie around a figure and are turned and
shifted as it is. So an item that was moved twice is an item moved once by the sum, in law and not only for its figure, and
nothing in it tells how far an augmentation moved it; noise that filled the frame would, by the black that comes in behind it.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from augerino.benchmark.glyphs import shrink, soften
from augerino.data.arrays import as_tensor
from augerino.data.readers import archives
from augerino.data.synthetic import clouds, signals
from augerino.errors import InputError


class Base(Protocol):
    """What a problem needs of its base: a number of classes, and items of given ones."""

    @property
    def classes(self) -> int: ...

    def draw(self, label: Tensor, generator: Generator) -> Tensor:
        """Items at place 0.   label: (n,) below `classes`   returns (n, ...)"""
        ...


@dataclass(frozen=True, eq=False)
class Images:
    """Pictures of several classes on an even ground.

    Args:
        images: (K, C, S, S) in [0, 1], black outside a disc of `radius` (of half the frame) if they are to be turned.
        labels: (K,), the class of each.
        radius: within which everything lies, clutter and noise too.
        low: the intensity that black becomes; above 0 where brightness moves.
        high: the intensity that white becomes; below 1 where brightness moves.
        clutter: distracting blobs in each picture.
        noise: amplitude of a smooth random field over each picture.
    """

    images: Tensor
    labels: Tensor
    radius: float = 0.95
    low: float = 0.0
    high: float = 1.0
    clutter: int = 0
    noise: float = 0.0

    def __post_init__(self) -> None:
        shape = tuple(self.images.shape)
        if (
            len(shape) != 4
            or shape[2] != shape[3]
            or 0 in shape
            or tuple(self.labels.shape) != shape[:1]
        ):
            raise InputError(
                f"Base images must be (K, C, S, S) with one label each, but are {shape} with labels {tuple(self.labels.shape)}."
            )
        if not (self.images.min() >= -1e-4 and self.images.max() <= 1 + 1e-4):
            raise InputError(
                f"Base images must lie in [0, 1], but reach from {self.images.min():.4g} to {self.images.max():.4g}."
            )
        if len(self.labels.unique()) != self.classes or self.labels.min() < 0:
            raise InputError("The labels of base images must be 0, 1, 2, ... with none left out.")

    @classmethod
    def of(
        cls,
        images: Tensor | np.ndarray,
        labels: Tensor | np.ndarray | None = None,
        *,
        radius: float = 0.95,
        side: int | None = None,
        blur: float = 0.7,
        **options: float,
    ) -> "Images":
        """Any pictures as a base, shrunk to `radius` of the frame and cut to the disc in it, so that they can be moved.

        Args:
            images: (K, C, H, W), (K, H, W, C) or (K, H, W): integers from 0 to 255, or numbers in [0, 1]. What is not square
                gets black margins.
            labels: (K,); by default every picture is a class of its own.
            radius: of half the frame; leave room for whatever moves them.
            side: pixels of the frame; by default the longer side of the pictures.
            blur: in pixels. A warp blurs what is sharp, and by how much tells how far an item was moved; scales need more of it.
            options: `low`, `high`, `clutter`, `noise`.
        """
        if not 0 < radius <= 1 or not blur >= 0 or (side is not None and side < 4):
            raise InputError(
                f"A base needs a radius above 0 and at most 1, a blur of at least 0 and a side of at least 4 pixels, "
                f"but got radius {radius:g}, blur {blur:g}, side {side}."
            )
        x = _square(as_tensor(images, "Base images"))
        numbers = (
            torch.arange(len(x)) if labels is None else as_tensor(labels, "Labels of base images")
        )
        if numbers.is_floating_point() or numbers.dtype == torch.bool:
            raise InputError(f"Labels of base images must be integers, but are {numbers.dtype}.")
        numbers = numbers.long()
        small = shrink(x, radius, side or x.shape[-1], blur)
        return cls(small * disc(small.shape[-1], radius), numbers, radius, **options)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: str | Path, **options: float) -> "Images":
        """A base from an `.npz` with an array `images`, and `labels` if several are of one class; the rest as for `of`."""
        path = Path(path)
        names = archives.npz_headers(path)
        if "images" not in names:
            raise InputError(
                f"{path} should hold an array 'images', but has: {', '.join(names) or 'none'}."
            )
        arrays = archives.load_npz(path, [name for name in ("images", "labels") if name in names])
        return cls.of(arrays["images"], arrays.get("labels"), **options)  # type: ignore[arg-type]

    @property
    def classes(self) -> int:
        return int(self.labels.max()) + 1

    def draw(self, label: Tensor, generator: Generator) -> Tensor:
        x = self.images[pick(self.labels, label, generator)]
        if self.clutter:
            x = torch.maximum(x, _blobs(x, self.clutter, self.radius, generator))
        if self.noise:
            field = soften(torch.randn(x.shape, generator=generator), 1.0)
            x = x + self.noise * disc(x.shape[-1], self.radius) * field / field.std()
        return self.low + (self.high - self.low) * x.clamp(0, 1)


def _square(x: Tensor) -> Tensor:
    """Pictures in any form as (K, C, S, S) in [0, 1]."""
    shape = tuple(x.shape)
    if len(shape) == 4 and shape[-1] in (1, 3) and shape[1] not in (1, 3):
        x = x.movedim(-1, 1)
    x = x[:, None] if x.dim() == 3 else x
    if x.dim() != 4 or 0 in shape:
        raise InputError(
            f"Base images must be (K, C, H, W), (K, H, W, C) or (K, H, W), but are {shape}."
        )
    most = 1 if x.is_floating_point() or x.dtype == torch.bool else 255
    x = x.float()
    if not (x.min() >= 0 and x.max() <= most):
        raise InputError(
            "Base images must be integers from 0 to 255 or numbers in [0, 1], all finite, "
            f"but reach from {x.min():.4g} to {x.max():.4g}."
        )
    side = max(x.shape[2:])
    down, across = side - x.shape[2], side - x.shape[3]
    return F.pad(x / most, (across // 2, across - across // 2, down // 2, down - down // 2))


def pick(labels: Tensor, label: Tensor, generator: Generator) -> Tensor:
    """For each wanted class the number of an item that has it, at random.   labels: (K,)   label: (n,)   returns (n,)"""
    found = torch.empty_like(label)
    for value in label.unique().tolist():
        having, wanted = (labels == value).nonzero()[:, 0], label == value
        found[wanted] = having[
            torch.randint(len(having), (int(wanted.sum()),), generator=generator)
        ]
    return found


def disc(side: int, radius: float) -> Tensor:
    """1 within a disc and 0 outside, softly over two pixels, (side, side)."""
    centers = (torch.arange(side) * 2 + 1) / side - 1
    away = (centers.square() + centers[:, None].square()).sqrt()
    return ((radius - away) * side / 4 + 0.5).clamp(0, 1)


def _blobs(x: Tensor, count: int, radius: float, generator: Generator) -> Tensor:
    """Round spots of any colour, somewhere within the radius."""
    n, channels, side, _ = x.shape
    centers = (torch.arange(side) * 2 + 1) / side - 1
    size = 0.14 * radius
    away = (radius - 2 * size) * torch.rand(n, count, generator=generator).sqrt()
    angle = 2 * torch.pi * torch.rand(n, count, generator=generator)
    across, down = (centers - (away * turn)[..., None] for turn in (angle.cos(), angle.sin()))
    spots = torch.exp(
        -(down[..., :, None].square() + across[..., None, :].square()) / (2 * size**2)
    )
    colour = 0.5 * torch.rand(n, count, channels, 1, 1, generator=generator)
    return (colour * spots[:, :, None]).amax(dim=1)


@dataclass(frozen=True)
class Pulses:
    """A bump or a wave in the middle of a silent signal, (n, 1, samples).

    Args:
        samples: length of a signal.
        clutter: small bumps beside each pulse.
        noise: amplitude of noise around it.
    """

    samples: int = 128
    clutter: int = 0
    noise: float = 0.0

    classes = len(signals.SHAPES)
    reach = 0.16  # of half the signal, within which everything lies

    def draw(self, label: Tensor, generator: Generator) -> Tensor:
        time = (torch.arange(self.samples) * 2 + 1) / self.samples - 1
        x = signals.pulses(label[:, None], time.expand(len(label), -1))
        for _ in range(self.clutter):
            where = (2 * torch.rand(len(label), 1, generator=generator) - 1) * self.reach * 0.7
            size = 0.5 * (2 * torch.rand(len(label), 1, generator=generator) - 1)
            x = x + size * torch.exp(-((time - where) / 0.02).square() / 2)
        if self.noise:
            field = soften(torch.randn(len(label), 1, 1, self.samples, generator=generator), 1.0)[
                :, 0, 0
            ]
            window = torch.exp(-(time / (self.reach / 2)).square() / 2)
            x = x + self.noise * window * field / field.std()
        return x[:, None]


@dataclass(frozen=True)
class Arrows:
    """Arrows and clubs of points, (n, points, 3), thicker at the head, lying along an axis.

    Args:
        points: of each cloud.
        along: "x", "y" or "z", where the head points; an axis at right angles to that about which they are turned.
        clutter: points that lie anywhere in the ball around the figure instead of on it.
        noise: by how much each point is off.
    """

    points: int = 48
    along: str = "x"
    clutter: int = 0
    noise: float = 0.0

    classes = len(clouds.FIGURES)

    def draw(self, label: Tensor, generator: Generator) -> Tensor:
        x = clouds.figures(label, self.points, generator)
        stray = torch.randn(len(x), self.clutter, 3, generator=generator)
        x[:, : self.clutter] = stray / stray.norm(dim=-1, keepdim=True)
        x[:, : self.clutter] *= torch.rand(len(x), self.clutter, 1, generator=generator) ** (1 / 3)
        x = x + self.noise * torch.randn(x.shape, generator=generator)
        return x.roll("xyz".index(self.along), dims=-1)
