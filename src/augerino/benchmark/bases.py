"""Items of a problem before they are transformed: images, pulses, point clouds.

Noise and clutter belong to the item and are transformed with it. Transforming an item twice then
gives the same distribution as transforming it once by the sum, and a network cannot tell how far an
augmentation moved an item. Noise that filled the frame would reveal it: a transform would replace a
part of it by black.
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
from augerino.data.synthetic.letters import pixel_centers
from augerino.errors import InputError


class Base(Protocol):
    """The items of a problem: a number of classes, and random items of given classes."""

    @property
    def n_classes(self) -> int: ...

    def draw(self, label: Tensor, generator: Generator) -> Tensor:
        """Items at position 0.   label: (n,) below `n_classes`   returns (n, ...)"""
        ...


@dataclass(frozen=True, eq=False)
class Images:
    """Images of several classes on a uniform background.

    Args:
        images: (K, C, S, S) in [0, 1]; black outside a disc of `radius` if they are to be rotated.
        labels: (K,), the class of each.
        radius: of the content, clutter and noise included, as a fraction of half the frame.
        low: intensity of black; above 0 if brightness varies.
        high: intensity of white; below 1 if brightness varies.
        clutter: number of distracting blobs in each image.
        noise: amplitude of a smooth random field over each image.
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
        square = len(shape) == 4 and shape[2] == shape[3] and 0 not in shape
        if not square or tuple(self.labels.shape) != shape[:1]:
            raise InputError(
                f"Base images must be (K, C, S, S) with one label each, but are {shape} "
                f"with labels {tuple(self.labels.shape)}."
            )
        low = self.images.min()
        high = self.images.max()
        if not (low >= -1e-4 and high <= 1 + 1e-4):
            raise InputError(
                f"Base images must lie in [0, 1], but range from {low:.4g} to {high:.4g}."
            )
        if len(self.labels.unique()) != self.n_classes or self.labels.min() < 0:
            raise InputError("The labels of base images must be 0, 1, 2, ... without gaps.")

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
        """A base from any images: shrunk to `radius` and cut to the disc of that radius.

        Args:
            images: (K, C, H, W), (K, H, W, C) or (K, H, W), integers from 0 to 255 or floats in
                [0, 1]. Images that are not square get black margins.
            labels: (K,); by default every image is its own class.
            radius: as a fraction of half the frame; leave room for the transforms.
            side: of the frame in pixels; by default the longer side of the images.
            blur: in pixels. A warp blurs sharp edges, which would reveal how far an item was moved;
                scalings need more blur.
            options: `low`, `high`, `clutter`, `noise`.
        """
        if not 0 < radius <= 1 or not blur >= 0 or (side is not None and side < 4):
            raise InputError(
                "A base needs a radius above 0 and at most 1, a blur of at least 0 and a side of "
                f"at least 4 pixels, but got radius {radius:g}, blur {blur:g}, side {side}."
            )
        x = _to_square(as_tensor(images, "Base images"))
        classes = torch.arange(len(x))
        if labels is not None:
            classes = as_tensor(labels, "Labels of base images")
        if classes.is_floating_point() or classes.dtype == torch.bool:
            raise InputError(f"Labels of base images must be integers, but are {classes.dtype}.")
        small = shrink(x, radius, side or x.shape[-1], blur)
        return cls(
            images=small * disc(small.shape[-1], radius),
            labels=classes.long(),
            radius=radius,
            **options,  # type: ignore[arg-type]
        )

    @classmethod
    def load(cls, path: str | Path, **options: float) -> "Images":
        """A base from an `.npz` with arrays `images` and, optionally, `labels`; see `of`."""
        path = Path(path)
        names = archives.npz_headers(path)
        if "images" not in names:
            raise InputError(
                f"{path} should hold an array 'images', but has: {', '.join(names) or 'none'}."
            )
        arrays = archives.load_npz(path, [name for name in ("images", "labels") if name in names])
        return cls.of(arrays["images"], arrays.get("labels"), **options)  # type: ignore[arg-type]

    @property
    def n_classes(self) -> int:
        return int(self.labels.max()) + 1

    def draw(self, label: Tensor, generator: Generator) -> Tensor:
        x = self.images[pick(self.labels, label, generator)]
        if self.clutter:
            x = torch.maximum(x, _blobs(x, self.clutter, self.radius, generator))
        if self.noise:
            field = soften(torch.randn(x.shape, generator=generator), 1.0)
            x = x + self.noise * disc(x.shape[-1], self.radius) * field / field.std()
        return self.low + (self.high - self.low) * x.clamp(0, 1)


