"""Brightness and contrast: the paper's formulas, rescaled to [0, 1]."""

import pytest
import torch

import augerino as ag


@pytest.mark.parametrize("t", [-200.0, -30.0, 0.0, 40.0, 250.0])
def test_brightness_is_the_papers_formula(t):
    c = torch.linspace(0, 255, 52, dtype=torch.float64).reshape(1, 1, 1, -1)
    expected = (c + t).clamp(0, 255)
    got = 255 * ag.Brightness()(c / 255, torch.tensor([[t / 255]], dtype=torch.float64))
    assert torch.allclose(got, expected)


@pytest.mark.parametrize("t", [-200.0, -30.0, 0.0, 40.0, 240.0])
def test_contrast_is_the_papers_formula(t):
    c = torch.linspace(0, 255, 52, dtype=torch.float64).reshape(1, 1, 1, -1)
    expected = (259 * (t + 255) / (255 * (259 - t)) * (c - 128) + 128).clamp(0, 255)
    got = 255 * ag.Contrast()(c / 255, torch.tensor([[t / 255]], dtype=torch.float64))
    assert torch.allclose(got, expected)


@pytest.mark.parametrize("t", [-1e3, -1.1, 0.95, 1.0, 259 / 255, 1.1, 1e3])
@pytest.mark.parametrize(
    "transform", [ag.Brightness(), ag.Contrast()], ids=lambda t: type(t).__name__
)
def test_values_and_gradients_stay_finite_at_and_past_the_pole(transform, t):
    coordinate = torch.tensor([[t]], requires_grad=True)
    y = transform(torch.rand(1, 3, 4, 4), coordinate)
    assert y.isfinite().all() and y.min() >= 0 and y.max() <= 1
    (gradient,) = torch.autograd.grad(y.sum(), coordinate)
    assert gradient.isfinite().all()


def test_autocast_changes_nothing():
    x, t = torch.rand(2, 3, 8, 8), torch.tensor([[0.3], [-0.2]])
    for transform in (ag.Brightness(), ag.Contrast()):
        expected = transform(x, t)
        with torch.autocast("cpu", torch.bfloat16):
            got = transform(x, t)
        assert got.dtype == torch.float32 and torch.equal(got, expected)


def test_integer_images_and_wrong_shapes_are_rejected():
    with pytest.raises(ag.InputError, match=r"floating-point inputs, but got torch.uint8"):
        ag.Brightness()(torch.zeros(2, 1, 4, 4, dtype=torch.uint8), torch.zeros(2, 1))
    with pytest.raises(
        ag.InputError, match=r"needs coordinates \(10, 1\), one row per input, but got \(5, 2\)"
    ):
        ag.Contrast()(torch.rand(10, 1, 4, 4), torch.zeros(5, 2))
