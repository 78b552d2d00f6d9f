"""Scores of the payoff suite: regret, paired differences with 95 % intervals, and cost.

Differences are in points of accuracy. For a regression they are 100 times the logarithm of the
ratio of two errors, which is about the difference in % of the error. Positive is better.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from augerino.benchmark.payoff.trained import Outcome
from augerino.diagnostics.items import RESAMPLES, percentile_interval

# 97.5 % quantiles of Student's t with 1 to 10 degrees of freedom.
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
_NORMAL = 1.959964


@dataclass(frozen=True)
class Difference:
    """How much better one contestant is than another, with a 95 % interval; positive is better."""

    mean: float
    low: float
    high: float

    @property
    def is_better(self) -> bool:
        """Whether the interval lies above 0."""
        return self.low > 0

    @property
    def is_worse(self) -> bool:
        """Whether the interval lies below 0."""
        return self.high < 0

    def __str__(self) -> str:
        return f"{self.mean:+.2f} ({self.low:+.2f} to {self.high:+.2f})"


def student_quantile(degrees: int) -> float:
    """The 97.5 % quantile of Student's t; above 10 degrees by its expansion about the normal."""
    if degrees <= len(_STUDENT):
        return _STUDENT[degrees - 1]
    z = _NORMAL
    first = (z**3 + z) / (4 * degrees)
    second = (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
    return z + first + second


def gain(score: float, other: float, is_regression: bool) -> float:
    """How much better a score is than another: points of accuracy, or 100 · log ratio of errors."""
    if is_regression:
        tiny = 1e-12  # an error of 0 would have no logarithm
        return 100 * math.log(max(other, tiny) / max(score, tiny))
    return score - other


def difference(
    outcomes: Sequence[Outcome], others: Sequence[Outcome], is_regression: bool = False
) -> Difference | None:
    """The paired difference of two contestants on one cell; None if they share no seed.

    The interval is Student's over seeds. With a single seed it is that of the bootstrap over the
    test items, which ignores the variation between trainings.
    """
    by_seed = {outcome.seed: outcome for outcome in others}
    pairs = [(mine, by_seed[mine.seed]) for mine in outcomes if mine.seed in by_seed]
    if not pairs:
        return None
    if len(pairs) == 1:
        return _bootstrap(*pairs[0], is_regression)
    gains = [gain(mine.score, other.score, is_regression) for mine, other in pairs]
    mean = statistics.mean(gains)
    error = statistics.stdev(gains) / len(gains) ** 0.5
    half = student_quantile(len(gains) - 1) * error
    return Difference(mean=mean, low=mean - half, high=mean + half)


def _bootstrap(mine: Outcome, other: Outcome, is_regression: bool) -> Difference:
    generator = torch.Generator().manual_seed(0)
    n = len(mine.items)
    drawn = torch.randint(n, (RESAMPLES, n), generator=generator)
    means = _resampled(mine.items, drawn)
    other_means = _resampled(other.items, drawn)
    gains = [
        gain(a, b, is_regression) for a, b in zip(means.tolist(), other_means.tolist(), strict=True)
    ]
    low, high = percentile_interval(torch.tensor(gains))
    return Difference(mean=gain(mine.score, other.score, is_regression), low=low, high=high)


def _resampled(items: Tensor, drawn: Tensor) -> Tensor:
    return items.double()[drawn].mean(dim=1)


@dataclass(frozen=True)
class Entry:
    """One contestant on one cell.

    Args:
        cell: name of the cell.
        contestant: name of the contestant.
        unit: "%" of accuracy, or the unit of the error.
        score: mean over seeds, with copies.
        one_view: mean over seeds of one plain view.
        regret: loss against the best contestant of the cell; at least 0.
        over_none: difference from no augmentation; None if that was not run.
        over_standard: difference from the standard augmentation.
        cost: CPU time in units of a training without augmentation; None if that was not run.
        n_seeds: number of seeds.
    """

    cell: str
    contestant: str
    unit: str
    score: float
    one_view: float
    regret: float
    over_none: Difference | None
    over_standard: Difference | None
    cost: float | None
    n_seeds: int

    @property
    def is_regression(self) -> bool:
        """Whether the score is an error."""
        return self.unit != "%"

    def __str__(self) -> str:
        digits = 1 if self.is_regression else 2
        text = f"{self.score:.{digits}f} {self.unit} (one view {self.one_view:.{digits}f})"
        text += f", regret {self.regret:.2f}"
        for name, found in (("none", self.over_none), ("standard", self.over_standard)):
            if found is not None and self.contestant != name:
                text += f", over {name} {found}"
        return text if self.cost is None else f"{text}, cost {self.cost:.1f}"


@dataclass(frozen=True)
class Rank:
    """One contestant over all its cells.

    Args:
        contestant: name of the contestant.
        points: mean regret over cells with an accuracy, in points; None without any.
        percent: mean regret over regressions, in % of the error; None without any.
        entries: its entries, one per cell.
    """

    contestant: str
    points: float | None
    percent: float | None
    entries: tuple[Entry, ...]

    @property
    def cost(self) -> float | None:
        """Mean cost over cells."""
        costs = [entry.cost for entry in self.entries if entry.cost is not None]
        return statistics.mean(costs) if costs else None

    def counts(self, baseline: str) -> tuple[int, int, int]:
        """In how many cells it is significantly better and worse than a baseline, of how many."""
        found = [getattr(entry, f"over_{baseline}") for entry in self.entries]
        known = [one for one in found if one is not None]
        return sum(one.is_better for one in known), sum(one.is_worse for one in known), len(known)

    def __str__(self) -> str:
        parts = []
        if self.points is not None:
            parts.append(f"regret {self.points:.2f} points")
        if self.percent is not None:
            parts.append(f"regret {self.percent:.1f} % of the error")
        for baseline in ("none", "standard"):
            better, worse, of = self.counts(baseline)
            if of and self.contestant != baseline:
                parts.append(f"over {baseline}: better in {better}, worse in {worse} of {of}")
        if self.cost is not None:
            parts.append(f"cost {self.cost:.1f}")
        parts.append(f"{len(self.entries)} cells")
        return "; ".join(parts)


@dataclass(frozen=True)
class Leaderboard:
    """The result of the suite: contestants by regret, and their entries by cell."""

    ranks: tuple[Rank, ...]
    entries: tuple[Entry, ...]
    skipped: dict[str, str] = field(default_factory=dict)  # reason by name of a cell

    def of(self, cell: str) -> tuple[Entry, ...]:
        """The entries of one cell, the best first."""
        found = [entry for entry in self.entries if entry.cell == cell]
        return tuple(sorted(found, key=lambda entry: entry.regret))

    def __str__(self) -> str:
        lines = [f"{rank.contestant}: {rank}" for rank in self.ranks]
        for cell in dict.fromkeys(entry.cell for entry in self.entries):
            lines.append(cell)
            lines += [f"  {entry.contestant}: {entry}" for entry in self.of(cell)]
        lines += [f"{cell}: not run: {reason}" for cell, reason in self.skipped.items()]
        return "\n".join(lines)


def leaderboard(
    outcomes: Sequence[Outcome],
    units: dict[str, str],
    skipped: dict[str, str] | None = None,
) -> Leaderboard:
    """Ranks contestants by their mean regret.

    Args:
        outcomes: of all cells, contestants and seeds.
        units: of the error of each cell; empty for an accuracy.
        skipped: cells that were not run, and why.
    """
    by_cell: dict[str, dict[str, list[Outcome]]] = {}
    for outcome in outcomes:
        by_contestant = by_cell.setdefault(outcome.cell, {})
        by_contestant.setdefault(outcome.contestant, []).append(outcome)
    entries = [
        entry for cell, found in by_cell.items() for entry in _entries(cell, found, units[cell])
    ]
    names = dict.fromkeys(outcome.contestant for outcome in outcomes)
    ranks = [
        _rank(name, [entry for entry in entries if entry.contestant == name]) for name in names
    ]
    ranks.sort(key=_total)
    return Leaderboard(tuple(ranks), tuple(entries), skipped or {})


def _entries(cell: str, found: dict[str, list[Outcome]], unit: str) -> list[Entry]:
    is_regression = bool(unit)
    means = {name: _mean(outcomes) for name, outcomes in found.items()}
    best = min(means.values()) if is_regression else max(means.values())
    none = found.get("none", [])
    standard = found.get("standard", [])
    plain = statistics.mean(outcome.seconds for outcome in none) if none else 0.0
    entries = []
    for name, outcomes in found.items():
        seconds = statistics.mean(outcome.seconds for outcome in outcomes)
        entries.append(
            Entry(
                cell=cell,
                contestant=name,
                unit=unit or "%",
                score=means[name],
                one_view=statistics.mean(outcome.one_view for outcome in outcomes),
                regret=gain(best, means[name], is_regression),
                over_none=difference(outcomes, none, is_regression),
                over_standard=difference(outcomes, standard, is_regression),
                cost=seconds / plain if plain > 0 else None,
                n_seeds=len(outcomes),
            )
        )
    return entries


def _mean(outcomes: Sequence[Outcome]) -> float:
    return statistics.mean(outcome.score for outcome in outcomes)


def _rank(name: str, all_entries: list[Entry]) -> Rank:
    entries = [entry for entry in all_entries if entry.contestant == name]
    points = [entry.regret for entry in entries if not entry.is_regression]
    percent = [entry.regret for entry in entries if entry.is_regression]
    return Rank(
        contestant=name,
        points=statistics.mean(points) if points else None,
        percent=statistics.mean(percent) if percent else None,
        entries=tuple(entries),
    )


def _total(rank: Rank) -> float:
    """Mean regret over all cells, in points; 4 % of an error count as one point.

    The goals of the suite are half a point and 2 %.
    """
    regrets = [entry.regret / (4 if entry.is_regression else 1) for entry in rank.entries]
    return statistics.mean(regrets)
