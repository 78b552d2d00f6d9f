"""`payoff`: runs a user's method on cells of the suite, or on own data."""

import dataclasses
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from augerino.benchmark.payoff import catalogue
from augerino.benchmark.payoff.cell import Cell, Kind, Split, choose
from augerino.benchmark.payoff.contestants import Contestant, OwnRecipe, as_contestant, named
from augerino.benchmark.payoff.image_cells import image_net
from augerino.benchmark.payoff.other_cells import cloud_net, signal_net
from augerino.benchmark.payoff.scoring import Leaderboard, leaderboard
from augerino.benchmark.payoff.standard import (
    flip_and_crop,
    jitter_and_gain,
    shift_and_rotate,
    turn_and_jitter,
)
from augerino.data.dataset import Dataset
from augerino.errors import InputError
from augerino.learning.recipe import Recipe

STEPS = 2000


def payoff(
    recipe: Recipe | Contestant | OwnRecipe,
    datasets: Sequence[str | Cell | Dataset] | None = None,
    *,
    against: Sequence[str | Contestant] = ("none", "standard"),
    seeds: int | Sequence[int] = 3,
    data: str | Path | None = None,
    steps: int | None = None,
) -> Leaderboard:
    """Compares a way to augment with others, by the accuracy of the models on new data.

    Every contestant has the same networks, number of steps and number of test copies.

    Args:
        recipe: an `ag.Recipe` of `learn`; a function of (make_net, (inputs, targets), seed) that
            returns a trained model, where make_net() makes a new network; or a `Contestant`.
        datasets: names of cells of the suite (`augerino run payoff`), cells of your own, or
            datasets of classes with a test part; by default the cells on embedded data.
        against: names of contestants of the suite, or contestants.
        seeds: their number, from 0, or the seeds themselves.
        data: folder of data files, for cells that need some.
        steps: of one training; by default those of each cell.

    Example:
        >>> from augerino.benchmark import payoff
        >>> def untrained(make_net, data, seed):
        ...     return make_net()
        >>> board = payoff(untrained, ["signals-120"], against=["none"], seeds=1, steps=30)
        >>> sorted(rank.contestant for rank in board.ranks)
        ['none', 'untrained']
    """
    folder = None if data is None else str(data)
    mine = as_contestant(recipe)
    others = [one if isinstance(one, Contestant) else named(one, folder) for one in against]
    if mine.name in {other.name for other in others}:
        raise InputError(f"Two contestants have the name '{mine.name}': rename one.")
    cells = _cells(datasets, steps)
    if isinstance(seeds, int):
        seeds = range(seeds)
    outcomes = []
    for cell in cells:
        chosen = [one for one in (*others, mine) if one.applies_to(cell)]
        for seed in seeds:
            split = cell.load(seed, folder)
            outcomes += [one.run(cell, split, seed) for one in chosen]
    return leaderboard(outcomes, {cell.name: cell.unit for cell in cells})


def _cells(datasets: Sequence[str | Cell | Dataset] | None, steps: int | None) -> list[Cell]:
    if datasets is None:
        found = list(catalogue.embedded())
    else:
        found = [cell for dataset in datasets for cell in _as_cells(dataset)]
    names = [cell.name for cell in found]
    if not names or len(set(names)) < len(names):
        raise InputError(f"Expected one or more cells of distinct names, but got {names}.")
    if steps is None:
        return found
    return [dataclasses.replace(cell, steps=steps) for cell in found]


def _as_cells(dataset: str | Cell | Dataset) -> tuple[Cell, ...]:
    if isinstance(dataset, Cell):
        return (dataset,)
    if isinstance(dataset, Dataset):
        return (cell_of(dataset),)
    return catalogue.find([dataset])


def cell_of(dataset: Dataset, kind: Kind | None = None, steps: int = STEPS) -> Cell:
    """A cell on own data: images, signals or point clouds with classes, and a test part.

    Args:
        dataset: in memory, as `ag.data.open_dataset` or your arrays.
        kind: "digits" or "faces" for images that are no photographs.
        steps: of one training.
    """
    standards: dict[str, tuple[Kind, Any, Any]] = {
        "images": ("photographs", image_net, partial(flip_and_crop, dataset.shape[-1])),
        "signals": ("signals", signal_net, jitter_and_gain),
        "points": ("clouds", cloud_net, turn_and_jitter),
    }
    if dataset.kind not in standards or dataset.task != "classification":
        raise InputError(
            "A cell needs images, signals or points with classes, but the data are "
            f"{dataset.kind} for {dataset.task}."
        )
    if dataset.test is None or not dataset.in_memory:
        raise InputError("A cell needs data in memory with a test part.")
    usual, net, standard = standards[dataset.kind]
    if kind == "digits":
        standard = shift_and_rotate

    def load(seed: int, _data: str | None) -> Split:
        n_train = dataset.n_train
        n_test = dataset.n_test
        train, test = choose(dataset.train, dataset.test, seed=seed, n_train=n_train, n_test=n_test)
        return Split(train, test, n_outputs=dataset.n_outputs)

    return Cell(
        name=dataset.name,
        kind=kind or usual,
        load=load,
        net=net,
        steps=steps,
        standard=standard,
    )
