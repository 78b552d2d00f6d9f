"""Cells of images: digits, photographs, faces, and sprites."""

from functools import cache, partial
from pathlib import Path
from typing import Literal

import torch
from torch import Generator, Tensor, nn

from augerino.benchmark.payoff.cell import (
    FIRST_DEV_SEED,
    Cell,
    Kind,
    Load,
    Pair,
    Split,
    add_noise,
    choose,
)
from augerino.benchmark.payoff.standard import (
    flip_and_crop,
    full_rotation,
    learned_affine,
    shift_and_rotate,
)
from augerino.data import downloads
from augerino.data.arrays import to_float
from augerino.data.published import cifar10, image_split, mnist, olivetti
from augerino.data.synthetic.sprites import CLASS_NAMES, sprites
from augerino.errors import InputError
from augerino.nets.layer13 import Layer13
from augerino.nets.normalized import Normalized
from augerino.nets.small import SmallCNN

NetName = Literal["small", "layer13"]
WIDTHS = {"small": 16, "layer13": 32}
SMALL_STEPS = 2000
LAYER13_STEPS = 6000  # enough to fit under augmentation, in spite of dropout
N_CLASSES = 10
STL_SIDE = 48
FACES_PER_PERSON = 5  # to train on
SPLIT_SEED = 0  # of the faces, which have no published split
N_SPRITES = 120
SPRITE_NOISE = 1.2  # standard deviation, relative to the range of the sprites
SPRITE_CONTRAST = 0.15  # leaves room for the noise


def image_net(split: Split, name: NetName = "small", width: int | None = None) -> nn.Module:
    """A network that normalizes images in [0, 1] by the training images."""
    sample = to_float(split.train[0][:1000])
    mean = sample.mean(dim=(0, 2, 3)).tolist()
    std = sample.std(dim=(0, 2, 3)).clamp_min(0.01).tolist()
    kind = SmallCNN if name == "small" else Layer13
    return Normalized(kind(len(mean), split.n_outputs, width or WIDTHS[name]), mean, std)


def embedded() -> list[Cell]:
    """Sprites, which need no files."""
    return [
        Cell(
            name=f"sprites-{N_SPRITES}",
            kind="photographs",
            load=_sprites,
            net=partial(image_net, width=8),
            steps=1200,
            batch_size=32,
            standard=partial(flip_and_crop, 32),
            learned=learned_affine,
        )
    ]


