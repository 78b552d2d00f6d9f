"""The small network for signals: any length, sensitive to time."""

import pytest
import torch

from augerino.nets.signal import SmallSignalNet


@pytest.mark.parametrize("samples", [1, 2, 5, 127, 128, 1000])
def test_signals_of_any_length_become_scores(samples):
    net = SmallSignalNet(2, 3, width=4)
    assert net(torch.randn(2, 2, samples)).shape == (2, 3)
    assert net.eval()(torch.randn(1, 2, samples)).shape == (1, 3)


def test_every_output_can_depend_on_every_sample():
    net, x = SmallSignalNet(1, 2, width=4).eval(), torch.randn(1, 1, 300, requires_grad=True)
    (gradient,) = torch.autograd.grad(net(x)[0, 0], x)
    assert (
        (gradient != 0).float().mean() > 0.5
        and gradient[..., :8].abs().sum() > 0
        and gradient[..., -8:].abs().sum() > 0
    )


def test_it_distinguishes_an_early_pulse_from_a_late_one():
    x, y = torch.zeros(64, 1, 128), torch.arange(64) % 2
    x[torch.arange(64), 0, 30 + 64 * y + torch.arange(64) // 2 % 8] = 1.0
    net = SmallSignalNet(1, 2, width=4)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(60):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    assert (net(x).argmax(1) == y).all()
