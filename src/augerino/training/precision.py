"""The choice between float32 and bf16, and whether bf16 works and is faster on this CPU."""

import functools
import os
import subprocess
import sys
from typing import Literal

import torch

from augerino.errors import InputError

Precision = Literal["auto", "float32", "bf16"]

# On virtual machines that announce AMX but hide the layout of its tiles, oneDNN's kernels end in an
# illegal instruction. Set before torch's first computation, this setting keeps oneDNN from AMX.
ISA_VARIABLE = "ONEDNN_MAX_CPU_ISA"
ISA_WITHOUT_AMX = "AVX512_CORE_BF16"

_TRIAL = (
    "import torch; torch.set_num_threads(1); a = torch.ones(64, 64, dtype=torch.bfloat16); a @ a"
)


def choose_precision(precision: Precision, device: torch.device) -> Literal["float32", "bf16"]:
    """Resolves "auto": bf16 where it works and is faster on this hardware, else float32.

    Raises InputError where bf16 is requested but would crash the process.
    """
    if precision not in ("auto", "float32", "bf16"):
        raise InputError(f"precision is one of auto, float32, bf16, but got '{precision}'.")
    if precision == "auto":
        return "bf16" if _is_bf16_faster(device) else "float32"
    if precision == "bf16" and device.type == "cpu" and not bf16_works():
        raise InputError(
            "bf16 crashes on this machine, which announces AMX instructions that do not "
            "work: use precision float32 or auto, or set "
            f"{ISA_VARIABLE}={ISA_WITHOUT_AMX} in the environment."
        )
    return precision


def _is_bf16_faster(device: torch.device) -> bool:
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return device.type == "cpu" and is_bf16_faster_on_cpu()


def is_bf16_faster_on_cpu() -> bool:
    """Whether training in bf16 is faster than in float32: only with a working AMX."""
    return _uses_amx() and bf16_works()


def _uses_amx() -> bool:
    """Whether the CPU announces AMX and the environment does not keep oneDNN from it."""
    is_supported = getattr(torch.cpu, "_is_amx_tile_supported", None)
    if is_supported is None or not is_supported():
        return False
    return "AMX" in os.environ.get(ISA_VARIABLE, "AMX").upper()


@functools.cache
def bf16_works() -> bool:
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
