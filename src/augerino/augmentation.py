"""Augmentations: a transform with a distribution over its coordinates.

`Augmentation.sample` draws an `Element` g, which acts on data.
"""

import copy
import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Generator, Tensor, nn

from augerino import tree
from augerino.coordinate import LearnedCoordinate
from augerino.distributions import LearnedDistribution, Product, parts_of
from augerino.errors import InputError
from augerino.transforms import Compose, Transform


@dataclass(frozen=True)
class Element:
    r"""A batch of sampled group elements g, one per sample.

    `g(x)` computes \(g x\), `g.inv(y)` computes \(g^{-1} y\), and `g.on(action)` is the same
    element under another action.

    Args:
        transform: the action.
        t: coordinates, (B, k).
    """

    transform: Transform
    t: Tensor  # (B, k)

    def __call__(self, x: Any) -> Any:
        """Computes g x.   x: (B, ...)"""
        return self.transform(x, self.t)

    def inv(self, y: Any) -> Any:
        r"""Computes \(g^{-1} y\).   y: (B, ...)"""
        return self.transform.inverse(y, self.t)

    def coverage(self, y: Tensor) -> Tensor | None:
        r"""Computes \(g^{-1} g 1\), the fraction of each value of y that survives, in [0, 1].

        None if everything survives.
        """
        return self.transform.coverage(y, self.t)

    def on(self, action: Transform) -> "Element":
        """Returns the same element under another action, for outputs that transform differently."""
        return Element(action, self.t)


