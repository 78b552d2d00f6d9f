"""`augerino learn`: trains on a dataset, prints the verdicts and writes a run folder."""

import dataclasses
import os
import shlex
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor

from augerino.app import console as screen
from augerino.app.options import LearnOptions
from augerino.app.outcome import Trained, write_outcome
from augerino.app.run_folder import RunFolder
from augerino.augmentation import Augmentation
from augerino.data import Dataset, open_dataset
from augerino.errors import InputError, ProcessLost
from augerino.learning.defaults import no_augmentation
from augerino.learning.learn import train
from augerino.learning.learned import FINDING, Learned
from augerino.learning.payoff import BASELINE
from augerino.learning.pipeline import OutOfTime, Pipeline
from augerino.learning.recipe import Recipe
from augerino.learning.setup import Setup, prepare
from augerino.runtime import distributed
from augerino.runtime.deadline import Deadline
from augerino.training.state import Epoch
from augerino.training.tensorboard import tensorboard

# Options outside the recipe, with the types that are valid in config.json.
_OWN: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("data", "net"), (str,)),
    **dict.fromkeys(("size", "task", "kind", "target"), (str, type(None))),
    "ignore": (int, type(None)),
    "test_fraction": (int, float),
    "seeds": (int,),
    **dict.fromkeys(("skip_bad", "baseline", "standard_baseline", "tensorboard"), (bool,)),
}

# Options that `open_dataset` takes by the same name.
_READ_OPTIONS = ("size", "task", "kind", "target", "ignore", "test_fraction", "skip_bad")
# Options with a value that can be combined with --resume.
_WITH_RESUME = ("--resume", "--net", "--budget")


def run(options: LearnOptions, words: list[str]) -> int:
    """Runs the command and returns its exit code."""
    with ExitStack() as writing:
        return _run(options, words, writing)


def _run(options: LearnOptions, words: list[str], writing: ExitStack) -> int:
    deadline = Deadline.after(options.budget)
    if options.resume is None:
        run = _begin(options, words, writing)
    else:
        run = _resume(options, words, writing)
    screen.print_data(run.dataset, run.recipe, run.folder.path)
    try:
        write_outcome(run.train(deadline))
    except KeyboardInterrupt:
        command = _resume_command(run.folder, run.settings)
        screen.say_unwrapped(f"\nInterrupted. Resume with:  {command}")
        return 130
    except RuntimeError as error:
        if not (isinstance(error, ProcessLost) or distributed.is_lost(error)):
            raise
        command = _resume_command(run.folder, run.settings)
        raise ProcessLost(
            "Another process of this training has ended, or the job was terminated. "
            f"Resume with:  {command}  in one process or in several."
        ) from error
    return 0


def _begin(options: LearnOptions, words: list[str], writing: ExitStack) -> "_Run":
    """Starts a new run. Validates the whole set-up before the run folder is created."""
    recipe, settings = _settings(options)
    if options.take_over:
        raise InputError("--take-over needs --resume RUN.")
    if settings["tensorboard"]:
        tensorboard("unused")  # raises now if the package is missing
    dataset = open_data(settings, recipe.seed)
    setup = prepare(settings["net"], dataset, recipe=_with_workers(recipe, dataset))
    config = {
        "recipe": dataclasses.asdict(recipe),
        "settings": settings,
        "fingerprint": dataset.fingerprint,
        "command": shlex.join(["augerino", *words]),
    }
    folder = distributed.from_first(
        lambda: _create(options.out, dataset.name, config=config, writing=writing)
    )
    fingerprint = distributed.from_first(lambda: dataset.fingerprint)
    _check_fingerprint(dataset, fingerprint, folder)
    return _Run(folder, settings, setup)


def _resume(options: LearnOptions, words: list[str], writing: ExitStack) -> "_Run":
    """Resumes an interrupted run from its folder."""
    folder, recipe, settings, fingerprint = distributed.from_first(
        lambda: _reopen_for_writing(options, words, writing)
    )
    dataset = open_data(settings, recipe.seed)
    _check_fingerprint(dataset, fingerprint, folder)
    setup = prepare(settings["net"], dataset, recipe=_with_workers(recipe, dataset))
    return _Run(folder, settings, setup)


def open_data(settings: dict[str, Any], seed: int) -> Dataset:
    """Opens the embedded dataset of that name, drawn with the seed, or the dataset at that path."""
    path = str(settings["data"])
    options = {name: settings[name] for name in _READ_OPTIONS}
    with screen.reading(path) as progress:
        return open_dataset(path, seed=seed, standardize=True, on_progress=progress, **options)


