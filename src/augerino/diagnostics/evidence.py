"""How the held-out loss answers when one coordinate is widened, switched off, or set to a value: the ground of a verdict."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from augerino import tree
from augerino.augmentation import Element
from augerino.diagnostics.items import Items, chance, has_valid_target, judge
from augerino.errors import InputError
from augerino.models import InvariantModel, evaluation_mode

WIDER = 1.5  # how much wider than learned a coordinate is tried
KNOWN = 0.05  # a rise of the loss by this share of what the network knows is where an extent ends
RESAMPLES = 1000


@dataclass(frozen=True)
class Change:
    """A mean change over held-out items, each compared with itself, and its bootstrap 95 % interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Resamples:
    """Bootstrap draws of items: how often each one counts in each draw, (draws, items)."""

    counts: Tensor

    def means(self, values: Tensor) -> Tensor:
        """The mean of one value an item in every draw."""
        return self.counts @ values.double().cpu() / values.numel()

    def change(self, values: Tensor) -> Change:
        low, high = (
            self.means(values).quantile(torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
        )
        return Change(float(values.double().mean()), low, high)


def resample(items: int, seed: int = 0) -> Resamples:
    """Bootstrap draws of so many items."""
    generator = torch.Generator().manual_seed(seed)
    draws = [
        torch.randint(items, (items,), generator=generator).bincount(minlength=items)
        for _ in range(RESAMPLES)
    ]
    return Resamples(torch.stack(draws).double())


@dataclass(frozen=True)
class Evidence:
    """What held-out data say of one coordinate.

    `off` and `wider` are changes of the loss (and of the share of right answers) when the coordinate is switched off and
    when it is made `WIDER` times as wide, against the learned augmentation. `rise[i]` is the change of the loss when every input
    is moved by exactly ±`extents[i]` along it, against not moving it. `reach` is where that rise passes `tolerance`, with its
    95 % interval; both are None where it never does within `extents`.
    """

    coordinate: str
    off: Change
    off_right: Change | None
    wider: Change
    wider_right: Change | None
    wider_extent: float
    extents: list[float]
    rise: list[Change]
    tolerance: float
    reach: float | None
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class Findings:
    """The evidence for every coordinate, and whether the network knows anything of the held-out data at all."""

    items: int
    chance: float  # loss of a guess that does not look
    known: Change  # by how much the network, its inputs left as they are, is better than that
    coordinates: dict[str, Evidence]


def gather(
    model: InvariantModel,
    x: Any,
    y: Tensor,
    *,
    steps: int = 10,
    draws: int = 1,
    chunk: int = 500,
    seed: int = 0,
) -> Findings:
    """Measures, on data the model was not trained on, what each coordinate of its augmentation does to the loss.

    Every comparison is paired: the same items under the same draws of all other coordinates.

    Args:
        model: trained.
        x: held-out inputs; a few hundred are enough.
        y: their targets. Masks without a single pixel that counts are left out.
        steps: at how many extents each continuous coordinate is looked at.
        draws: how often each item is drawn.
        chunk: items at once.
        seed: of draws and resamples.
    """
    where = next(model.parameters()).device
    asked = has_valid_target(y)
    if not asked.any():
        raise InputError(
            "Every pixel of the held-out masks is ignored, so they say nothing: give some that are labelled."
        )
    x, y = (tree.map(lambda leaf: leaf[asked.to(leaf.device)].to(where), part) for part in (x, y))
    look = _Look(model, x, y, draws, chunk, seed)
    best = chance(y)
    resamples = resample(len(y), seed)
    with evaluation_mode(model):
        learned = look.at(look.t)
        known = resamples.change(best - look.at(torch.zeros_like(look.t)).loss)
        tolerance = KNOWN * max(known.mean, 1e-3 * best)
        found = {
            name: _examine(look, i, name, learned, tolerance, steps, resamples)
            for i, name in enumerate(model.augmentation.names)
        }
    return Findings(len(y), best, known, found)


class _Look:
    """Items under fixed draws, so that two looks differ in one coordinate only."""

    def __init__(
        self, model: InvariantModel, x: Any, y: Tensor, draws: int, chunk: int, seed: int
    ) -> None:
        self.model, self.x, self.y, self.draws, self.chunk = model, x, y, draws, chunk
        with torch.random.fork_rng(devices=[y.device] if y.device.type == "cuda" else []):
            torch.manual_seed(seed)
            self.t = model.augmentation.sample(draws * len(y)).t.detach()

    def at(self, t: Tensor) -> Items:
        """Mean loss and correctness of each item over its draws, moved by the coordinates t (draws n, k)."""
        parts = []
        for rows in torch.arange(len(t), device=t.device).split(self.chunk):
            items = rows % len(self.y)
            g = Element(self.model.augmentation.transform, t[rows])
            parts.append(judge(self.model.average_over(_take(self.x, items), g), self.y[items]))
        loss, right = (
            None if column[0] is None else self._mean(torch.cat(column))
            for column in zip(*parts, strict=True)
        )
        assert loss is not None
        return Items(loss, right)

    def _mean(self, values: Tensor) -> Tensor:
        return values.reshape(self.draws, -1).mean(dim=0).double().cpu()

    def moved(self, index: int, value: float | Tensor) -> Items:
        """The items with one coordinate set to a value."""
        t = self.t.clone()
        t[:, index] = value
        return self.at(t)


def _examine(
    look: _Look,
    i: int,
    name: str,
    learned: Items,
    tolerance: float,
    steps: int,
    resamples: Resamples,
) -> Evidence:
    coordinate = look.model.augmentation.coordinates[i]
    reach = coordinate.max_abs
    limit = coordinate.limit
    discrete = coordinate.discrete
    off = look.moved(i, 0.0)
    wider_extent = 1.0 if discrete else min(WIDER * reach, limit)
    wider = look.moved(i, 1.0 if discrete else look.t[:, i] * (wider_extent / max(reach, 1e-12)))
    if discrete:
        extents, losses = [0.0, 1.0], [off.loss, wider.loss]
    else:
        span = min(limit, max(2 * reach, 0.1 * limit if limit < float("inf") else 2 * reach))
        extents = torch.linspace(0, span, steps + 1).tolist()
        losses = [off.loss] + [
            (look.moved(i, e).loss + look.moved(i, -e).loss) / 2 for e in extents[1:]
        ]
    rises = torch.stack(losses) - losses[0]  # (extents, items)
    crossing, interval = (
        (None, None) if discrete else _crossing(rises, extents, tolerance, resamples)
    )
    return Evidence(
        name,
        resamples.change(off.loss - learned.loss),
        None
        if off.right is None or learned.right is None
        else resamples.change(off.right - learned.right),
        resamples.change(wider.loss - learned.loss),
        None
        if wider.right is None or learned.right is None
        else resamples.change(wider.right - learned.right),
        wider_extent,
        extents,
        [resamples.change(rise) for rise in rises],
        tolerance,
        crossing,
        interval,
    )


def _crossing(
    rises: Tensor, extents: list[float], tolerance: float, resamples: Resamples
) -> tuple[float | None, tuple[float, float] | None]:
    """Where the mean rise first passes the tolerance, and the 95 % interval of that place over resampled items."""
    means = torch.stack([resamples.means(rise) for rise in rises], dim=1)  # (resamples, extents)
    places = _first_above(means, torch.tensor(extents, dtype=means.dtype), tolerance)
    (place,) = _first_above(
        rises.mean(dim=1)[None], torch.tensor(extents, dtype=means.dtype), tolerance
    ).tolist()
    if place >= extents[-1]:
        return None, None
    low, high = places.quantile(torch.tensor([0.025, 0.975], dtype=places.dtype)).tolist()
    return place, (low, high)


def _first_above(curves: Tensor, extents: Tensor, level: float) -> Tensor:
    """The first place, between the points by straight lines, where each curve (m, points) passes a level; the end if never."""
    above = curves > level
    above[:, 0] = False
    first = above.float().argmax(dim=1)
    before, after = (
        curves.gather(1, (first - 1).clamp_min(0)[:, None])[:, 0],
        curves.gather(1, first[:, None])[:, 0],
    )
    share = ((level - before) / (after - before).clamp_min(1e-12)).clamp(0, 1)
    place = extents[(first - 1).clamp_min(0)] + share * (
        extents[first] - extents[(first - 1).clamp_min(0)]
    )
    return torch.where(above.any(dim=1), place, extents[-1])


def _take(x: Any, items: Tensor) -> Any:
    return tree.map(lambda leaf: leaf[items], x)
