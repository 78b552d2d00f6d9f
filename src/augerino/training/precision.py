"""The choice between float32 and bf16."""

from typing import Literal

import torch

from augerino.errors import InputError
from augerino.runtime import bf16

Precision = Literal["auto", "float32", "bf16"]


def choose_precision(precision: Precision, device: torch.device) -> Literal["float32", "bf16"]:
    """Resolves "auto": bf16 where it works and is faster on this hardware, else float32.

    Raises InputError where bf16 is requested but would crash the process.
    """
    if precision not in ("auto", "float32", "bf16"):
        raise InputError(f"precision is one of auto, float32, bf16, but got '{precision}'.")
    if precision == "auto":
        return "bf16" if _is_bf16_faster(device) else "float32"
    if precision == "bf16" and device.type == "cpu" and not bf16.works():
        raise InputError(
            "bf16 crashes on this machine, which announces AMX instructions that do not "
            "work: use precision float32 or auto, or set "
            f"{bf16.ISA_VARIABLE}={bf16.ISA_WITHOUT_AMX} in the environment."
        )
    return precision


def _is_bf16_faster(device: torch.device) -> bool:
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return device.type == "cpu" and bf16.is_faster()
