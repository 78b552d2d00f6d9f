"""The options of every sub-command, as frozen dataclasses: their docstrings are the help."""

from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

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


_PATH = tyro.conf.arg(metavar="DIR", help_behavior_hint="")


@dataclass(frozen=True)
class LearnOptions(Recipe):
    """Learn the symmetries of a dataset: which there are, and how far each reaches.

    Trains a network behind a learned augmentation, shows the bounds as they move, asks held-out data whether they are
    right, and writes a run folder: the answer (result.json, report.html), the augmentation (policy.json), the model (model/),
    the training (history.json), a checkpoint and figures. docs/data.md lists the forms that data may have."""

    data: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[PATH]")] = "sprites"
    """a folder of images by class, with masks, with a table of labels or as tar shards; an .npz or .npy file of images, signals,
    point clouds or molecules; a Hugging Face dataset on disk; or 'sprites', 'signals', 'clouds', which are embedded"""
    transforms: Annotated[tuple[str, ...], _NAMES] = Recipe.transforms
    """groups to learn: affine, color, flip for images; time, gain, noise for signals; affine for points"""
    coordinates: Annotated[tuple[str, ...], _NAMES] = Recipe.coordinates
    """single coordinates to learn, by name, as in rotate,scale,flip_horizontal"""
    net: str = "auto"
    """the network: auto, small, layer13, fc_densenet_small (or fc_densenet56, 67, 103) for masks, a name of timm's, or
    package.module:function"""
    size: Annotated[str | None, tyro.conf.arg(metavar="N|HxW", help_behavior_hint="")] = None
    """bring all images to this size"""
    task: Annotated[
        Literal["classification", "regression", "segmentation"] | None,
        tyro.conf.arg(help_behavior_hint=""),
    ] = None
    """what to predict, where the data do not say or say wrongly"""
    kind: Annotated[
        Literal["images", "masks", "points", "signals", "values"] | None,
        tyro.conf.arg(help_behavior_hint=""),
    ] = None
    """what the inputs are, where their shape does not say or says wrongly"""
    target: Annotated[str | None, tyro.conf.arg(metavar="NAME", help_behavior_hint="")] = None
    """the array or column to predict, where there are several"""
    ignore: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """the class number of masks at which nothing is to be learned; 255 by default"""
    test_fraction: float = 0.2
    """fraction of the samples to hold out, if the data have no test part"""
    skip_bad: tyro.conf.FlagCreatePairsOff[bool] = False
    """leave out images that cannot be read, and count them, instead of refusing them"""
    seeds: int = 1
    """train this many times, with seeds from --seed on, for the spread of what is learned"""
    baseline: bool = True
    """also train without augmentation, with the same budget, to compare with"""
    refit: tyro.conf.FlagCreatePairsOff[bool] = False
    """then train the network anew on what was learned, for a better model: coordinates that end somewhere take turns, and the
    model and the policy of the run are those of this training; takes as long again"""
    tensorboard: tyro.conf.FlagCreatePairsOff[bool] = False
    """also log the training for TensorBoard, under the run folder"""
    out: Annotated[str | None, _PATH] = None
    """run folder to write; by default a new one under runs/"""
    resume: Annotated[str | None, tyro.conf.arg(metavar="RUN", help_behavior_hint="")] = None
    """go on with an interrupted run folder, with its own settings"""
    take_over: tyro.conf.FlagCreatePairsOff[bool] = False
    """with --resume: also where the folder is locked by a process of another machine, which you know to have ended"""

    def __post_init__(self) -> None:
        """Values are judged when the recipe is made of them, where a wrong one is told in one sentence."""


@dataclass(frozen=True)
class ExportOptions:
    """Take what was learned elsewhere: as a transform of another library, as ONNX, or as the policy itself.

    A transform is written as one Python file that needs that library and nothing else; ONNX is the averaged model over fixed
    elements, compared with PyTorch."""

    source: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN_OR_POLICY")]
    """a run folder, a folder that save_pretrained wrote, or a policy.json"""
    to: Annotated[
        Literal["torchvision", "kornia", "albumentations", "onnx", "policy"],
        tyro.conf.arg(help_behavior_hint=""),
    ]
    """what to write"""
    out: Annotated[str | None, tyro.conf.arg(metavar="PATH", help_behavior_hint="")] = None
    """file to write; by default learned_LIBRARY.py, learned.onnx or learned_policy.json, here"""
    nodes: int = 16
    """onnx: over how many elements the model is averaged"""
    shape: Annotated[str | None, tyro.conf.arg(metavar="C,H,W", help_behavior_hint="")] = None
    """onnx: shape of one input, as in 3,32,32, where the saved model does not tell it"""


@dataclass(frozen=True)
class RunOptions:
    """Run an experiment of the paper: augerino run NAME [--preset quick|cpu|paper] [--data DIR] [--field value ...]

    `augerino list` names them; `augerino run NAME --help` lists the fields. `augerino run --resume RUN` goes on."""

    name: Annotated[
        str | None, tyro.conf.Positional, tyro.conf.arg(metavar="[NAME]", help_behavior_hint="")
    ] = None
    """which experiment"""
    resume: Annotated[str | None, tyro.conf.arg(metavar="RUN", help_behavior_hint="")] = None
    """go on with an interrupted run folder"""
    take_over: tyro.conf.FlagCreatePairsOff[bool] = False
    """with --resume: also where the folder is locked by a process of another machine, which you know to have ended"""


@dataclass(frozen=True)
class ListOptions:
    """List the experiments of the paper: section, data, time and the paper's number."""


@dataclass(frozen=True)
class ReportOptions:
    """Make a run's report: one HTML page that loads nothing else. Several runs are compared side by side."""

    runs: Annotated[
        tuple[str, ...],
        tyro.conf.Positional,
        tyro.conf.arg(metavar="RUN [RUN ...]", help_behavior_hint=""),
    ] = ()
    """run folders of `augerino learn`"""
    out: Annotated[str | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """page to write; by default report.html in the run folder (comparison.html in the first of several)"""
