"""Runs the trials of an experiment, each once, in processes of their own, and keeps what they found."""

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

Trial = dict[str, Any]  # what one training found, as JSON holds it


@dataclass(frozen=True)
class BaseSettings:
    """What every experiment can be told."""

    seeds: int = 3
    """how many seeds, from 0"""
    jobs: int = 1
    """trainings at once, one thread each"""

    def check(self) -> None:
        """Refuses what cannot be."""
        self._at_least_one("seeds", "jobs")

    def _at_least_one(self, *names: str) -> None:
        for name in names:
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, but got {getattr(self, name)}.")

    def _a_share(self, name: str, *values: float) -> None:
        for value in values:
            if not 0 < value < 1:
                raise InputError(f"{name} must lie between 0 and 1, but got {value:g}.")


@dataclass(frozen=True)
class BaseRow:
    """One row of an experiment's table."""

    name: str


@dataclass(frozen=True)
class Line:
    """One line of the table that is printed and saved: what was measured, and what the paper says."""

    row: str
    measured: str
    paper: str = ""


@dataclass(frozen=True)
class Experiment:
    """An experiment: presets, and functions for its rows, one trial, the table and the figures."""

    name: str
    presets: Mapping[str, BaseSettings]
    rows: Callable[[Any], Sequence[BaseRow]]
    trial: Callable[[Any, Any, int, str | None], Trial]
    table: Callable[[Any, list[Trial]], list[Line]]
    draw: Callable[[Any, list[Trial], Path, str | None], None]


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
    """Settings as JSON gives them back: tuples as lists."""
    value: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(settings)))
    return value


def pending(
    experiment: Experiment, settings: BaseSettings, folder: Path
) -> list[tuple[BaseRow, int]]:
    """The trials whose result is not in the folder yet, seed by seed."""
    rows = experiment.rows(settings)
    return [
        (row, seed)
        for seed in range(settings.seeds)
        for row in rows
        if not _path(folder, row, seed).exists()
    ]


def run_trials(
    experiment: Experiment, settings: BaseSettings, folder: Path, data: str | None
) -> Iterator[Trial]:
    """Runs what is pending and yields each result as it comes, after writing it."""
    (folder / "trials").mkdir(exist_ok=True)
    todo = pending(experiment, settings, folder)
    if settings.jobs == 1 or len(todo) < 2:
        for row, seed in todo:
            yield _one(experiment, settings, row, seed, data, folder)
        return
    with ProcessPoolExecutor(
        settings.jobs, mp_context=get_context("spawn"), initializer=_prepare_worker
    ) as pool:
        futures = [
            pool.submit(_one, experiment, settings, row, seed, data, folder) for row, seed in todo
        ]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def load_trials(experiment: Experiment, settings: BaseSettings, folder: Path) -> list[Trial]:
    """All results, in the order of rows and seeds."""
    rows = experiment.rows(settings)
    return [
        _load(_path(folder, row, seed), row, seed) for row in rows for seed in range(settings.seeds)
    ]


def of_row(trials: Sequence[Trial], row: BaseRow | str) -> list[Trial]:
    """The trials of one row."""
    name = row if isinstance(row, str) else row.name
    return [trial for trial in trials if trial["row"] == name]


def mean_sd(values: Sequence[float], scale: float = 1.0, digits: int = 2, unit: str = "") -> str:
    """'97.45 ± 0.12 %': mean and standard deviation over seeds."""
    mean = scale * statistics.mean(values)
    spread = f" ± {scale * statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{mean:.{digits}f}{spread}{unit}"


def _path(folder: Path, row: BaseRow, seed: int) -> Path:
    return folder / "trials" / f"{trial_name(row.name, seed)}.json"


def _load(path: Path, row: BaseRow, seed: int) -> Trial:
    trial = files.read_json(path, "trial")
    mine = isinstance(trial, dict) and trial.get("row") == row.name and trial.get("seed") == seed
    if not mine or not isinstance(trial.get("seconds"), int | float):
        raise InputError(
            f"{path} is not the trial of '{row.name}' with seed {seed}: delete it and go on with --resume."
        )
    return trial


def _prepare_worker() -> None:
    import torch

    torch.set_num_threads(1)
    keep_memory()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Ends this worker when the run that started it is killed, so that it is not in the way of the next."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _one(
    experiment: Experiment,
    settings: BaseSettings,
    row: BaseRow,
    seed: int,
    data: str | None,
    folder: Path,
) -> Trial:
    began = time.perf_counter()
    found = experiment.trial(settings, row, seed, data)
    trial = {
        "row": row.name,
        "seed": seed,
        "seconds": round(time.perf_counter() - began, 1),
        **found,
    }
    files.write_json(_path(folder, row, seed), trial)
    return trial
