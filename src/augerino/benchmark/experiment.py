"""The recovery benchmark as an experiment: every contestant, setting and problem is one row."""

import dataclasses
import math
import statistics
from dataclasses import dataclass
from pathlib import Path

from augerino import plots
from augerino.benchmark.catalogue import embedded
from augerino.benchmark.contestants import CONTESTANTS, contestant
from augerino.benchmark.natural import HARD, hard
from augerino.benchmark.problem import Problem
from augerino.benchmark.recovery_figures import draw_intervals, draw_settings
from augerino.benchmark.scoring import Outcome, Reading, Score, compare, summarize
from augerino.errors import InputError
from augerino.learning.recipe import Recipe
from augerino.runtime.trials import BaseRow, BaseSettings, Experiment, Line, Trial


@dataclass(frozen=True)
class Recovery(BaseSettings):
    """Problems with known symmetries: which contestant finds them and their extents?"""

    problems: tuple[str, ...] = ()
    """names of problems, or prefixes (soft, pair-rotate), separated by commas; by default all on
    embedded data"""
    contestants: tuple[str, ...] = ()
    """names of contestants: probe, squares, squares-informed, released, log-volume, start, widest,
    none; all by default"""
    reg_weights: tuple[float, ...] = (0.001, 0.01, 0.1, 1.0)
    """values of λ, for contestants that have one"""
    tolerances: tuple[float, ...] = (0.01, 0.03, 0.1)
    """tolerances of the probe"""
    hard: bool = False
    """add digits and photographs, if mnist.npz and cifar10.npz are found"""
    steps: int = 2000
    """steps of each training"""
    max_items: int = 10_000
    """maximum number of training items of a problem"""
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
        self._require_at_least_one("steps", "max_items", "batch_size", "width")
        self._require_fraction("tolerances", *self.tolerances)
        chosen_contestants(self)
        chosen_names(self)

    def recipe(self, problem: Problem) -> Recipe:
        """The same network, batch size and number of steps for every contestant."""
        steps_per_epoch = math.ceil(problem.n_items / self.batch_size)
        return Recipe(
            epochs=math.ceil(self.steps / steps_per_epoch),
            batch_size=self.batch_size,
            width=self.width,
        )


@dataclass(frozen=True, kw_only=True)
class Case(BaseRow):
    """One training: a contestant at a setting on a problem."""

    problem: str
    contestant: str
    setting: float | None


def chosen_names(settings: Recovery) -> list[str]:
    """Names of the chosen problems; all if none is named."""
    known = [problem.name for problem in embedded()]
    if settings.hard:
        known += HARD
    for prefix in settings.problems:
        if not any(name.startswith(prefix) for name in known):
            hint = ""
            if any(name.startswith(prefix) for name in HARD):
                hint = " (problems on digits and photographs need --hard)"
            raise InputError(
                f"No problem has the name or prefix '{prefix}'{hint}. "
                f"There are: {', '.join(known)}."
            )
    if not settings.problems:
        return known
    return [name for name in known if name.startswith(settings.problems)]


def chosen_contestants(settings: Recovery) -> list[tuple[str, float | None]]:
    """Every chosen contestant at every setting."""
    found: list[tuple[str, float | None]] = []
    for name in settings.contestants or CONTESTANTS:
        contestant(name)  # rejects unknown names
        setting_name = CONTESTANTS[name].setting_name
        if setting_name == "tolerance":
            found += [(name, value) for value in settings.tolerances]
        elif setting_name:
            found += [(name, value) for value in settings.reg_weights]
        else:
            found.append((name, None))
    return found


def rows(settings: Recovery) -> list[Case]:
    """Every contestant, setting and problem."""
    return [
        Case(
            name=f"{problem}, {contestant(name, value).name}",
            problem=problem,
            contestant=name,
            setting=value,
        )
        for name, value in chosen_contestants(settings)
        for problem in chosen_names(settings)
    ]


def load(settings: Recovery, seed: int, data: str | None) -> list[Problem]:
    """The chosen problems; hard ones only if their file is found."""
    found = list(embedded())
    if settings.hard:
        natural = hard(data)
        if not natural:
            raise InputError(
                "The hard problems need mnist.npz or cifar10.npz: "
                "give the folder that has them with --data DIR."
            )
        found += natural
    names = chosen_names(settings)
    return [problem for problem in found if problem.name in names]


