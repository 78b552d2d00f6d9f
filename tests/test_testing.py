"""The public checks detect violated laws."""

import pytest
import torch
from torch import nn

import augerino as ag
from augerino import testing
from augerino.transforms import Compose

X = torch.rand(3, 1, 6, 6)


class Good(ag.Transform):
    coordinates = (ag.Coordinate("shift"),)

    def forward(self, x, t):
        return x + t[:, :, None, None].to(x)

    def inverse(self, y, t):
        return self.forward(y, -t)


class NotIdentity(Good):
    def forward(self, x, t):
        return super().forward(x, t) + 0.1


class Leaking(Good):
    def forward(self, x, t):
        return super().forward(x, t.mean(0, keepdim=True).expand_as(t))


class Cut(Good):
    def forward(self, x, t):
        return super().forward(x, t.detach()) + 0 * t[:, :, None, None]


class WrongInverse(Good):
    def inverse(self, y, t):
        return y


class Doubling(Good):
    def forward(self, x, t):
        return super().forward(x, t).double()


class TwoOfAName(Good):
    coordinates = (ag.Coordinate("shift"), ag.Coordinate("shift"))


class OnlyNames(Good):
    coordinates = ("shift",)


class NoLimit(Good):
    coordinates = (ag.Coordinate("shift", limit=0.0),)


class Jumping(Cut):
    smooth = False


class JumpingAndLeaking(Leaking):
    smooth = False


def test_a_transform_that_is_not_smooth_skips_only_the_finite_differences():
    testing.check_transform(Jumping(), X)
    with pytest.raises(AssertionError, match="alone and in a batch"):
        testing.check_transform(JumpingAndLeaking(), X)


def test_wrappers_of_a_transform_that_is_not_smooth_are_not_smooth():
    assert ag.On("x", Good()).smooth and not ag.On("x", Jumping()).smooth
    assert not Compose([ag.Flip(), Jumping()]).smooth


def test_a_good_transform_passes():
    testing.check_transform(Good(), X)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (NotIdentity, "identity"),
        (Leaking, "alone and in a batch"),
        (Cut, "gradient along 'shift'"),
        (WrongInverse, "inverse leaves an error"),
        (Doubling, "turned float32 into"),
        (TwoOfAName, "two coordinates with the same name"),
        (OnlyNames, "must be a tuple of Coordinate, but holds 'shift'"),
        (NoLimit, "a limit that is not above 0"),
    ],
)
def test_a_broken_transform_is_detected(kind, message):
    with pytest.raises(AssertionError, match=message):
        testing.check_transform(kind(), X)


class OffSupport(ag.Uniform):
    def rsample(self, n, generator=None):
        return super().rsample(n, generator) * 1.2


class Unseeded(ag.Uniform):
    def rsample(self, n, generator=None):
        return super().rsample(n)


class NoGradient(ag.Uniform):
    def rsample(self, n, generator=None):
        return super().rsample(n, generator).detach() + 0 * self.bound.detach()


class WrongEntropy(ag.Uniform):
    def entropy(self):
        return super().entropy() + 0.5


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (OffSupport, "outside its support"),
        (Unseeded, "repeat with the same seed"),
        (WrongEntropy, "entropy"),
    ],
)
def test_a_broken_distribution_is_detected(kind, message):
    testing.check_distribution(ag.Uniform([0.3, 0.5]))
    with pytest.raises(AssertionError, match=message):
        testing.check_distribution(kind([0.3, 0.5]))


class TooWide(ag.Uniform):
    @property
    def extent(self):
        return 3 * super().extent


class ReadOnly(ag.Uniform):
    @property
    def extent(self):
        return super().extent


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (NoGradient, "sends no gradient"),
        (TooWide, "wider than the samples"),
        (ReadOnly, "extent needs a setter"),
    ],
)
def test_other_broken_distributions_are_detected(kind, message):
    with pytest.raises(AssertionError, match=message):
        testing.check_distribution(kind([0.3]))


class FirstItem(Good):
    def forward(self, x, t):
        return super().forward(x, t) + t[:, :, None, None].to(x) * x[:1].mean()


def test_a_transform_that_depends_on_other_inputs_is_detected():
    with pytest.raises(AssertionError, match="alone and in a batch"):
        testing.check_transform(FirstItem(), X, inverse_tolerance=None)


def test_nothing_in_view_is_an_error():
    far = torch.full((3, 1), 2.5)
    x = torch.rand(3, 1, 8, 8)
    net = nn.Conv2d(1, 1, 5, padding=2)
    with pytest.raises(ag.InputError, match="Nothing stays in view"):
        testing.assert_equivariant(net, x, ag.Affine2d("translate_x"), far)
    with pytest.raises(AssertionError, match="nothing in view"):
        testing.check_transform(ag.Affine2d("translate_x"), x, t=far)


class Mean(nn.Module):
    def forward(self, x):
        return x.mean(dim=(1, 2, 3))[:, None]


def test_invariance_is_measured():
    flip = ag.Flip("horizontal")
    t = torch.ones(3, 1)
    testing.assert_invariant(Mean(), X, flip, t)
    bent = nn.Sequential(nn.Flatten(), nn.Linear(36, 2))
    with pytest.raises(AssertionError, match="not invariant to Flip: error"):
        testing.assert_invariant(bent, X, flip, t)


def test_equivariance_is_measured():
    flip = ag.Flip("horizontal")
    t = torch.ones(3, 1)
    testing.assert_equivariant(nn.ReLU(), X, flip, t)
    shift = nn.Conv2d(1, 1, 3, padding=1)
    with pytest.raises(AssertionError, match="not equivariant to Flip: error"):
        testing.assert_equivariant(shift, X, flip, t)
