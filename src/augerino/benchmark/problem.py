"""A problem with a known answer: base items moved along named coordinates, and labels that say where they stand."""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from augerino.augmentation import Augmentation, Chain
from augerino.benchmark.axis import FLIPS, MIRRORED, Axis, coordinate
from augerino.benchmark.bases import Base
from augerino.coordinate import NEGLIGIBLE
from augerino.distributions import Bernoulli, Uniform
from augerino.errors import InputError
from augerino.transforms import Compose, Transform

Difficulty = Literal["clean", "noisy", "few", "hard"]

FLIPPED = 0.1  # a flip of at least this probability counts as found
ITEMS = 1500  # training items, unless a problem says otherwise


@dataclass(frozen=True)
class Answer:
    """What is to be found along one scored coordinate."""

    coordinate: str
    true: float  # its extent; the probability of a flip
    limit: float
    least: float  # from where on an extent counts as found


class Drawn(NamedTuple):
    """Items of a problem, and how they came about."""

    x: Tensor
    y: Tensor  # labels (n,), or values (n, outputs)
    base: Tensor  # the items before they were moved
    places: Tensor  # where each stands, (n, axes)
    labels: Tensor  # of the class and of each axis, (n, 1 + axes)


@dataclass(frozen=True, eq=False)
class Problem:
    """Data whose symmetries are known exactly.

    A base item of some class is moved to a place along each axis (see `Axis`), and the label says the class and, for axes
    that labels depend on, where it stands. Coordinates of the transform that no axis names are free by rights: the data are not
    moved along them, no label depends on them, and they are not scored. With a target among the axes the task is a regression,
    on the targets and the numbers of the poses.

    The answers are exact only if the axes commute with each other (turn and scale do, the two shifts do, turn and shift do
    not), if moved items keep their content in the frame, and if no base item looks like another one moved.

    Args:
        name: short, for tables.
        base: where items come from.
        transform: the family of maps, with every coordinate that is to be free.
        axes: what is done along some of them.
        difficulty: a word for tables.
        items: how many to train on.

    Example:
        >>> from augerino import Affine2d
        >>> from augerino.benchmark import Axis, Images, figures
        >>> turned = Axis("rotate", "soft", poses=(0.0, math.pi), extent=0.4)
        >>> problem = Problem("mine", Images.of(*figures()), Affine2d("rotate", "scale"), (turned,))
        >>> x, y = problem.draw(8, seed=0)
        >>> tuple(x.shape), problem.outputs, {name: round(extent, 3) for name, extent in problem.true.items()}
        ((8, 3, 24, 24), 4, {'rotate': 1.171})
    """

    name: str
    base: Base
    transform: Transform
    axes: tuple[Axis, ...]
    difficulty: Difficulty = "clean"
    items: int = ITEMS

    def __post_init__(self) -> None:
        names = [axis.name for axis in self.axes]
        if not names or len(set(names)) < len(names) or not set(names) <= set(self.transform.names):
            raise InputError(
                f"The axes of the problem '{self.name}' must name coordinates of its transform, each once, but are "
                f"{', '.join(names) or 'none'}; it has: {', '.join(self.transform.names)}."
            )
        for axis in self.axes:
            if self._flips(axis.name) != (axis.kind in FLIPS):
                raise InputError(
                    f"In the problem '{self.name}', {axis.name} cannot be '{axis.kind}'."
                )
            if not math.isfinite(self.limit(axis.name)):
                raise InputError(
                    f"In the problem '{self.name}', {axis.name} has no limit, so its overlap has no scale."
                )
            if (true := axis.answer(self.limit(axis.name))) > self.limit(axis.name):
                raise InputError(
                    f"In the problem '{self.name}', the true extent of {axis.name} would be {true:.4g}, beyond its limit of "
                    f"{self.limit(axis.name):.4g}: bring the poses closer together."
                )
        if self.items < 1:
            raise InputError(
                f"The problem '{self.name}' needs at least one item, but got {self.items}."
            )

    @property
    def answers(self) -> tuple[Answer, ...]:
        """One a scored coordinate."""
        return tuple(
            Answer(
                axis.name,
                axis.answer(limit := self.limit(axis.name)),
                limit,
                FLIPPED if axis.kind in FLIPS else NEGLIGIBLE * limit,
            )
            for axis in self.axes
        )

    @property
    def true(self) -> dict[str, float]:
        """The true extent of every scored coordinate; of a flip its probability."""
        return {answer.coordinate: answer.true for answer in self.answers}

    @property
    def regression(self) -> bool:
        return any(axis.kind == "target" for axis in self.axes)

    @property
    def outputs(self) -> int:
        """Classes, or values of a regression."""
        if self.regression:
            return sum(axis.kind == "target" or axis.labels > 1 for axis in self.axes)
        return self.base.classes * math.prod(axis.labels for axis in self.axes)

    def limit(self, name: str) -> float:
        """The limit of a coordinate; of a flip a half, beyond which it is the mirrored data that are mirrored."""
        if self._flips(name):
            return MIRRORED
        return self.transform.coordinates[self.transform.names.index(name)].limit

    def draw(self, n: int, seed: int) -> tuple[Tensor, Tensor]:
        """Inputs and targets; another seed draws other items, for testing."""
        drawn = self.sample(n, seed)
        return drawn.x, drawn.y

    def sample(self, n: int, seed: int) -> Drawn:
        """Items with all that is known about them, labels in equal parts up to rounding and in random order."""
        if n < 1:
            raise InputError(f"The problem '{self.name}' can draw one item or more, but not {n}.")
        generator = torch.Generator().manual_seed(seed)
        sizes = [self.base.classes, *(axis.labels for axis in self.axes)]
        y = torch.randperm(n, generator=generator) % math.prod(sizes)
        labels = torch.stack(torch.unravel_index(y, sizes), dim=1)
        base = self.base.draw(labels[:, 0], generator)
        places = [
            axis.draw(labels[:, 1 + i], self.limit(axis.name), generator)
            for i, axis in enumerate(self.axes)
        ]
        if self.regression:
            told = [axis.target(labels[:, 1 + i], places[i]) for i, axis in enumerate(self.axes)]
            y = torch.stack([values for values in told if values is not None], dim=1)
        standing = torch.stack(places, dim=1)
        return Drawn(self.place(base, standing), y, base, standing, labels)

    def place(self, base: Tensor, places: Tensor) -> Tensor:
        """Moves base items to places along the axes.   places: (n, axes)   returns as base"""
        t = torch.zeros(len(base), len(self.transform.names))
        for axis, place in zip(self.axes, places.unbind(1), strict=True):
            t[:, self.transform.names.index(axis.name)] = coordinate(axis.name, place)
        return self.transform(base, t)

    def augmentation(self, start: dict[str, float] | float = 0.3) -> Augmentation:
        """The transform with every coordinate to be learned.

        Args:
            start: bounds to start from, by name or one for all; of a flip the probability, or half of the one for all, so that it
                has the same extent.
        """
        found = []
        for part in self._parts:
            discrete = part.coordinates[0].discrete
            common = start / 2 if discrete and not isinstance(start, dict) else start
            values = [common[name] if isinstance(common, dict) else common for name in part.names]
            kind = Bernoulli([min(p, 0.499) for p in values]) if discrete else Uniform(values)
            found.append(Augmentation(part, kind))
        return found[0] if len(found) == 1 else Chain(*found)

    def extents(self, augmentation: Augmentation) -> dict[str, float]:
        """What an augmentation has learned, in the unit of the answers: bounds, and for flips min(p, 1 - p)."""
        return {
            name: extent / 2 if self._flips(name) else extent
            for name, extent in augmentation.extent.items()
        }

    @property
    def _parts(self) -> list[Transform]:
        if isinstance(self.transform, Compose):
            return list(self.transform.parts)  # type: ignore[arg-type]
        return [self.transform]

    def _flips(self, name: str) -> bool:
        return any(c.discrete and c.name == name for c in self.transform.coordinates)
