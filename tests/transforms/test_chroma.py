"""Saturation, hue and greyscale of RGB images; grey images stay."""

import colorsys
import math

import pytest
import torch
from PIL import ImageEnhance

import augerino as ag
from augerino.transforms.pixelwise import luma
from tests.transforms.test_photometric import ROUNDING, at, of_pil, picture

CHROMA = [ag.Saturation(), ag.Hue(), ag.Grayscale()]
each = pytest.mark.parametrize("transform", CHROMA, ids=lambda t: type(t).__name__)


@pytest.mark.parametrize("t", [-1.0, -0.4, 0.3, 1.0])
def test_saturation_is_that_of_pil(t):
    image, x = picture()
    expected = of_pil(ImageEnhance.Color(image).enhance(1 + t))
    assert (at(ag.Saturation(), x, t) - expected).abs().max() <= 2 * ROUNDING


def test_grayscale_is_that_of_pil():
    image, x = picture()
    expected = of_pil(image.convert("L").convert("RGB"))
    y = at(ag.Grayscale(), x, 1.0)
    assert (y - expected).abs().max() <= ROUNDING
    assert torch.equal(y[:, 0], y[:, 1]) and torch.equal(y[:, 0], y[:, 2])


def muted(n=2):
    """Colours that no rotation of the hue takes out of [0, 1]."""
    return 0.5 + 0.1 * (torch.rand(n, 3, 5, 5) - 0.5)


def test_a_hue_keeps_luma_and_greys():
    x = muted()
    grey = torch.rand(2, 1, 5, 5).expand(2, 3, 5, 5)
    for t in (0.7, -2.0, math.pi):
        assert torch.allclose(luma(at(ag.Hue(), x, t)), luma(x), atol=1e-6)
        assert torch.allclose(at(ag.Hue(), grey, t), grey, atol=1e-6)


def test_hues_add_up_and_return_after_a_full_turn():
    x = muted()
    hue = ag.Hue()
    assert torch.allclose(at(hue, at(hue, x, 0.4), 0.5), at(hue, x, 0.9), atol=1e-6)
    assert torch.allclose(at(hue, x, 2 * math.pi), x, atol=1e-6)
    complement = 2 * luma(x) - x
    assert torch.allclose(at(hue, x, math.pi), complement, atol=1e-6)


def test_a_positive_hue_turns_red_to_yellow():
    red = torch.tensor([0.6, 0.4, 0.4]).reshape(1, 3, 1, 1)
    turned = at(ag.Hue(), red, math.pi / 3).flatten().tolist()
    hue, _, _ = colorsys.rgb_to_hsv(*turned)
    assert 0.08 < hue < 0.25  # yellow is 1/6; the angle in YIQ differs a little from that in HSV


@each
def test_images_with_one_channel_stay(transform):
    x = torch.rand(2, 1, 4, 4)
    t = torch.ones(2, 1, requires_grad=True)
    y = transform(x, t)
    assert torch.equal(y, x)
    assert torch.equal(torch.autograd.grad(y.sum(), t)[0], torch.zeros(2, 1))


@each
def test_other_numbers_of_channels_are_rejected(transform):
    with pytest.raises(ag.InputError, match=f"but got 4: leave out '{transform.names[0]}'"):
        transform(torch.rand(2, 4, 4, 4), torch.zeros(2, 1))
