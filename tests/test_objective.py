"""Loss, penalty, and the cap at each coordinate's limit."""

import math

import pytest
import torch
import torch.nn.functional as F

import augerino as ag


def augmentation(**bounds):
    return ag.Augmentation(ag.Affine2d(*bounds), ag.Uniform(list(bounds.values())))


def test_regularizers_are_what_they_say():
    a = augmentation(rotate=0.3, scale=0.4)
    assert ag.NegativeL2()(a).item() == pytest.approx(-(0.09 + 0.16))
    assert ag.NegativeNorm()(a).item() == pytest.approx(-0.5)
    assert ag.LogVolume()(a).item() == pytest.approx(-math.log(0.3 * 0.4))


@pytest.mark.parametrize("regularizer", [ag.NegativeL2(), ag.NegativeNorm(), ag.LogVolume()], ids=lambda r: type(r).__name__)
def test_a_coordinate_past_its_limit_is_not_pushed_and_the_others_are(regularizer):
    a = augmentation(rotate=4.0, scale=0.5)
    (gradient,) = torch.autograd.grad(regularizer(a), a.distribution.raw_bound)
    assert gradient[0] == 0 and gradient[1] < 0
    inside = augmentation(rotate=3.0, scale=0.5)
    (gradient,) = torch.autograd.grad(regularizer(inside), inside.distribution.raw_bound)
    assert (gradient < 0).all()


def test_a_flip_is_pushed_towards_one_half_from_both_sides():
    for p, sign in ((0.1, -1), (0.9, 1)):
        a = ag.Augmentation(ag.Flip("horizontal"), ag.Bernoulli([p]))
        (gradient,) = torch.autograd.grad(ag.NegativeL2()(a), a.distribution.raw_probability)
        assert math.copysign(1, gradient.item()) == sign


def test_the_objective_adds_up():
    a = augmentation(rotate=0.3)
    prediction, target = torch.randn(5, 3).log_softmax(1), torch.tensor([0, 1, 2, 0, 1])
    terms = ag.Objective(F.nll_loss, a, weight=0.1)(prediction, target)
    assert terms.loss == F.nll_loss(prediction, target)
    assert terms.penalty.item() == pytest.approx(-0.1 * 0.09)
    assert terms.total == terms.loss + terms.penalty
    for weight in (-1, float("nan"), float("inf")):
        with pytest.raises(ag.InputError, match="at least 0"):
            ag.Objective(F.nll_loss, a, weight=weight)


def test_a_certain_flip_keeps_a_finite_log_volume():
    flip = ag.Bernoulli([0.5])
    flip.raw_probability.data.fill_(60.0)
    assert ag.LogVolume()(ag.Augmentation(ag.Flip("vertical"), flip)).isfinite()
