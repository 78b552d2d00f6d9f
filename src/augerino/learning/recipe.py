"""The one home of the settings that `learn` runs with, in Python and on the command line."""

import dataclasses
import difflib
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from augerino.errors import InputError
from augerino.learning.probe_settings import ProbeSettings

FEWEST_STEPS, MOST_STEPS = 1200, 6000  # of a training whose epochs are not given

# What is counted, with the most that is not a slip of the finger.
_COUNTS = {
    "batch_size": 2**24,
    "train_copies": 10_000,
    "test_copies": 100_000,
    "width": 2**16,
    "theta_every": 10**6,
}
_RATES = ("start", "lr", "augmentation_lr")
_WEIGHTS = ("reg_weight", "weight_decay")
_SHARES = {"tolerance": 1.0, "holdout_fraction": 0.5}  # below these


@dataclass(frozen=True)
class Recipe:
    """How to learn the symmetries of a dataset."""

    transforms: tuple[str, ...] = ()
    """groups to learn: affine, color, flip (images); time, gain, noise (signals); affine (points)"""
    coordinates: tuple[str, ...] = ()
    """single coordinates to learn, by name; by default those of the groups"""
    start: float = 0.3
    """extent of every coordinate at the start, in its own unit"""
    method: Literal["auto", "probe", "gradient"] = "auto"
    """learn extents from the held-out loss (probe) or by the paper's objective (gradient)"""
    tolerance: float = 0.03
    """probe: rise of the held-out loss that ends a range, relative to the network's information"""
    holdout_fraction: float = 0.15
    """probe: fraction of the training samples held out until the extents are fixed; at most 1000"""
    probe: ProbeSettings = dataclasses.field(default=ProbeSettings())
    """probe: all other constants"""
    reg_weight: float = 0.05
    """gradient: weight λ of the penalty that widens the ranges, in units of the loss"""
    epochs: int | None = None
    """passes over the training data (default: 40, more for small and fewer for large data)"""
    batch_size: int = 128
    """samples per step, divided among all processes"""
    lr: float = 0.01
    """learning rate of the network's weights"""
    augmentation_lr: float = 0.02
    """gradient: learning rate of the extents"""
    warm_up: float = 0.1
    """gradient: fraction of the training before the extents start to move"""
    theta_every: int = 1
    """gradient: update the extents every so many steps; the steps in between are faster"""
    weight_decay: float = 1e-4
    """weight decay of the network; the extents have none"""
    train_copies: int = 1
    """augmented copies per input in training"""
    test_copies: int = 4
    """augmented copies per input in evaluation"""
    width: int = 8
    """channels of the first layer of the built-in network"""
    workers: int = 0
    """processes that read data from disk"""
    seed: int = 0
    """seed of all random numbers"""
    device: str = "cpu"
    """cpu, cuda, ..."""
    precision: Literal["auto", "float32", "bf16"] = "auto"
    """auto chooses bf16 where the hardware is faster with it"""

    def __post_init__(self) -> None:
        if isinstance(self.probe, Mapping):  # as files have it, or {"shell": 1.5} for short
            object.__setattr__(self, "probe", _probe_settings(self.probe))
        if not isinstance(self.probe, ProbeSettings):
            raise InputError(
                f"probe must be an ag.ProbeSettings or a dict of its fields, but got {self.probe!r}."
            )
        for name in ("transforms", "coordinates"):
            value = getattr(self, name)
            if isinstance(value, str):  # one name, or several with commas, as on the command line
                object.__setattr__(
                    self, name, tuple(word.strip() for word in value.split(",") if word.strip())
                )
        for name in (
            *_COUNTS,
            "seed",
            "workers",
            *(("epochs",) if self.epochs is not None else ()),
        ):
            self._become(name, numbers.Integral, int, "a whole number")
        for name in (*_RATES, *_WEIGHTS, *_SHARES, "warm_up"):
            self._become(name, numbers.Real, float, "a number")
        if self.epochs is not None and not 1 <= self.epochs <= 10**7:
            raise InputError(f"epochs must lie between 1 and {10**7}, but got {self.epochs}.")
        if not 0 <= self.workers <= 256:
            raise InputError(f"workers must lie between 0 and 256, but got {self.workers}.")
        if not 0 <= self.seed < 2**32:
            raise InputError(f"seed must lie between 0 and {2**32 - 1}, but got {self.seed}.")
        for name, most in _COUNTS.items():
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, but got {getattr(self, name)}.")
            if getattr(self, name) > most:
                raise InputError(f"{name} must be at most {most}, but got {getattr(self, name)}.")
        for name in _RATES:
            if not 0 < getattr(self, name) <= 1000:
                raise InputError(
                    f"{name} must be a number above 0 and at most 1000, but got {getattr(self, name)}."
                )
        for name in _WEIGHTS:
            if not 0 <= getattr(self, name) <= 1e6:
                raise InputError(
                    f"{name} must be a number from 0 to 1000000, but got {getattr(self, name)}."
                )
        if not 0 <= self.warm_up < 1:
            raise InputError(
                f"warm_up must be a fraction from 0 to below 1, but got {self.warm_up}."
            )
        for name, below in _SHARES.items():
            if not 0 < getattr(self, name) < below:
                raise InputError(
                    f"{name} must be a fraction above 0 and below {below:g}, but got {getattr(self, name)}."
                )
        if self.method not in ("auto", "probe", "gradient"):
            raise InputError(
                f"method must be one of auto, probe, gradient, but got '{self.method}'."
            )
        if self.theta_every > 1 and self.method != "gradient":
            raise InputError(
                f"theta_every={self.theta_every} leaves out gradients of the bounds, and probing takes none anyway: "
                "use method='gradient', or leave theta_every out."
            )
        if self.precision not in ("auto", "float32", "bf16"):
            raise InputError(
                f"precision must be one of auto, float32, bf16, but got '{self.precision}'."
            )

    def _become(self, name: str, kind: type, plain: type, said: str) -> None:
        """Numpy's numbers and the like become Python's, as files have them."""
        value = getattr(self, name)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise InputError(f"{name} must be {said}, but got {value!r}.")
        try:
            object.__setattr__(self, name, plain(value))
        except (
            OverflowError
        ) as error:  # a whole number of hundreds of digits, as a damaged file may have it
            raise InputError(
                f"{name} must be {said}, but got one that is too large for any computer."
            ) from error

    def passes(self, steps: int) -> int:
        """How many epochs of so many steps to train: as told, or 40, between `FEWEST_STEPS` and `MOST_STEPS` in all.

        Bounds move by at most their learning rate a step, so small data need more passes for the same way.
        """
        if self.epochs is not None:
            return self.epochs
        return max(5, -(-min(max(40 * steps, FEWEST_STEPS), MOST_STEPS) // steps))

    def but(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        known = [field.name for field in dataclasses.fields(self)]
        for name in changes:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean '{near[0]}'?" if near else f"there are: {', '.join(known)}."
                raise InputError(f"A recipe has no '{name}': {hint}")
        return dataclasses.replace(self, **changes)

    def to_flat(self) -> dict[str, Any]:
        """All fields with their names, those of `probe` as "probe.shell" and so on."""
        flat = dataclasses.asdict(self)
        probe = flat.pop("probe")
        return {**flat, **{f"probe.{name}": value for name, value in probe.items()}}


def _probe_settings(given: Mapping[str, Any]) -> ProbeSettings:
    known = [field.name for field in dataclasses.fields(ProbeSettings)]
    for name in given:
        if name not in known:
            raise InputError(f"probe has no '{name}': there are: {', '.join(known)}.")
    return ProbeSettings(**given)
