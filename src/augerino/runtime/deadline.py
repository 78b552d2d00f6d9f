"""A time limit that all processes of a training agree on."""

import math
import time
from dataclasses import dataclass

from augerino.errors import InputError
from augerino.runtime import distributed


@dataclass(frozen=True)
class Deadline:
    """A point in time of the monotonic clock; by default it is never reached.

    Example:
        >>> Deadline().is_over(), Deadline.after(minutes=5).is_over()
        (False, False)
    """

    time: float = math.inf

    @classmethod
    def after(cls, minutes: float | None) -> "Deadline":
        """The point in time after some minutes; None for no limit."""
        if minutes is None:
            return cls()
        if not minutes > 0:
            raise InputError(f"The time limit must be above 0 minutes, but got {minutes}.")
        return cls(time.monotonic() + 60 * minutes)

    def is_over(self) -> bool:
        """Whether it has passed, by the clock of the first process."""
        if math.isinf(self.time):
            return False
        return bool(distributed.from_first(lambda: time.monotonic() >= self.time))
