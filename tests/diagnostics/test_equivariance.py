"""The equivariance error is 0 for an equivariant network and positive for another one."""

import math

import pytest
import torch
from torch import nn

import augerino as ag
from augerino.diagnostics import equivariance_curve
from tests.conftest import smooth_images

TURN = ag.Affine2d("rotate")
QUARTERS = torch.tensor([0.0, math.pi / 2, math.pi])


class Place(nn.Module):
    """Predicts left or right from the position, independent of the image."""

    def forward(self, x):
        ramp = torch.linspace(-3, 3, x.shape[-1], dtype=x.dtype).expand(len(x), 1, *x.shape[-2:])
        return torch.cat([ramp, -ramp], dim=1)


def test_a_pointwise_network_follows_every_quarter_turn_exactly():
    found = equivariance_curve(
        nn.Conv2d(2, 4, 1).double(), smooth_images(), TURN, "rotate", QUARTERS
    )
    assert found.values == pytest.approx(QUARTERS.tolist()) and found.coordinate == "rotate"
    assert max(found.labels) < 0.01 and max(found.probabilities) < 1e-5


def test_a_position_dependent_network_is_not_equivariant():
    found = equivariance_curve(Place(), smooth_images(), TURN, "rotate", QUARTERS)
    assert found.labels == pytest.approx([0.0, 0.5, 1.0], abs=0.05)
    assert found.probabilities[0] < 1e-6 and found.probabilities[2] > 0.5


def test_averaging_over_turns_lowers_the_error():
    turns = ag.Augmentation(TURN, ag.Uniform([math.pi]))
    averaged = ag.EquivariantModel(Place(), turns, average=ag.mean_log_prob, test_copies=64)
    bare, mean = (
        equivariance_curve(m, smooth_images().float(), TURN, "rotate", QUARTERS)
        for m in (Place(), averaged)
    )
    assert mean.probabilities[2] < bare.probabilities[2] / 3


def test_only_the_selected_pixels_are_compared():
    left = torch.zeros(3, 24, 24, dtype=torch.bool)
    left[:, :, :4] = True
    x = smooth_images()
    assert (
        equivariance_curve(Place(), x, TURN, "rotate", torch.tensor([0.3]), left).labels[0] < 0.01
    )  # far from the middle
    nothing = equivariance_curve(
        Place(), x, TURN, "rotate", torch.tensor([0.3]), torch.zeros_like(left)
    )
    assert nothing.labels == nothing.probabilities == [0.0]


def test_the_mode_is_restored_and_a_wrong_name_is_reported():
    net = nn.Conv2d(2, 4, 1).double().train()
    equivariance_curve(net, smooth_images(), TURN, "rotate", QUARTERS)
    assert net.training
    with pytest.raises(ag.InputError, match="no coordinate 'shear'"):
        equivariance_curve(net, smooth_images(), TURN, "shear", QUARTERS)
