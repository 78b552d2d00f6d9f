"""`Recipe`: the settings of `learn`, in Python and on the command line."""

import dataclasses
import difflib
import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from augerino.errors import InputError
from augerino.learning.probe_settings import ProbeSettings

# Steps of a training whose number of epochs is not given.
FEWEST_STEPS = 1200
MOST_STEPS = 6000

# Integer settings and their upper limits; anything larger is probably a typo.
_COUNTS = {
    "batch_size": 2**24,
    "train_copies": 10_000,
    "test_copies": 100_000,
    "width": 2**16,
    "theta_every": 10**6,
}
_RATES = ("start", "lr", "augmentation_lr")
_WEIGHTS = ("reg_weight", "weight_decay")
_FRACTIONS = {"tolerance": 1.0, "holdout_fraction": 0.5}  # exclusive upper limits
_METHODS = ("auto", "probe", "gradient")
_PRECISIONS = ("auto", "float32", "bf16")


@dataclass(frozen=True)
class Recipe:
    """Settings for learning the symmetries of a dataset. Invalid values raise an `InputError`."""

    transforms: tuple[str, ...] = ()
    """groups: affine, flip, color, shift, photometric, occlusion (images);
    time, gain, noise (signals); affine (points)"""
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
    trial_length: float = 1 / 6
    """steps of a trial of the policy step, relative to the final training; 0 skips that step"""
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
    """gradient: number of steps between updates of the extents; larger is faster"""
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
        if isinstance(self.probe, Mapping):  # as read from a file, or {"shell": 1.5} for short
            object.__setattr__(self, "probe", _probe_settings(self.probe))
        if not isinstance(self.probe, ProbeSettings):
            raise InputError(
                f"probe must be an ag.ProbeSettings or a dict of its fields, "
                f"but got {self.probe!r}."
            )
        self._split_names()
        self._convert_numbers()
        self._check_integers()
        self._check_floats()
        self._check_choices()

    def _split_names(self) -> None:
        """Splits names that were given as one string with commas, as on the command line."""
        for name in ("transforms", "coordinates"):
            value = getattr(self, name)
            if isinstance(value, str):
                words = (word.strip() for word in value.split(","))
                object.__setattr__(self, name, tuple(word for word in words if word))

    def _convert_numbers(self) -> None:
        """Converts NumPy numbers and the like to `int` and `float`, so that they can be saved."""
        integers = [*_COUNTS, "seed", "workers"]
        if self.epochs is not None:
            integers.append("epochs")
        for name in integers:
            self._convert(name, numbers.Integral, int, "a whole number")
        for name in (*_RATES, *_WEIGHTS, *_FRACTIONS, "trial_length", "warm_up"):
            self._convert(name, numbers.Real, float, "a number")

    def _convert(self, name: str, kind: type, target: type, expected: str) -> None:
        value = getattr(self, name)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise InputError(f"{name} must be {expected}, but got {value!r}.")
        try:
            object.__setattr__(self, name, target(value))
        except OverflowError as error:  # an integer of hundreds of digits, from a damaged file
            raise InputError(
                f"{name} must be {expected}, but got one that is too large for any computer."
            ) from error

    def _check_integers(self) -> None:
        if self.epochs is not None and not 1 <= self.epochs <= 10**7:
            raise InputError(f"epochs must lie between 1 and {10**7}, but got {self.epochs}.")
        if not 0 <= self.workers <= 256:
            raise InputError(f"workers must lie between 0 and 256, but got {self.workers}.")
        if not 0 <= self.seed < 2**32:
            raise InputError(f"seed must lie between 0 and {2**32 - 1}, but got {self.seed}.")
        for name, limit in _COUNTS.items():
            value = getattr(self, name)
            if value < 1:
                raise InputError(f"{name} must be at least 1, but got {value}.")
            if value > limit:
                raise InputError(f"{name} must be at most {limit}, but got {value}.")

    def _check_floats(self) -> None:
        for name in _RATES:
            value = getattr(self, name)
            if not 0 < value <= 1000:
                raise InputError(
                    f"{name} must be a number above 0 and at most 1000, but got {value}."
                )
        for name in _WEIGHTS:
            value = getattr(self, name)
            if not 0 <= value <= 1e6:
                raise InputError(f"{name} must be a number from 0 to 1000000, but got {value}.")
        if not 0 <= self.trial_length <= 1:
            raise InputError(
                f"trial_length must be a fraction from 0 to 1, but got {self.trial_length}."
            )
        if not 0 <= self.warm_up < 1:
            raise InputError(
                f"warm_up must be a fraction from 0 to below 1, but got {self.warm_up}."
            )
        for name, limit in _FRACTIONS.items():
            value = getattr(self, name)
            if not 0 < value < limit:
                raise InputError(
                    f"{name} must be a fraction above 0 and below {limit:g}, but got {value}."
                )

    def _check_choices(self) -> None:
        if self.method not in _METHODS:
            raise InputError(
                f"method must be one of {', '.join(_METHODS)}, but got '{self.method}'."
            )
        if self.theta_every > 1 and self.method != "gradient":
            raise InputError(
                f"theta_every={self.theta_every} skips gradients of the bounds, but only the "
                "gradient method computes them: use method='gradient', or leave theta_every out."
            )
        if not isinstance(self.device, str):
            raise InputError(
                f"device must be a name such as cpu or cuda, but got {self.device!r:.100}."
            )
        if self.precision not in _PRECISIONS:
            raise InputError(
                f"precision must be one of {', '.join(_PRECISIONS)}, but got '{self.precision}'."
            )

    def passes(self, steps: int) -> int:
        """Number of epochs for a dataset of `steps` batches: `epochs` if given, else 40.

        The default is adjusted to between `FEWEST_STEPS` and `MOST_STEPS` steps in all, but at
        least 5 epochs. A bound moves by at most its learning rate per step, so a small dataset
        needs more epochs for the bounds to move equally far.
        """
        if self.epochs is not None:
            return self.epochs
        total = min(max(40 * steps, FEWEST_STEPS), MOST_STEPS)
        return max(5, math.ceil(total / steps))

    def but(self, **changes: Any) -> Self:
        """Copies the recipe with some fields changed."""
        known = [field.name for field in dataclasses.fields(self)]
        for name in changes:
            if name not in known:
                hint = f"there are: {', '.join(known)}."
                if near := difflib.get_close_matches(name, known, n=1):
                    hint = f"did you mean '{near[0]}'?"
                raise InputError(f"A recipe has no '{name}': {hint}")
        return dataclasses.replace(self, **changes)

    def to_flat(self) -> dict[str, Any]:
        """All fields by name; the fields of `probe` are named "probe.shell" and so on."""
        flat = dataclasses.asdict(self)
        for name, value in flat.pop("probe").items():
            flat[f"probe.{name}"] = value
        return flat


def _probe_settings(given: Mapping[str, Any]) -> ProbeSettings:
    """Builds the settings of the probe from a mapping, with an error for unknown names."""
    known = [field.name for field in dataclasses.fields(ProbeSettings)]
    for name in given:
        if name not in known:
            raise InputError(f"probe has no '{name}': there are: {', '.join(known)}.")
    return ProbeSettings(**given)
