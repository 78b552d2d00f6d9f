"""Custom gradients apply to plain CPU tensors in eager mode only."""

import pytest
import torch
from torch import nn

from augerino.lie.eager import eager


def test_plain_tensors_are_eager():
    assert eager(torch.ones(2), nn.Parameter(torch.ones(2)))
    with torch.inference_mode():
        assert eager(torch.ones(2))


def test_other_devices_and_kinds_of_tensors_are_not():
    assert not eager(torch.ones(2), torch.ones(2, device="meta"))
    assert not eager(torch.ones(2).as_subclass(type("Other", (torch.Tensor,), {})))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_transformed_compiled_or_traced_tensors_are_not():
    seen = []

    def note(x):
        seen.append(eager(x))
        return x

    x = torch.ones(2)
    torch.func.vmap(note)(x)
    torch.func.jvp(note, (x,), (x,))
    torch.jit.trace(note, (x,), check_trace=False)
    with torch.autograd.forward_ad.dual_level():
        note(torch.autograd.forward_ad.make_dual(x, x))
    assert seen and not any(seen)
    assert torch.equal(torch.compile(lambda x: x + eager(x), backend="eager", fullgraph=True)(x), x)
    torch.compiler.reset()
