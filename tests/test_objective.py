"""The objective: loss, regularizers, and their cap at the limit of each coordinate."""

import math

import pytest
import torch
import torch.nn.functional as F

import augerino as ag


def augmentation(**bounds):
    return ag.Augmentation(ag.Affine2d(*bounds), ag.Uniform(list(bounds.values())))


def test_regularizers_match_their_formulas():
    a = augmentation(rotate=0.3, scale=0.4)
    assert ag.NegativeL2()(a).item() == pytest.approx(-(0.09 + 0.16))
    assert ag.NegativeNorm()(a).item() == pytest.approx(-0.5)
    assert ag.LogVolume()(a).item() == pytest.approx(-math.log(0.3 * 0.4))
    assert ag.NegativeEntropy()(a).item() == pytest.approx(-math.log(0.6 * 0.8))


@pytest.mark.parametrize(
    "regularizer",
    [ag.NegativeL2(), ag.NegativeNorm(), ag.LogVolume()],
    ids=lambda r: type(r).__name__,
)
def test_a_coordinate_past_its_limit_is_not_pushed_and_the_others_are(regularizer):
    a = augmentation(rotate=4.0, scale=0.5)
    (gradient,) = torch.autograd.grad(regularizer(a), a.distribution.raw_bound)
    assert gradient[0] == 0 and gradient[1] < 0
    inside = augmentation(rotate=3.0, scale=0.5)
    (gradient,) = torch.autograd.grad(regularizer(inside), inside.distribution.raw_bound)
    assert (gradient < 0).all()


class TestNegativeEntropy:
    """It accounts for correlations and does not depend on the units of coordinates."""

    @staticmethod
    def rigid(scale_tril, limit=None):
        return ag.Augmentation(ag.RotoTranslate2d(limit=limit), ag.Gaussian([0.0] * 3, scale_tril))

    def test_it_is_minus_the_entropy_below_the_limits(self):
        a = self.rigid([[0.3, 0.0, 0.0], [0.5, 2.0, 0.0], [0.1, 0.2, 1.0]], limit=20.0)
        assert ag.NegativeEntropy()(a).item() == pytest.approx(-a.distribution.entropy().item())
        flip = ag.Augmentation(ag.Flip("horizontal"), ag.Bernoulli([0.3]))
        assert ag.NegativeEntropy()(flip).item() == pytest.approx(
            0.3 * math.log(0.3) + 0.7 * math.log(0.7)
        )

    def test_every_scale_is_pushed_by_its_relative_growth(self):
        a = self.rigid([0.1, 5.0, 0.7])
        (gradient,) = torch.autograd.grad(ag.NegativeEntropy()(a), a.distribution.raw_diagonal)
        growth = torch.sigmoid(a.distribution.raw_diagonal) / a.distribution.extent
        assert torch.allclose(gradient, -growth)

    def test_past_its_limit_a_scale_is_not_pushed_and_the_others_are(self):
        a = self.rigid([4.0, 12.0, 3.0], limit=10.0)
        value = ag.NegativeEntropy()(a)
        (gradient,) = torch.autograd.grad(value, a.distribution.raw_diagonal)
        assert gradient[:2].abs().max() < 1e-6 and gradient[2] < -0.1
        assert value.item() == pytest.approx(
            ag.NegativeEntropy()(self.rigid([math.pi, 10.0, 3.0], limit=10.0)).item()
        )

    def test_a_certain_flip_and_a_box_keep_finite_gradients(self):
        flip = ag.Bernoulli([0.5])
        flip.raw_probability.data.fill_(200.0)
        chain = ag.Chain(ag.Augmentation(ag.Flip("vertical"), flip), augmentation(rotate=0.3))
        ag.NegativeEntropy()(chain).backward()
        assert all(p.grad.isfinite().all() for p in chain.parameters())


def test_a_flip_is_pushed_towards_one_half_from_both_sides():
    for p, sign in ((0.1, -1), (0.9, 1)):
        a = ag.Augmentation(ag.Flip("horizontal"), ag.Bernoulli([p]))
        (gradient,) = torch.autograd.grad(ag.NegativeL2()(a), a.distribution.raw_probability)
        assert math.copysign(1, gradient.item()) == sign


def test_the_objective_adds_up():
    a = augmentation(rotate=0.3)
    prediction, target = torch.randn(5, 3).log_softmax(1), torch.tensor([0, 1, 2, 0, 1])
    terms = ag.Objective(F.nll_loss, a, reg_weight=0.1)(prediction, target)
    assert terms.loss == F.nll_loss(prediction, target)
    assert terms.penalty.item() == pytest.approx(-0.1 * 0.09)
    assert terms.total == terms.loss + terms.penalty
    for weight in (-1, float("nan"), float("inf")):
        with pytest.raises(ag.InputError, match="at least 0"):
            ag.Objective(F.nll_loss, a, reg_weight=weight)


def test_a_certain_flip_keeps_a_finite_log_volume():
    flip = ag.Bernoulli([0.5])
    flip.raw_probability.data.fill_(60.0)
    assert ag.LogVolume()(ag.Augmentation(ag.Flip("vertical"), flip)).isfinite()
