"""Tiny data files of the right form, and a tiny cell."""

import numpy as np
import torch

from augerino.benchmark.payoff.cell import Cell, Split, choose
from augerino.benchmark.payoff.image_cells import image_net
from augerino.benchmark.payoff.standard import flip_and_crop, full_rotation, learned_affine


def write_files(folder, n=60):
    """Archives of `n` random training and as many test items, and time series."""
    rng = np.random.default_rng(0)
    labels = (np.arange(n) % 10).astype(np.uint8)
    for name, shape in {
        "mnist": (28, 28),
        "cifar10": (32, 32, 3),
        "stl10_48": (48, 48, 3),
    }.items():
        x = rng.integers(0, 256, (2, n, *shape), dtype=np.uint8)
        np.savez(folder / f"{name}.npz", x_train=x[0], y_train=labels, x_test=x[1], y_test=labels)
    faces = rng.integers(0, 256, (400, 64, 64), dtype=np.uint8)
    np.savez(folder / "olivetti.npz", images=faces)
    count = 2400
    charges = np.tile(np.array([6, 1, 1, 0], dtype=np.uint8), (count, 1))
    np.savez(
        folder / "qm9_small.npz",
        positions=rng.normal(size=(count, 4, 3)).astype(np.float32) * (charges > 0)[..., None],
        charges=charges,
        num_atoms=np.full(count, 3, dtype=np.uint8),
        homo=rng.normal(size=count).astype(np.float32),
        lumo=rng.normal(size=count).astype(np.float32),
        index=np.arange(count, dtype=np.int32),
        split=np.repeat([0, 1, 2], [2200, 100, 100]).astype(np.uint8),
    )
    for name in ("GunPoint", "ItalyPowerDemand", "OSULeaf", "ArrowHead", "BasicMotions"):
        write_series(folder, name, channels=2 if name == "BasicMotions" else 1)
    write_series(folder, "JapaneseVowels", channels=3)


def write_series(folder, name, channels):
    rng = np.random.default_rng(1)
    for part, n in (("TRAIN", 12), ("TEST", 8)):
        lines = ["@data"]
        for i in range(n):
            values = rng.normal(size=(channels, 40)).round(3)
            rows = [",".join(map(str, row)) for row in values]
            lines.append(":".join([*rows, str(i % 2)]))
        (folder / f"{name}_{part}.ts").write_text("\n".join(lines))


def tiny_cell(name="tiny", **changes):
    """Small random images in two classes of different brightness."""

    def load(seed, _data):
        generator = torch.Generator().manual_seed(0)
        y = torch.arange(140) % 2
        x = 0.3 * y[:, None, None, None] + 0.7 * torch.rand(140, 3, 8, 8, generator=generator)
        pool, rest = (x[:70], y[:70]), (x[70:], y[70:])
        train, test = choose(pool, rest, seed=seed, n_train=70, n_test=70)
        return Split(train, test, n_outputs=2)

    settings = {
        "kind": "photographs",
        "load": load,
        "net": lambda split: image_net(split, width=2),
        "steps": 2,
        "batch_size": 32,
        "standard": lambda: flip_and_crop(8),
        "oracle": full_rotation,
        "learned": learned_affine,
    }
    return Cell(name=name, **(settings | changes))
