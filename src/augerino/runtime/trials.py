"""Runs the trials of an experiment in worker processes and stores each result as JSON."""

import dataclasses
import json
import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any

from augerino.errors import InputError
from augerino.runtime import files
from augerino.runtime.allocator import keep_memory

Trial = dict[str, Any]  # the JSON result of one training


@dataclass(frozen=True)
class BaseSettings:
    """Settings that every experiment has."""

    seeds: int = 3
    """number of seeds, from 0"""
    jobs: int = 1
    """trainings that run at the same time, one thread each"""

    @property
    def seed_range(self) -> range:
        """The seeds of every row."""
        return range(self.seeds)

    def check(self) -> None:
        """Raises `InputError` for the first invalid setting."""
        self._require_at_least_one("seeds", "jobs")

    def _require_at_least_one(self, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            if value < 1:
                raise InputError(f"{name} must be at least 1, but got {value}.")

    def _require_fraction(self, name: str, *values: float) -> None:
        for value in values:
            if not 0 < value < 1:
                raise InputError(f"{name} must lie between 0 and 1, but got {value:g}.")


@dataclass(frozen=True)
class BaseRow:
    """One row of an experiment's table."""

    name: str


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of the printed and saved table: the measured result beside the paper's."""

    row: str
    measured: str
    paper: str = ""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """An experiment: its presets, and functions for its rows, trials, table and figures.

    Args:
        name: as on the command line.
        presets: settings by name of the preset.
        rows: the rows of the table for given settings.
        trial: runs (settings, row, seed, data folder) and returns the result.
        table: the lines of the table from settings and all trials.
        draw: writes the figures of (settings, trials, folder, data folder).
        load: reads the data of (settings, seed, data folder). Called once before a run starts,
            so that missing data are reported early. None if the experiment needs no files.
    """

    name: str
    presets: Mapping[str, BaseSettings]
    rows: Callable[[Any], Sequence[BaseRow]]
    trial: Callable[[Any, Any, int, str | None], Trial]
    table: Callable[[Any, list[Trial]], list[Line]]
    draw: Callable[[Any, list[Trial], Path, str | None], None]
    load: Callable[[Any, int, str | None], object] | None = None


def trial_name(row: str, seed: int) -> str:
    """The ASCII file name of a trial: 'lambda---0-1-2' for the row 'λ = 0.1' and seed 2."""
    spelled = row.lower().replace("λ", "lambda").replace("θ", "theta")
    slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in spelled).strip("-")
    return f"{slug}-{seed}"


def check_trial_names(rows: Sequence[BaseRow]) -> None:
    """Rejects rows of different names whose trials would share a file."""
    names: dict[str, str] = {}
    for row in rows:
        other = names.setdefault(trial_name(row.name, 0), row.name)
        if other != row.name:
            raise InputError(
                f"Expected rows with distinct file names, but '{other}' and '{row.name}' "
                "differ in punctuation only: run them separately, with another --out."
            )


def settings_json(settings: BaseSettings) -> dict[str, Any]:
    """Settings after a round trip through JSON: tuples become lists."""
    value: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(settings)))
    return value


def pending(
    experiment: Experiment, settings: BaseSettings, folder: Path
) -> list[tuple[BaseRow, int]]:
    """Rows and seeds whose result is not in the folder yet, seed by seed."""
    rows = experiment.rows(settings)
    return [
        (row, seed)
        for seed in settings.seed_range
        for row in rows
        if not _path(folder, row, seed).exists()
    ]


def run_trials(
    experiment: Experiment, settings: BaseSettings, folder: Path, data: str | None
) -> Iterator[Trial]:
    """Runs the pending trials, writes each result and yields it in order of completion."""
    (folder / "trials").mkdir(exist_ok=True)
    task = _Task(experiment=experiment, settings=settings, folder=folder, data=data)
    todo = pending(experiment, settings, folder)
    if settings.jobs == 1 or len(todo) < 2:
        for row, seed in todo:
            yield task.run(row, seed)
        return
    with ProcessPoolExecutor(
        settings.jobs, mp_context=get_context("spawn"), initializer=_prepare_worker
    ) as pool:
        futures = [pool.submit(task.run, row, seed) for row, seed in todo]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def load_trials(experiment: Experiment, settings: BaseSettings, folder: Path) -> list[Trial]:
    """All results, in the order of rows and seeds."""
    rows = experiment.rows(settings)
    return [_load(folder, row, seed) for row in rows for seed in settings.seed_range]


def of_row(trials: Sequence[Trial], row: BaseRow | str) -> list[Trial]:
    """The trials of one row."""
    name = row if isinstance(row, str) else row.name
    return [trial for trial in trials if trial["row"] == name]


def mean_sd(values: Sequence[float], scale: float = 1.0, digits: int = 2, unit: str = "") -> str:
    """Mean ± standard deviation as text, for example '97.45 ± 0.12 %'."""
    text = f"{scale * statistics.mean(values):.{digits}f}"
    if len(values) > 1:
        text += f" ± {scale * statistics.stdev(values):.{digits}f}"
    return text + unit


def _path(folder: Path, row: BaseRow, seed: int) -> Path:
    return folder / "trials" / f"{trial_name(row.name, seed)}.json"


def _load(folder: Path, row: BaseRow, seed: int) -> Trial:
    path = _path(folder, row, seed)
    trial = files.read_json(path, "trial")
    expected = {"row": row.name, "seed": seed}
    matches = isinstance(trial, dict) and expected.items() <= trial.items()
    if not matches or not isinstance(trial.get("seconds"), int | float):
        raise InputError(
            f"{path} is not the trial of '{row.name}' with seed {seed}: "
            "delete it and continue with --resume."
        )
    return trial


def _prepare_worker() -> None:
    import torch

    torch.set_num_threads(1)
    keep_memory()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Ends this worker when its parent is killed; an orphan would block the next run."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@dataclass(frozen=True)
class _Task:
    """Everything that a worker process needs to run any trial of an experiment."""

    experiment: Experiment
    settings: BaseSettings
    folder: Path
    data: str | None

    def run(self, row: BaseRow, seed: int) -> Trial:
        began = time.perf_counter()
        result = self.experiment.trial(self.settings, row, seed, self.data)
        seconds = round(time.perf_counter() - began, 1)
        trial = {"row": row.name, "seed": seed, "seconds": seconds, **result}
        files.write_json(_path(self.folder, row, seed), trial)
        return trial
