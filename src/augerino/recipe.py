"""The one home of the settings that `learn` runs with, in Python and on the command line."""

import dataclasses
import difflib
from dataclasses import dataclass
from typing import Any, Literal, Self

from augerino.errors import InputError

_COUNTS = ("epochs", "batch_size", "train_copies", "copies", "width")
_RATES = ("start", "lr", "augmentation_lr")
_WEIGHTS = ("weight", "weight_decay")


@dataclass(frozen=True)
class Recipe:
    """How to learn the symmetries of a dataset."""

    coordinates: tuple[str, ...] = ("translate_x", "translate_y", "rotate", "scale")
    """which coordinates of Affine2d to learn; also: squeeze, shear"""
    start: float = 0.3
    """bound that every coordinate starts at, in its own unit"""
    weight: float = 0.05
    """lambda: how much wide bounds are worth"""
    epochs: int = 40
    """passes over the training data"""
    batch_size: int = 128
    """items per step"""
    lr: float = 0.01
    """learning rate of the network's weights"""
    augmentation_lr: float = 0.02
    """learning rate of the bounds"""
    warm_up: float = 0.1
    """share of the training during which the bounds wait for the network"""
    weight_decay: float = 1e-4
    """weight decay on the network; the bounds never have any"""
    train_copies: int = 1
    """augmented copies per input in training"""
    copies: int = 4
    """augmented copies per input in evaluation"""
    width: int = 8
    """channels of the first layer of the built-in network"""
    seed: int = 0
    """of everything random"""
    device: str = "cpu"
    """where to compute: cpu, cuda, ..."""
    precision: Literal["auto", "float32", "bf16"] = "auto"
    """bf16 trains faster where the hardware has it; auto finds out"""

    def __post_init__(self) -> None:
        if isinstance(self.coordinates, str):  # one name, or several with commas, as on the command line
            object.__setattr__(self, "coordinates", tuple(name.strip() for name in self.coordinates.split(",") if name.strip()))
        for name in (*_COUNTS, "seed"):
            if not isinstance(getattr(self, name), int):
                raise InputError(f"{name} must be a whole number, but got {getattr(self, name)!r}.")
        for name in (*_RATES, *_WEIGHTS):
            if not isinstance(getattr(self, name), int | float):
                raise InputError(f"{name} must be a number, but got {getattr(self, name)!r}.")
        if not self.coordinates:
            raise InputError("There is nothing to learn without coordinates: name at least one.")
        if not 0 <= self.seed < 2**32:
            raise InputError(f"seed must lie between 0 and {2**32 - 1}, but got {self.seed}.")
        for name in _COUNTS:
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, but got {getattr(self, name)}.")
        for name in _RATES:
            if not 0 < getattr(self, name) <= 1000:
                raise InputError(f"{name} must be a number above 0 and at most 1000, but got {getattr(self, name)}.")
        for name in _WEIGHTS:
            if not 0 <= getattr(self, name) < float("inf"):
                raise InputError(f"{name} must be a number of at least 0, but got {getattr(self, name)}.")
        if not isinstance(self.warm_up, int | float) or not 0 <= self.warm_up < 1:
            raise InputError(f"warm_up is a share of the training, from 0 to below 1, but got {self.warm_up!r}.")
        if self.precision not in ("auto", "float32", "bf16"):
            raise InputError(f"precision is one of auto, float32, bf16, but got '{self.precision}'.")

    def but(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        known = [field.name for field in dataclasses.fields(self)]
        for name in changes:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean '{near[0]}'?" if near else f"there are: {', '.join(known)}."
                raise InputError(f"A recipe has no '{name}': {hint}")
        return dataclasses.replace(self, **changes)
