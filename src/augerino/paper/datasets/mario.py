"""The two sprites of the paper's "Mario & Iggy" experiment, for those who have them; our own sprites stand in elsewhere."""

from pathlib import Path

import torch
from torch import Tensor

from augerino.data import downloads as cache
from augerino.data.readers import archives

NAME = "mario_iggy.npz"


def mario_and_iggy(folder: str | Path | None = None) -> Tensor | None:
    """The upright sprites, (2, 3, 32, 32) in [0, 1]; None where neither the folder nor the cache has `mario_iggy.npz`."""
    found = cache.find(NAME, folder)
    if found is None:
        return None
    arrays = archives.read_npz(found, {"mario": (1, 3, 32, 32), "iggy": (1, 3, 32, 32)})
    return torch.cat([torch.from_numpy(arrays[name]).float() for name in ("mario", "iggy")]).clamp(
        0, 1
    )
