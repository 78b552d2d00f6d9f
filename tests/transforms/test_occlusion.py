"""Erased squares and noise: functions of the image and t, with the right statistics."""

import pytest
import torch

import augerino as ag
from augerino.transforms import hashing
from tests.transforms.test_photometric import at

RANDOM = [ag.Erase(), ag.PixelNoise()]
each = pytest.mark.parametrize("transform", RANDOM, ids=lambda t: type(t).__name__)


@each
def test_equal_pairs_give_equal_results_and_others_do_not(transform):
    x = torch.rand(1, 3, 16, 16).expand(2, 3, 16, 16).clone()
    equal = transform(x, torch.tensor([[0.31], [0.31]]))
    assert torch.equal(equal[0], equal[1])
    other_t = transform(x, torch.tensor([[0.31], [0.310001]]))
    assert not torch.equal(other_t[0], other_t[1])
    x[1, 0, 0, 0] += 1e-3
    other_x = transform(x, torch.tensor([[0.31], [0.31]]))
    assert not torch.allclose(other_x[0], other_x[1], atol=1e-2)


def erased(x, y):
    return (x != y).any(dim=1)


@pytest.mark.parametrize("size", [(16, 16), (12, 31)])
@pytest.mark.parametrize("t", [0.25, 0.5, -0.5, 1.0])
def test_a_square_of_the_given_side_is_erased(size, t):
    x = torch.rand(50, 3, *size)
    y = at(ag.Erase(), x, t)
    side = round(abs(t) * min(size))
    gone = erased(x, y)
    assert torch.equal(gone.sum(dim=(1, 2)), torch.full((50,), side**2))
    assert (gone.any(dim=1).sum(dim=1) == side).all()
    assert (gone.any(dim=2).sum(dim=1) == side).all()
    mean = x.mean(dim=(2, 3), keepdim=True).expand_as(x)
    assert torch.allclose(y[gone[:, None].expand_as(x)], mean[gone[:, None].expand_as(x)])


def test_every_pixel_of_the_middle_is_erased_equally_often():
    x = torch.rand(4000, 1, 8, 8)
    gone = erased(x, at(ag.Erase(), x, 0.25)).float()  # 2 x 2 of 49 positions
    rates = gone.mean(dim=0)[1:-1, 1:-1]
    assert (rates - 4 / 49).abs().max() < 5 * (4 / 49 / 4000) ** 0.5


def test_noise_is_white_and_normal():
    x = torch.full((8, 3, 33, 33), 0.5) + torch.arange(8).reshape(-1, 1, 1, 1) / 100
    noise = (at(ag.PixelNoise(), x, 0.05) - x) / 0.05
    n = noise.numel()
    assert abs(noise.mean()) < 5 / n**0.5
    assert abs(noise.std() - 1) < 5 / n**0.5
    assert abs(noise.pow(3).mean()) < 20 / n**0.5
    assert abs(noise.pow(4).mean() - 3) < 50 / n**0.5
    flat = noise.flatten(1)
    between = torch.corrcoef(flat) - torch.eye(8)
    assert between.abs().max() < 5 / flat.shape[1] ** 0.5
    neighbours = (noise[..., 1:] * noise[..., :-1]).mean()
    assert abs(neighbours) < 5 / n**0.5


def test_the_gradient_of_noise_is_that_of_its_strength():
    x = torch.full((1, 1, 9, 9), 0.5, dtype=torch.float64)
    t = torch.tensor([[0.01]], dtype=torch.float64, requires_grad=True)
    y = ag.PixelNoise()(x, t)
    (gradient,) = torch.autograd.grad(y.sum(), t)
    assert torch.allclose(gradient, (y - x).sum() / t, atol=1e-9)


def test_words_are_uniform_and_streams_differ():
    key = hashing.key(torch.rand(64, 10), torch.rand(64, 1))
    u = hashing.uniform(hashing.words(key, 500))
    assert u.min() > 0 and u.max() < 1
    counts = torch.histc(u, bins=20, min=0, max=1)
    expected = u.numel() / 20
    assert ((counts - expected).square() / expected).sum() < 50  # chi-squared, 19 degrees
    other = hashing.uniform(hashing.words(key, 500, stream=1))
    both = torch.corrcoef(torch.stack([u.flatten(), other.flatten()]))
    assert both[0, 1].abs() < 5 / u.numel() ** 0.5


def test_an_odd_number_of_normal_numbers():
    key = hashing.key(torch.rand(2, 3), torch.rand(2, 1))
    assert hashing.normal(key, 7).shape == (2, 7)
