"""The experiments: sections, data, run times and the paper's results. Does not import torch."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from augerino.errors import InputError

if TYPE_CHECKING:
    from augerino.runtime.trials import Experiment

PRESETS = ("quick", "cpu", "paper", "full")


@dataclass(frozen=True)
class Entry:
    """One experiment and what `augerino list` shows of it."""

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
        data="mnist.npz, or downloaded",
        paper="98.9 % accuracy, full circle",
        quick="1 min",
        cpu="100 min",
    ),
    Entry(
        name="mario",
        module="augerino.paper.experiments.mario",
        section="4.2",
        title="soft invariance",
        data="generated sprites; mario_iggy.npz if present",
        paper="rotation up to ±45°",
        quick="1 min",
        cpu="30 min",
    ),
    Entry(
        name="olivetti",
        module="augerino.paper.experiments.olivetti",
        section="4.3",
        title="no invariance",
        data="olivetti.npz, or downloaded",
        paper="rotation support 0.003 rad",
        quick="1 min",
        cpu="70 min",
    ),
    Entry(
        name="camvid",
        module="augerino.paper.experiments.camvid",
        section="8",
        title="equivariance: segmentation",
        data="the folders of CamVid, or camvid_small.npz",
        paper="accuracy 69.8 % (without augmentation 68.7 %)",
        quick="1 min",
        cpu="45 min",
    ),
    Entry(
        name="why",
        module="augerino.paper.experiments.why",
        section="5",
        title="loss as a function of the bound",
        data="generated sprites",
        paper="flat within the true range, rising beyond",
        quick="1 min",
        cpu="2 min",
    ),
    Entry(
        name="cifar10",
        module="augerino.paper.experiments.cifar10",
        section="6",
        title="image recognition",
        data="cifar10.npz or the published archives, or downloaded",
        paper="93.81 % (fixed augmentation 92.64 %)",
        quick="1 min",
        cpu="5 h",
    ),
    Entry(
        name="stl10",
        module="augerino.paper.experiments.stl10",
        section="9",
        title="brightness and contrast",
        data="stl10.npz or the published archive, or downloaded",
        paper="89.7 % (without augmentation 89.0 %)",
        quick="1 min",
        cpu="100 min",
    ),
    Entry(
        name="flatness",
        module="augerino.paper.experiments.flatness",
        section="appendix",
        title="flatness of the solutions",
        data="the same as for cifar10; needs augerino[flatness]",
        paper="flatter with a learned augmentation",
        quick="1 min",
        cpu="50 min",
    ),
    Entry(
        name="qm9",
        module="augerino.paper.experiments.qm9",
        section="7",
        title="molecules",
        data="the archive of QM9, an .npz file or qm9_small.npz",
        paper="HOMO error 38.3 meV (without augmentation 52.7)",
        quick="1 min",
        cpu="3.5 h",
    ),
    Entry(
        name="recovery",
        module="augerino.benchmark.experiment",
        section="-",
        title="recovery of known ranges",
        data="generated; mnist.npz and cifar10.npz with --hard",
        paper="",
        quick="1 min",
        cpu="10 h",
    ),
    Entry(
        name="payoff",
        module="augerino.benchmark.payoff.experiment",
        section="-",
        title="does augmentation pay?",
        data="generated; mnist.npz, cifar10.npz, ... with --data; time series of aeon",
        paper="",
        quick="1 min",
        cpu="2 d",
    ),
)


def entry_of(name: str) -> Entry:
    """The entry of the experiment with this name."""
    for entry in ENTRIES:
        if entry.name == name:
            return entry
    known = ", ".join(entry.name for entry in ENTRIES)
    raise InputError(f"Unknown experiment '{name}'. Choose one of: {known}.")


def find(name: str) -> "Experiment":
    """Imports and returns the experiment with this name."""
    experiment: Experiment = import_module(entry_of(name).module).EXPERIMENT
    return experiment
