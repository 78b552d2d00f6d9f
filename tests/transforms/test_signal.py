"""Transforms of signals: directions, padding, and deterministic noise."""

import math

import pytest
import torch

import augerino as ag
from augerino.transforms import resample
from augerino.transforms.signal import white_noise
from tests.conftest import smooth_signals

RAMP = torch.arange(1.0, 9.0).reshape(1, 1, 8)


def at(value: float) -> torch.Tensor:
    return torch.tensor([[value]])


class TestTimeShift:
    def test_positive_moves_later_and_one_is_half_the_signal(self):
        assert ag.TimeShift()(RAMP, at(0.5)).flatten().tolist() == [0, 0, 1, 2, 3, 4, 5, 6]
        assert ag.TimeShift()(RAMP, at(-1.0)).flatten().tolist() == [5, 6, 7, 8, 0, 0, 0, 0]

    def test_padding_fills_samples_from_outside(self):
        border = ag.TimeShift(padding="border")(RAMP, at(0.5))
        assert border.flatten().tolist() == [1, 1, 1, 2, 3, 4, 5, 6]
        circular = ag.TimeShift(padding="circular")(RAMP, at(0.5))
        assert circular.flatten().tolist() == [7, 8, 1, 2, 3, 4, 5, 6]

    def test_interpolation_is_linear(self):
        shifted = ag.TimeShift()(RAMP, at(0.125))
        assert shifted.flatten().tolist() == [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5]

    def test_circular_shifts_by_whole_samples_are_lossless(self):
        x, shift = torch.randn(4, 3, 16), ag.TimeShift(padding="circular")
        t = torch.tensor([[1 / 8], [-3 / 8], [1.0], [2.0]])
        assert torch.equal(shift.inverse(shift(x, t), t), x)
        assert shift.coverage(x, t) is None

    def test_coverage_marks_the_samples_that_survive(self):
        shift = ag.TimeShift()
        seen = shift.coverage(RAMP, at(0.5))
        assert seen.flatten().tolist() == [1] * 6 + [0] * 2
        assert torch.equal(shift.inverse(shift(RAMP, at(0.5)), at(0.5)), RAMP * seen)

    def test_precision_does_not_depend_on_the_length_in_float32(self):
        x = torch.randn(1, 1, 1_000_003)
        assert torch.equal(ag.TimeShift()(x, at(0.0)), x)
        # A shift by one sample; absolute positions in float32 could not resolve it.
        step = at(2 / x.shape[-1])
        assert (ag.TimeShift()(x, step)[..., 1:] - x[..., :-1]).abs().max() < 1e-3


class TestTimeScale:
    def test_positive_stretches_about_the_middle(self):
        x = torch.zeros(1, 1, 21)
        x[..., 13] = 1
        stretched = ag.TimeScale()(x, at(math.log(2)))
        assert int(stretched.argmax()) == 16  # three samples from the centre become six
        assert stretched.sum() == pytest.approx(2)

    def test_padding_fills_samples_from_outside_when_it_shrinks(self):
        half = at(-math.log(2))
        zeros = ag.TimeScale()(RAMP, half).flatten().tolist()
        assert zeros == pytest.approx([0, 0, 1.5, 3.5, 5.5, 7.5, 0, 0], abs=1e-5)
        border = ag.TimeScale(padding="border")(RAMP, half).flatten().tolist()
        assert border == pytest.approx([1, 1, 1.5, 3.5, 5.5, 7.5, 8, 8], abs=1e-5)

    @pytest.mark.parametrize("t", [-1e3, 1e3])
    @pytest.mark.parametrize(
        "transform", [ag.TimeShift(), ag.TimeScale(), ag.TimeScale(padding="circular"), ag.Gain()]
    )
    def test_huge_coordinates_give_finite_signals_and_gradients(self, transform, t):
        moving = at(t).requires_grad_()
        y = transform(RAMP, moving)
        assert y.isfinite().all() and torch.autograd.grad(y.sum(), moving)[0].isfinite().all()


def test_gain_multiplies_and_its_inverse_is_exact():
    x, t = torch.randn(2, 3, 5), torch.tensor([[math.log(3)], [-1.0]])
    assert torch.allclose(ag.Gain()(x, t)[0], 3 * x[0])
    assert torch.allclose(ag.Gain().inverse(ag.Gain()(x, t), t), x, atol=1e-6)


