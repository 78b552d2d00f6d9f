"""Every source of randomness in the process, as a value that can be kept and put back."""

import random
from typing import Any

import numpy as np
import torch
from torch import Generator


def generators_of(loader: Any) -> list[Generator]:
    """The generators a data loader draws its order from, besides the global one."""
    batches, dataset = getattr(loader, "batch_sampler", None), getattr(loader, "dataset", None)
    places = (
        loader,
        getattr(loader, "sampler", None),
        batches,
        getattr(batches, "sampler", None),
        dataset,
    )
    found = {
        id(g): g
        for place in places
        if isinstance(g := getattr(place, "generator", None), Generator)
    }
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


def check_state(state: Any, loader: Any = None) -> None:
    """Raises ValueError where a state that comes from a file is none of ours: not every generator looks at what it is given."""
    version, words, gauss = state["python"]
    key, pos = state["numpy"]["key"], state["numpy"]["pos"]
    own = [generator.get_state() for generator in generators_of(loader)]
    good = (
        type(version) is int
        and all(type(word) is int and 0 <= word < 2**32 for word in words)
        and isinstance(gauss, float | None)
        and isinstance(key, torch.Tensor)
        and key.shape == (624,)
        and key.dtype == torch.int64
        and type(pos) is int
        and 0 <= pos <= 624  # numpy would read beyond its words
        and state["numpy"]["has_gauss"] in (0, 1)
        and isinstance(state["numpy"]["gauss"], float)
        and len(own) == len(state["loader"])
    )
    for mine, saved in zip(
        [torch.get_rng_state(), *own], [state["torch"], *state["loader"]], strict=False
    ):
        good = (
            good
            and isinstance(saved, torch.Tensor)
            and (saved.shape, saved.dtype) == (mine.shape, mine.dtype)
        )
    if not good or not all(isinstance(saved, torch.Tensor) for saved in state["cuda"]):
        raise ValueError(
            "its random state is damaged, or the loader has other generators than then"
        )


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
