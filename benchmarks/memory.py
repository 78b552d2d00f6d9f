"""Peak memory of this process."""

import contextlib
import resource
import sys
from pathlib import Path

_OWN = Path("/proc/self")


def peak() -> float:
    """The peak in megabytes.

    From /proc where there is one: `getrusage` starts from the peak of the parent process.
    """
    try:
        lines = (_OWN / "status").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    except (OSError, StopIteration):
        per_megabyte = 2**20 if sys.platform == "darwin" else 2**10
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / per_megabyte


def begin() -> float:
    """Resets the peak to the current memory, where the system can, and returns it."""
    with contextlib.suppress(OSError):
        (_OWN / "clear_refs").write_text("5", encoding="utf-8")
    return peak()
