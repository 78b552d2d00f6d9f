"""Tone operations: PIL's values at the same strength, and their formulas."""

import math

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance, ImageOps

import augerino as ag

ROUNDING = 1.01 / 255  # PIL rounds results to 8 bits; Sharpness rounds twice


def picture(seed=0, size=(24, 30)):
    """A smooth 8-bit picture with noise, as PIL and as (1, 3, H, W) in [0, 1]."""
    generator = np.random.default_rng(seed)
    ramp = np.linspace(30, 200, size[1])[None, :, None] * np.array([1.0, 0.8, 0.5])
    pixels = ramp + generator.normal(0, 15, (*size, 3))
    array = pixels.clip(0, 255).astype(np.uint8)
    tensor = torch.from_numpy(array).permute(2, 0, 1)[None].float() / 255
    return Image.fromarray(array), tensor


def of_pil(image):
    return torch.from_numpy(np.asarray(image).copy()).permute(2, 0, 1)[None].float() / 255


def at(transform, x, t):
    return transform(x, torch.full((len(x), 1), t))


@pytest.mark.parametrize("t", [-1.0, -0.4, 0.3, 1.0])
def test_sharpness_is_that_of_pil(t):
    image, x = picture()
    expected = of_pil(ImageEnhance.Sharpness(image).enhance(1 + t))
    assert (at(ag.Sharpness(), x, t) - expected).abs().max() <= 2 * ROUNDING
    assert (expected - x).abs().max() > 0.02


def test_autocontrast_at_full_strength_is_that_of_pil():
    image, x = picture()
    expected = of_pil(ImageOps.autocontrast(image))
    for t in (1.0, -1.0):
        assert (at(ag.AutoContrast(), x, t) - expected).abs().max() <= ROUNDING
    half = at(ag.AutoContrast(), x, 0.5)
    assert torch.allclose(half, (x + at(ag.AutoContrast(), x, 1.0)) / 2, atol=1e-6)


@pytest.mark.parametrize("size", [(24, 30), (100, 120), (8, 9)])
def test_equalize_at_full_strength_is_that_of_pil(size):
    image, x = picture(size=size)
    expected = of_pil(ImageOps.equalize(image))
    for t in (1.0, -1.0):
        assert torch.allclose(at(ag.Equalize(), x, t), expected, atol=1e-6)
    half = at(ag.Equalize(), x, 0.5)
    assert torch.allclose(half, (x + expected) / 2, atol=1e-6)


@pytest.mark.parametrize("operation", [ag.Equalize(), ag.AutoContrast()])
def test_a_flat_channel_stays(operation):
    x = torch.full((1, 3, 30, 30), 0.25)
    assert torch.equal(at(operation, x, 1.0), x)


@pytest.mark.parametrize("threshold", [1, 100, 128, 255])
def test_solarize_is_that_of_pil(threshold):
    image, x = picture()
    t = 1 - (threshold - 0.5) / 255
    expected = of_pil(ImageOps.solarize(image, threshold))
    for sign in (1, -1):
        assert torch.allclose(at(ag.Solarize(), x, sign * t), expected, atol=1e-6)


@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6, 7, 8])
def test_posterize_is_that_of_pil(bits):
    image, x = picture()
    expected = of_pil(ImageOps.posterize(image, bits))
    for sign in (1, -1):
        y = at(ag.Posterize(), x, sign * (8 - bits) / 6)
        assert torch.allclose(y, expected, atol=1e-6)


def test_posterize_leaves_the_number_of_levels_that_is_displayed():
    x = torch.linspace(0, 1, 256).reshape(1, 1, 16, 16)
    (coordinate,) = ag.Posterize().coordinates
    for t in (0.1, 0.3, 0.5, 0.75, 1.0):
        n_levels = len(at(ag.Posterize(), x, t).unique())
        assert coordinate.unit.value(t) == f"{n_levels} levels"


@pytest.mark.parametrize("t", [-math.log(3), -0.5, 0.5, math.log(3)])
def test_gamma_is_a_power(t):
    x = torch.rand(1, 3, 8, 8)
    assert torch.allclose(at(ag.Gamma(), x, t), x ** math.exp(t), atol=1e-5)


def test_gamma_has_finite_slopes_at_black_and_white():
    x = torch.tensor([0.0, 1e-9, 1.0]).reshape(1, 1, 1, 3).requires_grad_()
    for t in (-math.log(3), math.log(3)):
        coordinate = torch.tensor([[t]], requires_grad=True)
        y = ag.Gamma()(x, coordinate)
        assert torch.allclose(y, x, atol=1e-4)
        for gradient in torch.autograd.grad(y.sum(), (x, coordinate)):
            assert gradient.isfinite().all()


def test_images_smaller_than_the_kernel_have_no_sharpness():
    x = torch.rand(2, 3, 2, 9)
    assert torch.equal(at(ag.Sharpness(), x, 1.0), x)
