"""The recovery benchmark: are set and extent of known symmetries found, by whom, and at which settings?"""

import dataclasses
import statistics
from dataclasses import dataclass
from pathlib import Path

from augerino import plots
from augerino.benchmark import (
    CONTESTANTS,
    HARD,
    Outcome,
    Problem,
    Reading,
    Score,
    contestant,
    embedded,
    hard,
    summarise,
)
from augerino.benchmark.drawing import draw_intervals, draw_settings
from augerino.benchmark.scoring import judge
from augerino.errors import InputError
from augerino.learning.recipe import Recipe
from augerino.runtime.trials import BaseRow, BaseSettings, Experiment, Line, Trial


@dataclass(frozen=True)
class Recovery(BaseSettings):
    """Problems whose symmetries are known exactly: who finds which there are and how far they reach, and at which settings?"""

    problems: tuple[str, ...] = ()
    """names of problems, or how they begin (soft, pair-rotate), with commas; all on embedded data by default"""
    contestants: tuple[str, ...] = ()
    """who takes part: probe, squares, squares-informed, released, log-volume, start, widest, none; all by default"""
    weights: tuple[float, ...] = (0.001, 0.01, 0.1, 1.0)
    """every lambda to try, for those who have one"""
    tolerances: tuple[float, ...] = (0.01, 0.03, 0.1)
    """every tolerance to try, for probe"""
    hard: bool = False
    """also digits and photographs: mnist.npz and cifar10.npz, as far as --data DIR has them"""
    steps: int = 2000
    """of each training"""
    items: int = 10_000
    """training items of a problem at most"""
    batch_size: int = 64
    """items per step"""
    width: int = 8
    """channels of the network's first layer"""

    def __post_init__(self) -> None:
        for name in ("problems", "contestants"):
            words = [word.strip() for value in getattr(self, name) for word in value.split(",")]
            object.__setattr__(self, name, tuple(word for word in words if word))

    def check(self) -> None:
        super().check()
        self._at_least_one("steps", "items", "batch_size", "width")
        self._a_share("tolerances", *self.tolerances)
        chosen_contestants(self)
        chosen_names(self)

    def recipe(self, problem: Problem) -> Recipe:
        """The same network, batches and number of steps for every contestant."""
        epochs = -(-self.steps // -(-problem.items // self.batch_size))
        return Recipe(epochs=epochs, batch_size=self.batch_size, width=self.width)


@dataclass(frozen=True)
class Case(BaseRow):
    """One training: a contestant at a setting on a problem."""

    problem: str = ""
    contestant: str = ""
    setting: float | None = None


def chosen_names(settings: Recovery) -> list[str]:
    """The problems that are named, or all."""
    known = [*(problem.name for problem in embedded()), *(HARD if settings.hard else ())]
    for word in settings.problems:
        if not any(name.startswith(word) for name in known):
            more = (
                " (those on digits and photographs need --hard)"
                if any(name.startswith(word) for name in HARD)
                else ""
            )
            raise InputError(
                f"No problem is called or begins with '{word}'{more}. There are: {', '.join(known)}."
            )
    return [name for name in known if not settings.problems or name.startswith(settings.problems)]


def chosen_contestants(settings: Recovery) -> list[tuple[str, float | None]]:
    """Every contestant at every setting."""
    found: list[tuple[str, float | None]] = []
    for name in settings.contestants or CONTESTANTS:
        contestant(name)  # refuses a wrong name
        knob = CONTESTANTS[name].knob
        values = (
            settings.tolerances if knob == "tolerance" else settings.weights if knob else (None,)
        )
        found += [(name, value) for value in values]
    return found


def rows(settings: Recovery) -> list[Case]:
    """Every contestant, setting and problem."""
    return [
        Case(
            f"{problem}, {contestant(name, value).name}",
            problem=problem,
            contestant=name,
            setting=value,
        )
        for name, value in chosen_contestants(settings)
        for problem in chosen_names(settings)
    ]


def load(settings: Recovery, seed: int, data: str | None) -> list[Problem]:
    """The problems that can be had: those of the hard level only where their files are."""
    found = [*embedded(), *(hard(data) if settings.hard else ())]
    if settings.hard and len(found) == len(embedded()):
        raise InputError(
            "The hard problems need mnist.npz or cifar10.npz: name the folder that has them with --data DIR."
        )
    names = chosen_names(settings)
    return [problem for problem in found if problem.name in names]


def trial(settings: Recovery, row: Case, seed: int, data: str | None) -> Trial:
    """Trains once and reads every extent."""
    problem = next(
        (problem for problem in load(settings, seed, data) if problem.name == row.problem), None
    )
    common = {"problem": row.problem, "contestant": row.contestant, "setting": row.setting}
    if problem is None:
        return {**common, "absent": True}
    problem = dataclasses.replace(problem, items=min(problem.items, settings.items))
    learned = contestant(row.contestant, row.setting, settings.recipe(problem)).run(problem, seed)
    outcome = judge(problem, seed, learned)
    readings = [vars(reading) for reading in outcome.readings]
    return {**common, "overlap": outcome.overlap, "learned": outcome.learned, "readings": readings}


def scores(settings: Recovery, trials: list[Trial]) -> list[tuple[str, float | None, Score]]:
    """Each contestant at each setting, in the order of the rows."""
    found = []
    for name, value in chosen_contestants(settings):
        own = [
            t
            for t in trials
            if (t["contestant"], t["setting"]) == (name, value) and not t.get("absent")
        ]
        outcomes = [
            Outcome(
                t["problem"],
                t["seed"],
                tuple(Reading(**reading) for reading in t["readings"]),
                t["learned"],
            )
            for t in own
        ]
        found.append((name, value, summarise(contestant(name, value).name, outcomes)))
    return found


def best(found: list[tuple[str, float | None, Score]]) -> dict[str, Score]:
    """Each contestant at the setting of its largest overlap."""
    chosen: dict[str, Score] = {}
    for name, _, one in found:
        if name not in chosen or one.overlap.mean > chosen[name].overlap.mean:
            chosen[name] = one
    return chosen


def table(settings: Recovery, trials: list[Trial]) -> list[Line]:
    """The leaderboard; then, for each problem, the overlap of every contestant and what the first of them found."""
    found = scores(settings, trials)
    ranked = sorted((one for _, _, one in found), key=lambda one: -one.overlap.mean)
    lines = [
        Line(one.contestant, f"overlap {one.overlap}, F1 {one.f1}; {_by_kind(one)}")
        for one in ranked
    ]
    chosen = best(found)
    for problem in chosen_names(settings):
        outcomes = ranked[0].of(problem)
        if not outcomes:
            lines.append(Line(problem, "not run: its file is not there (--data DIR)"))
            continue
        texts = []
        for i, reading in enumerate(outcomes[0].readings):
            learned = ", ".join(f"{outcome.readings[i].learned:.3f}" for outcome in outcomes)
            texts.append(f"{reading.coordinate} {learned} (true {reading.true:.3f})")
        overlaps = ", ".join(
            f"{name} {_overlap_of(one, problem):.2f}" for name, one in chosen.items()
        )
        lines.append(Line(problem, f"{overlaps}; {ranked[0].contestant}: {'; '.join(texts)}"))
    return lines


def _overlap_of(one: Score, problem: str) -> float:
    return statistics.mean(outcome.overlap for outcome in one.of(problem))


def _by_kind(one: Score) -> str:
    """Mean overlap by the first word of the problems' names."""
    kinds: dict[str, list[float]] = {}
    for outcome in one.outcomes:
        kinds.setdefault(outcome.problem.split("-")[0], []).append(outcome.overlap)
    return ", ".join(f"{kind} {sum(values) / len(values):.2f}" for kind, values in kinds.items())


def draw(settings: Recovery, trials: list[Trial], folder: Path, data: str | None) -> None:
    """Learned over true intervals, a picture a contestant; and score against setting."""
    found = scores(settings, trials)
    with plots.style():
        draw_settings(folder / "settings.png", found)
        for name, one in best(found).items():
            draw_intervals(folder / f"intervals-{name}.png", one)


EXPERIMENT = Experiment(
    "recovery",
    {
        "cpu": Recovery(seeds=3, jobs=2),
        "quick": Recovery(
            seeds=1,
            problems=("soft-rotate-letters-few", "none-time_shift", "pair-rotate-mirror"),
            weights=(0.05,),
            tolerances=(0.03,),
            steps=60,
            items=300,
        ),
    },
    rows,
    trial,
    table,
    draw,
)
