"""What the C library does with memory that is freed."""

import ctypes
import os

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # as glibc's malloc.h numbers them
_MOST = 2**31 - 1


def keep_memory() -> bool:
    """Has glibc keep freed memory for what is asked for next, instead of giving large pieces back; returns whether it does.

    A training step asks for the same large tensors again and again. Given back, each is cleared page by page before it is used
    once more, which takes a fifth to a third of a step of a small network. For programs of ours, not where we are a library:
    a process then keeps the most that it ever had. Where the environment says what malloc should do, that holds.
    """
    if any(name.startswith("MALLOC_") or name == "GLIBC_TUNABLES" for name in os.environ):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library
        return False
    return bool(mallopt(_MMAP_MAX, 0)) and bool(mallopt(_TRIM_THRESHOLD, _MOST))
