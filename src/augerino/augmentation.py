"""Where a transform and a distribution meet: `Augmentation` draws an `Element` g, which acts on data."""

import copy
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Generator, Tensor, nn

from augerino import tree
from augerino.distributions import LearnedDistribution, Product, Uniform, parts_of
from augerino.errors import InputError
from augerino.transforms import Compose, Transform

REACHED = 0.95  # of its limit: a bound beyond this goes all the way
SLIGHT = 0.02  # of its limit: a bound below this hardly moves anything


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
        if len(transform.names) != distribution.size:
            names, kind = transform.names, type(transform).__name__
            if not names:
                raise InputError(
                    f"{kind} has no coordinates, but the distribution has {distribution.size}: give it something to draw."
                )
            listed = ", ".join(names) if len(names) <= 3 else f"{names[0]}, ..., {names[-1]}"
            raise InputError(
                f"{kind} has {len(names)} coordinates ({listed}) but the distribution has {distribution.size}. Choose "
                f'coordinates by name, as in {kind}("{names[0]}"), or give the distribution {len(names)}.'
            )
        if not isinstance(distribution, Product) and transform.discrete != distribution.discrete:
            takes = (
                "0 or 1: draw them from a Bernoulli"
                if transform.discrete
                else "continuous: a Bernoulli draws 0 or 1 only"
            )
            raise InputError(f"The coordinates of {type(transform).__name__} are {takes}.")
        self.transform, self.distribution = transform, distribution

    @property
    def names(self) -> tuple[str, ...]:
        return self.transform.names

    @property
    def limits(self) -> Tensor:
        """Where each coordinate wraps or degenerates, (k,); Inf where it never does."""
        like = self.distribution.spread
        return torch.tensor(
            self.transform.limits or [torch.inf] * like.numel(),
            dtype=like.dtype,
            device=like.device,
        )

    def sample(self, n: int, generator: Generator | None = None) -> Element:
        """Draws one element per item: t ~ mu_theta, (n, k)."""
        with torch.autocast(self.distribution.spread.device.type, enabled=False):
            return Element(self.transform, self.distribution.rsample(n, generator))

    def branches(self, n: int, generator: Generator | None = None) -> tuple[Element, Tensor | None]:
        """Draws one element per item and branch, discrete outcomes counted out, and the probability of each branch.

        The element moves (m n) items, branch after branch; see `LearnedDistribution.branches`.
        """
        with torch.autocast(self.distribution.spread.device.type, enabled=False):
            t, weight = self.distribution.branches(n, generator)
        return Element(self.transform, t), weight

    def nodes(self, n: int) -> Element:
        """n elements that are always the same ones, spread evenly over the distribution as it is now."""
        return Element(self.transform, self.distribution.nodes(n).detach())

    def forward(self, x: Any) -> Any:
        """Moves every item of a batch by an element of its own."""
        return self.sample(tree.batch_size(x))(x)

    def spread(self) -> dict[str, Tensor]:
        """How far each coordinate reaches now, by name, in the coordinate's own unit."""
        return dict(zip(self.names, self.distribution.spread.unbind(), strict=True))

    def bounds(self) -> dict[str, float]:
        """`spread` as plain numbers."""
        return dict(zip(self.names, self.distribution.spread.detach().tolist(), strict=True))

    def in_turns(self, share: float = 0.5) -> Self:
        """The same extents, of which those that end somewhere take turns: of m such, each moves in a share / m of all draws.

        What leaves labels alone can still make inputs harder, and many such coordinates at once make them much harder. To find
        extents all must move together; for a model that is trained on them afterwards, turns are better. Coordinates that go all
        the way to their limits move in every draw, flips as often as before. A copy; nothing of it is learned further.

        Args:
            share: in how many draws one of the coordinates moves, about; above 0 and at most 1.

        Example:
            >>> from augerino import Affine2d, Uniform
            >>> learned = Augmentation(Affine2d("rotate", "scale", "shear"), Uniform([3.1416, 0.2, 0.3]))
            >>> print(learned.in_turns())
            Affine2d: rotate ±180.0°, scale ×0.82 to ×1.22 in 25 % of copies, shear ×0.74 to ×1.35 in 25 % of copies
        """
        if not 0 < share <= 1:
            raise InputError(
                f"share is in how many draws a coordinate moves, above 0 and at most 1, but got {share}."
            )
        other = copy.deepcopy(self).requires_grad_(False)
        parts = list(parts_of(other.distribution))
        boxes = torch.cat(
            [torch.full((part.size,), isinstance(part, Uniform)) for part in parts]
        ).to(self.limits.device)
        spread, limits = other.distribution.spread, self.limits
        ends = boxes & (spread < REACHED * limits) & ((spread > SLIGHT * limits) | limits.isinf())
        rate = (
            max(1, round(256 * share / max(1, int(ends.sum())))) / 256
        )  # which every precision holds exactly
        for part, here in zip(parts, ends.split([part.size for part in parts]), strict=True):
            if isinstance(part, Uniform):
                part.rate.masked_fill_(here, rate)
        return other

    def extents(self) -> dict[str, str]:
        """How far each coordinate reaches, by name, in human units."""
        units = [self.transform.unit(name) for name in self.names]
        return dict(zip(self.names, self.distribution.describe(units), strict=True))

    def describe(self) -> dict[str, str]:
        """How far each coordinate reaches, and in how many copies it is moved at all where that is not in every one."""
        rates = self.distribution.rates.tolist()
        return {
            name: f"{extent} in {100 * rate:.0f} % of copies" if rate < 0.995 else extent
            for (name, extent), rate in zip(self.extents().items(), rates, strict=True)
        }

    def __str__(self) -> str:
        kinds = [type(part).__name__ for part in getattr(self.transform, "parts", [self.transform])]
        return f"{' + '.join(kinds)}: " + ", ".join(
            f"{name} {extent}" for name, extent in self.describe().items()
        )


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
