"""The paper's network has the paper's size."""

import torch

from augerino.nets.layer13 import Layer13


def count(channels, outputs, k):
    """Weights of Laine and Aila's table: kernels, two numbers of batch norm per channel, head."""
    three = [
        (channels, k),
        (k, k),
        (k, k),
        (k, 2 * k),
        (2 * k, 2 * k),
        (2 * k, 2 * k),
        (2 * k, 4 * k),
    ]
    one = [(4 * k, 2 * k), (2 * k, k)]
    kernels = sum(9 * a * b for a, b in three) + sum(a * b for a, b in one)
    return kernels + sum(2 * b for _, b in three + one) + k * outputs + outputs


def test_it_has_nine_convolutions_and_three_million_weights():
    net = Layer13(3, 10)
    convolutions = [m for m in net.modules() if isinstance(m, torch.nn.Conv2d)]
    assert [c.out_channels for c in convolutions] == [128, 128, 128, 256, 256, 256, 512, 256, 128]
    assert sum(p.numel() for p in net.parameters()) == 3_121_802 == count(3, 10, 128)
    assert net(torch.rand(2, 3, 32, 32)).shape == (2, 10)
    assert Layer13(1, 10, width=8)(torch.rand(2, 1, 28, 28)).shape == (2, 10)


def test_its_size_follows_the_width():
    for k in (1, 8, 16, 32):
        assert sum(p.numel() for p in Layer13(1, 4, width=k).parameters()) == count(1, 4, k)
