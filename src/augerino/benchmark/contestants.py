"""Contestants: methods that estimate extents, all with the same network and budget."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from augerino.augmentation import Augmentation
from augerino.benchmark.problem import Problem
from augerino.errors import InputError
from augerino.learning.learn import learn
from augerino.learning.recipe import Recipe
from augerino.learning.released import ReleasedPenalty, informed_start
from augerino.objective import LogVolume, NegativeL2, Regularizer

Run = Callable[[Problem, int], dict[str, float]]


@dataclass(frozen=True)
class Contestant:
    """A method that estimates extents.

    Args:
        name: for tables.
        run: maps a problem and a seed to the extent of every coordinate; for a flip min(p, 1 - p).
    """

    name: str
    run: Run


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A built-in contestant.

    Args:
        title: a short description.
        make: the contestant's `run` for a value of its setting and a recipe.
        setting_name: "λ" or "tolerance"; empty if it has no setting.
        default: value of the setting.
    """

    title: str
    make: Callable[[float, Recipe], Run]
    setting_name: str = ""
    default: float = 0.0


def contestant(name: str, setting: float | None = None, recipe: Recipe | None = None) -> Contestant:
    """One of `CONTESTANTS`.

    Args:
        name: "probe", "squares", "squares-informed", "released", "log-volume", "start", "widest" or
            "none".
        setting: λ, or the tolerance of "probe"; that of `Recipe` by default.
        recipe: budget and network; `Recipe()` by default.
    """
    if name not in CONTESTANTS:
        raise InputError(f"There is no contestant '{name}'. There are: {', '.join(CONTESTANTS)}.")
    entry = CONTESTANTS[name]
    value = entry.default if setting is None else setting
    title = f"{name}, {entry.setting_name} = {value:g}" if entry.setting_name else name
    return Contestant(title, entry.make(value, recipe or Recipe()))


def by_recipe(recipe: Recipe, name: str = "recipe") -> Contestant:
    """A contestant that runs `learn` with a recipe, with every coordinate free."""

    def run(problem: Problem, seed: int) -> dict[str, float]:
        return _learn(problem, seed, recipe, problem.augmentation(recipe.start))

    return Contestant(name, run)


def _learn(
    problem: Problem,
    seed: int,
    recipe: Recipe,
    augmentation: Augmentation,
    regularizer: Regularizer | None = None,
) -> dict[str, float]:
    """Trains on the problem's items and returns the learned extents."""
    options: dict[str, Any] = {} if regularizer is None else {"regularizer": regularizer}
    learned = learn(
        None,
        problem.draw(problem.n_items, seed),
        augmentation=augmentation,
        recipe=recipe,
        n_outputs=problem.n_outputs,
        seed=seed,
        trial_length=0.0,  # the extents alone are scored
        **options,
    )
    return problem.extents(learned.augmentation)


def _probe(tolerance: float, recipe: Recipe) -> Run:
    return by_recipe(recipe.but(method="probe", tolerance=tolerance)).run


def _squares(reg_weight: float, recipe: Recipe) -> Run:
    return by_recipe(recipe.but(method="gradient", reg_weight=reg_weight)).run


def _squares_informed(reg_weight: float, recipe: Recipe) -> Run:
    by_gradient = recipe.but(method="gradient", reg_weight=reg_weight)
    return _from_informed_start(by_gradient, lambda augmentation: NegativeL2())


def _released(reg_weight: float, recipe: Recipe) -> Run:
    """The released recipe: bounds share the learning rate of the weights, without warm-up."""
    released = recipe.but(
        method="gradient", reg_weight=reg_weight, augmentation_lr=recipe.lr, warm_up=0.0
    )
    return _from_informed_start(released, lambda augmentation: ReleasedPenalty(augmentation.names))


def _from_informed_start(recipe: Recipe, regularizer: Callable[[Augmentation], Regularizer]) -> Run:
    def run(problem: Problem, seed: int) -> dict[str, float]:
        symmetries = {name for name, extent in problem.true.items() if extent > 0}
        limits = {name: problem.limit(name) for name in problem.transform.names}
        augmentation = problem.augmentation(informed_start(limits, symmetries))
        return _learn(problem, seed, recipe, augmentation, regularizer=regularizer(augmentation))

    return run


def _log_volume(reg_weight: float, recipe: Recipe) -> Run:
    by_gradient = recipe.but(method="gradient", reg_weight=reg_weight)

    def run(problem: Problem, seed: int) -> dict[str, float]:
        augmentation = problem.augmentation(recipe.start)
        return _learn(problem, seed, by_gradient, augmentation, regularizer=LogVolume())

    return run


def _constant(fraction: float) -> Callable[[float, Recipe], Run]:
    """A fixed fraction of every limit, independent of the data."""

    def run(problem: Problem, seed: int) -> dict[str, float]:
        return {name: fraction * problem.limit(name) for name in problem.transform.names}

    return lambda _setting, _recipe: run


def _start(_setting: float, recipe: Recipe) -> Run:
    return lambda problem, seed: problem.extents(problem.augmentation(recipe.start))


CONTESTANTS = {
    "probe": Entry(
        title="probes the held-out loss (`method='probe'`)",
        make=_probe,
        setting_name="tolerance",
        default=Recipe.tolerance,
    ),
    "squares": Entry(
        title="the paper's −Σθ², equal start",
        make=_squares,
        setting_name="λ",
        default=Recipe.reg_weight,
    ),
    "squares-informed": Entry(
        title="the paper's −Σθ², informed start",
        make=_squares_informed,
        setting_name="λ",
        default=Recipe.reg_weight,
    ),
    "released": Entry(
        title="the released recipe, informed start",
        make=_released,
        setting_name="λ",
        default=Recipe.reg_weight,
    ),
    "log-volume": Entry(
        title="−Σ log θ, equal start",
        make=_log_volume,
        setting_name="λ",
        default=Recipe.reg_weight,
    ),
    "start": Entry(title="every coordinate at its start", make=_start),
    "widest": Entry(title="every coordinate at its limit", make=_constant(1.0)),
    "none": Entry(title="no augmentation", make=_constant(0.0)),
}
