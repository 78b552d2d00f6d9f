"""The Olivetti faces (AT&T Laboratories Cambridge), and the paper's rotated version (Benton et al. 2020, Section 4.3)."""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from augerino.data import downloads as cache
from augerino.data.readers import archives
from augerino.errors import InputError
from augerino.paper.datasets.mnist import rotate_once

PEOPLE, IMAGES_EACH, SIDE, CROP = 40, 10, 64, 45
_REMOTE = cache.Remote(
    "olivettifaces.mat",
    [
        "https://ndownloader.figshare.com/files/5976027",
        "https://cs.nyu.edu/~roweis/data/olivettifaces.mat",
    ],
    "b612fb967f2dc77c9c62d3e1266e0c73d5fca46a4b8906c18e454d41af987794",
)


class Faces(NamedTuple):
    """Turned faces (N, 1, 45, 45) in [0, 1] and the angle of each in radians (N, 1), for training and for testing."""

    x_train: Tensor
    angle_train: Tensor
    x_test: Tensor
    angle_test: Tensor


def olivetti(folder: str | Path | None = None) -> Tensor:
    """The 400 faces, (40 people, 10 images, 64, 64) in [0, 1], from `olivetti.npz` or `olivettifaces.mat`, or downloaded."""
    found = cache.find("olivetti.npz", folder)
    if found is not None:
        images = archives.read_npz(found, {"images": (PEOPLE * IMAGES_EACH, SIDE, SIDE)})["images"]
    else:
        images = _read_mat(cache.find(_REMOTE.name, folder) or cache.fetch(_REMOTE))
    return torch.from_numpy(images).reshape(PEOPLE, IMAGES_EACH, SIDE, SIDE).float() / 255


def _read_mat(path: Path) -> np.ndarray:
    try:
        from scipy.io import loadmat
    except ImportError as error:
        raise InputError(
            f"Reading {path} needs scipy: pip install scipy, or put olivetti.npz into --data DIR."
        ) from error
    try:
        faces = loadmat(path)["faces"]  # (4096, 400), each column an image with x before y
        return faces.T.reshape(-1, SIDE, SIDE).transpose(0, 2, 1).copy()
    except Exception as error:  # loadmat raises whatever a damaged file leads it to
        raise InputError(
            f"{path} is not a readable file of the Olivetti faces: {error}."
        ) from error


def rotated_olivetti(
    folder: str | Path | None = None,
    *,
    seed: int = 0,
    copies: int = 30,
    train_people: int = 30,
    extent: float = math.pi / 2,
) -> Faces:
    """Every image turned `copies` times by random angles within ±extent and cropped to 45×45; the angle is the target.

    Which people are for training is drawn with the seed; the other ten are for testing.
    """
    faces = olivetti(folder)
    order = torch.randperm(PEOPLE, generator=torch.Generator().manual_seed(seed))
    parts = []
    for i, people in enumerate((order[:train_people], order[train_people:])):
        images = faces[people].reshape(-1, 1, SIDE, SIDE).repeat(copies, 1, 1, 1)
        turned, angles = rotate_once(images, seed=2 * seed + i, extent=extent)
        low = (SIDE - CROP) // 2
        parts += [turned[..., low : low + CROP, low : low + CROP].contiguous(), angles[:, None]]
    return Faces(*parts)