def real(net: NetName = "small") -> list[Cell]:
    """Cells of image files, with one of two networks."""
    suffix = "" if net == "small" else f"-{net}"
    steps = SMALL_STEPS if net == "small" else LAYER13_STEPS
    cells = []
    for dataset, sizes in (("mnist", (300, 1000, 5000)), ("rotmnist", (1000, 10_000))):
        for size in sizes:
            cells.append(
                Cell(
                    name=f"{dataset}-{size}{suffix}",
                    kind="digits",
                    load=partial(_digits, size=size, rotated=dataset == "rotmnist"),
                    net=partial(image_net, name=net),
                    steps=steps,
                    standard=shift_and_rotate,
                    oracle=full_rotation if dataset == "rotmnist" else None,
                    learned=learned_affine,
                )
            )
    for size in (1000, 5000, 10_000):
        name = f"cifar10-{size}{suffix}"
        load = partial(_cifar10, size=size)
        cells.append(_mirrored(name, "photographs", load, steps=steps, side=cifar10.SIDE, net=net))
    name = f"stl10-3000{suffix}"
    cells.append(
        _mirrored(name, "photographs", _stl10, steps=3 * steps // 4, side=STL_SIDE, net=net)
    )
    name = f"olivetti{suffix}"
    cells.append(_mirrored(name, "faces", _olivetti, steps=steps // 2, side=olivetti.SIDE, net=net))
    return cells


def _mirrored(
    name: str,
    kind: Kind,
    load: Load,
    *,
    steps: int,
    side: int,
    net: NetName,
) -> Cell:
    return Cell(
        name=name,
        kind=kind,
        load=load,
        net=partial(image_net, name=net),
        steps=steps,
        batch_size=32 if kind == "faces" else 128,
        standard=partial(flip_and_crop, side),
        learned=learned_affine,
    )


def _sprites(seed: int, _data: str | None) -> Split:
    """Faint sprites in strong noise, in [0, 1]."""
    parts = []
    for part_seed, n in ((2 * seed, N_SPRITES), (2 * seed + 1, 1000)):
        drawn = sprites(n, seed=part_seed)
        x = 0.5 + SPRITE_CONTRAST * (add_noise(drawn.x, SPRITE_NOISE, part_seed) - 0.5)
        parts.append((x.clamp(0, 1), drawn.y))
    return Split(parts[0], parts[1], n_outputs=len(CLASS_NAMES))


def _digits(seed: int, data: str | None, *, size: int, rotated: bool) -> Split:
    pool, held_out = _mnist(data)
    train, test = choose(pool, held_out, seed=seed, n_train=size, n_test=10_000)
    if rotated:
        train = mnist.rotate_once(train[0], seed=2 * seed)[0], train[1]
        test = mnist.rotate_once(test[0], seed=2 * seed + 1)[0], test[1]
    return Split(train, test, n_outputs=N_CLASSES)


@cache
def _mnist(data: str | None) -> tuple[Pair, Pair]:
    require_file(data, "mnist.npz", "train-images-idx3-ubyte.gz")
    digits = mnist.mnist(data)
    return (digits.x_train, digits.y_train), (digits.x_test, digits.y_test)


def _cifar10(seed: int, data: str | None, *, size: int) -> Split:
    pool, held_out = _cifar10_pool(data)
    train, test = choose(pool, held_out, seed=seed, n_train=size, n_test=5000)
    return Split(train, test, n_outputs=N_CLASSES)


@cache
def _cifar10_pool(data: str | None) -> tuple[Pair, Pair]:
    names = ("cifar-10-binary.tar.gz", "cifar-10-python.tar.gz", "data_batch_1")
    nested = ("cifar-10-batches-bin/data_batch_1.bin", "cifar-10-batches-py/data_batch_1")
    require_file(data, "cifar10.npz", *names, "data_batch_1.bin", *nested)
    images = cifar10.cifar10(data)
    return (images.x_train, images.y_train), (images.x_test, images.y_test)


def _stl10(seed: int, data: str | None) -> Split:
    images = image_split.read_npz(require_file(data, "stl10_48.npz"), STL_SIDE)
    pool = (images.x_train, images.y_train)
    held_out = (images.x_test, images.y_test)
    train, test = choose(pool, held_out, seed=seed, n_train=3000, n_test=2000)
    return Split(train, test, n_outputs=N_CLASSES)


def _olivetti(seed: int, data: str | None) -> Split:
    """Who is it? Five images of each person to train on, the others to score.

    With a development seed, two of the five are scored, and three are trained on.
    """
    require_file(data, "olivetti.npz", "olivettifaces.mat")
    faces = olivetti.olivetti(data)  # (people, images, side, side)
    order = _shuffled_rows(faces, SPLIT_SEED)
    pool = order[:, :FACES_PER_PERSON]
    test = order[:, FACES_PER_PERSON:]
    if seed >= FIRST_DEV_SEED:
        pool = _shuffled_rows(pool, seed)
        test = pool[:, 3:]
        pool = pool[:, :3]
    return Split(_labeled(pool), _labeled(test), n_outputs=len(faces))


def _shuffled_rows(faces: Tensor, seed: int) -> Tensor:
    """The images of each person in a random order."""
    generator = Generator().manual_seed(seed)
    order = torch.stack([torch.randperm(faces.shape[1], generator=generator) for _ in faces])
    return faces[torch.arange(len(faces))[:, None], order]


def _labeled(faces: Tensor) -> Pair:
    people, images = faces.shape[:2]
    return faces.reshape(-1, 1, *faces.shape[2:]), torch.arange(people).repeat_interleave(images)


def require_file(data: str | None, *names: str) -> Path:
    """The first of several files that is in the folder or the cache; the suite downloads nothing.

    Args:
        data: the folder.
        names: of the files; the first one is named in the error.
    """
    for name in names:
        path = downloads.find(name, data)
        if path is not None:
            return path
    raise InputError(f"{names[0]} is not there: give the folder that has it with --data DIR.")
