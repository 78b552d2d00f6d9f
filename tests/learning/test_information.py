"""Predictions of known worth on the yardstick: classes and values, from nothing to everything."""

import math

import pytest
import torch

from augerino.learning.information import RESOLUTION, Yardstick

Y = torch.tensor([0, 1] * 50)


def log_probs(right):
    """What says the right one of two classes with this probability."""
    p = torch.full((100, 2), 1 - right)
    p[torch.arange(100), Y] = right
    return p.log()


@pytest.mark.parametrize("right", [0.5, 0.8, 1.0 - 1e-7])
def test_classes_are_measured_by_their_log_loss(right):
    yardstick = Yardstick(Y)
    mean = yardstick.errors(log_probs(right), Y).mean()
    assert yardstick.most == pytest.approx(math.log(2)) and yardstick.least == 0
    assert yardstick.unsaid(mean) == pytest.approx(-math.log(right), abs=1e-6)
    assert yardstick.known(mean) == pytest.approx(math.log(2) + math.log(right), abs=1e-6)


def test_an_item_loses_no_more_than_the_guess_would():
    yardstick = Yardstick(Y)
    assert yardstick.errors(log_probs(1e-9), Y).tolist() == pytest.approx([math.log(2)] * 100)


def test_values_are_measured_by_the_logarithm_of_their_error():
    y = torch.randn(4000, 2, generator=torch.Generator().manual_seed(0)) * torch.tensor(
        [1.0, 1000.0]
    )
    yardstick = Yardstick(y)
    guess, exact, half = y.mean(dim=0).expand_as(y), y, y.mean(dim=0) + 0.5 * (y - y.mean(dim=0))
    known = {
        name: yardstick.known(yardstick.errors(x, y).mean(dim=0))
        for name, x in (("g", guess), ("e", exact), ("h", half))
    }
    assert known["g"] == pytest.approx(0, abs=1e-5)
    assert known["e"] == pytest.approx(yardstick.most)
    assert known["h"] == pytest.approx(
        0.5 * math.log((1 + RESOLUTION) / (0.25 + RESOLUTION)), rel=1e-3
    )  # whatever the unit


def test_one_label_alone_leaves_nothing_to_know():
    yardstick = Yardstick(torch.zeros(10, dtype=torch.long))
    assert yardstick.most == 0
