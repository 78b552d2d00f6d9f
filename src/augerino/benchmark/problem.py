"""A problem with known symmetries: base items transformed along named coordinates, and labels."""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from augerino.augmentation import Augmentation, Chain
from augerino.benchmark.axis import FLIP_KINDS, FLIP_LIMIT, Axis, coordinate_at
from augerino.benchmark.bases import Base
from augerino.coordinate import NEGLIGIBLE
from augerino.distributions import Bernoulli, Uniform
from augerino.errors import InputError
from augerino.transforms import Compose, Transform

Difficulty = Literal["clean", "noisy", "few", "hard"]

FLIP_THRESHOLD = 0.1  # a flip above this probability counts as found
N_ITEMS = 1500  # training items by default


@dataclass(frozen=True)
class Answer:
    """The true extent of one scored coordinate."""

    coordinate: str
    true: float  # for a flip the probability
    limit: float
    threshold: float  # a larger learned extent counts as found


class Drawn(NamedTuple):
    """Items of a problem, and how they were made."""

    x: Tensor
    y: Tensor  # labels (n,), or regression targets (n, n_outputs)
    base: Tensor  # the items before they were transformed
    positions: Tensor  # along each axis, (n, axes)
    labels: Tensor  # of the class and of each axis, (n, 1 + axes)


