"""How well extents were found: overlap of intervals, F1 of the set of symmetries, and bootstrap intervals over seeds."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from augerino.benchmark.catalogue import embedded
from augerino.benchmark.contestants import Contestant, by_recipe
from augerino.benchmark.problem import Problem
from augerino.errors import InputError
from augerino.learning.recipe import Recipe

DRAWS = 1000  # of the bootstrap


@dataclass(frozen=True)
class Reading:
    """One scored coordinate: what is true of it, and what was found."""

    coordinate: str
    true: float
    limit: float
    least: float  # from where on an extent counts as found
    learned: float

    @property
    def overlap(self) -> float:
        """Intersection over union of ±learned and ±true, or how much of the range was left alone where nothing is true.

        Past its limit an extent is the limit.

        Example:
            >>> Reading("rotate", 0.8, 3.14, 0.06, 1.0).overlap, Reading("scale", 0.0, 1.0, 0.02, 0.25).overlap
            (0.8, 0.75)
        """
        learned = min(self.learned, self.limit)
        if self.true == 0:
            return 1 - learned / self.limit
        return min(learned, self.true) / max(learned, self.true)

    @property
    def found(self) -> bool:
        return self.learned > self.least

    @property
    def there(self) -> bool:
        return self.true > 0


@dataclass(frozen=True)
class Outcome:
    """What came out of one problem and seed."""

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
    """A mean and its 95 % bootstrap interval over seeds; no interval where there is one seed only."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return (
            f"{self.mean:.3f} ({self.low:.3f} to {self.high:.3f})"
            if self.low < self.high
            else f"{self.mean:.3f}"
        )


@dataclass(frozen=True)
class Score:
    """A contestant's result over some problems and seeds."""

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
            found = ", ".join(
                f"{r.coordinate} {r.learned:.3f} (true {r.true:.3f})" for r in outcome.readings
            )
            lines.append(
                f"  {outcome.problem}, seed {outcome.seed}: overlap {outcome.overlap:.3f}; {found}"
            )
        return "\n".join(lines)


def judge(problem: Problem, seed: int, learned: dict[str, float]) -> Outcome:
    """Holds the extents that were found against a problem's answers."""
    missing = [answer.coordinate for answer in problem.answers if answer.coordinate not in learned]
    if missing:
        raise InputError(
            f"A contestant must give an extent for every coordinate, but gave none for {', '.join(missing)}."
        )
    for name, value in learned.items():
        if not 0 <= value < float("inf"):
            raise InputError(
                f"An extent is a number of at least 0, but a contestant gave {value} for {name}."
            )
    readings = [
        Reading(a.coordinate, a.true, a.limit, a.least, float(learned[a.coordinate]))
        for a in problem.answers
    ]
    return Outcome(
        problem.name, seed, tuple(readings), {name: float(value) for name, value in learned.items()}
    )


def f1(readings: Iterable[Reading]) -> float:
    """F1 of the set of coordinates called symmetries; 1 where there is none and none was found.

    One set over all readings: a problem without any symmetry has no F1 of its own, but what is found there counts.
    """
    readings = list(readings)
    right = sum(r.there and r.found for r in readings)
    wrong = sum(r.there != r.found for r in readings)
    return 2 * right / (2 * right + wrong) if right or wrong else 1.0


def summarise(name: str, outcomes: Sequence[Outcome]) -> Score:
    """Means over problems and F1 over all readings, with intervals from drawing each problem's seeds anew."""
    if not outcomes:
        raise InputError(f"There is nothing to score of '{name}'.")
    by_problem: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        by_problem.setdefault(outcome.problem, []).append(outcome)
    groups = list(by_problem.values())
    draw = random.Random(0)
    drawn = [[draw.choices(group, k=len(group)) for group in groups] for _ in range(DRAWS)]
    return Score(
        name, _estimate(_overlap, groups, drawn), _estimate(_f1, groups, drawn), tuple(outcomes)
    )


Groups = list[list[Outcome]]


def _overlap(groups: Groups) -> float:
    return sum(sum(o.overlap for o in group) / len(group) for group in groups) / len(groups)


def _f1(groups: Groups) -> float:
    return f1(reading for group in groups for outcome in group for reading in outcome.readings)


def _estimate(measure: Callable[[Groups], float], groups: Groups, drawn: list[Groups]) -> Estimate:
    values = sorted(measure(each) for each in drawn)
    return Estimate(measure(groups), values[int(0.025 * DRAWS)], values[int(0.975 * DRAWS)])


def score(
    recipe: Recipe | Contestant,
    problems: Sequence[Problem] | None = None,
    seeds: int | Sequence[int] = 3,
) -> Score:
    """Runs a recipe, or a contestant of your own, on problems and scores what it finds.

    Args:
        recipe: settings of `learn`, with every coordinate of a problem free and from the recipe's start; or a `Contestant`.
        problems: yours, or those on embedded data by default.
        seeds: how many, from 0, or which; each draws other items and trains anew.

    Example:
        >>> from augerino.benchmark import contestant, embedded
        >>> print(score(contestant("widest"), embedded()[:1], seeds=1))
        widest: overlap 0.250, F1 1.000
          soft-rotate-sprites-clean, seed 0: overlap 0.250; rotate 3.142 (true 0.785)
    """
    chosen = recipe if isinstance(recipe, Contestant) else by_recipe(recipe)
    which = range(seeds) if isinstance(seeds, int) else seeds
    chosen_problems = embedded() if problems is None else problems
    if len({problem.name for problem in chosen_problems}) < len(chosen_problems):
        raise InputError(
            "Every problem needs a name of its own, by which its outcomes are put together, but two have the same."
        )
    found = [
        judge(problem, seed, chosen.run(problem, seed))
        for problem in chosen_problems
        for seed in which
    ]
    return summarise(chosen.name, found)
