"""Detects whether operations run one by one on plain CPU tensors, where custom gradients apply."""

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

_PLAIN = (Tensor, nn.Parameter)


def eager(*tensors: Tensor) -> bool:
    """Whether all tensors are plain CPU tensors outside any compilation, trace or transform.

    Our `autograd.Function`s inspect values, loop over chunks or call the backward of a kernel. That
    fails in a traced or exported graph, under `torch.func` (vmap, jvp, grad) and with forward-mode
    tangents. There, the same formulas run as plain operations.

    Example:
        >>> eager(torch.ones(2)), eager(torch.ones(2, device="meta"))
        (True, False)
    """
    if (
        torch.compiler.is_compiling()
        or torch._C._get_tracing_state() is not None
        or torch._C._are_functorch_transforms_active()
    ):
        return False
    return all(
        type(tensor) in _PLAIN
        and tensor.device.type == "cpu"
        and forward_ad.unpack_dual(tensor).tangent is None
        for tensor in tensors
    )
