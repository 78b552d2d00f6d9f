"""Affine maps of images: directions on the screen, aspect ratios and precisions."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import augerino as ag
from augerino.lie import table2d
from augerino.transforms import functional
from tests.conftest import smooth_images


def dot(row: int, column: int, height: int = 21, width: int = 21) -> torch.Tensor:
    image = torch.zeros(1, 1, height, width, dtype=torch.float64)
    image[..., row, column] = 1
    return image


def brightest(image: torch.Tensor) -> tuple[int, int]:
    return divmod(int(image.flatten().argmax()), image.shape[-1])


def move(image: torch.Tensor, **coordinates: float) -> torch.Tensor:
    affine = ag.Affine2d(*coordinates)
    return affine(
        image, torch.tensor([list(coordinates.values())], dtype=image.dtype).expand(len(image), -1)
    )


class TestOnScreen:
    """A bright dot near the centre (10, 10) of a 21×21 image, as (row, column), rows downwards."""

    def test_positive_rotate_turns_clockwise(self):
        from_three = move(dot(10, 16), rotate=math.pi / 2)
        assert brightest(from_three) == (16, 10)  # six o'clock
        from_twelve = move(dot(4, 10), rotate=math.pi / 2)
        assert brightest(from_twelve) == (10, 16)  # three o'clock

    def test_positive_translations_go_right_and_down(self):
        assert brightest(move(dot(10, 10), translate_x=4 / 10.5)) == (10, 14)
        assert brightest(move(dot(10, 10), translate_y=4 / 10.5)) == (14, 10)

    def test_positive_scale_enlarges(self):
        assert brightest(move(dot(10, 13), scale=math.log(2))) == (10, 16)

    def test_positive_squeeze_widens_and_flattens(self):
        assert brightest(move(dot(10, 13), squeeze=math.log(2))) == (10, 16)
        assert brightest(move(dot(4, 10), squeeze=math.log(2))) == (7, 10)

    def test_positive_shear_stretches_the_main_diagonal(self):
        assert brightest(move(dot(13, 13), shear=math.log(2))) == (16, 16)
        assert brightest(move(dot(4, 16), shear=math.log(2))) == (7, 13)


def test_it_is_a_left_action():
    x = smooth_images(1)
    a = torch.tensor([[1.5, 0.0]], dtype=torch.float64)
    b = torch.tensor([[0.0, 0.2]], dtype=torch.float64)
    affine = ag.Affine2d("rotate", "translate_x")
    one_after_the_other = affine(affine(x, b), a)
    product = affine.matrix(a) @ affine.matrix(b)
    at_once = functional.warp(x, torch.linalg.inv(product))
    wrong_order = functional.warp(x, torch.linalg.inv(affine.matrix(b) @ affine.matrix(a)))
    # Only the centre: pixels near the border leave the image between the two maps.
    middle = (..., slice(6, 18), slice(6, 18))
    assert (one_after_the_other - at_once)[middle].abs().max() < 0.02
    assert (one_after_the_other - wrong_order)[middle].abs().max() > 0.1


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_quarter_turns_of_a_square_are_exact(turns):
    x = torch.rand(2, 3, 16, 16, dtype=torch.float64)
    assert torch.allclose(
        move(x, rotate=turns * math.pi / 2), torch.rot90(x, -turns, (2, 3)), atol=1e-12
    )


def test_a_rotation_is_rigid_on_a_wide_image():
    # A dot 6 pixels right of the centre of a 21×41 image moves 6 pixels below it, not 3 or 12.
    assert brightest(move(dot(10, 26, 21, 41), rotate=math.pi / 2)) == (16, 20)
    assert brightest(move(dot(26, 10, 41, 21), rotate=math.pi / 2)) == (20, 4)


def test_translations_are_fractions_of_half_the_width_and_half_the_height():
    wide = dot(10, 20, 21, 41)
    assert brightest(move(wide, translate_x=8 / 20.5)) == (10, 28)
    assert brightest(move(wide, translate_y=8 / 10.5)) == (18, 20)


def test_padding_fills_pixels_from_outside():
    ones = torch.ones(1, 1, 8, 8)
    assert move(ones, translate_x=1.0)[..., :4].abs().max() == 0
    t = torch.tensor([[1.0]])
    for padding in ("border", "reflection"):
        assert torch.allclose(ag.Affine2d("translate_x", padding=padding)(ones, t), ones)


def test_coverage_is_the_inverse_of_moved_ones():
    affine, x = ag.Affine2d("translate_x"), torch.ones(1, 2, 8, 8)
    t = torch.tensor([[0.5]])  # two of eight columns leave on the right and are lost
    seen = affine.coverage(x, t)
    assert seen.shape == (1, 1, 8, 8)
    assert torch.equal(seen[0, 0, 0], torch.tensor([1.0] * 6 + [0.0] * 2))
    assert torch.allclose(affine.inverse(affine(x, t), t), seen.expand_as(x))


huge = st.lists(
    st.one_of(st.sampled_from([0.0, 1e3, -1e3]), st.floats(-1e3, 1e3)), min_size=6, max_size=6
)


@given(huge)
@settings(max_examples=150, deadline=None)
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_huge_coordinates_give_finite_images_and_gradients(padding, values):
    t = torch.tensor([values], dtype=torch.float32, requires_grad=True)
    x = torch.rand(1, 1, 6, 6, requires_grad=True)
    y = ag.Affine2d(padding=padding)(x, t)
    assert y.isfinite().all()
    for gradient in torch.autograd.grad(y.sum(), (t, x)):
        assert gradient.isfinite().all()


class TestHalfPrecision:
    """Geometry in bf16 would be off by pixels, and grid_sample fails above 32,767 pixels."""

    @pytest.mark.parametrize("plain", [False, True], ids=["custom gradient", "plain operations"])
    def test_autocast_changes_nothing(self, plain, monkeypatch):
        if plain:  # as in a compiled graph and on other devices
            for module in (functional, table2d):
                monkeypatch.setattr(module, "eager", lambda *tensors: False)
        x, t = torch.rand(2, 3, 32, 32), torch.rand(2, 6) * 0.5
        expected = ag.Affine2d()(x, t)
        with torch.autocast("cpu", torch.bfloat16):
            got = ag.Affine2d()(x, t)
        assert got.dtype == torch.float32 and torch.equal(got, expected)

    def test_gradients_under_autocast_are_the_same(self):
        x = torch.rand(2, 1, 16, 16)
        gradients = []
        for enabled in (False, True):
            t = torch.full((2, 6), 0.2, requires_grad=True)
            with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
                y = ag.Affine2d()(x, t)
            gradients.append(torch.autograd.grad((y * x).sum(), t)[0])
        assert torch.equal(*gradients)

    @pytest.mark.parametrize("side", [181, 182, 256])
    def test_large_bf16_images_are_sampled_in_float32(self, side):
        x = torch.rand(1, 1, side, side).bfloat16()
        t = torch.tensor([[0.3]])
        expected = ag.Affine2d("rotate")(x.float(), t)
        got = ag.Affine2d("rotate")(x, t)
        assert got.dtype == torch.bfloat16
        assert (got.float() - expected).abs().max() < 0.01


def test_float64_images_are_warped_in_float64_for_any_dtype_of_t():
    x, t = torch.rand(2, 1, 9, 9, dtype=torch.float64), torch.tensor([[0.1], [0.2]])
    assert torch.equal(ag.Affine2d("rotate")(x, t), ag.Affine2d("rotate")(x, t.double()))


def test_wrong_input_raises_a_helpful_error():
    with pytest.raises(ag.InputError, match=r"no coordinate 'rotat'\. Did you mean 'rotate'"):
        ag.Affine2d("rotat")
    with pytest.raises(ag.InputError, match="'rotate' twice"):
        ag.Affine2d("rotate", "rotate")
    with pytest.raises(
        ag.InputError, match="padding of zeros, border, reflection, but got 'mirror'"
    ):
        ag.Affine2d(padding="mirror")
    with pytest.raises(
        ag.InputError, match=r"floating-point images \(B, C, H, W\), but got \(2, 8, 8\)"
    ):
        ag.Affine2d("rotate")(torch.rand(2, 8, 8), torch.zeros(2, 1))
    with pytest.raises(ag.InputError, match="uint8"):
        ag.Affine2d("rotate")(torch.zeros(2, 1, 8, 8, dtype=torch.uint8), torch.zeros(2, 1))
    with pytest.raises(
        ag.InputError, match=r"needs coordinates \(2, 1\), one row per input, but got \(3, 1\)"
    ):
        ag.Affine2d("rotate")(torch.rand(2, 1, 8, 8), torch.zeros(3, 1))
