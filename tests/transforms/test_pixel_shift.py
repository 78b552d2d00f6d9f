"""Shifts by whole pixels: exact values, borders, inverses and the points that move along."""

import pytest
import torch
import torch.nn.functional as F

import augerino as ag
from augerino.transforms import LabelMap


def test_positive_shifts_go_right_and_down():
    x = torch.zeros(1, 1, 8, 10)
    x[0, 0, 2, 3] = 1
    y = ag.PixelShift()(x, torch.tensor([[0.4, 0.25]]))  # 2 pixels right, 1 down
    assert y[0, 0, 3, 5] == 1 and y.sum() == 1


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("size", [(8, 8), (6, 11)])
def test_whole_shifts_are_those_of_affine2d(padding, size):
    x = torch.rand(40, 3, *size, dtype=torch.float64)
    pixels = torch.randint(-5, 6, (40, 2))
    t = 2 * pixels / torch.tensor([size[1], size[0]])
    affine = ag.Affine2d("translate_x", "translate_y", padding=padding)
    shifted = ag.PixelShift(padding=padding)(x, t.double())
    assert torch.allclose(shifted, affine(x, t.double()), atol=1e-5)


def test_it_is_the_random_crop_of_a_padded_image():
    x = torch.rand(1, 3, 32, 32)
    padded = F.pad(x, (4, 4, 4, 4))
    for right, down in ((4, -4), (1, 3), (-2, 0)):
        t = torch.tensor([[right / 16, down / 16]])
        crop = padded[:, :, 4 - down : 36 - down, 4 - right : 36 - right]
        assert torch.equal(ag.PixelShift()(x, t), crop)


def test_a_shift_between_pixels_is_rounded():
    x = torch.rand(1, 1, 10, 10)
    shift = ag.PixelShift("x")
    assert torch.equal(shift(x, torch.tensor([[0.28]])), shift(x, torch.tensor([[0.2]])))
    assert torch.equal(shift(x, torch.tensor([[0.08]])), x)


def test_a_shift_by_the_whole_image_leaves_nothing():
    x = torch.rand(4, 1, 6, 6) + 0.1
    t = torch.tensor([[2.0, 0.0], [0.0, -2.0], [5.0, 0.0], [1.0, 0.0]])
    n_left = ag.PixelShift()(x, t).gt(0).sum(dim=(1, 2, 3))
    assert n_left.tolist() == [0, 0, 0, 18]


@pytest.mark.parametrize("t", [1.0, 1.7, 2.0, -2.0, 5.0])
def test_far_shifts_reflect_repeatedly(t):
    x = torch.rand(1, 1, 6, 6)
    affine = ag.Affine2d("translate_x", padding="reflection")
    whole = torch.tensor([[round(3 * t) / 3]])
    reflected = ag.PixelShift("x", padding="reflection")(x, torch.tensor([[t]]))
    assert torch.allclose(reflected, affine(x, whole), atol=1e-4)


def test_the_inverse_restores_covered_pixels_and_coverage_marks_the_others():
    x = torch.rand(3, 2, 8, 8) + 0.5
    shift = ag.PixelShift()
    t = torch.tensor([[0.5, 0.0], [0.0, -0.25], [1.0, 0.5]])
    back = shift.inverse(shift(x, t), t)
    seen = shift.coverage(x, t)
    assert set(seen.unique().tolist()) == {0.0, 1.0}
    assert torch.equal(back, x * seen)
    assert seen[:, 0].sum(dim=(1, 2)).tolist() == [48.0, 56.0, 24.0]


def test_points_and_labels_move_with_the_pixels():
    x = torch.zeros(2, 1, 9, 12)
    x[:, 0, 4, 5] = 1
    t = torch.tensor([[0.5, 0.0], [-0.3, 0.4]])
    shift = ag.PixelShift()
    y = shift(x, t)
    matrix = shift.point_map(t, (9, 12))
    for i in range(2):
        row, column = y[i, 0].nonzero()[0].tolist()
        point = torch.tensor([5 + 0.5 - 6, 4 + 0.5 - 4.5, 1.0])
        moved = matrix[i] @ point
        assert moved[:2].tolist() == [column + 0.5 - 6, row + 0.5 - 4.5]
    labels = x.long()[:, 0]
    assert torch.equal(LabelMap(shift)(labels, t) == 1, y[:, 0] == 1)


def test_one_coordinate_by_a_short_name():
    shift = ag.PixelShift("y", padding="border")
    assert shift.names == ("shift_y",)
    assert shift.settings() == {"names": ["shift_y"], "padding": "border"}
    with pytest.raises(ag.InputError, match="no coordinate 'z'"):
        ag.PixelShift("z")
    with pytest.raises(ag.InputError, match="padding of zeros, border, reflection, but got 'cir"):
        ag.PixelShift(padding="circular")
