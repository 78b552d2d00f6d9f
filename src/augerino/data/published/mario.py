"""The two sprites of the paper's "Mario & Iggy" experiment, if the user has the file."""

from pathlib import Path

import torch
from torch import Tensor

from augerino.data import downloads
from augerino.data.readers import archives

NAME = "mario_iggy.npz"


def mario_and_iggy(folder: str | Path | None = None) -> Tensor | None:
    """The upright sprites, (2, 3, 32, 32) in [0, 1]; None if `mario_iggy.npz` is not found."""
    path = downloads.find(NAME, folder)
    if path is None:
        return None
    arrays = archives.read_npz(path, {"mario": (1, 3, 32, 32), "iggy": (1, 3, 32, 32)})
    sprites = [torch.from_numpy(arrays[name]).float() for name in ("mario", "iggy")]
    return torch.cat(sprites).clamp(0, 1)
