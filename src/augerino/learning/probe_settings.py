"""The constants of `Probe`, saved with every run."""

import dataclasses
import numbers
from dataclasses import dataclass
from typing import Any

from augerino.errors import InputError


def _number(default: float, low: float, high: float) -> Any:
    """Creates a dataclass field with a range of valid values."""
    return dataclasses.field(default=default, metadata={"range": (low, high)})


@dataclass(frozen=True)
class ProbeSettings:
    """Constants of a probe. The defaults rarely need a change.

    For one coordinate, let e be its extent under test and L its limit. Let I be the information
    that the network has about the targets, and R the residual information when the coordinate is
    drawn from the centre or from the shell of its range (`InformationScore`). In every round

        allowed = tolerance * (I + centre_slack * min(R(centre), centre_slack_cap * I))
        rise    = R(shell) - R(centre)
        cost    = max(rise, -rise / improvement_discount) / allowed
        log e  += max_step * pace * clip(gain * (1 - cost), -1, min(1, 2 I / I_max))

    and the network is trained on min(widening * e + margin * L, 2 e, L).
    """

    shell: float = _number(1.25, 1.001, 100.0)
    """the shell of a range is [e / shell, e], on both sides"""
    centre: float = _number(0.5, 0.0, 1.0)
    """the centre of a range is [-centre * e, centre * e]; other coordinates too"""
    widening: float = _number(1.2, 1.0, 2.0)
    """extent trained on, in units of e: networks degrade at the edge of their training range"""
    margin: float = _number(0.03, 0.0, 1.0)
    """fraction of the limit added to the extent trained on"""
    centre_slack: float = _number(4.0, 0.0, 1000.0)
    """weight of R(centre) in the tolerance: uncertain networks degrade slightly at the edge"""
    centre_slack_cap: float = _number(0.15, 0.0, 1e9)
    """upper limit of R(centre) in the tolerance, in units of I"""
    improvement_discount: float = _number(2.0, 0.01, 1e9)
    """a fall of the loss by this many tolerances ends a range too: labels overlap in the centre"""
    solved_score: float = _number(0.9, 0.0, 2.0)
    """task score I / I_max from which every coordinate has the whole tolerance"""
    unsolved_score: float = _number(0.5, 0.0, 1.0)
    """task score up to which all coordinates with a cost divide one tolerance among them"""
    gain: float = _number(2.0, 0.01, 1000.0)
    """steepness of an update: at full pace up to a cost of 1 - 1 / gain"""
    max_step: float = _number(0.25, 0.001, 10.0)
    """largest change of log e in one round"""
    slow_from: float = _number(0.5, 0.0, 1.0)
    """fraction of the training from which the pace decreases linearly, to reach 0 at `stop`"""
    min_pace: float = _number(0.2, 0.0, 1.0)
    """lower limit of the pace"""
    rounds: int = _number(60, 1, 10**6)
    """rounds in a whole training, including the skipped ones before `wait` and after `stop`"""
    wait: float = _number(0.15, 0.0, 1.0)
    """fraction of the training before the first round"""
    shrink_from: float = _number(0.3, 0.0, 1.0)
    """fraction of the training from which all ranges shrink while the score is below `min_score`"""
    average_from: float = _number(0.7, 0.0, 1.0)
    """fraction of the training from which e is averaged (geometric mean)"""
    stop: float = _number(0.8, 0.01, 1.0)
    """fraction of the training at which the extents are fixed"""
    levels: int = _number(16, 2, 10**4)
    """number of bins of a range in which the loss is measured when the extents are fixed"""
    min_score: float = _number(0.05, 0.0, 1.0)
    """task score up to which a network counts as having no information about the targets"""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, _checked(field, getattr(self, field.name)))
        self._check_order("unsolved_score", "solved_score")
        self._check_order("wait", "stop")
        self._check_order("average_from", "stop")
        self._check_order("slow_from", "stop")

    def _check_order(self, lower: str, upper: str) -> None:
        low = getattr(self, lower)
        high = getattr(self, upper)
        if not low < high:
            raise InputError(
                f"probe.{lower} must be below probe.{upper}, but got {low} and {high}."
            )


def _checked(field: dataclasses.Field[Any], value: Any) -> float:
    """Validates the type and the range of a value and converts it to a Python number."""
    whole = isinstance(field.default, int)
    if whole and not isinstance(value, numbers.Integral):
        raise InputError(f"probe.{field.name} must be a whole number, but got {value!r}.")
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise InputError(f"probe.{field.name} must be a number, but got {value!r}.")
    low, high = field.metadata["range"]
    if not low <= value <= high:
        raise InputError(
            f"probe.{field.name} must lie between {low:g} and {high:g}, but got {value}."
        )
    number = float(value)
    return int(number) if whole else number
