"""The score of predictions with known information, for classes and for values."""

import math

import pytest
import torch

from augerino.learning.information import RESOLUTION, InformationScore

Y = torch.tensor([0, 1] * 50)


def log_probs(right):
    """Log-probabilities that assign this probability to the right one of two classes, (100, 2)."""
    p = torch.full((100, 2), 1 - right)
    p[torch.arange(100), Y] = right
    return p.log()


@pytest.mark.parametrize("right", [0.5, 0.8, 1.0 - 1e-7])
def test_classes_are_measured_by_their_log_loss(right):
    score = InformationScore(Y)
    mean = score.errors(log_probs(right), Y).mean()
    assert score.most == pytest.approx(math.log(2)) and score.least == 0
    assert score.residual(mean) == pytest.approx(-math.log(right), abs=1e-6)
    assert score.information(mean) == pytest.approx(math.log(2) + math.log(right), abs=1e-6)


def test_the_loss_of_a_sample_is_clamped_to_that_of_a_constant_prediction():
    score = InformationScore(Y)
    assert score.errors(log_probs(1e-9), Y).tolist() == pytest.approx([math.log(2)] * 100)


def test_values_are_measured_by_the_logarithm_of_their_error():
    units = torch.tensor([1.0, 1000.0])
    y = torch.randn(4000, 2, generator=torch.Generator().manual_seed(0)) * units
    score = InformationScore(y)
    mean = y.mean(dim=0)

    def information(prediction):
        return score.information(score.errors(prediction, y).mean(dim=0))

    assert information(mean.expand_as(y)) == pytest.approx(0, abs=1e-5)
    assert information(y) == pytest.approx(score.most)
    half = 0.5 * math.log((1 + RESOLUTION) / (0.25 + RESOLUTION))
    assert information(mean + 0.5 * (y - mean)) == pytest.approx(half, rel=1e-3)


def test_with_a_single_label_the_maximal_information_is_zero():
    score = InformationScore(torch.zeros(10, dtype=torch.long))
    assert score.most == 0
