"""Whether torch runs operations one by one on plain tensors of this machine's memory, so that hand-written gradients apply."""

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

_PLAIN = (Tensor, nn.Parameter)


def eager(*tensors: Tensor) -> bool:
    """Whether these are plain tensors on a CPU, and nobody compiles, traces, exports or transforms what is done with them.

    An `autograd.Function` that looks at values, loops over chunks or calls a kernel's backward has no meaning in a graph, under
    `torch.func` (vmap, jvp, grad) or with forward-mode tangents: there, the same formulas written in plain operations run.

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
