"""What can be run: names, sections, data, times and the paper's numbers. No torch."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from augerino.errors import InputError

if TYPE_CHECKING:
    from augerino.runtime.trials import Experiment

PRESETS = ("quick", "cpu", "paper")


@dataclass(frozen=True)
class Entry:
    """One experiment, of the paper or beyond it."""

    name: str
    module: str
    section: str
    title: str
    data: str
    paper: str
    quick: str
    cpu: str


ENTRIES = (
    Entry(
        name="rotmnist",
        module="augerino.paper.experiments.rotmnist",
        section="4.1",
        title="full rotational invariance",
        data="mnist.npz (or downloaded)",
        paper="98.9 % accuracy, full circle",
        quick="1 min",
        cpu="60 min",
    ),
    Entry(
        name="mario",
        module="augerino.paper.experiments.mario",
        section="4.2",
        title="soft invariance",
        data="own sprites; mario_iggy.npz where present",
        paper="rotation up to ±45°",
        quick="1 min",
        cpu="30 min",
    ),
    Entry(
        name="olivetti",
        module="augerino.paper.experiments.olivetti",
        section="4.3",
        title="no invariance",
        data="olivetti.npz (or downloaded)",
        paper="rotation support 0.003 rad",
        quick="1 min",
        cpu="30 min",
    ),
    Entry(
        name="camvid",
        module="augerino.paper.experiments.camvid",
        section="8",
        title="equivariance: segmentation",
        data="CamVid's folders or camvid_small.npz",
        paper="accuracy 69.8 % (68.7 % without)",
        quick="1 min",
        cpu="45 min",
    ),
    Entry(
        name="why",
        module="augerino.paper.experiments.why",
        section="5",
        title="why it works: loss against the bound",
        data="own sprites",
        paper="flat inside, rising beyond",
        quick="1 min",
        cpu="2 min",
    ),
    Entry(
        name="cifar10",
        module="augerino.paper.experiments.cifar10",
        section="6",
        title="image recognition: learned, fixed, published",
        data="CIFAR-10: cifar10.npz, binary or Python version (or downloaded)",
        paper="93.81 % (92.64 % fixed)",
        quick="1 min",
        cpu="5 h",
    ),
    Entry(
        name="stl10",
        module="augerino.paper.experiments.stl10",
        section="9",
        title="brightness and contrast",
        data="STL-10: stl10.npz or binary version (or downloaded)",
        paper="89.7 % (89.0 % without)",
        quick="1 min",
        cpu="100 min",
    ),
    Entry(
        name="flatness",
        module="augerino.paper.experiments.flatness",
        section="appendix",
        title="width of solutions: effective dimension and random rays",
        data="CIFAR-10, as cifar10; needs augerino[flatness]",
        paper="flatter with Augerino",
        quick="1 min",
        cpu="50 min",
    ),
    Entry(
        name="qm9",
        module="augerino.paper.experiments.qm9",
        section="7",
        title="molecules",
        data="QM9: archive, .npz or qm9_small.npz",
        paper="HOMO 52.7 to 38.3 meV",
        quick="1 min",
        cpu="2 h",
    ),
    Entry(
        name="recovery",
        module="augerino.benchmark.experiment",
        section="beyond",
        title="known answers, found from an uninformed start?",
        data="own; mnist.npz and cifar10.npz with --hard",
        paper="no such table",
        quick="1 min",
        cpu="10 h",
    ),
)


def entry_of(name: str) -> Entry:
    """The entry of the experiment with this name."""
    for entry in ENTRIES:
        if entry.name == name:
            return entry
    known = ", ".join(entry.name for entry in ENTRIES)
    raise InputError(f"There is no experiment '{name}'. There are: {known}.")


def find(name: str) -> "Experiment":
    """Imports and returns the experiment with this name."""
    experiment: Experiment = import_module(entry_of(name).module).EXPERIMENT
    return experiment
