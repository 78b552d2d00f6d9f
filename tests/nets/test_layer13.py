"""The paper's network has the paper's size."""

import torch

from augerino.nets.layer13 import Layer13


def test_it_has_nine_convolutions_and_three_million_weights():
    net = Layer13(3, 10)
    convolutions = [m for m in net.modules() if isinstance(m, torch.nn.Conv2d)]
    assert [c.out_channels for c in convolutions] == [128, 128, 128, 256, 256, 256, 512, 256, 128]
    assert sum(p.numel() for p in net.parameters()) == 3_121_802
    assert net(torch.rand(2, 3, 32, 32)).shape == (2, 10)
    assert Layer13(1, 10, width=8)(torch.rand(2, 1, 28, 28)).shape == (2, 10)
