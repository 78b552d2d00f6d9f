"""Every source of randomness in the process, as a value that can be kept and put back."""

import random
from typing import Any

import numpy as np
import torch
from torch import Generator


def generators_of(loader: Any) -> list[Generator]:
    """The generators a data loader draws its order from, besides the global one."""
    batches, dataset = getattr(loader, "batch_sampler", None), getattr(loader, "dataset", None)
    places = (loader, getattr(loader, "sampler", None), batches, getattr(batches, "sampler", None), dataset)
    found = {id(g): g for place in places if isinstance(g := getattr(place, "generator", None), Generator)}
    return list(found.values())


def get_state(loader: Any = None) -> dict[str, Any]:
    """The states of Python's, numpy's and torch's global generators and of a loader's own."""
    version, words, gauss = random.getstate()
    numpy_state: dict[str, Any] = np.random.get_state(legacy=False)
    return {
        "python": [version, list(words), gauss],
        "numpy": {
            "key": torch.from_numpy(numpy_state["state"]["key"].astype(np.int64)),
            "pos": int(numpy_state["state"]["pos"]),
            "has_gauss": int(numpy_state["has_gauss"]),
            "gauss": float(numpy_state["gauss"]),
        },
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "loader": [generator.get_state() for generator in generators_of(loader)],
    }


def set_state(state: dict[str, Any], loader: Any = None) -> None:
    """Puts back what `get_state` returned."""
    version, words, gauss = state["python"]
    random.setstate((version, tuple(words), gauss))
    kept = state["numpy"]
    np.random.set_state(
        {
            "bit_generator": "MT19937",
            "state": {"key": kept["key"].numpy().astype(np.uint32), "pos": kept["pos"]},
            "has_gauss": kept["has_gauss"],
            "gauss": kept["gauss"],
        }
    )
    torch.set_rng_state(state["torch"])
    if state["cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["cuda"])
    for generator, saved in zip(generators_of(loader), state["loader"], strict=True):
        generator.set_state(saved)
