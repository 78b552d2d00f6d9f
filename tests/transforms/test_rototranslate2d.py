"""Rotations about the centre in radians, then translations in pixels."""

import math

import pytest
import torch
import torch.nn.functional as F

import augerino as ag
from tests.conftest import smooth_images

QUARTER = math.pi / 2


def at(*t, batch=1):
    return torch.tensor([t] * batch, dtype=torch.float64)


def spot(height, width, row, column):
    x = torch.zeros(1, 1, height, width, dtype=torch.float64)
    x[0, 0, row, column] = 1
    return x


@pytest.mark.parametrize("size", [(7, 7), (6, 10)])
def test_translations_are_pixels_right_and_down(size):
    x = torch.rand(1, 2, *size, dtype=torch.float64)
    moved = ag.RotoTranslate2d()(x, at(0, 2, 1))
    assert torch.allclose(moved[..., 1:, 2:], x[..., :-1, :-2], atol=1e-12)
    assert moved[..., :1, :].abs().max() < 1e-12 and moved[..., :2].abs().max() < 1e-12


def test_the_rotation_comes_before_the_translation():
    """The rotation takes right to bottom; the translation follows the axes of the screen."""
    moved = ag.RotoTranslate2d()(spot(9, 9, 4, 6), at(QUARTER, 1, 0))
    assert torch.allclose(moved, spot(9, 9, 6, 5), atol=1e-9)


def test_a_rotation_of_a_wide_image_is_rigid():
    moved = ag.RotoTranslate2d()(spot(9, 21, 4, 13), at(QUARTER, 0, 0))
    assert torch.allclose(moved, spot(9, 21, 7, 10), atol=1e-9)


def test_a_quarter_turn_of_a_square_is_exact():
    x = torch.rand(2, 3, 8, 8, dtype=torch.float64)
    assert torch.allclose(
        ag.RotoTranslate2d()(x, at(QUARTER, 0, 0, batch=2)), x.rot90(-1, (2, 3)), atol=1e-12
    )


def test_without_translations_it_is_the_rotation_of_affine2d():
    x, t = smooth_images(height=20, width=36), torch.randn(3, 1, dtype=torch.float64)
    rigid = ag.RotoTranslate2d()(x, F.pad(t, (0, 2)))
    assert torch.allclose(rigid, ag.Affine2d("rotate")(x, t), atol=1e-12)


def test_the_inverse_matrix_is_the_inverse():
    rigid, t = ag.RotoTranslate2d(), torch.randn(50, 3, dtype=torch.float64) * 5
    product = rigid.matrix(t, (20, 36)) @ rigid.inverse_matrix(t, (20, 36))
    assert torch.allclose(product, torch.eye(3, dtype=torch.float64).expand(50, 3, 3), atol=1e-12)


class TestPadding:
    def test_the_canvas_is_the_image_and_its_margin(self):
        x = torch.rand(1, 1, 6, 8, dtype=torch.float64)
        canvas = ag.RotoTranslate2d(padding=0.25)(x, at(0, 0, 0))
        assert torch.allclose(canvas, F.pad(x, [2] * 4), atol=1e-12)

    @pytest.mark.parametrize("padding", [0.0, 0.05, 0.21, 1 / 3, 1.0])
    def test_every_canvas_is_that_of_one_image(self, padding):
        rigid = ag.RotoTranslate2d(padding)
        for size in ((height, width) for height in range(1, 40) for width in (1, 2, 7, 33, 160)):
            assert rigid.window(rigid.canvas(size)) == size

    @pytest.mark.parametrize("size", [(24, 24), (12, 16)])
    def test_corners_survive_any_rotation_on_a_canvas_and_not_without(self, size):
        height, width = size
        enough = (math.hypot(*size) - min(size)) / (height + width)
        t = F.pad(torch.linspace(-3, 3, 13, dtype=torch.float64)[:, None], (0, 2))
        x = torch.ones(13, 1, *size, dtype=torch.float64)
        bare, padded = ag.RotoTranslate2d(), ag.RotoTranslate2d(padding=enough)
        # The outermost pixels are interpolated with the zeros outside.
        inner = (..., slice(1, -1), slice(1, -1))
        assert padded.coverage(padded(x, t), t)[inner].min() > 0.99
        assert bare.coverage(bare(x, t), t)[inner].min() < 0.01

    def test_a_map_that_is_no_canvas_is_rejected(self):
        with pytest.raises(
            ag.InputError, match=r"padding=0.25\) cannot crop a map of 13×13 pixels"
        ):
            ag.RotoTranslate2d(padding=0.25).inverse(torch.rand(1, 1, 13, 13), torch.zeros(1, 3))


@pytest.mark.parametrize("padding", [-0.1, 1.5, math.nan])
def test_a_padding_outside_0_to_1_is_rejected(padding):
    with pytest.raises(ag.InputError, match="a fraction of the mean side between 0 and 1"):
        ag.RotoTranslate2d(padding)


def test_limits_are_pi_and_the_given_number_of_pixels():
    assert [c.limit for c in ag.RotoTranslate2d().coordinates] == [math.pi, math.inf, math.inf]
    assert [c.limit for c in ag.RotoTranslate2d(limit=40).coordinates] == [math.pi, 40, 40]
    with pytest.raises(ag.InputError, match="a number of pixels above 0"):
        ag.RotoTranslate2d(limit=0)


def test_a_gaussian_is_described_in_degrees_and_pixels():
    augmentation = ag.Augmentation(
        ag.RotoTranslate2d(), ag.Gaussian([0.0, 0.0, 1.0], [math.pi / 4, 2.0, 3.0])
    )
    assert augmentation.describe()["rotate"] == "±45.0° (sd) around +0.0°"
    assert augmentation.describe()["translate_y"] == "±3.0 pixels (sd) around +1.0 pixels"


@pytest.mark.parametrize("padding", [0.0, 0.3])
def test_gradients_reach_the_gaussian_through_forward_and_inverse(padding):
    gaussian = ag.Gaussian([0.0] * 3, [0.5, 1.0, 1.0])
    model = ag.EquivariantModel(
        torch.nn.Conv2d(2, 1, 3, padding=1), ag.Augmentation(ag.RotoTranslate2d(padding), gaussian)
    )
    y = model(smooth_images(3, height=12, width=16, dtype=torch.float32))
    assert y.shape == (3, 1, 12, 16)
    y.square().sum().backward()
    assert all(p.grad.isfinite().all() and p.grad.abs().sum() > 0 for p in gaussian.parameters())
