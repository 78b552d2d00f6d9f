"""Whether a CPU computes in bf16: natively, and without ending the process."""

import functools
import os
import subprocess
import sys

import torch

# Where a virtual machine announces AMX but hides how its tiles are laid out, oneDNN's kernels end in an illegal instruction.
# Set before torch computes anything, this keeps oneDNN to the instructions that work there.
REMEDY = ("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

_TRIAL = "import torch; torch.set_num_threads(1); a = torch.ones(64, 64, dtype=torch.bfloat16); a @ a"


def native() -> bool:
    """Whether this processor multiplies bf16 itself; where it does not, bf16 is several times slower than float32."""
    return bool(getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)())


@functools.cache
def survives() -> bool:
    """Whether bf16 can be computed at all; tried in a process of its own where it is not certain, which takes two seconds."""
    tiles = getattr(torch.cpu, "_is_amx_tile_supported", lambda: False)()
    told = os.environ.get(REMEDY[0], "AMX")
    if not tiles or "AMX" not in told.upper():
        return True
    return subprocess.run([sys.executable, "-c", _TRIAL], capture_output=True, check=False).returncode == 0
