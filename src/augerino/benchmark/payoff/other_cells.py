"""Cells of signals, point clouds and molecules."""

from functools import partial

import torch
from torch import nn

from augerino.benchmark.payoff.cell import FIRST_DEV_SEED, Cell, Split, add_noise, choose
from augerino.benchmark.payoff.image_cells import require_file
from augerino.benchmark.payoff.standard import (
    jitter_and_gain,
    learned_in_space,
    rigid_motions,
    rotations_in_space,
    turn_and_jitter,
)
from augerino.data.published.qm9 import qm9
from augerino.data.published.time_series import time_series
from augerino.data.synthetic.clouds import clouds
from augerino.data.synthetic.signals import signals
from augerino.nets.lieconv import LieResNet
from augerino.nets.points import SmallPointNet
from augerino.nets.signal import SmallSignalNet

#: Sets of the UCR and UEA archives that the wheel of aeon has; the last two have many channels.
SERIES = (
    "GunPoint",
    "ItalyPowerDemand",
    "OSULeaf",
    "ArrowHead",
    "BasicMotions",
    "JapaneseVowels",
)
N_MOLECULES = 2000
N_DRAWN = 120  # signals and clouds
SIGNAL_NOISE = 0.4  # standard deviation; a pulse is 0.5 to 2 high
CLOUD_NOISE = 0.15  # standard deviation; a figure is 2 long
#: The networks of the experiment qm9, preset cpu.
LIECONV = {"width": 128, "layers": 3, "neighbours": 8, "kernel_width": 16, "kernel_outputs": 16}
GROUPS = {"trivial": "trivial", "t3": "T3"}


def embedded() -> list[Cell]:
    """Few drawn signals and point clouds, which need no files."""
    return [
        Cell(
            name=f"signals-{N_DRAWN}",
            kind="signals",
            load=_signals,
            net=partial(signal_net, width=8),
            steps=1200,
            batch_size=32,
            standard=jitter_and_gain,
        ),
        Cell(
            name=f"clouds-{N_DRAWN}",
            kind="clouds",
            load=_clouds,
            net=cloud_net,
            steps=1200,
            batch_size=32,
            standard=turn_and_jitter,
        ),
    ]


def real() -> list[Cell]:
    """Time series and molecules from files."""
    cells = [
        Cell(
            name=name.lower(),
            kind="signals",
            load=partial(_series, name=name),
            net=signal_net,
            steps=1000,
            batch_size=32,
            standard=jitter_and_gain,
        )
        for name in SERIES
    ]
    for target in ("homo", "lumo"):
        for label, group in GROUPS.items():
            cells.append(
                Cell(
                    name=f"qm9-{target}-{label}",
                    kind="molecules",
                    load=partial(_molecules, target=target),
                    net=partial(molecule_net, group=group),
                    steps=2400,
                    batch_size=50,
                    lr=3e-3,
                    weight_decay=0.0,
                    standard=rotations_in_space,
                    oracle=rigid_motions,
                    learned=learned_in_space,
                    unit="meV",
                )
            )
    return cells


def signal_net(split: Split, width: int = 16) -> nn.Module:
    """The small network for signals."""
    return SmallSignalNet(split.train[0].shape[1], split.n_outputs, width)


def cloud_net(split: Split) -> nn.Module:
    """The small network for point clouds."""
    return SmallPointNet(split.n_outputs)


def molecule_net(split: Split, group: str) -> nn.Module:
    """A small LieConv network."""
    return LieResNet(split.n_outputs, group=group, **LIECONV)  # type: ignore[arg-type]


def _signals(seed: int, _data: str | None) -> Split:
    train = signals(N_DRAWN, seed=2 * seed)
    test = signals(1000, seed=2 * seed + 1)
    return Split(
        train=(add_noise(train.x, SIGNAL_NOISE, 2 * seed), train.y),
        test=(add_noise(test.x, SIGNAL_NOISE, 2 * seed + 1), test.y),
        n_outputs=len(train.class_names),
    )


def _clouds(seed: int, _data: str | None) -> Split:
    train = clouds(N_DRAWN, seed=2 * seed)
    test = clouds(1000, seed=2 * seed + 1)
    return Split(
        train=(add_noise(train.x, CLOUD_NOISE, 2 * seed), train.y),
        test=(add_noise(test.x, CLOUD_NOISE, 2 * seed + 1), test.y),
        n_outputs=len(train.class_names),
    )


def _series(seed: int, data: str | None, *, name: str) -> Split:
    """The published split, each channel standardized by its training part."""
    found = time_series(name, data)
    mean = found.x_train.mean(dim=(0, 2), keepdim=True)
    std = found.x_train.std(dim=(0, 2), keepdim=True).clamp_min(1e-6)
    train, test = choose(
        train=((found.x_train - mean) / std, found.y_train),
        test=((found.x_test - mean) / std, found.y_test),
        seed=seed,
        n_train=len(found.y_train),
        n_test=5000,
    )
    return Split(train, test, n_outputs=len(found.class_names))


def _molecules(seed: int, data: str | None, *, target: str) -> Split:
    """Random molecules of the training part; a development seed scores those for validation."""
    files = ("qm9_small.npz", "qm9.npz", "train.npz", "dsgdb9nsd.xyz.tar.bz2")
    require_file(data, *files)
    found = qm9(data, target=target, seed=seed, train=N_MOLECULES, centre=True)
    test = found.validation if seed >= FIRST_DEV_SEED else found.test
    items = torch.arange(min(len(test[1]), 5000))
    inputs = {key: value[items] for key, value in test[0].items()}
    return Split(found.train, (inputs, test[1][items]), n_outputs=1, scale=found.scale)
