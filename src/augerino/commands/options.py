"""The options of every sub-command, as frozen dataclasses: their docstrings are the help."""

from dataclasses import dataclass
from typing import Annotated

import tyro

from augerino.recipe import Recipe

_NAMES = tyro.constructors.PrimitiveConstructorSpec[tuple[str, ...]](
    nargs=1,
    metavar="NAME,NAME",
    instance_from_str=lambda words: tuple(name.strip() for name in words[0].split(",") if name.strip()),
    is_instance=lambda value: isinstance(value, tuple),
    str_from_instance=lambda value: [",".join(value)],
)


@dataclass(frozen=True)
class LearnOptions(Recipe):
    """Learn the symmetries of a dataset: which there are, and how far each reaches.

    Trains a small network behind a learned augmentation, shows the bounds as they move, and writes a run folder with the
    answer (result.json), the augmentation (policy.json), the training (history.json), a checkpoint and figures."""

    data: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[DATA]")] = "sprites"
    """what to learn from: 'sprites', the embedded data"""
    coordinates: Annotated[tuple[str, ...], _NAMES] = Recipe.coordinates
    """which coordinates to learn; there are also squeeze and shear"""
    out: Annotated[str | None, tyro.conf.arg(metavar="DIR", help_behavior_hint="")] = None
    """run folder to write; by default a new one under runs/"""
    resume: Annotated[str | None, tyro.conf.arg(metavar="RUN", help_behavior_hint="")] = None
    """go on with an interrupted run folder, with its own settings"""

    def __post_init__(self) -> None:
        """Values are judged when the recipe is made of them, where a wrong one is told in one sentence."""


@dataclass(frozen=True)
class RunOptions:
    """Run an experiment of the paper: augerino run NAME [--preset quick|cpu|paper] [--data DIR] [--field value ...]

    `augerino list` names them; `augerino run NAME --help` lists the fields. `augerino run --resume RUN` goes on."""

    name: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="[NAME]", help_behavior_hint="")] = None
    """which experiment"""
    resume: Annotated[str | None, tyro.conf.arg(metavar="RUN", help_behavior_hint="")] = None
    """go on with an interrupted run folder"""


@dataclass(frozen=True)
class ListOptions:
    """List the experiments of the paper: section, data, time and the paper's number."""
