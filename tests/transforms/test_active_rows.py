"""Rows of zeros are skipped, which does not change the result."""

import pytest
import torch

import augerino as ag

OPERATIONS = [
    ag.AutoContrast(),
    ag.Equalize(),
    ag.Erase(),
    ag.Gamma(),
    ag.Grayscale(),
    ag.Hue(),
    ag.PixelNoise(),
    ag.PixelShift(),
    ag.PixelShift(padding="reflection"),
    ag.Posterize(),
    ag.Saturation(),
    ag.Sharpness(),
    ag.Solarize(),
]
each = pytest.mark.parametrize("transform", OPERATIONS, ids=lambda t: type(t).__name__)


def images(n=6, channels=3):
    return torch.rand(n, channels, 18, 20, generator=torch.Generator().manual_seed(0))


def coordinates(transform, n=6):
    """Coordinates of which the first of three rows is active."""
    t = torch.zeros(n, len(transform.names))
    t[::3] = 1.0 if transform.coordinates[0].discrete else 0.4
    return t


@each
def test_zeros_give_the_very_same_values(transform):
    x = images()
    zeros = torch.zeros(6, len(transform.names))
    assert torch.equal(transform(x, zeros), x)
    assert torch.equal(transform(x, zeros.requires_grad_()), x)


@each
def test_active_rows_get_the_values_of_a_batch_of_their_own(transform):
    x = images()
    t = coordinates(transform)
    y = transform(x, t)
    assert torch.equal(y[::3], transform(x[::3], t[::3]))
    assert not torch.equal(y[::3], x[::3])
    assert torch.equal(y[1::3], x[1::3]) and torch.equal(y[2::3], x[2::3])


@each
def test_skipping_equals_computing_every_row(transform):
    x = images()
    t = coordinates(transform)
    every_row = transform(x, t.clone().requires_grad_())
    assert torch.equal(transform(x, t), every_row.detach())


@each
def test_an_exported_graph_of_any_batch_size_gives_the_same(transform):
    x = images()
    t = coordinates(transform)
    n = torch.export.Dim("n")
    graph = torch.export.export(transform, (x, t), dynamic_shapes=({0: n}, {0: n})).module()
    assert torch.allclose(graph(x, t), transform(x, t), atol=1e-6)
    assert torch.allclose(graph(x[:4], t[:4]), transform(x[:4], t[:4]), atol=1e-6)


@each
def test_gradients_of_images_pass_active_and_other_rows(transform):
    t = coordinates(transform)
    found = []
    for needs_gradient in (False, True):  # of t: skips rows, or computes all of them
        x = images().requires_grad_()
        y = transform(x, t.clone().requires_grad_(needs_gradient))
        (gradient,) = torch.autograd.grad(y.square().sum(), x)
        found.append(gradient)
    assert found[0].isfinite().all()
    assert torch.allclose(found[0][1], 2 * images()[1])
    assert torch.allclose(*found, atol=1e-5)


@each
def test_autocast_changes_nothing(transform):
    x = images()
    t = coordinates(transform)
    expected = transform(x, t)
    with torch.autocast("cpu", torch.bfloat16):
        got = transform(x, t)
    assert got.dtype == torch.float32 and torch.equal(got, expected)


@each
def test_an_empty_batch_stays_empty(transform):
    x = images()[:0]
    assert transform(x, torch.zeros(0, len(transform.names))).shape == x.shape


@each
def test_values_stay_in_range_at_and_beyond_the_limits(transform):
    x = images()
    limits = torch.tensor([c.limit for c in transform.coordinates])
    for factor in (1.0, -1.0, 2.0, -2.0):
        if transform.coordinates[0].discrete and factor != 1:
            continue
        t = (factor * limits).expand(6, -1).clone().requires_grad_()
        y = transform(x, t)
        assert y.min() >= 0 and y.max() <= 1
        (gradient,) = torch.autograd.grad(y.sum(), t)
        assert gradient.isfinite().all()


@each
def test_wrong_images_are_rejected(transform):
    t = torch.zeros(2, len(transform.names))
    with pytest.raises(ag.InputError, match=r"floating-point inputs, but got torch\.uint8"):
        transform(torch.zeros(2, 3, 8, 8, dtype=torch.uint8), t)
    with pytest.raises(ag.InputError, match=r"needs images \(B, C, H, W\), but got \(2, 8, 8\)"):
        transform(torch.zeros(2, 8, 8), t)


@each
def test_only_a_shift_moves_points(transform):
    t = coordinates(transform)
    is_still = torch.equal(transform.point_map(t, (18, 20)), torch.eye(3).expand(6, 3, 3))
    assert is_still != isinstance(transform, ag.PixelShift)


def test_a_subclass_without_act_raises_an_error():
    class Empty(ag.ImageTransform):
        coordinates = (ag.Coordinate("nothing"),)

    with pytest.raises(TypeError, match=r"implement Empty.act\(x, t\)"):
        Empty()(torch.rand(1, 1, 2, 2), torch.ones(1, 1))
