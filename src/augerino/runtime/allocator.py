"""Settings of glibc's memory allocator."""

import ctypes
import os

# Parameters of mallopt, as numbered in glibc's malloc.h.
_M_TRIM_THRESHOLD = -1
_M_MMAP_MAX = -4
_MAX_INT = 2**31 - 1


def keep_memory() -> bool:
    """Makes glibc reuse freed memory instead of returning it to the system; True on success.

    A training step allocates the same large tensors again and again. Memory that was returned is
    cleared page by page before its next use, which takes a fifth to a third of a step of a small
    network. The process then keeps its peak memory, so this is meant for programs, not for
    libraries. Settings of malloc in the environment take precedence.
    """
    if any(name.startswith("MALLOC_") or name == "GLIBC_TUNABLES" for name in os.environ):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library
        return False
    return bool(mallopt(_M_MMAP_MAX, 0)) and bool(mallopt(_M_TRIM_THRESHOLD, _MAX_INT))
