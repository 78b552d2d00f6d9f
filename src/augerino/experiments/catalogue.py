"""What can be run: names, sections, data, times and the paper's numbers. No torch."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from augerino.errors import InputError

if TYPE_CHECKING:
    from augerino.experiments.runner import Experiment

PRESETS = ("quick", "cpu", "paper")


@dataclass(frozen=True)
class Entry:
    """One experiment, of the paper or beyond it."""

    name: str
    section: str
    title: str
    data: str
    paper: str
    quick: str
    cpu: str


ENTRIES = (
    Entry(
        "rotmnist",
        "4.1",
        "full rotational invariance",
        "mnist.npz (or downloaded)",
        "98.9 % accuracy, full circle",
        "1 min",
        "60 min",
    ),
    Entry(
        "mario", "4.2", "soft invariance", "own sprites; mario_iggy.npz where present", "rotation up to ±45°", "1 min", "30 min"
    ),
    Entry("olivetti", "4.3", "no invariance", "olivetti.npz (or downloaded)", "rotation support 0.003 rad", "1 min", "30 min"),
    Entry(
        "camvid",
        "8",
        "equivariance: segmentation",
        "CamVid's folders or camvid_small.npz",
        "accuracy 69.8 % (68.7 % without)",
        "1 min",
        "45 min",
    ),
    Entry("why", "5", "why it works: loss against the bound", "own sprites", "flat inside, rising beyond", "1 min", "2 min"),
    Entry(
        "cifar10",
        "6",
        "image recognition: learned, fixed, published",
        "CIFAR-10: cifar10.npz, binary or Python version (or downloaded)",
        "93.81 % (92.64 % fixed)",
        "1 min",
        "5 h",
    ),
    Entry(
        "stl10",
        "9",
        "brightness and contrast",
        "STL-10: stl10.npz or binary version (or downloaded)",
        "89.7 % (89.0 % without)",
        "1 min",
        "100 min",
    ),
    Entry(
        "flatness",
        "appendix",
        "width of solutions: effective dimension and random rays",
        "CIFAR-10, as cifar10; needs augerino[flatness]",
        "flatter with Augerino",
        "1 min",
        "50 min",
    ),
    Entry("qm9", "7", "molecules", "QM9: archive, .npz or qm9_small.npz", "HOMO 52.7 to 38.3 meV", "1 min", "2 h"),
    Entry(
        "recovery",
        "beyond",
        "known answers, found from an uninformed start?",
        "own; mnist.npz and cifar10.npz with --hard",
        "no such table",
        "1 min",
        "10 h",
    ),
)


def find(name: str) -> "Experiment":
    """The experiment of that name, imported."""
    known = [entry.name for entry in ENTRIES]
    if name not in known:
        raise InputError(f"There is no experiment '{name}'. There are: {', '.join(known)}.")
    experiment: Experiment = import_module(f"augerino.experiments.{name}").EXPERIMENT
    return experiment
