"""`augerino learn`: data in, answer on the screen and in a run folder."""

import dataclasses
import os
import shlex
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augerino.app import console as screen
from augerino.app.data import open_given
from augerino.app.given import Given
from augerino.app.options import LearnOptions
from augerino.app.outcome import Outcome, write_outcome
from augerino.app.run_folder import RunFolder
from augerino.augmentation import Augmentation
from augerino.errors import InputError, ProcessLost
from augerino.learning.defaults import default_augmentation, no_augmentation
from augerino.learning.learn import Learned, count_steps, draw_items, learn, rehearse
from augerino.learning.recipe import Recipe
from augerino.runtime import distributed
from augerino.training.state import Epoch
from augerino.training.tensorboard import tensorboard

_SAMPLE = 256  # items from which shapes and units are read
_OWN: dict[
    str, tuple[type, ...]
] = {  # options that are no part of a recipe, and the types that a file may give them
    **dict.fromkeys(("data", "net"), (str,)),
    **dict.fromkeys(("size", "task", "kind", "target"), (str, type(None))),
    "ignore": (int, type(None)),
    "test_fraction": (int, float),
    "seeds": (int,),
    **dict.fromkeys(("skip_bad", "baseline", "refit", "tensorboard"), (bool,)),
}


def run(options: LearnOptions, words: list[str]) -> int:
    """Runs the command and returns its exit code."""
    with ExitStack() as writing:
        return _run(options, words, writing)


