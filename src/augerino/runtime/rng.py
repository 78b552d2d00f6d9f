"""The states of all random number generators of the process, to be saved and restored."""

import random
from typing import Any

import numpy as np
import torch
from torch import Generator

_MT19937_WORDS = 624  # length of the state of numpy's generator


def generators_of(loader: Any) -> list[Generator]:
    """The generators that a data loader draws its order from, besides the global one."""
    batch_sampler = getattr(loader, "batch_sampler", None)
    owners = (
        loader,
        getattr(loader, "sampler", None),
        batch_sampler,
        getattr(batch_sampler, "sampler", None),
        getattr(loader, "dataset", None),
    )
    found: dict[int, Generator] = {}
    for owner in owners:
        generator = getattr(owner, "generator", None)
        if isinstance(generator, Generator):
            found[id(generator)] = generator  # several owners may share one
    return list(found.values())


def get_state(loader: Any = None) -> dict[str, Any]:
    """The states of the generators of Python, numpy and torch, and of a loader."""
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


def validate_state(state: Any, loader: Any = None) -> None:
    """Raises ValueError for a state that `get_state` cannot have returned.

    Needed for states from files: not every generator validates its own state.
    """
    own = [generator.get_state() for generator in generators_of(loader)]
    is_valid = (
        _is_python_state(state["python"])
        and _is_numpy_state(state["numpy"])
        and _is_like(state["torch"], torch.get_rng_state())
        and len(state["loader"]) == len(own)
        and all(_is_like(saved, mine) for saved, mine in zip(state["loader"], own, strict=False))
        and all(isinstance(saved, torch.Tensor) for saved in state["cuda"])
    )
    if not is_valid:
        raise ValueError("its random state is damaged, or the loader has other generators now")


def _is_python_state(state: Any) -> bool:
    version, words, gauss = state
    return (
        type(version) is int
        and all(type(word) is int and 0 <= word < 2**32 for word in words)
        and isinstance(gauss, float | None)
    )


def _is_numpy_state(state: Any) -> bool:
    key = state["key"]
    pos = state["pos"]
    return (
        isinstance(key, torch.Tensor)
        and key.shape == (_MT19937_WORDS,)
        and key.dtype == torch.int64
        and type(pos) is int
        and 0 <= pos <= _MT19937_WORDS  # numpy would read beyond its buffer
        and state["has_gauss"] in (0, 1)
        and isinstance(state["gauss"], float)
    )


def _is_like(saved: Any, own: torch.Tensor) -> bool:
    """Whether a saved state has the shape and dtype of an actual one."""
    if not isinstance(saved, torch.Tensor):
        return False
    return saved.shape == own.shape and saved.dtype == own.dtype


def set_state(state: dict[str, Any], loader: Any = None) -> None:
    """Restores the states that `get_state` returned."""
    version, words, gauss = state["python"]
    random.setstate((version, tuple(words), gauss))
    saved = state["numpy"]
    np.random.set_state(
        {
            "bit_generator": "MT19937",
            "state": {"key": saved["key"].numpy().astype(np.uint32), "pos": saved["pos"]},
            "has_gauss": saved["has_gauss"],
            "gauss": saved["gauss"],
        }
    )
    torch.set_rng_state(state["torch"])
    if state["cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["cuda"])
    for generator, value in zip(generators_of(loader), state["loader"], strict=True):
        generator.set_state(value)
