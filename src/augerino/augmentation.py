"""Where a transform and a distribution meet: `Augmentation` draws an `Element` g, which acts on data."""

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
    """One drawn group element per item of a batch: `g(x)` acts, `g.inv(y)` undoes, `g.on(action)` acts elsewhere."""

    transform: Transform
    t: Tensor  # (B, k)

    def __call__(self, x: Any) -> Any:
        return self.transform(x, self.t)

    def inv(self, y: Any) -> Any:
        """g^-1 y."""
        return self.transform.inverse(y, self.t)

    def coverage(self, y: Tensor) -> Tensor | None:
        """How much of each place survives g and then g^-1, in 0..1; None means everything does."""
        return self.transform.coverage(y, self.t)

    def on(self, action: Transform) -> "Element":
        """The same element acting in another way, for outputs that transform otherwise than inputs."""
        return Element(action, self.t)


class Augmentation(nn.Module):
    """A transform whose coordinates are drawn from a learned distribution.

    Args:
        transform: what can be done.
        distribution: how far, how often; it must have as many coordinates as the transform.

    Example:
        >>> from augerino import Affine2d, Uniform
        >>> print(Augmentation(Affine2d("rotate"), Uniform([0.7854])))
        Affine2d: rotate ±45.0°
    """

    def __init__(self, transform: Transform, distribution: LearnedDistribution) -> None:
        super().__init__()
        if not isinstance(transform, Transform) or not isinstance(
            distribution, LearnedDistribution
        ):
            got = f"{type(transform).__name__} and {type(distribution).__name__}"
            raise InputError(
                f'An augmentation is a transform with a distribution, as in (Affine2d("rotate"), Uniform([0.3])), not {got}.'
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
                f'give it some, as in {kind}.coordinates = (Coordinate("gamma", limit=1.0),).'
            )
        listed = ", ".join(names) if len(names) <= 3 else f"{names[0]}, ..., {names[-1]}"
        raise InputError(
            f"{kind} has {len(names)} coordinates ({listed}) but the distribution has {size}. Choose "
            f'coordinates by name, as in {kind}("{names[0]}"), or give the distribution {len(names)}.'
        )

    def _check_discrete(self) -> None:
        drawn = [part.discrete for part in parts_of(self.distribution) for _ in range(part.size)]
        for coordinate, discrete in zip(self.transform.coordinates, drawn, strict=True):
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
        """Each coordinate with its range as it is now.

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
        """The limit of each coordinate, (k,), infinite where there is none."""
        like = self.distribution.extent
        return torch.tensor(
            [coordinate.limit for coordinate in self.transform.coordinates],
            dtype=like.dtype,
            device=like.device,
        )

    @property
    def extent(self) -> dict[str, float]:
        """The extent of each coordinate by name, in the coordinate's own unit.

        Settable by name; coordinates that are not named keep theirs.

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
        """Draws one element per item: t ~ mu_theta, (n, k)."""
        with torch.autocast(self.distribution.extent.device.type, enabled=False):
            return Element(self.transform, self.distribution.rsample(n, generator))

    def enumerate_discrete(
        self, n: int, generator: Generator | None = None
    ) -> tuple[Element, Tensor | None]:
        """Draws one element per item and branch, discrete outcomes counted out, and the probability of each branch.

        The element moves (m n) items, branch after branch; see `LearnedDistribution.enumerate_discrete`.
        """
        with torch.autocast(self.distribution.extent.device.type, enabled=False):
            t, weight = self.distribution.enumerate_discrete(n, generator)
        return Element(self.transform, t), weight

    def quadrature_element(self, n: int) -> Element:
        """n elements that are always the same ones, spread evenly over the distribution as it is now."""
        return Element(self.transform, self.distribution.quadrature_points(n).detach())

    def forward(self, x: Any) -> Any:
        """Moves every item of a batch by an element of its own."""
        return self.sample(tree.batch_size(x))(x)

    def with_rates(self, fraction: float = 0.5) -> Self:
        """A copy that moves each coordinate with a partial range in only some of the samples.

        With m coordinates whose ranges end before their limits, each of them gets the rate fraction / m, rounded to a multiple of
        1 / 256. Full ranges keep rate 1, and flips their probability. The copy is fixed: it requires no gradient.

        Learning the extents needs all coordinates at once. A model that is trained on the learned ranges afterwards is
        better off without: each coordinate preserves the labels, but all together make the inputs harder.

        Args:
            fraction: about the fraction of samples in which one of these coordinates moves, above 0 and at most 1.

        Example:
            >>> from augerino import Affine2d, Uniform
            >>> learned = Augmentation(Affine2d("rotate", "scale", "shear"), Uniform([3.1416, 0.2, 0.3]))
            >>> print(learned.with_rates())
            Affine2d: rotate ±180.0°, scale ×0.82 to ×1.22 in 25 % of copies, shear ×0.74 to ×1.35 in 25 % of copies
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
        share = fraction / max(1, sum(partial))
        rate = max(1, round(256 * share)) / 256  # exact in every floating-point precision
        masks = torch.tensor(partial).split([part.size for part in parts])
        for part, mask in zip(parts, masks, strict=True):
            if part.has_settable_rate:
                part.rate = torch.where(mask, rate, part.rate.cpu())  # type: ignore[misc]
        return other

    def describe(self) -> dict[str, str]:
        """The range of each coordinate in human units by name, with the rate where it is below 1."""
        return {coordinate.name: coordinate.text for coordinate in self.coordinates}

    def __str__(self) -> str:
        kinds = [type(part).__name__ for part in getattr(self.transform, "parts", [self.transform])]
        return f"{' + '.join(kinds)}: " + ", ".join(
            f"{name} {extent}" for name, extent in self.describe().items()
        )


def _is_partial(coordinate: LearnedCoordinate) -> bool:
    """Whether a range ends before its limit. Without a limit every range does, however small."""
    if coordinate.is_full:
        return False
    return not coordinate.is_negligible or math.isinf(coordinate.limit)


class Chain(Augmentation):
    """Several augmentations in order, independent of each other; the inverse runs backwards.

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
        other = next((part for part in augmentations if not isinstance(part, Augmentation)), None)
        if other is not None:
            raise InputError(
                f"A chain is made of augmentations, each a transform with a distribution, not of a {type(other).__name__}."
            )
        super().__init__(
            Compose([a.transform for a in augmentations]),
            Product([a.distribution for a in augmentations]),
        )
