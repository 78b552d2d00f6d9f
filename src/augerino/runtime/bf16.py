"""Whether bf16 works on this CPU, and whether it is faster than float32."""

import functools
import os
import subprocess
import sys

import torch

# On virtual machines that announce AMX but hide the layout of its tiles, oneDNN's kernels end in an
# illegal instruction. Set before torch's first computation, this setting keeps oneDNN from AMX.
ISA_VARIABLE = "ONEDNN_MAX_CPU_ISA"
ISA_WITHOUT_AMX = "AVX512_CORE_BF16"

_TRIAL = (
    "import torch; torch.set_num_threads(1); a = torch.ones(64, 64, dtype=torch.bfloat16); a @ a"
)


def is_faster() -> bool:
    """Whether training in bf16 is faster than in float32: only with a working AMX."""
    return _uses_amx() and works()


def _uses_amx() -> bool:
    """Whether the CPU announces AMX and the environment does not keep oneDNN from it."""
    is_supported = getattr(torch.cpu, "_is_amx_tile_supported", None)
    if is_supported is None or not is_supported():
        return False
    return "AMX" in os.environ.get(ISA_VARIABLE, "AMX").upper()


@functools.cache
def works() -> bool:
    """Whether a product in bf16 works, or crashes the process.

    With AMX this is tried in a subprocess, which takes a second or two. A frozen program has no
    Python interpreter to try it with; it is assumed to work there.
    """
    if not _uses_amx() or not sys.executable or getattr(sys, "frozen", False):
        return True
    command = [sys.executable, "-c", _TRIAL]
    try:
        trial = subprocess.run(command, capture_output=True, check=False, timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return trial.returncode == 0
