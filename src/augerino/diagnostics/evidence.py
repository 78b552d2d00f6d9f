"""Held-out loss with one coordinate widened, disabled or fixed: the evidence behind a verdict."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from augerino import tree
from augerino.augmentation import Element
from augerino.diagnostics.items import (
    Estimate,
    ItemScores,
    Resamples,
    chance,
    has_valid_target,
    percentile_interval,
    resample,
    score_items,
)
from augerino.errors import InputError
from augerino.models import InvariantModel, evaluation_mode

WIDER = 1.5  # factor by which a coordinate is widened
TOLERANCE = 0.05  # rise of the loss that ends a range, as a fraction of the information


@dataclass(frozen=True)
class CoordinateEvidence:
    """Held-out measurements of one coordinate.

    Attributes:
        coordinate: its name.
        off: change of the loss when the coordinate is fixed at 0, against the learned augmentation.
        off_accuracy: the same for accuracy; None for regression.
        wider: change of the loss when the coordinate is `WIDER` times as wide.
        wider_accuracy: the same for accuracy; None for regression.
        wider_extent: the extent of the widened coordinate.
        extents: extents at which the loss was measured.
        rise: `rise[i]` is the change of the loss when every input moves by exactly ±`extents[i]`.
        tolerance: the rise that ends a range.
        edge: the extent at which the rise exceeds the tolerance; None if it never does.
        interval: 95 % interval of `edge`; None if there is no edge.
    """

    coordinate: str
    off: Estimate
    off_accuracy: Estimate | None
    wider: Estimate
    wider_accuracy: Estimate | None
    wider_extent: float
    extents: list[float]
    rise: list[Estimate]
    tolerance: float
    edge: float | None
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class Evidence:
    """Held-out measurements of every coordinate.

    Attributes:
        n_items: number of held-out samples.
        chance: loss of the best constant prediction.
        information: chance minus the loss of the network on unmoved inputs.
        coordinates: the measurements by coordinate.
    """

    n_items: int
    chance: float
    information: Estimate
    coordinates: dict[str, CoordinateEvidence]


def gather_evidence(
    model: InvariantModel,
    x: Any,
    y: Tensor,
    *,
    steps: int = 10,
    draws: int = 1,
    chunk: int = 500,
    seed: int = 0,
) -> Evidence:
    """Measures how each coordinate of the augmentation changes the held-out loss.

    Every comparison is paired: the same samples under the same draws of all other coordinates.

    Args:
        model: a trained model.
        x: held-out inputs; a few hundred are enough.
        y: their targets. Masks in which every pixel is ignored are left out.
        steps: number of extents at which each continuous coordinate is measured.
        draws: augmented copies of each sample.
        chunk: number of samples per evaluation of the network.
        seed: seed of draws and resamples.
    """
    device = next(model.parameters()).device
    valid = has_valid_target(y)
    if not valid.any():
        raise InputError("Every pixel of the held-out masks is ignored: pass masks with labels.")
    x = tree.to(tree.map(lambda leaf: leaf[valid.to(leaf.device)], x), device)
    y = y[valid].to(device)
    items = _PairedItems(model, x, y, draws=draws, chunk=chunk, seed=seed)
    resamples = resample(len(y), seed)
    chance_loss = chance(y)
    with evaluation_mode(model):
        unmoved = items.scores_at(torch.zeros_like(items.t))
        information = resamples.estimate(chance_loss - unmoved.loss)
        tolerance = TOLERANCE * max(information.mean, 1e-3 * chance_loss)
        learned = items.scores_at(items.t)
        coordinates = {
            name: _measure(items, index, learned, tolerance, steps=steps, resamples=resamples)
            for index, name in enumerate(model.augmentation.names)
        }
    return Evidence(
        n_items=len(y), chance=chance_loss, information=information, coordinates=coordinates
    )


class _PairedItems:
    """Held-out samples under fixed draws t, so that two measurements differ in one coordinate only.

    t: (draws * samples, k)
    """

    def __init__(
        self, model: InvariantModel, x: Any, y: Tensor, *, draws: int, chunk: int, seed: int
    ) -> None:
        self.model = model
        self.x = x
        self.y = y
        self.draws = draws
        self.chunk = chunk
        with torch.random.fork_rng(devices=[y.device] if y.device.type == "cuda" else []):
            torch.manual_seed(seed)
            self.t = model.augmentation.sample(draws * len(y)).t.detach()

    def scores_at(self, t: Tensor) -> ItemScores:
        """Mean scores of each sample over its draws, at coordinates t (draws * samples, k)."""
        parts = []
        for rows in torch.arange(len(t), device=t.device).split(self.chunk):
            items = rows % len(self.y)
            g = Element(self.model.augmentation.transform, t[rows])
            prediction = self.model.average_over(tree.take(self.x, items), g)
            parts.append(score_items(prediction, self.y[items]))
        loss = self._mean_over_draws([part.loss for part in parts])
        correct = [part.correct for part in parts if part.correct is not None]
        return ItemScores(loss, self._mean_over_draws(correct) if correct else None)

    def scores_with(self, index: int, value: float | Tensor) -> ItemScores:
        """Mean scores of each sample with one coordinate set to a value."""
        t = self.t.clone()
        t[:, index] = value
        return self.scores_at(t)

    def _mean_over_draws(self, parts: list[Tensor]) -> Tensor:
        return torch.cat(parts).reshape(self.draws, -1).mean(dim=0).double().cpu()


def _measure(
    items: _PairedItems,
    index: int,
    learned: ItemScores,
    tolerance: float,
    *,
    steps: int,
    resamples: Resamples,
) -> CoordinateEvidence:
    coordinate = items.model.augmentation.coordinates[index]
    limit = coordinate.limit
    off = items.scores_with(index, 0.0)
    if coordinate.discrete:
        wider_extent = 1.0
        wider = items.scores_with(index, 1.0)
        extents = [0.0, 1.0]
        losses = [off.loss, wider.loss]
    else:
        wider_extent = min(WIDER * coordinate.max_abs, limit)
        factor = wider_extent / max(coordinate.max_abs, 1e-12)
        wider = items.scores_with(index, factor * items.t[:, index])
        largest = _largest_extent(coordinate.max_abs, limit)
        extents = torch.linspace(0, largest, steps + 1).tolist()
        losses = [off.loss]
        for value in extents[1:]:
            right = items.scores_with(index, value).loss
            left = items.scores_with(index, -value).loss
            losses.append((right + left) / 2)
    rises = torch.stack(losses) - losses[0]  # (extents, samples)
    edge = None
    interval = None
    if not coordinate.discrete:
        edge, interval = _find_edge(rises, extents, tolerance, resamples)
    return CoordinateEvidence(
        coordinate=coordinate.name,
        off=resamples.estimate(off.loss - learned.loss),
        off_accuracy=_accuracy_change(off, learned, resamples),
        wider=resamples.estimate(wider.loss - learned.loss),
        wider_accuracy=_accuracy_change(wider, learned, resamples),
        wider_extent=wider_extent,
        extents=extents,
        rise=[resamples.estimate(rise) for rise in rises],
        tolerance=tolerance,
        edge=edge,
        interval=interval,
    )


def _largest_extent(learned: float, limit: float) -> float:
    """Twice the learned extent, at least a tenth of the limit, at most the limit."""
    if math.isinf(limit):
        return 2 * learned
    return min(limit, max(2 * learned, 0.1 * limit))


def _accuracy_change(
    changed: ItemScores, learned: ItemScores, resamples: Resamples
) -> Estimate | None:
    if changed.correct is None or learned.correct is None:
        return None
    return resamples.estimate(changed.correct - learned.correct)


def _find_edge(
    rises: Tensor, extents: list[float], tolerance: float, resamples: Resamples
) -> tuple[float | None, tuple[float, float] | None]:
    """The extent at which the mean rise first exceeds the tolerance, and its 95 % interval.

    rises: (extents, samples)
    """
    points = torch.tensor(extents, dtype=rises.dtype)
    edge = _first_crossing(rises.mean(dim=1)[None], points, tolerance).item()
    if edge >= extents[-1]:
        return None, None
    resampled = torch.stack([resamples.means(rise) for rise in rises], dim=1)
    return edge, percentile_interval(_first_crossing(resampled, points, tolerance))


def _first_crossing(curves: Tensor, points: Tensor, level: float) -> Tensor:
    """The first point at which each curve exceeds a level, by linear interpolation.

    The last point where a curve never does.   curves: (m, points)   returns (m,)
    """
    above = curves > level
    above[:, 0] = False
    after = above.float().argmax(dim=1)
    before = (after - 1).clamp_min(0)
    low = curves.gather(1, before[:, None])[:, 0]
    high = curves.gather(1, after[:, None])[:, 0]
    fraction = ((level - low) / (high - low).clamp_min(1e-12)).clamp(0, 1)
    crossing = points[before] + fraction * (points[after] - points[before])
    return torch.where(above.any(dim=1), crossing, points[-1])
