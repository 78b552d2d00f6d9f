"""The payoff suite as an experiment: every cell and contestant is one row."""

import base64
import dataclasses
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from augerino import plots
from augerino.benchmark.payoff import catalogue
from augerino.benchmark.payoff.cell import Cell, take
from augerino.benchmark.payoff.contestants import all_contestants, named
from augerino.benchmark.payoff.figures import draw_board
from augerino.benchmark.payoff.scoring import Leaderboard, leaderboard
from augerino.benchmark.payoff.trained import Outcome
from augerino.errors import InputError
from augerino.runtime.trials import BaseRow, BaseSettings, Experiment, Line, Trial


@dataclass(frozen=True)
class Payoff(BaseSettings):
    """Does augmentation pay? Accuracy of models on new data, against fixed and published
    augmentation at the same budget."""

    cells: tuple[str, ...] = ()
    """names of cells, or prefixes (mnist, cifar10, qm9-homo), separated by commas; layer13 for all
    with that network; by default those of the preset"""
    contestants: tuple[str, ...] = ()
    """names of contestants: none, standard, RandAugment, TrivialAugment, AutoAugment,
    FastAutoAugment, gradient, gradient-standard, probe, refit, learned, oracle; all by default"""
    first_seed: int = 0
    """first of the seeds; from 100 on nothing is scored on test items, but on training items that
    are not trained on: for choices"""
    max_steps: int = 1_000_000
    """maximum number of steps of one training"""
    max_test: int = 1_000_000
    """maximum number of test items"""

    def __post_init__(self) -> None:
        for name in ("cells", "contestants"):
            words = [word.strip() for value in getattr(self, name) for word in value.split(",")]
            object.__setattr__(self, name, tuple(word for word in words if word))

    @property
    def seed_range(self) -> range:
        return range(self.first_seed, self.first_seed + self.seeds)

    def check(self) -> None:
        super().check()
        self._require_at_least_one("max_steps", "max_test")
        if self.first_seed < 0:
            raise InputError(f"first_seed must be at least 0, but got {self.first_seed}.")
        rows(self)


@dataclass(frozen=True, kw_only=True)
class Case(BaseRow):
    """One training: a contestant on a cell."""

    cell: str
    contestant: str


def chosen_cells(settings: Payoff) -> tuple[Cell, ...]:
    """The cells of the settings, with their number of steps."""
    found = catalogue.find(settings.cells) if settings.cells else catalogue.usual()
    return tuple(
        dataclasses.replace(cell, steps=min(cell.steps, settings.max_steps)) for cell in found
    )


def rows(settings: Payoff) -> list[Case]:
    """Every cell with each of the contestants that apply to it."""
    chosen = [named(name) for name in settings.contestants or all_contestants()]
    return [
        Case(name=f"{cell.name}, {one.name}", cell=cell.name, contestant=one.name)
        for cell in chosen_cells(settings)
        for one in chosen
        if one.applies_to(cell)
    ]


def load(settings: Payoff, _seed: int, data: str | None) -> None:
    """Checks that the data of at least one cell are there, and of all cells that are named."""
    reasons = []
    cells = chosen_cells(settings)
    for cell in cells:
        try:
            cell.load(settings.first_seed, data)
        except InputError as error:
            reasons.append(f"{cell.name} cannot be run. {error}")
    if reasons and (len(reasons) == len(cells) or settings.cells):
        raise InputError(reasons[0])


def trial(settings: Payoff, row: Case, seed: int, data: str | None) -> Trial:
    """Trains once and scores the model; without its files, it is skipped with the reason."""
    common = {"cell": row.cell, "contestant": row.contestant}
    (cell,) = (cell for cell in chosen_cells(settings) if cell.name == row.cell)
    contestant = named(row.contestant, data)
    try:
        contestant.check_files(data)
        split = cell.load(seed, data)
    except InputError as error:
        return {**common, "skipped": str(error)}
    n_test = min(len(split.test[1]), settings.max_test)
    split = dataclasses.replace(split, test=take(split.test, torch.arange(n_test)))
    outcome = contestant.run(cell, split, seed)
    return {
        **common,
        "score": round(outcome.score, 4),
        "one_view": round(outcome.one_view, 4),
        "cpu_seconds": round(outcome.seconds, 2),
        "items": _packed(outcome.items, cell.is_regression),
        **({"notes": outcome.notes} if outcome.notes else {}),
    }


def _packed(items: Tensor, is_regression: bool) -> str | list[float]:
    """Items for a file: errors as numbers, correctness as the base64 text of one bit per item."""
    if is_regression:
        return [round(value, 3) for value in items.tolist()]
    bits = np.packbits((items > 0).numpy())
    return f"{len(items)}:{base64.b64encode(bits.tobytes()).decode()}"


def _unpacked(packed: str | list[float]) -> Tensor:
    if isinstance(packed, list):
        return torch.tensor(packed)
    count, _, text = packed.partition(":")
    bits = np.unpackbits(np.frombuffer(base64.b64decode(text), dtype=np.uint8), count=int(count))
    return 100.0 * torch.from_numpy(bits)


def board(settings: Payoff, trials: list[Trial]) -> Leaderboard:
    """The leaderboard of all trials that were run."""
    units = {cell.name: cell.unit for cell in chosen_cells(settings)}
    outcomes = [
        Outcome(
            cell=trial["cell"],
            contestant=trial["contestant"],
            seed=trial["seed"],
            items=_unpacked(trial["items"]),
            one_view=trial["one_view"],
            seconds=trial["cpu_seconds"],
            notes=trial.get("notes", {}),
        )
        for trial in trials
        if "skipped" not in trial
    ]
    skipped = {trial["row"]: trial["skipped"] for trial in trials if "skipped" in trial}
    return leaderboard(outcomes, units, skipped)


def table(settings: Payoff, trials: list[Trial]) -> list[Line]:
    """The leaderboard; then every cell with its contestants, the best first."""
    found = board(settings, trials)
    lines = [Line(row=rank.contestant, measured=str(rank)) for rank in found.ranks]
    for cell in dict.fromkeys(entry.cell for entry in found.entries):
        for entry in found.of(cell):
            lines.append(Line(row=f"{cell}, {entry.contestant}", measured=str(entry)))
    for row, reason in found.skipped.items():
        lines.append(Line(row=row, measured=f"not run: {reason}"))
    return lines


def draw(settings: Payoff, trials: list[Trial], folder: Path, _data: str | None) -> None:
    """Differences from the standard augmentation by cell, and regret by contestant."""
    found = board(settings, trials)
    if found.entries:
        with plots.style():
            draw_board(folder / "payoff.png", found)


EXPERIMENT = Experiment(
    name="payoff",
    presets={
        "quick": Payoff(
            seeds=1,
            cells=tuple(cell.name for cell in catalogue.embedded()),
            contestants=("none", "standard", "gradient", "learned"),
            max_steps=60,
            max_test=300,
        ),
        "cpu": Payoff(seeds=5, jobs=2),
        "full": Payoff(seeds=5, jobs=2, cells=tuple(cell.name for cell in catalogue.all_cells())),
    },
    rows=rows,
    trial=trial,
    table=table,
    draw=draw,
    load=load,
)
