"""The steerable network is invariant: exactly to quarter turns, nearly to other rotations."""

import math

import pytest
import torch

import augerino as ag
from augerino.nets.small import SmallCNN
from augerino.nets.steerable import GroupConv, SteerableCNN, filter_basis


def turned(x, angle):
    return ag.Affine2d("rotate")(x, torch.full((len(x), 1), angle, dtype=x.dtype))


@pytest.mark.parametrize("orientations", [4, 8, 16])
@pytest.mark.parametrize(("turns", "side"), [(1, 32), (2, 32), (3, 32), (1, 45), (1, 46), (3, 28)])
def test_quarter_turns_change_nothing(orientations, turns, side):
    net = SteerableCNN(2, 3, width=4, orientations=orientations).double().eval()
    x = torch.rand(2, 2, side, side, dtype=torch.float64)
    assert torch.allclose(net(x), net(torch.rot90(x, turns, (2, 3))), atol=1e-6)


def blobs(n=32, side=36):
    """Random smooth pictures inside the circle that rotations keep."""
    line = torch.exp(-(torch.arange(-4.0, 5.0) ** 2) / 4.5)
    blur = (line[:, None] * line[None, :] / line.sum() ** 2)[None, None]
    radius = torch.linspace(-1, 1, side).square()
    disk = torch.sigmoid(12 * (0.75 - (radius[:, None] + radius).sqrt()))
    return 6 * disk * torch.nn.functional.conv2d(torch.randn(n, 1, side + 8, side + 8), blur)


def response(net, angle):
    """Change of the outputs under rotation, relative to their variation between pictures."""
    x = blobs()
    for _ in range(20):
        net.train()(x)  # batch norm finds its statistics
    net.eval()
    return ((net(turned(x, angle)) - net(x)).norm() / (net(x) - net(x).mean(0)).norm()).item()


@pytest.mark.parametrize("angle", [math.pi / 4, 0.6, 2.0])
def test_other_turns_change_little(angle):
    assert response(SteerableCNN(1, 5, width=4, orientations=8), angle) < 0.35
    assert response(SmallCNN(1, 5), angle) > 0.6


def test_a_group_convolution_turns_its_orientations_with_its_input():
    conv = GroupConv(1, 2, orientations=8, lifting=True).double()
    x = torch.rand(1, 1, 17, 17, dtype=torch.float64)
    before = conv(x).unflatten(1, (2, 8))
    after = conv(turned(x, math.pi / 2)).unflatten(1, (2, 8))
    expected = torch.rot90(before, -1, (-2, -1)).roll(2, dims=2)  # two of eight orientations on
    assert torch.allclose(after, expected, atol=1e-5)


def test_a_turned_basis_filter_is_the_filter_turned():
    basis = filter_basis(7, 8)
    assert torch.allclose(basis[2], torch.rot90(basis[0], -1, (-2, -1)), atol=1e-5)