def trial(settings: Recovery, row: Case, seed: int, data: str | None) -> Trial:
    """Trains once and compares the learned extents with the true ones."""
    common = {"problem": row.problem, "contestant": row.contestant, "setting": row.setting}
    problems = {problem.name: problem for problem in load(settings, seed, data)}
    if row.problem not in problems:
        return {**common, "absent": True}
    problem = problems[row.problem]
    problem = dataclasses.replace(problem, n_items=min(problem.n_items, settings.max_items))
    chosen = contestant(row.contestant, row.setting, settings.recipe(problem))
    outcome = compare(problem, seed, chosen.run(problem, seed))
    return {
        **common,
        "overlap": outcome.overlap,
        "learned": outcome.learned,
        "readings": [vars(reading) for reading in outcome.readings],
    }


def scores(settings: Recovery, trials: list[Trial]) -> list[tuple[str, float | None, Score]]:
    """The score of each contestant at each setting, in the order of the rows."""
    found = []
    for name, value in chosen_contestants(settings):
        outcomes = [
            _outcome(t)
            for t in trials
            if t["contestant"] == name and t["setting"] == value and not t.get("absent")
        ]
        found.append((name, value, summarize(contestant(name, value).name, outcomes)))
    return found


def _outcome(trial: Trial) -> Outcome:
    return Outcome(
        problem=trial["problem"],
        seed=trial["seed"],
        readings=tuple(Reading(**reading) for reading in trial["readings"]),
        learned=trial["learned"],
    )


def best(found: list[tuple[str, float | None, Score]]) -> dict[str, Score]:
    """Each contestant at the setting with its largest overlap."""
    chosen: dict[str, Score] = {}
    for name, _, score in found:
        if name not in chosen or score.overlap.mean > chosen[name].overlap.mean:
            chosen[name] = score
    return chosen


def table(settings: Recovery, trials: list[Trial]) -> list[Line]:
    """The leaderboard; then overlaps per problem, and the extents found by the winner."""
    found = scores(settings, trials)
    ranked = sorted((score for _, _, score in found), key=lambda score: -score.overlap.mean)
    lines = []
    for score in ranked:
        text = f"overlap {score.overlap}, F1 {score.f1}; {_by_kind(score)}"
        lines.append(Line(row=score.contestant, measured=text))
    chosen = best(found)
    for problem in chosen_names(settings):
        lines.append(Line(row=problem, measured=_problem_text(problem, ranked[0], chosen)))
    return lines


def _problem_text(problem: str, winner: Score, chosen: dict[str, Score]) -> str:
    outcomes = winner.of(problem)
    if not outcomes:
        return "not run: data file not found (--data DIR)"
    extents = []
    for i, reading in enumerate(outcomes[0].readings):
        learned = ", ".join(f"{outcome.readings[i].learned:.3f}" for outcome in outcomes)
        extents.append(f"{reading.coordinate} {learned} (true {reading.true:.3f})")
    overlaps = []
    for name, score in chosen.items():
        mean = statistics.mean(outcome.overlap for outcome in score.of(problem))
        overlaps.append(f"{name} {mean:.2f}")
    return f"{', '.join(overlaps)}; {winner.contestant}: {'; '.join(extents)}"


def _by_kind(score: Score) -> str:
    """Mean overlap by the first word of the problems' names."""
    kinds: dict[str, list[float]] = {}
    for outcome in score.outcomes:
        kinds.setdefault(outcome.problem.split("-")[0], []).append(outcome.overlap)
    return ", ".join(f"{kind} {sum(values) / len(values):.2f}" for kind, values in kinds.items())


def draw(settings: Recovery, trials: list[Trial], folder: Path, data: str | None) -> None:
    """Score against setting, and per contestant the learned and true intervals."""
    found = scores(settings, trials)
    with plots.style():
        draw_settings(folder / "settings.png", found)
        for name, score in best(found).items():
            draw_intervals(folder / f"intervals-{name}.png", score)


EXPERIMENT = Experiment(
    name="recovery",
    presets={
        "cpu": Recovery(seeds=3, jobs=2),
        "quick": Recovery(
            seeds=1,
            problems=("soft-rotate-letters-few", "none-time_shift", "pair-rotate-mirror"),
            reg_weights=(0.05,),
            tolerances=(0.03,),
            steps=60,
            max_items=300,
        ),
    },
    rows=rows,
    trial=trial,
    table=table,
    draw=draw,
    load=load,
)