def _check_fingerprint(dataset: Dataset, fingerprint: str, folder: RunFolder) -> None:
    """Raises an error if the data are not those of the run or of the first process."""
    if dataset.fingerprint == fingerprint:
        return
    if distributed.is_first():
        raise InputError(
            f"The data {dataset.path} have changed since {folder.path} was started. "
            "Start a new run."
        )
    raise InputError(
        f"Process {distributed.rank()} reads different data at {dataset.path} than process 0: "
        "copy the data of process 0."
    )


def _with_workers(recipe: Recipe, dataset: Dataset) -> Recipe:
    """Adds workers for data that are read from disk: one per core of a process, at most 4."""
    if dataset.in_memory or recipe.workers > 0:
        return recipe
    return recipe.but(workers=max(1, min(_cores() // distributed.local_world(), 4)))


def _resume_command(folder: RunFolder, settings: dict[str, Any]) -> str:
    own = ["--net", settings["net"]] if ":" in settings["net"] else []
    return shlex.join(["augerino", "learn", "--resume", str(folder.path), *own])


def _create(out: str | None, name: str, *, config: dict[str, Any], writing: ExitStack) -> RunFolder:
    """Creates and locks the run folder, and writes its configuration."""
    folder = RunFolder.create(out, name)
    writing.enter_context(folder.writing(say=screen.say))
    folder.write_config(config)
    return folder


def _cores() -> int:
    """Number of cores that this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _settings(options: LearnOptions) -> tuple[Recipe, dict[str, Any]]:
    """The validated recipe, and the options outside it."""
    values = {field.name: getattr(options, field.name) for field in dataclasses.fields(Recipe)}
    values["probe"] = dataclasses.asdict(options.probe)  # to be validated by the recipe
    recipe = Recipe(**values)
    if options.seeds < 1:
        raise InputError(f"seeds must be at least 1, but got {options.seeds}.")
    recipe.but(seed=recipe.seed + options.seeds - 1)  # validates the last seed
    unused = {
        "gradient": ("tolerance", "holdout_fraction", "probe"),
        "probe": ("reg_weight", "augmentation_lr", "warm_up"),
    }.get(recipe.method, ())
    for name in unused:
        if getattr(recipe, name) != getattr(Recipe, name):
            raise InputError(
                f"--{name.replace('_', '-')} has no effect with --method {recipe.method}. "
                "Remove one of them."
            )
    settings = {name: getattr(options, name) for name in _OWN}
    path = Path(options.data)
    if path.exists():
        settings["data"] = str(path.resolve())  # the run may be resumed from another folder
    return recipe, settings


def _reopen_for_writing(
    options: LearnOptions, words: list[str], writing: ExitStack
) -> tuple[RunFolder, Recipe, dict[str, Any], str]:
    """Reopens an interrupted run and locks its folder."""
    folder, recipe, settings, fingerprint = _reopen(options, words)
    writing.enter_context(folder.writing(take_over=options.take_over, say=screen.say))
    return folder, recipe, settings, fingerprint


def _reopen(
    options: LearnOptions, words: list[str]
) -> tuple[RunFolder, Recipe, dict[str, Any], str]:
    """Reads the settings of an interrupted run; rejects options that would have no effect."""
    others = _other_words(words[1:])
    if others:
        raise InputError(f"--resume uses the settings of the run. Remove {others[0]}.")
    folder = RunFolder.open(str(options.resume))
    if folder.finished:
        raise InputError(
            f"{folder.path} is already finished. Its result is in {folder.path / 'result.json'}; "
            "start a new run without --resume."
        )
    config = folder.read_config()
    if "experiment" in config:
        raise InputError(
            f"{folder.path} is a run of `augerino run`. Resume it with `augerino run --resume`."
        )
    try:
        named = {name: tuple(config["recipe"][name]) for name in ("transforms", "coordinates")}
        settings: dict[str, Any] = {name: config["settings"][name] for name in _OWN}
        for name, value in settings.items():
            if not isinstance(value, _OWN[name]):
                raise TypeError(f"invalid value of {name}: {value!r}")
        if settings["seeds"] < 1:
            raise TypeError(f"invalid value of seeds: {settings['seeds']}")
        recipe = Recipe(**{**config["recipe"], **named})
        fingerprint = str(config["fingerprint"])
    except (KeyError, TypeError) as error:
        raise InputError(
            f"{folder.config_file} does not contain the settings of a run "
            f"(missing or invalid: {error}). Start a new run."
        ) from error
    _check_net(options, settings["net"], folder)
    return folder, recipe, settings, fingerprint


def _other_words(words: list[str]) -> list[str]:
    """The words of the command line that cannot be combined with --resume."""
    others = []
    rest = iter(words)
    for word in rest:
        name, has_value, _ = word.partition("=")
        if name in _WITH_RESUME:
            if not has_value:
                next(rest, None)
        elif word != "--take-over":
            others.append(word)
    return others


def _check_net(options: LearnOptions, net: str, folder: RunFolder) -> None:
    """Requires a repeated --net for a network outside the package.

    A run folder is not trusted: code that it names runs only if the command line names it as well.
    """
    if ":" in net and options.net != net:
        raise InputError(
            f"{folder.path} was started with your own network '{net}'. "
            f"Confirm that it may run by adding --net {net}."
        )
    if options.net not in (LearnOptions.net, net):
        raise InputError(
            f"{folder.path} was started with the network '{net}'. Remove --net {options.net}."
        )


@dataclass(frozen=True)
class _Run:
    """The trainings of one run, each with its own checkpoint.

    Args:
        folder: the run folder.
        settings: options outside the recipe.
        setup: set-up of the first training; the others are prepared when they start.
    """

    folder: RunFolder
    settings: dict[str, Any]
    setup: Setup

    @property
    def dataset(self) -> Dataset:
        return self.setup.dataset

    @property
    def recipe(self) -> Recipe:
        return self.setup.recipe

    def train(self, deadline: Deadline) -> Trained:
        """Runs all steps, then trains baselines and further seeds if set and if time is left."""
        n_seeds = int(self.settings["seeds"])
        seed = self.recipe.seed
        pipeline = Pipeline(
            self.setup,
            prepare=self._prepare,
            train=partial(self._train, deadline=deadline),
            deadline=deadline,
        )
        title = FINDING if pipeline.chooses else ""
        learned = pipeline.run(f"seed {seed}" if n_seeds > 1 else title)
        baselines: dict[str, Learned] = {}
        others: list[Learned] = []
        interrupted = learned.interrupted
        if not interrupted:
            try:
                if self.settings["baseline"]:
                    baselines[BASELINE] = pipeline.baseline(learned)
                if self.settings["standard_baseline"]:
                    baselines |= pipeline.standard_baseline(learned)
                for other in range(seed + 1, seed + n_seeds):
                    setup = self._prepare(self.recipe.but(seed=other))
                    others.append(pipeline.repeat(f"checkpoint-{other}", setup, f"seed {other}"))
            except OutOfTime as stop:
                interrupted = stop.step
        return Trained(
            interrupted=interrupted,
            resume_command=_resume_command(self.folder, self.settings),
            folder=self.folder,
            recipe=self.recipe,
            dataset=self.dataset,
            learned=learned,
            baselines=baselines,
            others=others,
        )

    def _prepare(
        self,
        recipe: Recipe,
        augmentation: Augmentation | None = None,
        items: Tensor | None = None,
    ) -> Setup:
        net = self.settings["net"]
        return prepare(net, self.dataset, recipe=recipe, augmentation=augmentation, items=items)

    def _train(self, name: str, setup: Setup, title: str, *, deadline: Deadline) -> Learned:
        checkpoint = self.folder.path / f"{name}.safetensors"
        learns = name.startswith("checkpoint")  # in the other trainings the ranges are fixed
        shown = setup.model.augmentation if learns else no_augmentation()
        with screen.training_display(setup.n_epochs, setup.n_steps, shown, title) as display:
            return train(
                setup,
                checkpoint=checkpoint,
                resume=distributed.from_first(checkpoint.exists),
                on_epoch=self._watch(display.on_epoch, logged=name == "checkpoint"),
                on_step=display.on_step,
                deadline=deadline,
            )

    def _watch(self, show: Callable[[Epoch], None], *, logged: bool) -> Callable[[Epoch], None]:
        """Shows each epoch and, for the logged training, also writes it for TensorBoard."""
        if not (logged and self.settings["tensorboard"] and distributed.is_first()):
            return show
        log = tensorboard(self.folder.path / "tensorboard")

        def both(record: Epoch) -> None:
            show(record)
            log(record)

        return both
