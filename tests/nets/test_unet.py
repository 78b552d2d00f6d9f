"""The small U-Net: a score for every pixel, at any size."""

import pytest
import torch

from augerino.nets.unet import SmallUNet


@pytest.mark.parametrize("size", [(1, 1), (1, 7), (2, 3), (15, 17), (16, 16), (33, 20)])
def test_every_pixel_gets_its_scores(size):
    net = SmallUNet(3, 5, width=4)
    assert net(torch.randn(2, 3, *size)).shape == (2, 5, *size)
    assert net.eval()(torch.randn(1, 3, *size)).shape == (1, 5, *size)


def test_a_pixel_sees_itself_sharply_and_its_surroundings():
    net, x = (
        SmallUNet(1, 1, width=4).double().eval(),
        torch.randn(1, 1, 64, 64, dtype=torch.float64, requires_grad=True),
    )
    (gradient,) = torch.autograd.grad(net(x)[0, 0, 32, 32], x)
    assert gradient[0, 0, 32, 32] != 0
    assert gradient[0, 0, 32, :16].abs().max() > 0 and gradient[0, 0, 48:, 32].abs().max() > 0


def test_it_learns_to_outline_a_square():
    x, y = torch.zeros(8, 1, 12, 12), torch.zeros(8, 12, 12, dtype=torch.long)
    for i in range(8):
        x[i, 0, i // 2 : i // 2 + 5, i : i + 4] = 1.0
        y[i, i // 2 : i // 2 + 5, i : i + 4] = 1
    net = SmallUNet(1, 2, width=4)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(40):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    assert (net(x).argmax(1) == y).float().mean() > 0.98
