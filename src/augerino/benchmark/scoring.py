"""Scores of learned extents: overlap of intervals, F1 of the symmetries, bootstrap intervals."""

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from augerino.benchmark.catalogue import embedded
from augerino.benchmark.contestants import Contestant, by_recipe
from augerino.benchmark.problem import Problem
from augerino.errors import InputError
from augerino.learning.recipe import Recipe

N_RESAMPLES = 1000  # of the bootstrap


@dataclass(frozen=True)
class Reading:
    """True and learned extent of one scored coordinate."""

    coordinate: str
    true: float
    limit: float
    threshold: float  # a larger learned extent counts as found
    learned: float

    @property
    def overlap(self) -> float:
        """Intersection over union of ±learned and ±true; 1 - learned / limit if true is 0.

        Learned extents are clipped to the limit.

        Example:
            >>> rotate = Reading("rotate", true=0.8, limit=3.14, threshold=0.06, learned=1.0)
            >>> scale = Reading("scale", true=0.0, limit=1.0, threshold=0.02, learned=0.25)
            >>> rotate.overlap, scale.overlap
            (0.8, 0.75)
        """
        learned = min(self.learned, self.limit)
        if self.true == 0:
            return 1 - learned / self.limit
        return min(learned, self.true) / max(learned, self.true)

    @property
    def found(self) -> bool:
        """Whether the coordinate was learned as a symmetry."""
        return self.learned > self.threshold

    @property
    def is_symmetry(self) -> bool:
        """Whether the coordinate is a symmetry."""
        return self.true > 0


@dataclass(frozen=True)
class Outcome:
    """The result of one problem and seed."""

    problem: str
    seed: int
    readings: tuple[Reading, ...]
    learned: dict[str, float]  # of every coordinate, scored or not

    @property
    def overlap(self) -> float:
        """The mean over the problem's scored coordinates."""
        return sum(reading.overlap for reading in self.readings) / len(self.readings)


@dataclass(frozen=True)
class Estimate:
    """A mean and its 95 % bootstrap interval over seeds, which is empty for one seed."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        if self.low < self.high:
            return f"{self.mean:.3f} ({self.low:.3f} to {self.high:.3f})"
        return f"{self.mean:.3f}"


@dataclass(frozen=True)
class Score:
    """A contestant's result over several problems and seeds."""

    contestant: str
    overlap: Estimate
    f1: Estimate
    outcomes: tuple[Outcome, ...]

    def of(self, problem: str) -> tuple[Outcome, ...]:
        """The outcomes of one problem."""
        return tuple(outcome for outcome in self.outcomes if outcome.problem == problem)

    def __str__(self) -> str:
        lines = [f"{self.contestant}: overlap {self.overlap}, F1 {self.f1}"]
        for outcome in self.outcomes:
            name = f"{outcome.problem}, seed {outcome.seed}"
            extents = ", ".join(
                f"{r.coordinate} {r.learned:.3f} (true {r.true:.3f})" for r in outcome.readings
            )
            lines.append(f"  {name}: overlap {outcome.overlap:.3f}; {extents}")
        return "\n".join(lines)


def compare(problem: Problem, seed: int, learned: dict[str, float]) -> Outcome:
    """Compares learned extents with the true ones of a problem."""
    missing = [answer.coordinate for answer in problem.answers if answer.coordinate not in learned]
    if missing:
        raise InputError(
            "A contestant must return an extent for every coordinate, "
            f"but returned none for {', '.join(missing)}."
        )
    for name, value in learned.items():
        if not 0 <= value < math.inf:
            raise InputError(
                "An extent must be a finite number of at least 0, "
                f"but a contestant returned {value} for {name}."
            )
    readings = [
        Reading(
            coordinate=answer.coordinate,
            true=answer.true,
            limit=answer.limit,
            threshold=answer.threshold,
            learned=float(learned[answer.coordinate]),
        )
        for answer in problem.answers
    ]
    return Outcome(
        problem=problem.name,
        seed=seed,
        readings=tuple(readings),
        learned={name: float(value) for name, value in learned.items()},
    )


def f1(readings: Iterable[Reading]) -> float:
    """F1 of the set of coordinates learned as symmetries; 1 if there is none and none is found.

    Computed over all readings together, because a problem without symmetries has no F1.
    """
    readings = list(readings)
    n_right = sum(reading.is_symmetry and reading.found for reading in readings)
    n_wrong = sum(reading.is_symmetry != reading.found for reading in readings)
    if n_right + n_wrong == 0:
        return 1.0
    return 2 * n_right / (2 * n_right + n_wrong)


def summarize(name: str, outcomes: Sequence[Outcome]) -> Score:
    """Mean overlap over problems and F1 over all readings, with bootstrap intervals.

    The bootstrap resamples the seeds of each problem.
    """
    if not outcomes:
        raise InputError(f"There is nothing to score for '{name}'.")
    by_problem: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        by_problem.setdefault(outcome.problem, []).append(outcome)
    groups = list(by_problem.values())
    rng = random.Random(0)
    resamples = [[rng.choices(group, k=len(group)) for group in groups] for _ in range(N_RESAMPLES)]
    return Score(
        contestant=name,
        overlap=_estimate(_mean_overlap, groups, resamples),
        f1=_estimate(_f1, groups, resamples),
        outcomes=tuple(outcomes),
    )


Groups = list[list[Outcome]]  # the outcomes of each problem


def _mean_overlap(groups: Groups) -> float:
    by_problem = [sum(outcome.overlap for outcome in group) / len(group) for group in groups]
    return sum(by_problem) / len(by_problem)


def _f1(groups: Groups) -> float:
    return f1(reading for group in groups for outcome in group for reading in outcome.readings)


def _estimate(
    measure: Callable[[Groups], float], groups: Groups, resamples: list[Groups]
) -> Estimate:
    values = sorted(measure(resample) for resample in resamples)
    return Estimate(
        mean=measure(groups),
        low=values[int(0.025 * N_RESAMPLES)],
        high=values[int(0.975 * N_RESAMPLES)],
    )


def score(
    recipe: Recipe | Contestant,
    problems: Sequence[Problem] | None = None,
    seeds: int | Sequence[int] = 3,
) -> Score:
    """Runs a recipe or a contestant on problems and scores the extents it finds.

    Args:
        recipe: of `learn`, with every coordinate of a problem free; or a `Contestant`.
        problems: by default those on embedded data.
        seeds: their number, from 0, or the seeds themselves. Each draws other items.

    Example:
        >>> from augerino.benchmark import contestant, embedded
        >>> print(score(contestant("widest"), embedded()[:1], seeds=1))
        widest: overlap 0.250, F1 1.000
          soft-rotate-sprites-clean, seed 0: overlap 0.250; rotate 3.142 (true 0.785)
    """
    chosen = recipe if isinstance(recipe, Contestant) else by_recipe(recipe)
    if isinstance(seeds, int):
        seeds = range(seeds)
    if problems is None:
        problems = embedded()
    if len({problem.name for problem in problems}) < len(problems):
        raise InputError("Every problem needs a distinct name, but two have the same.")
    outcomes = [
        compare(problem, seed, chosen.run(problem, seed)) for problem in problems for seed in seeds
    ]
    return summarize(chosen.name, outcomes)
