"""How much memory this process has had at once."""

import contextlib
import resource
import sys
from pathlib import Path

_OWN = Path("/proc/self")


def peak() -> float:
    """Megabytes at the peak, of this program alone: the count that every system has begins with the parent's."""
    try:
        lines = (_OWN / "status").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
            2**20 if sys.platform == "darwin" else 2**10
        )


def begin() -> float:
    """Lets the peak begin where memory stands now, as far as the system can, and returns it."""
    with contextlib.suppress(OSError):
        (_OWN / "clear_refs").write_text("5", encoding="utf-8")
    return peak()
