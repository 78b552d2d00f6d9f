"""The Olivetti faces (AT&T Laboratories Cambridge) and their rotated version (Section 4.3)."""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from augerino.data import downloads
from augerino.data.published.mnist import rotate_once
from augerino.data.readers import archives
from augerino.errors import InputError

PEOPLE = 40
IMAGES_PER_PERSON = 10
SIDE = 64
CROP = 45
_REMOTE = downloads.Remote(
    "olivettifaces.mat",
    [
        "https://ndownloader.figshare.com/files/5976027",
        "https://cs.nyu.edu/~roweis/data/olivettifaces.mat",
    ],
    "b612fb967f2dc77c9c62d3e1266e0c73d5fca46a4b8906c18e454d41af987794",
)


class Faces(NamedTuple):
    """Rotated faces (N, 1, 45, 45) in [0, 1] and their angles in radians (N, 1)."""

    x_train: Tensor
    angle_train: Tensor
    x_test: Tensor
    angle_test: Tensor


def olivetti(folder: str | Path | None = None) -> Tensor:
    """The 400 faces, (40 people, 10 images, 64, 64) in [0, 1].

    Reads `olivetti.npz` or `olivettifaces.mat` from the folder or the cache, or downloads it.
    """
    path = downloads.find("olivetti.npz", folder)
    if path is not None:
        shape = (PEOPLE * IMAGES_PER_PERSON, SIDE, SIDE)
        images = archives.read_npz(path, {"images": shape})["images"]
    else:
        images = _read_mat(downloads.find(_REMOTE.name, folder) or downloads.fetch(_REMOTE))
    return torch.from_numpy(images).reshape(PEOPLE, IMAGES_PER_PERSON, SIDE, SIDE).float() / 255


def _read_mat(path: Path) -> np.ndarray:
    try:
        from scipy.io import loadmat
    except ImportError as error:
        raise InputError(
            f"Reading {path} needs scipy: pip install scipy, or put olivetti.npz into --data DIR."
        ) from error
    try:
        faces = loadmat(path)["faces"]  # (4096, 400): each column is a transposed image
        return faces.T.reshape(-1, SIDE, SIDE).transpose(0, 2, 1).copy()
    except Exception as error:  # loadmat can raise any exception for a damaged file
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
    """Each image rotated `copies` times by random angles within ±extent and cropped to 45×45.

    The seed determines the angles and which people are for training; the others are for testing.
    """
    faces = olivetti(folder)
    order = torch.randperm(PEOPLE, generator=torch.Generator().manual_seed(seed))
    first = (SIDE - CROP) // 2
    crop = slice(first, first + CROP)
    parts = []
    for i, people in enumerate((order[:train_people], order[train_people:])):
        images = faces[people].reshape(-1, 1, SIDE, SIDE).repeat(copies, 1, 1, 1)
        rotated, angles = rotate_once(images, seed=2 * seed + i, extent=extent)
        parts += [rotated[..., crop, crop].contiguous(), angles[:, None]]
    return Faces(*parts)