def _to_square(x: Tensor) -> Tensor:
    """Images in any accepted form as (K, C, S, S) in [0, 1]."""
    shape = tuple(x.shape)
    if len(shape) == 4 and shape[-1] in (1, 3) and shape[1] not in (1, 3):
        x = x.movedim(-1, 1)
    if x.dim() == 3:
        x = x[:, None]
    if x.dim() != 4 or 0 in shape:
        raise InputError(
            f"Base images must be (K, C, H, W), (K, H, W, C) or (K, H, W), but are {shape}."
        )
    white = 1 if x.is_floating_point() or x.dtype == torch.bool else 255
    x = x.float()
    if not (x.min() >= 0 and x.max() <= white):
        raise InputError(
            "Base images must be integers from 0 to 255 or floats in [0, 1], all finite, "
            f"but range from {x.min():.4g} to {x.max():.4g}."
        )
    side = max(x.shape[2:])
    across = side - x.shape[3]
    down = side - x.shape[2]
    margins = (across // 2, across - across // 2, down // 2, down - down // 2)
    return F.pad(x / white, margins)


def pick(labels: Tensor, label: Tensor, generator: Generator) -> Tensor:
    """The index of a random item of each requested class.

    labels: (K,) of all items   label: (n,) requested   returns (n,) indices below K
    """
    found = torch.empty_like(label)
    for value in label.unique().tolist():
        candidates = (labels == value).nonzero()[:, 0]
        requested = label == value
        chosen = torch.randint(len(candidates), (int(requested.sum()),), generator=generator)
        found[requested] = candidates[chosen]
    return found


def disc(side: int, radius: float) -> Tensor:
    """1 inside a disc and 0 outside, with an edge of two pixels, (side, side)."""
    centers = pixel_centers(side)
    distance = (centers.square() + centers[:, None].square()).sqrt()
    return ((radius - distance) * side / 4 + 0.5).clamp(0, 1)


def _blobs(x: Tensor, count: int, radius: float, generator: Generator) -> Tensor:
    """Gaussian spots of random colors at random places within the radius, like x."""
    n, channels, side, _ = x.shape
    centers = pixel_centers(side)
    size = 0.14 * radius
    distance = (radius - 2 * size) * torch.rand(n, count, generator=generator).sqrt()
    angle = 2 * torch.pi * torch.rand(n, count, generator=generator)
    across = centers - (distance * angle.cos())[..., None]
    down = centers - (distance * angle.sin())[..., None]
    squared = down[..., :, None].square() + across[..., None, :].square()
    spots = torch.exp(-squared / (2 * size**2))
    color = 0.5 * torch.rand(n, count, channels, 1, 1, generator=generator)
    return (color * spots[:, :, None]).amax(dim=1)


@dataclass(frozen=True)
class Pulses:
    """A bump or a wave in the middle of a signal that is otherwise zero, (n, 1, samples).

    Args:
        samples: length of a signal.
        clutter: number of small bumps beside each pulse.
        noise: amplitude of the noise around it.
    """

    samples: int = 128
    clutter: int = 0
    noise: float = 0.0

    n_classes = len(signals.SHAPES)
    radius = 0.16  # of the content, as a fraction of half the signal

    def draw(self, label: Tensor, generator: Generator) -> Tensor:
        n = len(label)
        time = pixel_centers(self.samples)
        x = signals.pulses(label[:, None], time.expand(n, -1))
        for _ in range(self.clutter):
            center = (2 * torch.rand(n, 1, generator=generator) - 1) * self.radius * 0.7
            size = 0.5 * (2 * torch.rand(n, 1, generator=generator) - 1)
            x = x + size * torch.exp(-((time - center) / 0.02).square() / 2)
        if self.noise:
            white = torch.randn(n, 1, 1, self.samples, generator=generator)
            field = soften(white, 1.0)[:, 0, 0]
            window = torch.exp(-(time / (self.radius / 2)).square() / 2)
            x = x + self.noise * window * field / field.std()
        return x[:, None]


@dataclass(frozen=True)
class Arrows:
    """Point clouds of arrows and clubs along an axis, thicker at the head, (n, points, 3).

    Args:
        points: in each cloud.
        along: "x", "y" or "z", the direction of the head; orthogonal to the axis of rotation.
        clutter: number of points that are uniform in the unit ball instead of on the figure.
        noise: standard deviation of the error of each point.
    """

    points: int = 48
    along: str = "x"
    clutter: int = 0
    noise: float = 0.0

    n_classes = len(clouds.FIGURES)

    def draw(self, label: Tensor, generator: Generator) -> Tensor:
        x = clouds.figures(label, self.points, generator)
        stray = torch.randn(len(x), self.clutter, 3, generator=generator)
        x[:, : self.clutter] = stray / stray.norm(dim=-1, keepdim=True)
        x[:, : self.clutter] *= torch.rand(len(x), self.clutter, 1, generator=generator) ** (1 / 3)
        x = x + self.noise * torch.randn(x.shape, generator=generator)
        return x.roll("xyz".index(self.along), dims=-1)
