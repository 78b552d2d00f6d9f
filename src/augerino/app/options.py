"""The options of every command, as frozen dataclasses; the docstrings are the help texts."""

from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from augerino.learning.probe_settings import ProbeSettings
from augerino.learning.recipe import Recipe

_NAMES = tyro.constructors.PrimitiveConstructorSpec[tuple[str, ...]](
    nargs=1,
    metavar="NAME,NAME",
    instance_from_str=lambda words: tuple(
        name.strip() for name in words[0].split(",") if name.strip()
    ),
    is_instance=lambda value: isinstance(value, tuple),
    str_from_instance=lambda value: [",".join(value)],
)
_NO_HINT = tyro.conf.arg(help_behavior_hint="")


def _named(metavar: str) -> object:
    """An option without a default to show."""
    return tyro.conf.arg(metavar=metavar, help_behavior_hint="")


def _one_of(*names: str) -> tyro.constructors.PrimitiveConstructorSpec[str | None]:
    """An optional choice; an invalid one is reported with the names in this order."""

    def parse(words: list[str]) -> str:
        if words[0] not in names:
            raise ValueError(f"expected one of {', '.join(names)}, got '{words[0]}'")
        return words[0]

    return tyro.constructors.PrimitiveConstructorSpec[str | None](
        nargs=1,
        metavar="|".join(names),
        instance_from_str=parse,
        is_instance=lambda value: value is None or isinstance(value, str),
        str_from_instance=lambda value: [str(value)],
    )


_Flag = Annotated[tyro.conf.FlagCreatePairsOff[bool], _NO_HINT]


@dataclass(frozen=True)
class ProbeOptions(ProbeSettings):
    """Constants of the probe."""

    def __post_init__(self) -> None:
        """Does nothing: a `Recipe` validates the values later, outside the option parser."""


@dataclass(frozen=True)
class LearnOptions(Recipe):
    """Learn the symmetries of a dataset and write a run folder with a report."""

    data: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[PATH]")] = "letters"
    """image folder, .csv, .npz, .npy, .parquet, .tar, molecules; or embedded data:
    letters, sprites, signals, clouds"""
    transforms: Annotated[tuple[str, ...], _NAMES, _NO_HINT] = Recipe.transforms
    """groups: affine, flip, color, shift, photometric, occlusion (images);
    time, gain, noise (signals); affine (points)"""
    coordinates: Annotated[tuple[str, ...], _NAMES, _NO_HINT] = Recipe.coordinates
    """single coordinates to learn, such as rotate,scale"""
    probe: ProbeOptions = ProbeOptions()
    """constants of the probe; the defaults rarely need a change"""
    trial_length: Annotated[float, _NO_HINT] = Recipe.trial_length
    """steps of a policy trial, relative to the final training; 0 skips the trials (default: 1/6)"""
    workers: Annotated[int, _NO_HINT] = Recipe.workers
    """processes that read data from disk (default: one per core, at most 4)"""
    epochs: Annotated[int | None, _NO_HINT] = Recipe.epochs
    """passes over the training data (default: 40, more for small and fewer for large data)"""
    net: str = "auto"
    """auto, small, layer13, fc_densenet_small (or 56, 67, 103), a timm model, or module:function"""
    size: Annotated[str | None, _named("N|HxW")] = None
    """resize all images to this size"""
    task: Annotated[
        str | None, _one_of("classification", "regression", "segmentation"), _NO_HINT
    ] = None
    """what to predict (default: inferred from the data)"""
    kind: Annotated[
        str | None, _one_of("images", "masks", "points", "signals", "values"), _NO_HINT
    ] = None
    """what the inputs are (default: inferred from their shape)"""
    target: Annotated[str | None, _named("NAME")] = None
    """the array or column to predict, if there are several"""
    ignore: Annotated[int | None, _named("N")] = None
    """the class of mask pixels to ignore (default: 255)"""
    test_fraction: float = 0.2
    """fraction of the samples to hold out, if the data have no test part"""
    skip_bad: _Flag = False
    """skip images that cannot be read, instead of stopping"""
    seeds: int = 1
    """number of trainings, with seeds counting up from --seed"""
    baseline: bool = True
    """also train without augmentation, for comparison"""
    standard_baseline: _Flag = False
    """also train with the field's standard augmentation, for comparison"""
    tensorboard: _Flag = False
    """also log to TensorBoard, in the run folder"""
    out: Annotated[str | None, _named("DIR")] = None
    """run folder to write (default: a new one in runs/)"""
    resume: Annotated[str | None, _named("RUN")] = None
    """resume an interrupted run, with its own settings"""
    take_over: _Flag = False
    """with --resume: ignore the lock of a process on another machine, if it has ended"""
    budget: Annotated[float | None, _named("MINUTES")] = None
    """time limit of all trainings; ends with a preliminary result that can be resumed"""

    def __post_init__(self) -> None:
        """Does nothing: a `Recipe` validates the values later, outside the option parser."""


@dataclass(frozen=True)
class ExportOptions:
    """Export the learned augmentation to another library, or the model to ONNX."""

    source: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN_OR_POLICY")]
    """a run folder, a folder of save_pretrained, or a file (policy.json, ranges.json)"""
    to: Annotated[
        Literal["torchvision", "kornia", "albumentations", "onnx", "policy"],
        tyro.conf.arg(metavar="torchvision|kornia|albumentations|onnx|policy"),
    ]
    """the format"""
    out: Annotated[str | None, _named("PATH")] = None
    """file to write (default: learned_FORMAT.py, learned.onnx or learned_policy.json)"""
    nodes: int = 16
    """onnx: number of elements to average over"""
    shape: Annotated[str | None, _named("C,H,W")] = None
    """onnx: shape of one input (default: as saved with the model)"""


@dataclass(frozen=True)
class RunOptions:
    """Run an experiment or a benchmark: augerino run NAME [--preset quick|cpu|paper]"""

    name: Annotated[str | None, tyro.conf.Positional, _named("[NAME]")] = None
    """an experiment of `augerino list`; `augerino run NAME --help` lists its settings"""
    resume: Annotated[str | None, _named("RUN")] = None
    """resume an interrupted run, with its own settings"""
    take_over: _Flag = False
    """with --resume: ignore the lock of a process on another machine, if it has ended"""


@dataclass(frozen=True)
class ListOptions:
    """List the experiments and benchmarks with their data, run times and the paper's results."""


@dataclass(frozen=True)
class ReportOptions:
    """Write the report of a run as one HTML page, or compare several runs."""

    runs: Annotated[tuple[str, ...], tyro.conf.Positional, _named("RUN [RUN ...]")] = ()
    """run folders of `augerino learn`"""
    out: Annotated[str | None, _named("FILE")] = None
    """page to write (default: report.html in the run folder, comparison.html for several)"""