def _run(options: LearnOptions, words: list[str], writing: ExitStack) -> int:
    if options.resume is None:
        recipe, settings = _settings(options)
        if options.take_over:
            raise InputError(
                "--take-over is for a run that is gone on with: add --resume RUN, or leave it out."
            )
        given = open_given(settings, recipe.seed)
        _check(recipe, settings, given)
        config = {
            "recipe": dataclasses.asdict(recipe),
            "settings": settings,
            "fingerprint": given.fingerprint,
        }
        config["command"] = shlex.join(["augerino", *words])
        folder = distributed.from_first(lambda: _create(options.out, given.name, config, writing))
        fingerprint = distributed.from_first(lambda: given.fingerprint)
    else:
        folder, recipe, settings, fingerprint = distributed.from_first(
            lambda: _take_up(options, words, writing)
        )
        given = open_given(settings, recipe.seed)
    if given.fingerprint != fingerprint:
        if distributed.is_first():
            raise InputError(
                f"The data {settings['data']} have changed since {folder.path} was begun: start a new run."
            )
        raise InputError(
            f"Process {distributed.rank()} finds other data at {settings['data']} than the first one: copy them."
        )
    if given.streamed and recipe.workers == 0:
        recipe = recipe.but(workers=max(1, min(_cores() // distributed.local_world(), 4)))
    screen.print_data(given, recipe, folder.path)
    training = _Training(folder, recipe, settings, given)
    try:
        first = training.learn(recipe.seed)
        refit = training.learn_anew(first) if settings["refit"] else None
        baseline = training.learn_nothing() if settings["baseline"] else None
        others = [training.learn(recipe.seed + i) for i in range(1, int(settings["seeds"]))]
        write_outcome(Outcome(folder, recipe, given, first, refit, baseline, others))
    except KeyboardInterrupt:
        screen.console.print(
            f"\nInterrupted. Go on with:  {_again(folder, settings)}", soft_wrap=True
        )
        return 130
    except RuntimeError as error:
        if not (isinstance(error, ProcessLost) or distributed.is_lost(error)):
            raise
        raise ProcessLost(
            "Another process of this training ended, or all were told to end. Go on with:  "
            f"{_again(folder, settings)}  in one process or in several."
        ) from error
    return 0


def _again(folder: RunFolder, settings: dict[str, Any]) -> str:
    own = ["--net", settings["net"]] if ":" in settings["net"] else []
    return shlex.join(["augerino", "learn", "--resume", str(folder.path), *own])


def _create(out: str | None, name: str, config: dict[str, Any], writing: ExitStack) -> RunFolder:
    folder = RunFolder.create(out, name)
    writing.enter_context(folder.writing(say=screen.say))
    folder.write_config(config)
    return folder


def _cores() -> int:
    """How many cores this process may use, which can be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _settings(options: LearnOptions) -> tuple[Recipe, dict[str, Any]]:
    values = {field.name: getattr(options, field.name) for field in dataclasses.fields(Recipe)}
    values["probe"] = dataclasses.asdict(options.probe)  # to be validated by the recipe
    recipe = Recipe(**values)
    if options.seeds < 1:
        raise InputError(f"seeds must be at least 1, but got {options.seeds}.")
    recipe.but(seed=recipe.seed + options.seeds - 1)  # the last one is a seed, too
    idle = {
        "gradient": ("tolerance", "holdout_fraction", "probe"),
        "probe": ("reg_weight", "augmentation_lr", "warm_up"),
    }.get(recipe.method, ())
    for name in idle:
        if getattr(recipe, name) != getattr(Recipe, name):
            raise InputError(
                f"--{name.replace('_', '-')} has no part in --method {recipe.method}: leave one of them out."
            )
    settings = {name: getattr(options, name) for name in _OWN}
    if "data" in settings and Path(options.data).exists():
        settings["data"] = str(
            Path(options.data).resolve()
        )  # a resume may come from another folder
    return recipe, settings


def _check(recipe: Recipe, settings: dict[str, Any], given: Given) -> None:
    """Tells a wrong name, device or network, or a missing package, before a folder is made."""
    if settings["tensorboard"]:
        tensorboard("unused")
    x, _ = draw_items(given.train, _SAMPLE)
    augmentation = default_augmentation(recipe, given.kind, x)
    rehearse(
        settings["net"],
        given.train,
        augmentation=augmentation,
        recipe=recipe,
        outputs=given.outputs,
    )


def _take_up(
    options: LearnOptions, words: list[str], writing: ExitStack
) -> tuple[RunFolder, Recipe, dict[str, Any], str]:
    """`_reopen`, for writing."""
    found = _reopen(options, words)
    writing.enter_context(found[0].writing(take_over=options.take_over, say=screen.say))
    return found


def _reopen(
    options: LearnOptions, words: list[str]
) -> tuple[RunFolder, Recipe, dict[str, Any], str]:
    """An interrupted run and its settings. Other options beside --resume would be ignored, so they are refused."""
    known = (
        "--resume",
        options.resume,
        f"--resume={options.resume}",
        "--take-over",
        "--net",
        options.net,
        f"--net={options.net}",
    )
    others = [word for word in words[1:] if word not in known]
    if others:
        raise InputError(f"--resume goes on with the run's own settings: leave out {others[0]}.")
    folder = RunFolder.open(str(options.resume))
    if folder.finished:
        raise InputError(
            f"{folder.path} is finished already; its answer is in {folder.path / 'result.json'}."
        )
    config = folder.read_config()
    try:
        named = {name: tuple(config["recipe"][name]) for name in ("transforms", "coordinates")}
        settings: dict[str, Any] = {name: config["settings"][name] for name in _OWN}
        for name, value in settings.items():
            if not isinstance(value, _OWN[name]):
                raise TypeError(f"{name} cannot be {value!r}")
        if settings["seeds"] < 1:
            raise TypeError(f"seeds cannot be {settings['seeds']}")
        recipe = Recipe(**{**config["recipe"], **named})
        fingerprint = str(config["fingerprint"])
    except (KeyError, TypeError) as error:
        raise InputError(
            f"{folder.config_file} does not hold the settings of a run ({error})."
        ) from error
    _check_net(options, settings["net"], folder)
    return folder, recipe, settings, fingerprint


def _check_net(options: LearnOptions, net: str, folder: RunFolder) -> None:
    """A file may name a network, but code that is not ours runs only where the command line names it too."""
    if ":" in net and options.net != net:
        raise InputError(
            f"{folder.path} was begun with the network '{net}', which is code of yours: repeat it after --resume, as --net {net}."
        )
    if options.net not in (LearnOptions.net, net):
        raise InputError(
            f"{folder.path} was begun with the network '{net}': leave out --net {options.net}."
        )


@dataclass(frozen=True)
class _Training:
    """The trainings of one run, each with a checkpoint of its own."""

    folder: RunFolder
    recipe: Recipe
    settings: dict[str, Any]
    given: Given

    def learn(self, seed: int) -> Learned:
        """The network behind the learned augmentation."""
        main = seed == self.recipe.seed
        name = "checkpoint" if main else f"checkpoint-{seed}"
        return self._run(
            name,
            self.recipe.but(seed=seed),
            f"seed {seed}" if self.settings["seeds"] > 1 else "",
            logged=main,
        )

    def learn_anew(self, learned: Learned) -> Learned:
        """The same network with the same budget, from its start, behind what was learned, whose coordinates take turns."""
        return self._run(
            "refit", self._for_fixed(), "refit on what was learned", learned.for_refit()
        )

    def learn_nothing(self) -> Learned:
        """The same network with the same budget, without augmentation."""
        return self._run(
            "baseline", self._for_fixed(), "baseline without augmentation", no_augmentation()
        )

    def _for_fixed(self) -> Recipe:
        """The recipe where nothing of the augmentation moves."""
        return self.recipe.but(method="auto", theta_every=1)

    def _run(
        self,
        name: str,
        recipe: Recipe,
        title: str,
        augmentation: Augmentation | None = None,
        *,
        logged: bool = False,
    ) -> Learned:
        if augmentation is None:
            x, _ = draw_items(self.given.train, _SAMPLE)
            augmentation = default_augmentation(recipe, self.given.kind, x)
        steps = count_steps(self.given.train, recipe)
        checkpoint = self.folder.path / f"{name}.safetensors"
        with screen.training_display(recipe.passes(steps), steps, augmentation, title) as display:
            return learn(
                self.settings["net"],
                self.given.train,
                augmentation=augmentation,
                recipe=recipe,
                outputs=self.given.outputs,
                checkpoint=checkpoint,
                resume=distributed.from_first(checkpoint.exists),
                on_epoch=self._watch(display.on_epoch, logged=logged),
                on_step=display.on_step,
            )

    def _watch(self, show: Callable[[Epoch], None], *, logged: bool) -> Callable[[Epoch], None]:
        if not (logged and self.settings["tensorboard"] and distributed.is_first()):
            return show
        log = tensorboard(self.folder.path / "tensorboard")

        def both(record: Epoch) -> None:
            show(record)
            log(record)

        return both