class Augmentation(nn.Module):
    r"""A transform with a learned distribution over its coordinates, \(t \sim \mu_\theta\).

    Args:
        transform: the family of transformations, with k coordinates.
        distribution: the distribution \(\mu_\theta\) over the k coordinates.

    Example:
        >>> from augerino import Affine2d, Uniform
        >>> print(Augmentation(Affine2d("rotate"), Uniform([0.7854])))
        Affine2d: rotate ±45.0°
    """

    def __init__(self, transform: Transform, distribution: LearnedDistribution) -> None:
        super().__init__()
        valid = isinstance(transform, Transform) and isinstance(distribution, LearnedDistribution)
        if not valid:
            got = f"{type(transform).__name__} and {type(distribution).__name__}"
            raise InputError(
                "An augmentation is a transform with a distribution, "
                f'as in (Affine2d("rotate"), Uniform([0.3])), not {got}.'
            )
        self.transform = transform
        self.distribution = distribution
        self._check_size()
        self._check_discrete()

    def _check_size(self) -> None:
        names = self.names
        size = self.distribution.size
        if len(names) == size:
            return
        kind = type(self.transform).__name__
        if not names:
            raise InputError(
                f"{kind} has no coordinates, but the distribution has {size}: "
                f'set them, as in {kind}.coordinates = (Coordinate("gamma", limit=1.0),).'
            )
        listed = f"{names[0]}, ..., {names[-1]}"
        if len(names) <= 3:
            listed = ", ".join(names)
        raise InputError(
            f"{kind} has {len(names)} coordinates ({listed}) but the distribution has {size}. "
            f'Choose coordinates by name, as in {kind}("{names[0]}"), '
            f"or give the distribution {len(names)}."
        )

    def _check_discrete(self) -> None:
        parts = parts_of(self.distribution)
        is_discrete = [part.discrete for part in parts for _ in range(part.size)]
        for coordinate, discrete in zip(self.transform.coordinates, is_discrete, strict=True):
            if coordinate.discrete == discrete:
                continue
            kind = type(self.transform).__name__
            if coordinate.discrete:
                advice = "0 or 1: draw them from a Bernoulli"
            else:
                advice = "continuous: a Bernoulli draws 0 or 1 only"
            raise InputError(f"The coordinates of {kind} are {advice} (see '{coordinate.name}').")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the coordinates, in order."""
        return self.transform.names

    @property
    def coordinates(self) -> tuple[LearnedCoordinate, ...]:
        """The coordinates with their current ranges.

        Example:
            >>> from augerino import Affine2d, Uniform
            >>> (rotate,) = Augmentation(Affine2d("rotate"), Uniform([3.1])).coordinates
            >>> rotate.text, rotate.is_full
            ('±177.6°', True)
        """
        known = self.transform.coordinates
        low, high = self.distribution.central_range
        learned = zip(
            known,
            self.distribution.extent.tolist(),
            low.tolist(),
            high.tolist(),
            self.distribution.rate.tolist(),
            self.distribution.describe([coordinate.unit for coordinate in known]),
            strict=True,
        )
        return tuple(
            LearnedCoordinate(
                **{field.name: getattr(c, field.name) for field in dataclasses.fields(c)},
                extent=extent,
                low=lowest,
                high=highest,
                rate=rate,
                range_text=text,
            )
            for c, extent, lowest, highest, rate, text in learned
        )

    @property
    def limits(self) -> Tensor:
        """The limit of each coordinate, (k,); infinite if there is none."""
        like = self.distribution.extent
        return torch.tensor(
            [coordinate.limit for coordinate in self.transform.coordinates],
            dtype=like.dtype,
            device=like.device,
        )

    @property
    def extent(self) -> dict[str, float]:
        """The extent of each coordinate by name, in raw units.

        Settable by name; coordinates that are not named are unchanged.

        Example:
            >>> from augerino import Affine2d, Uniform
            >>> augmentation = Augmentation(Affine2d("rotate", "scale"), Uniform([0.25, 0.5]))
            >>> augmentation.extent = {"rotate": 1.0}
            >>> augmentation.extent
            {'rotate': 1.0, 'scale': 0.5}
        """
        return dict(zip(self.names, self.distribution.extent.detach().tolist(), strict=True))

    @extent.setter
    def extent(self, values: Mapping[str, float]) -> None:
        for name in values:
            if name not in self.names:
                raise InputError(
                    f"There is no coordinate '{name}'. There are: {', '.join(self.names)}."
                )
        self.distribution.extent = list({**self.extent, **values}.values())

    def sample(self, n: int, generator: Generator | None = None) -> Element:
        r"""Draws n elements with coordinates \(t \sim \mu_\theta\), (n, k)."""
        with torch.autocast(self.distribution.extent.device.type, enabled=False):
            return Element(self.transform, self.distribution.rsample(n, generator))

    def enumerate_discrete(
        self, n: int, generator: Generator | None = None
    ) -> tuple[Element, Tensor | None]:
        """Draws n elements per outcome of the discrete coordinates.

        Returns:
            elements with coordinates (m n, k), grouped by outcome, and the probability of each of
            the m outcomes, (m,); see `LearnedDistribution.enumerate_discrete`.
        """
        with torch.autocast(self.distribution.extent.device.type, enabled=False):
            t, weight = self.distribution.enumerate_discrete(n, generator)
        return Element(self.transform, t), weight

    def quadrature_element(self, n: int) -> Element:
        """Computes n deterministic elements, spread evenly over the current distribution.

        Their coordinates are `LearnedDistribution.quadrature_points`, detached.
        """
        return Element(self.transform, self.distribution.quadrature_points(n).detach())

    def forward(self, x: Any) -> Any:
        """Transforms each sample of a batch by its own element.   x: (B, ...)"""
        return self.sample(tree.batch_size(x))(x)

    def only(self, *names: str) -> "Augmentation":
        """Returns a copy with some of the coordinates; the others are fixed at 0.

        Transforms without `names` in their settings, and distributions that cannot be split, keep
        all their coordinates if one of them is named.

        Example:
            >>> from augerino import Affine2d, Uniform
            >>> learned = Augmentation(Affine2d("rotate", "scale"), Uniform([3.1416, 0.2]))
            >>> print(learned.only("scale"))
            Affine2d: scale ×0.82 to ×1.22
        """
        for name in names:
            if name not in self.names:
                raise InputError(
                    f"There is no coordinate '{name}'. There are: {', '.join(self.names)}."
                )
        kept = []
        for transform, distribution in _pairs(self.transform, self.distribution):
            chosen = [i for i, name in enumerate(transform.names) if name in names]
            if chosen:
                kept.append(_restricted(transform, distribution, chosen))
        if not kept:
            raise InputError("An augmentation needs at least one coordinate.")
        return kept[0] if len(kept) == 1 else Chain(*kept)

    def with_rates(self, fraction: float = 0.5) -> Self:
        """Returns a copy that activates each partial range in only a fraction of the samples.

        Each of the m coordinates whose range ends before its limit gets the rate fraction / m,
        rounded to a multiple of 1 / 256. Full ranges keep the rate 1, and flips their probability.
        The copy requires no gradient.

        Extents are learned with all coordinates active. For training a model on the learned
        ranges, rates below 1 are better: each coordinate preserves the labels, but all of them
        together make the inputs harder.

        Args:
            fraction: approximate fraction of samples in which any of the m coordinates is active,
                above 0 and at most 1.

        Example:
            >>> from augerino import Affine2d, Uniform
            >>> learned = Augmentation(Affine2d("rotate", "scale"), Uniform([3.1416, 0.2]))
            >>> print(learned.with_rates())
            Affine2d: rotate ±180.0°, scale ×0.82 to ×1.22 in 50 % of copies
        """
        if not 0 < fraction <= 1:
            raise InputError(f"fraction must be above 0 and at most 1, but got {fraction}.")
        other = copy.deepcopy(self).requires_grad_(False)
        parts = list(parts_of(other.distribution))
        settable = [part.has_settable_rate for part in parts for _ in range(part.size)]
        partial = [
            can_set and _is_partial(coordinate)
            for coordinate, can_set in zip(self.coordinates, settable, strict=True)
        ]
        exact_rate = fraction / max(1, sum(partial))
        rate = max(1, round(256 * exact_rate)) / 256  # representable in every floating-point type
        masks = torch.tensor(partial).split([part.size for part in parts])
        for part, mask in zip(parts, masks, strict=True):
            if part.has_settable_rate:
                part.rate = torch.where(mask, rate, part.rate.cpu())  # type: ignore[misc]
        return other

    def describe(self) -> dict[str, str]:
        """Formats the range of each coordinate in display units, by name, with rates below 1."""
        return {coordinate.name: coordinate.text for coordinate in self.coordinates}

    def __str__(self) -> str:
        parts = getattr(self.transform, "parts", [self.transform])
        kinds = " + ".join(type(part).__name__ for part in parts)
        ranges = ", ".join(f"{name} {text}" for name, text in self.describe().items())
        return f"{kinds}: {ranges}"


def _pairs(
    transform: Transform, distribution: LearnedDistribution
) -> list[tuple[Transform, LearnedDistribution]]:
    """The parts of a chain; a single augmentation is its only part."""
    if isinstance(transform, Compose) and isinstance(distribution, Product):
        parts = list(zip(transform.parts, distribution.parts, strict=False))
        same = len(transform.parts) == len(distribution.parts)
        if same and all(len(t.coordinates) == d.size for t, d in parts):  # type: ignore[arg-type]
            return parts  # type: ignore[return-value]
    return [(transform, distribution)]


def _restricted(
    transform: Transform, distribution: LearnedDistribution, chosen: list[int]
) -> Augmentation:
    """The augmentation with the chosen coordinates only, or a copy if it cannot be split."""
    fewer = transform.only([transform.names[i] for i in chosen])
    settings = distribution.settings()
    size = distribution.size
    can_split = bool(settings) and all(
        isinstance(values, list) and len(values) == size and not isinstance(values[0], list)
        for values in settings.values()
    )
    if fewer is None or not can_split:
        return Augmentation(copy.deepcopy(transform), copy.deepcopy(distribution))
    picked = {key: [values[i] for i in chosen] for key, values in settings.items()}
    smaller = type(distribution)(**picked).to(distribution.extent)
    for parameter in smaller.parameters():
        parameter.requires_grad_(any(p.requires_grad for p in distribution.parameters()))
    return Augmentation(fewer, smaller)


def _is_partial(coordinate: LearnedCoordinate) -> bool:
    """Whether a range is neither full nor negligible; without a limit, every range is partial."""
    if coordinate.is_full:
        return False
    return not coordinate.is_negligible or math.isinf(coordinate.limit)


class Chain(Augmentation):
    r"""A composition of independent augmentations, \(g = g_m \cdots g_1\), applied in order.

    The inverse is \(g^{-1} = g_1^{-1} \cdots g_m^{-1}\).

    Args:
        augmentations: the augmentations, the first of which is applied first.

    Example:
        >>> from augerino import Affine2d, Brightness, Uniform
        >>> spatial = Augmentation(Affine2d("rotate"), Uniform([0.5]))
        >>> color = Augmentation(Brightness(), Uniform([0.1]))
        >>> print(Chain(spatial, color))
        Affine2d + Brightness: rotate ±28.6°, brightness ±10.0 % of full intensity
    """

    def __init__(self, *augmentations: Augmentation) -> None:
        if not augmentations:
            raise InputError("A chain needs at least one augmentation.")
        for part in augmentations:
            if not isinstance(part, Augmentation):
                raise InputError(
                    "A chain is made of augmentations, each a transform with a distribution, "
                    f"not of a {type(part).__name__}."
                )
        super().__init__(
            Compose([part.transform for part in augmentations]),
            Product([part.distribution for part in augmentations]),
        )
