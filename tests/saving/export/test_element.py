"""The plain-Python part of every exported file agrees with the library."""

import random

import pytest
import torch

import augerino as ag
from augerino.saving.export import element
from augerino.saving.export.learned import numbers
from augerino.transforms import functional
from tests.test_distributions import MEMBERS


@pytest.mark.parametrize("size", [(24, 24), (20, 33), (1, 5)])
@pytest.mark.parametrize("scale", [0.0, 1e-6, 0.3, 3.0])
def test_the_map_of_pixels_is_the_matrix_of_affine2d(size, scale):
    affine = ag.Affine2d()
    for t in (torch.rand(20, 6, dtype=torch.float64) - 0.5) * 2 * scale:
        ours = affine.matrix(t[None], size)[0]
        per_pixel = (
            2 * functional.frame(*size)[0] / size[1]
        )  # the isotropic frame's length of one pixel
        middle = torch.tensor([(size[1] - 1) / 2, (size[0] - 1) / 2], dtype=torch.float64)
        shift = ours[:2, 2] / per_pixel + middle - ours[:2, :2] @ middle
        theirs = torch.tensor(
            element.pixel_map(affine.names, t.tolist(), *size), dtype=torch.float64
        )
        scale = ours[:2].abs().max()
        assert torch.allclose(theirs[:, :2], ours[:2, :2], atol=1e-9 * scale)
        assert torch.allclose(theirs[:, 2], shift, atol=1e-8 * scale * max(size))


def test_the_map_at_minus_t_is_the_inverse():
    t = [0.3, -0.2, 1.0, 0.4, -0.3, 0.5]
    there = element.pixel_map(ag.Affine2d().names, t, 20, 30)
    back = element.pixel_map(ag.Affine2d().names, [-value for value in t], 20, 30)
    assert torch.allclose(torch.tensor(element.times(back, there)), torch.eye(3)[:2], atol=1e-6)


def test_huge_coordinates_stay_numbers():
    for sign in (1, -1):
        rows = element.pixel_map(ag.Affine2d().names, [sign * 1000.0] * 6, 20, 30)
        assert torch.tensor(rows, dtype=torch.float64).isfinite().all()


IN_PICTURES = {
    name: make for name, make in MEMBERS.items() if name != "Haar"
}  # which turns points in space


@pytest.mark.parametrize("make", IN_PICTURES.values(), ids=IN_PICTURES.keys())
def test_draws_follow_the_learned_distribution(make):
    distribution = make()
    parts = getattr(distribution, "parts", [distribution])
    data = [{"kind": type(part).__name__, **part.settings()} for part in parts]
    source = random.Random(0)
    t = torch.tensor([element.draw(data, source.random) for _ in range(20_000)])
    current = distribution()
    deviation = current.variance.sqrt()
    noise = 6 / len(t) ** 0.5
    assert ((t.mean(0) - current.mean).abs() <= noise * deviation).all()
    assert ((t.std(0) - deviation).abs() <= 2 * noise * deviation).all()
    reference = distribution.rsample(20_000).detach()
    assert torch.allclose(torch.corrcoef(t.T), torch.corrcoef(reference.T), atol=2 * noise)


def test_the_ends_of_the_unit_interval_map_to_finite_samples():
    data = numbers(ag.Augmentation(ag.Affine2d("rotate"), ag.Gaussian([0.0], [1.0])), "anything")[
        "distributions"
    ]
    for value in (0.0, 1.0):
        assert abs(element.draw(data, lambda value=value: value)[0]) < 10


def test_contrast_is_that_of_the_library():
    x = torch.rand(1, 1, 5, 5, dtype=torch.float64)
    for t in (-2.0, -0.5, 0.0, 0.3, 0.99):
        ours = ag.Contrast()(x, torch.tensor([[t]], dtype=torch.float64))
        assert torch.allclose(
            (element.contrast_slope(t) * (x - 128 / 255) + 128 / 255).clamp(0, 1), ours
        )
