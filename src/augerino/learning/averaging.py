"""The averaging step: chooses number and strength of test copies on held-out samples."""

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from augerino.augmentation import Augmentation
from augerino.coordinate import LearnedCoordinate
from augerino.data.arrays import Task
from augerino.distributions import Uniform, parts_of
from augerino.learning.candidates import is_full_turn
from augerino.learning.defaults import default_model, no_augmentation
from augerino.learning.recipe import Recipe
from augerino.models import InvariantModel, mean_prob
from augerino.transforms import Brightness, Compose, Contrast, PhotometricTransform, Transform

STRENGTHS = (0.5, 1.0)  # of the test copies, relative to training


@dataclass(frozen=True, eq=False)
class EvaluationCopies:
    """How the final model averages its predictions.

    Args:
        copies: number of copies; 1 is a single view of the input, without augmentation.
        strength: of the ranges, relative to training; 0 for a single view.
        augmentation: of the copies.
    """

    copies: int
    strength: float
    augmentation: Augmentation

    @property
    def text(self) -> str:
        """Describes the copies in a few words."""
        if self.copies == 1:
            return "a single view"
        if self.strength == 1.0:
            return f"{self.copies} copies"
        return f"{self.copies} copies at {self.strength:g} of the strength"


def single_view() -> EvaluationCopies:
    """The input as it is."""
    return EvaluationCopies(1, 0.0, no_augmentation())


def evaluation_candidates(policy: Augmentation, copies: int) -> list[EvaluationCopies]:
    """A single view, and several copies at a few strengths, without photometric operations."""
    names = _spatial_names(policy.transform)
    if copies == 1 or not names:
        return [single_view()]
    spatial = policy.only(*names)
    return [single_view(), *(EvaluationCopies(copies, s, _scaled(spatial, s)) for s in STRENGTHS)]


def choose_copies(
    candidates: Iterable[EvaluationCopies], loss_of: Callable[[EvaluationCopies], Tensor]
) -> EvaluationCopies:
    """The candidate with the lowest mean loss.   loss_of: returns the loss of each sample, (n,)"""
    return min(candidates, key=lambda candidate: float(loss_of(candidate).mean()))


def averaged_model(
    net: nn.Module, copies: EvaluationCopies, *, task: Task, recipe: Recipe
) -> InvariantModel:
    """A network averaged over test copies; class probabilities are averaged, not their logs."""
    recipe = recipe.but(test_copies=copies.copies)
    augmentation = copy.deepcopy(copies.augmentation).requires_grad_(False)
    device = next(net.parameters()).device
    model, _ = default_model(net, augmentation.to(device), task=task, recipe=recipe)
    if task != "regression":
        model.average = mean_prob
    return model.eval()


def _spatial_names(transform: Transform) -> list[str]:
    """Names of the coordinates that do not change intensities."""
    parts: list[Any] = list(transform.parts) if isinstance(transform, Compose) else [transform]
    still = (Brightness, Contrast, PhotometricTransform)
    return [name for part in parts if not isinstance(part, still) for name in part.names]


def _scaled(augmentation: Augmentation, strength: float) -> Augmentation:
    """A copy with smaller ranges; full rotations and flips stay."""
    scaled = copy.deepcopy(augmentation)
    coordinates = iter(scaled.coordinates)
    for part in parts_of(scaled.distribution):
        own = [next(coordinates) for _ in range(part.size)]
        if isinstance(part, Uniform):
            part.extent = [_scaled_extent(c, strength) for c in own]
    return scaled


def _scaled_extent(coordinate: LearnedCoordinate, strength: float) -> float:
    if is_full_turn(coordinate):
        return coordinate.extent
    return strength * coordinate.extent