class TestNoiseLevel:
    """Pseudo-random noise that is a function of the input and t alone."""

    noise = ag.NoiseLevel()

    def test_its_strength_is_t(self):
        x = torch.randn(3, 2, 20_000) * torch.tensor([0.01, 1.0, 100.0])[:, None, None] + 5
        t = torch.tensor([[0.1], [-0.5], [1.0]])
        added = (self.noise(x, t) - x).flatten(1)
        assert torch.allclose(added.std(1) / x.flatten(1).std(1), t[:, 0].abs(), rtol=0.03)

    def test_it_is_white_and_normal(self):
        n = white_noise(torch.randn(1, 1, 200_000), at(0.3)).flatten().double()
        error = 5 / len(n) ** 0.5  # five standard errors
        assert abs(n.mean()) < error and abs(n.square().mean() - 1) < 1.5 * error
        assert abs(n.pow(3).mean()) < 4 * error and abs(n.pow(4).mean() - 3) < 10 * error
        for lag in (1, 2, 3, 16, 256, 65_536):
            assert abs((n[lag:] * n[:-lag]).mean()) < 1.5 * error

    def test_equal_pairs_get_equal_noise_and_other_pairs_independent_noise(self):
        x = torch.randn(1, 1, 10_000)
        nearly = x.clone()
        nearly[..., 0] += 1e-6
        swapped = x.roll(1, dims=-1)
        reference = white_noise(x, at(0.3))
        assert torch.equal(reference, white_noise(x.clone(), at(0.3)))
        others = [
            white_noise(x, at(0.3 + 1e-7)),
            white_noise(x, at(-0.3)),
            white_noise(nearly, at(0.3)),
            white_noise(swapped, at(0.3)),
        ]
        for other in others:
            assert abs((reference * other).mean()) < 0.05  # uncorrelated

    def test_it_neither_uses_nor_changes_the_random_state(self):
        before = torch.get_rng_state()
        self.noise(torch.randn(2, 1, 8, generator=torch.Generator()), torch.ones(2, 1))
        assert torch.equal(before, torch.get_rng_state())

    def test_the_gradient_is_that_of_the_strength(self):
        x = torch.randn(2, 1, 50, dtype=torch.float64)
        t = torch.tensor([[0.2], [-0.4]], dtype=torch.float64, requires_grad=True)
        y = self.noise(x, t)
        (gradient,) = torch.autograd.grad(y.sum(), t)
        assert torch.allclose(gradient, ((y - x) / t[..., None]).sum((1, 2))[:, None])

    def test_a_constant_signal_stays_as_it_is_with_finite_gradients(self):
        x = torch.full((2, 1, 9), 3.0, requires_grad=True)
        t = torch.ones(2, 1, requires_grad=True)
        y = self.noise(x, t)
        assert torch.allclose(y, x)
        assert all(gradient.isfinite().all() for gradient in torch.autograd.grad(y.sum(), (x, t)))

    def test_it_has_no_inverse(self):
        with pytest.raises(TypeError, match="NoiseLevel has no inverse"):
            self.noise.inverse(RAMP, at(0.1))


ALL = [ag.TimeShift(), ag.TimeScale(padding="circular"), ag.Gain(), ag.NoiseLevel()]


@pytest.mark.parametrize("transform", ALL, ids=lambda t: type(t).__name__)
def test_autocast_changes_nothing(transform):
    x, t = torch.randn(2, 3, 50), torch.tensor([[0.3], [-0.2]])
    expected = transform(x, t)
    with torch.autocast("cpu", torch.bfloat16):
        got = transform(x, t)
    assert got.dtype == torch.float32 and torch.equal(got, expected)


@pytest.mark.parametrize("transform", ALL, ids=lambda t: type(t).__name__)
def test_they_compile_as_one_graph(transform):
    x, t = torch.randn(2, 3, 50), torch.tensor([[0.3], [-0.2]])
    assert torch.equal(
        torch.compile(transform, backend="eager", fullgraph=True)(x, t), transform(x, t)
    )


def test_gradients_reach_the_signal_too():
    x = smooth_signals(2, 1, 20).requires_grad_()
    t = torch.tensor([[0.13], [-0.21]], dtype=torch.float64, requires_grad=True)
    for transform in (ag.TimeShift(), ag.TimeScale(padding="border"), ag.Gain()):
        assert torch.autograd.gradcheck(transform, (x, t))


def test_extents_read_in_human_units():
    parts = [
        (ag.TimeShift(), 0.2),
        (ag.TimeScale(), math.log(1.25)),
        (ag.Gain(), math.log(10)),
        (ag.NoiseLevel(), 0.12),
    ]
    chain = ag.Chain(
        *(ag.Augmentation(transform, ag.Uniform([bound])) for transform, bound in parts)
    )
    assert chain.describe() == {
        "time_shift": "±10.0 % of the signal",
        "time_scale": "×0.80 to ×1.25",
        "gain": "×0.10 to ×10.00",
        "noise": "±12.0 % noise",
    }


def test_wrong_input_raises_a_helpful_error():
    with pytest.raises(
        ag.InputError,
        match="TimeShift needs a padding of zeros, border, circular, but got 'mirror'",
    ):
        ag.TimeShift(padding="mirror")
    with pytest.raises(ag.InputError, match=r"signals \(B, C, T\), but got \(2, 8\)"):
        ag.TimeScale()(torch.rand(2, 8), torch.zeros(2, 1))
    with pytest.raises(
        ag.InputError, match=r"needs coordinates \(2, 1\), one row per input, but got \(3, 1\)"
    ):
        ag.Gain()(torch.rand(2, 1, 8), torch.zeros(3, 1))
    with pytest.raises(ag.InputError, match=r"needs offsets \(1, 8\), but got \(1, 7\)"):
        resample(RAMP, torch.zeros(1, 7))