@dataclass(frozen=True, eq=False)
class Problem:
    """Data whose symmetries are known exactly.

    A base item of some class is moved to a position along each axis (see `Axis`). The label encodes
    the class and, for axes that labels depend on, the pose. If any axis is a target, the task is a
    regression on the targets and the indices of the poses. Coordinates of the transform without an
    axis are learned but not scored: the data do not vary along them, and no label depends on them.

    The true extents are exact only if the axes commute (rotation and scale do, the two translations
    do, rotation and translation do not), if transformed items keep their content in the frame, and
    if no base item looks like another one transformed.

    Args:
        name: short, for tables.
        base: of the items.
        transform: the family of maps, with every coordinate that is to be learned.
        axes: how the data vary along some of the coordinates.
        difficulty: for tables.
        n_items: number of training items.

    Example:
        >>> from augerino import Affine2d
        >>> from augerino.benchmark import Axis, Images, figures
        >>> rotated = Axis("rotate", "soft", poses=(0.0, math.pi), extent=0.4)
        >>> base = Images.of(*figures())
        >>> problem = Problem("mine", base, Affine2d("rotate", "scale"), (rotated,))
        >>> x, y = problem.draw(8, seed=0)
        >>> tuple(x.shape), problem.n_outputs, round(problem.true["rotate"], 3)
        ((8, 3, 24, 24), 4, 1.171)
    """

    name: str
    base: Base
    transform: Transform
    axes: tuple[Axis, ...]
    difficulty: Difficulty = "clean"
    n_items: int = N_ITEMS

    def __post_init__(self) -> None:
        names = [axis.name for axis in self.axes]
        unique = len(set(names)) == len(names)
        if not names or not unique or not set(names) <= set(self.transform.names):
            raise InputError(
                f"The axes of the problem '{self.name}' must name coordinates of its transform, "
                f"each once, but are {', '.join(names) or 'none'}; "
                f"it has: {', '.join(self.transform.names)}."
            )
        for axis in self.axes:
            self._check_axis(axis)
        if self.n_items < 1:
            raise InputError(
                f"The problem '{self.name}' needs at least one item, but got {self.n_items}."
            )

    def _check_axis(self, axis: Axis) -> None:
        where = f"In the problem '{self.name}', {axis.name}"
        limit = self.limit(axis.name)
        if self._flips(axis.name) != (axis.kind in FLIP_KINDS):
            raise InputError(f"{where} cannot be '{axis.kind}'.")
        if not math.isfinite(limit):
            raise InputError(f"{where} has no limit, which the overlap needs as its scale.")
        true = axis.answer(limit)
        if true > limit:
            raise InputError(
                f"{where} would have a true extent of {true:.4g}, beyond its limit of {limit:.4g}: "
                "bring the poses closer together."
            )

    @property
    def answers(self) -> tuple[Answer, ...]:
        """One per scored coordinate."""
        found = []
        for axis in self.axes:
            limit = self.limit(axis.name)
            threshold = FLIP_THRESHOLD if axis.kind in FLIP_KINDS else NEGLIGIBLE * limit
            found.append(
                Answer(
                    coordinate=axis.name,
                    true=axis.answer(limit),
                    limit=limit,
                    threshold=threshold,
                )
            )
        return tuple(found)

    @property
    def true(self) -> dict[str, float]:
        """The true extent of every scored coordinate; for a flip the probability."""
        return {answer.coordinate: answer.true for answer in self.answers}

    @property
    def regression(self) -> bool:
        """Whether any axis is a regression target."""
        return any(axis.kind == "target" for axis in self.axes)

    @property
    def n_outputs(self) -> int:
        """Number of classes, or of regression targets."""
        if self.regression:
            return sum(axis.kind == "target" or axis.n_labels > 1 for axis in self.axes)
        return self.base.n_classes * math.prod(axis.n_labels for axis in self.axes)

    def limit(self, name: str) -> float:
        """The limit of a coordinate; 1/2 for a flip, because p and 1 - p are equivalent."""
        if self._flips(name):
            return FLIP_LIMIT
        return self.transform.coordinates[self.transform.names.index(name)].limit

    def draw(self, n: int, seed: int) -> tuple[Tensor, Tensor]:
        """n inputs and targets; another seed draws other items, for example for testing."""
        drawn = self.sample(n, seed)
        return drawn.x, drawn.y

    def sample(self, n: int, seed: int) -> Drawn:
        """n items with all that is known about them; labels are balanced, in random order."""
        if n < 1:
            raise InputError(f"The problem '{self.name}' can draw one item or more, but not {n}.")
        generator = torch.Generator().manual_seed(seed)
        sizes = [self.base.n_classes, *(axis.n_labels for axis in self.axes)]
        y = torch.randperm(n, generator=generator) % math.prod(sizes)
        labels = torch.stack(torch.unravel_index(y, sizes), dim=1)
        base = self.base.draw(labels[:, 0], generator)
        drawn = []
        targets = []
        for axis, label in zip(self.axes, labels[:, 1:].unbind(1), strict=True):
            position = axis.draw(label, self.limit(axis.name), generator)
            drawn.append(position)
            target = axis.target(label, position)
            if target is not None:
                targets.append(target)
        positions = torch.stack(drawn, dim=1)
        return Drawn(
            x=self.move(base, positions),
            y=torch.stack(targets, dim=1) if self.regression else y,
            base=base,
            positions=positions,
            labels=labels,
        )

    def move(self, base: Tensor, positions: Tensor) -> Tensor:
        """Moves base items to positions along the axes.   base: (n, ...)   positions: (n, axes)"""
        t = torch.zeros(len(base), len(self.transform.names))
        for axis, position in zip(self.axes, positions.unbind(1), strict=True):
            t[:, self.transform.names.index(axis.name)] = coordinate_at(axis.name, position)
        return self.transform(base, t)

    def augmentation(self, start: dict[str, float] | float = 0.3) -> Augmentation:
        """The transform with a learnable distribution over all coordinates.

        Args:
            start: bounds and probabilities of flips by name; or one bound for all, where flips
                start at half of it.
        """
        found = []
        for part in self._parts:
            discrete = part.coordinates[0].discrete
            if isinstance(start, dict):
                values = [start[name] for name in part.names]
            else:
                values = [start / 2 if discrete else start] * len(part.names)
            if discrete:
                probabilities = [min(value, 0.499) for value in values]
                found.append(Augmentation(part, Bernoulli(probabilities)))
            else:
                found.append(Augmentation(part, Uniform(values)))
        return found[0] if len(found) == 1 else Chain(*found)

    def extents(self, augmentation: Augmentation) -> dict[str, float]:
        """Learned extents in the unit of the answers: bounds, and min(p, 1 - p) for flips."""
        found = augmentation.extent
        for name in found:
            if self._flips(name):
                found[name] /= 2
        return found

    @property
    def _parts(self) -> list[Transform]:
        if isinstance(self.transform, Compose):
            return list(self.transform.parts)  # type: ignore[arg-type]
        return [self.transform]

    def _flips(self, name: str) -> bool:
        return any(c.discrete and c.name == name for c in self.transform.coordinates)
