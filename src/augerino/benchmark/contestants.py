"""Ways of finding extents, each told the same and given the same network and budget."""

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
    """A way of finding extents.

    Args:
        name: for tables.
        run: from a problem and a seed to the extent of every coordinate (of a flip, its probability up to a half).
    """

    name: str
    run: Run


@dataclass(frozen=True)
class Entry:
    """What is known of a contestant before it is made."""

    title: str
    make: Callable[[float, Recipe], Run]
    knob: str = ""  # what its number is called; empty where it has none
    usual: float = 0.0  # that number, where none is given


def contestant(name: str, setting: float | None = None, recipe: Recipe | None = None) -> Contestant:
    """One of `CONTESTANTS`, at a setting of its one number.

    Args:
        name: "probe", "squares", "squares-informed", "released", "log-volume", "start", "widest" or "none".
        setting: lambda, or the tolerance of "probe"; the usual one by default.
        recipe: budget and network; `Recipe()` by default.
    """
    if name not in CONTESTANTS:
        raise InputError(f"There is no contestant '{name}'. There are: {', '.join(CONTESTANTS)}.")
    entry = CONTESTANTS[name]
    value = entry.usual if setting is None else setting
    title = f"{name}, {entry.knob} = {value:g}" if entry.knob else name
    return Contestant(title, entry.make(value, recipe or Recipe()))


def by_recipe(recipe: Recipe, name: str = "recipe") -> Contestant:
    """A recipe of yours, every coordinate from its start, by its method."""

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
    """Trains on the problem's items and reads the extents."""
    data = problem.draw(problem.items, seed)
    options: dict[str, Any] = {"regularizer": regularizer} if regularizer is not None else {}
    learned = learn(
        None,
        data,
        augmentation=augmentation,
        recipe=recipe,
        n_outputs=problem.outputs,
        seed=seed,
        **options,
    )
    return problem.extents(learned.augmentation)


def _probe(tolerance: float, recipe: Recipe) -> Run:
    return by_recipe(recipe.but(method="probe", tolerance=tolerance)).run


def _squares(weight: float, recipe: Recipe) -> Run:
    return by_recipe(recipe.but(method="gradient", reg_weight=weight)).run


def _squares_informed(weight: float, recipe: Recipe) -> Run:
    return _from_informed_start(
        recipe.but(method="gradient", reg_weight=weight), lambda augmentation: NegativeL2()
    )


def _released(weight: float, recipe: Recipe) -> Run:
    """Bounds that learn as fast as the weights and from the first step on."""
    recipe = recipe.but(
        method="gradient", reg_weight=weight, augmentation_lr=recipe.lr, warm_up=0.0
    )
    return _from_informed_start(recipe, lambda augmentation: ReleasedPenalty(augmentation.names))


def _from_informed_start(recipe: Recipe, regularizer: Callable[[Augmentation], Regularizer]) -> Run:
    def run(problem: Problem, seed: int) -> dict[str, float]:
        symmetries = {name for name, extent in problem.true.items() if extent > 0}
        limits = {name: problem.limit(name) for name in problem.transform.names}
        augmentation = problem.augmentation(informed_start(limits, symmetries))
        return _learn(problem, seed, recipe, augmentation, regularizer(augmentation))

    return run


def _log_volume(weight: float, recipe: Recipe) -> Run:
    def run(problem: Problem, seed: int) -> dict[str, float]:
        chosen = recipe.but(method="gradient", reg_weight=weight)
        return _learn(problem, seed, chosen, problem.augmentation(recipe.start), LogVolume())

    return run


def _always(share: float) -> Callable[[float, Recipe], Run]:
    """The same share of every limit, without looking at the data."""

    def run(problem: Problem, seed: int) -> dict[str, float]:
        return {name: share * problem.limit(name) for name in problem.transform.names}

    return lambda _setting, _recipe: run


def _at_the_start(_setting: float, recipe: Recipe) -> Run:
    return lambda problem, seed: problem.extents(problem.augmentation(recipe.start))


CONTESTANTS = {
    "probe": Entry(
        "held-back items are asked (`method='probe'`)", _probe, "tolerance", Recipe.tolerance
    ),
    "squares": Entry("the paper's −Σθ², equal start", _squares, "λ", Recipe.reg_weight),
    "squares-informed": Entry(
        "the paper's −Σθ², told which coordinates", _squares_informed, "λ", Recipe.reg_weight
    ),
    "released": Entry(
        "the released recipe, told which coordinates", _released, "λ", Recipe.reg_weight
    ),
    "log-volume": Entry("−Σ log θ, equal start", _log_volume, "λ", Recipe.reg_weight),
    "start": Entry("every coordinate stays where it starts", _at_the_start),
    "widest": Entry("every coordinate at its limit", _always(1.0)),
    "none": Entry("no augmentation", _always(0.0)),
}
