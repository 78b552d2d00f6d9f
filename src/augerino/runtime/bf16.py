"""Whether a CPU computes in bf16: fast, and without ending the process."""

import functools
import os
import subprocess
import sys

import torch

# Where a virtual machine announces AMX but hides how its tiles are laid out, oneDNN's kernels end in an illegal instruction.
# Set before torch computes anything, this keeps oneDNN to the instructions that work there.
REMEDY = ("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

_TRIAL = (
    "import torch; torch.set_num_threads(1); a = torch.ones(64, 64, dtype=torch.bfloat16); a @ a"
)


def pays() -> bool:
    """Whether training in bf16 is faster than in float32: with AMX it is, with the vector instructions alone it was not."""
    return _tiles() and survives()


def _tiles() -> bool:
    """Whether AMX is announced, and nobody keeps oneDNN from it."""
    announced = bool(getattr(torch.cpu, "_is_amx_tile_supported", lambda: False)())
    return announced and "AMX" in os.environ.get(REMEDY[0], "AMX").upper()


@functools.cache
def survives() -> bool:
    """Whether bf16 can be computed at all; tried in a process of its own where that is not certain, which takes a second or two.

    A program that is not run by a Python of its own (a frozen one) has nothing to try it with, and is trusted.
    """
    if not _tiles() or not sys.executable or getattr(sys, "frozen", False):
        return True
    try:
        return (
            subprocess.run(
                [sys.executable, "-c", _TRIAL], capture_output=True, check=False, timeout=120
            ).returncode
            == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
