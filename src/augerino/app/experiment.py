"""`augerino run`: runs the trials of an experiment and writes its table and figures."""

import argparse
import dataclasses
import shlex
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
import tyro
from rich.table import Table

from augerino.app import catalogue
from augerino.app.console import console, say, say_unwrapped
from augerino.app.parsing import NUMBERS
from augerino.app.run_folder import RunFolder
from augerino.errors import InputError
from augerino.runtime import files
from augerino.runtime.trials import (
    BaseSettings,
    Experiment,
    Line,
    check_trial_names,
    load_trials,
    pending,
    run_trials,
    settings_json,
)


def run(name: str, words: list[str]) -> int:
    """Starts an experiment from the command line and returns the exit code."""
    experiment = catalogue.find(name)
    common = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    common.add_argument("--preset", default="quick")
    common.add_argument("--data")
    common.add_argument("--out")
    try:
        chosen, rest = common.parse_known_args(words)
    except argparse.ArgumentError as error:
        raise InputError(
            f"Missing value of {error.argument_name}. "
            f"`augerino run {name} --help` lists the options."
        ) from error
    known = [name for name in catalogue.PRESETS if name in experiment.presets]
    if chosen.preset not in known:
        raise InputError(f"Unknown preset '{chosen.preset}'. Choose one of: {', '.join(known)}.")
    preset = experiment.presets[chosen.preset]
    settings = _parse(rest, name, preset, known)
    settings.check()
    check_trial_names(experiment.rows(settings))
    before = settings_json(preset)
    after = settings_json(settings)
    changed = {key: value for key, value in after.items() if value != before[key]}
    experiment_data_check(experiment, settings, chosen.data)
    folder = RunFolder.create(chosen.out, name)
    with folder.writing(say=say):
        config = {
            "experiment": name,
            "preset": chosen.preset,
            "changed": changed,
            "settings": after,
            "data": chosen.data,
        }
        folder.write_config({**config, "command": shlex.join(["augerino", "run", name, *words])})
        return _go(experiment, settings, folder, config)


def _parse(words: list[str], name: str, preset: BaseSettings, presets: list[str]) -> BaseSettings:
    """The settings of a preset, changed by the options of the command line."""
    about = (type(preset).__doc__ or "").strip()
    common = f"Common options: --preset {'|'.join(presets)}, --data DIR, --out DIR"
    with NUMBERS:
        return tyro.cli(
            type(preset),
            default=preset,
            args=words,
            prog=f"augerino run {name}",
            description=f"{about}\n\n{common}",
        )


def resume(path: str, *, take_over: bool = False) -> int:
    """Resumes an interrupted run and returns the exit code."""
    folder = RunFolder.open(path)
    experiment, settings, config = read_settings(folder)
    with folder.writing(take_over=take_over, say=say):
        return _go(experiment, settings, folder, config)


def read_settings(folder: RunFolder) -> tuple[Experiment, BaseSettings, dict[str, Any]]:
    """The experiment, settings and configuration of a run folder, which is not trusted."""
    config = folder.read_config()
    if "recipe" in config:
        raise InputError(
            f"{folder.path} is a run of `augerino learn`. Resume it with `augerino learn --resume`."
        )
    try:
        experiment = catalogue.find(str(config["experiment"]))
        kind: Any = type(experiment.presets["cpu"])
        values = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in config["settings"].items()
        }
        for key, value in values.items():
            if not _is_like(value, getattr(kind, key)):
                raise TypeError(f"invalid value of {key}: {value!r}")
        settings = kind(**values)
        settings.check()
        check_trial_names(experiment.rows(settings))
        if not isinstance(config["changed"], dict) or not isinstance(config["data"], str | None):
            raise TypeError("wrong type of 'changed' or 'data'")
        return experiment, settings, {**config, "preset": str(config["preset"])}
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{folder.config_file} does not contain the settings of an experiment "
            f"(missing or invalid: {error}). Start a new run."
        ) from error


def _is_like(value: Any, default: Any) -> bool:
    """Whether a value has the type of a setting's default; an int may stand for a float."""
    if isinstance(default, tuple):
        like = default[0] if default else ""  # an empty default is a tuple of names
        return isinstance(value, tuple) and all(_is_like(item, like) for item in value)
    if default is None:
        return isinstance(value, int | float | str | None)
    if type(default) is float and type(value) is int:
        return abs(value) < 2**53
    return type(value) is type(default)


def experiment_data_check(experiment: Experiment, settings: BaseSettings, data: str | None) -> None:
    """Reads the data of seed 0 before a run folder is created, so that errors come early.

    A folder that does not exist is an error: a typing error must not start a large download.
    """
    if data is not None and not Path(data).exists():
        raise InputError(f"There is no folder {data}. Pass the folder of the data with --data DIR.")
    if experiment.load is not None:
        experiment.load(settings, 0, data)


def _go(
    experiment: Experiment, settings: BaseSettings, folder: RunFolder, config: dict[str, Any]
) -> int:
    todo = len(pending(experiment, settings, folder.path))
    data = config["data"]
    changed = ", ".join(f"{key} = {value}" for key, value in config["changed"].items()) or "none"
    say(f"Experiment {experiment.name}, preset {config['preset']}. Changed settings: {changed}.")
    say(f"{todo} trainings, {settings.jobs} at a time. Run folder: {folder.path}")
    try:
        for done, trial in enumerate(run_trials(experiment, settings, folder.path, data), start=1):
            seconds = f"{trial['seconds']:.0f} s"
            say(f"  {done}/{todo}  {trial['row']}, seed {trial['seed']}  {seconds}")
    except KeyboardInterrupt:
        again = shlex.join(["augerino", "run", "--resume", str(folder.path)])
        say_unwrapped(f"\nInterrupted. Resume with:  {again}")
        return 130
    trials = load_trials(experiment, settings, folder.path)
    try:
        lines = experiment.table(settings, trials)
        experiment.draw(settings, trials, folder.figures, data)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise InputError(
            f"A trial in {folder.path / 'trials'} is incomplete ({error!r}). "
            "Delete it, then use --resume."
        ) from error
    files.write_json(
        folder.path / "result.json",
        {
            **{name: config[name] for name in config if name not in ("command", "format")},
            "data": None,  # a path of this machine, left out of what may be published
            "table": [dataclasses.asdict(line) for line in lines],
            "seconds": round(sum(trial["seconds"] for trial in trials), 1),
            "versions": {"augerino": version("augerino"), "torch": torch.__version__},
        },
    )
    print_table(lines)
    say_unwrapped(f"\nRun folder: {folder.path}  (result.json, trials/*.json, figures/*.png)")
    return 0


def print_table(lines: list[Line]) -> None:
    """Prints the measured values beside those of the paper."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("", "measured", "paper"):
        table.add_column(heading)
    for line in lines:
        table.add_row(line.row, line.measured, line.paper)
    console.print()
    console.print(table)
