"""Vector fields rotate with the image; labels move without interpolation."""

import math

import pytest
import torch
import torch.nn.functional as F

import augerino as ag
from augerino.testing import check_transform
from augerino.transforms import functional
from tests.conftest import smooth_images
from tests.transforms.actions.test_points import MOVED, SIZE, at, places


@MOVED
def test_a_field_of_displacements_moves_with_the_plane(transform, coordinates):
    """v(p) = p - centre becomes p - centre - shift; linear, so interpolation is exact."""
    across, down = places(*SIZE)
    field = torch.stack([(across - 22).expand(SIZE), (down - 16).expand(SIZE)])[None]
    moved = ag.VectorField(transform)(field, at(coordinates))
    height, width = transform.canvas(SIZE)
    across, down = places(height, width)
    shift_x, shift_y = transform.point_map(at(coordinates), SIZE)[0, :2, 2]
    expected = torch.stack(
        [
            (across - width / 2 - shift_x).expand(height, width),
            (down - height / 2 - shift_y).expand(height, width),
        ]
    )
    there = ag.VectorField(transform)._there(torch.ones_like(field[:, :1]), at(coordinates))
    inside = (there > 1 - 1e-9).expand_as(moved)
    assert inside.float().mean() > 0.2
    assert torch.allclose(moved[inside], expected[None][inside], atol=1e-9)


@pytest.mark.parametrize("transform", [ag.RotoTranslate2d(), ag.RotoTranslate2d(0.2)])
def test_the_gradient_of_an_image_rotates_with_the_image(transform):
    """For rigid maps, the spatial gradient of g x is g applied to the gradient of x."""

    def gradient(x):
        dx = (x[..., 1:-1, 2:] - x[..., 1:-1, :-2]) / 2
        dy = (x[..., 2:, 1:-1] - x[..., :-2, 1:-1]) / 2
        return F.pad(torch.cat([dx, dy], dim=1), [1] * 4)

    x = smooth_images(2, 1, 60, 80) ** 3  # cubed, so that it vanishes at the border
    t = at((0.7, 3.0, -2.0), 2)
    moved = ag.VectorField(transform)(gradient(x), t)
    expected = gradient(transform(x, t))
    assert (moved - expected).abs().max() < 0.05 * expected.abs().max()


@MOVED
def test_fields_satisfy_the_laws_of_transforms(transform, coordinates):
    if not any(coordinate.discrete for coordinate in transform.coordinates):
        check_transform(
            ag.VectorField(transform),
            smooth_images(3, 2, *SIZE),
            t=at(coordinates, 3),
            inverse_tolerance=0.05,
        )


@MOVED
def test_labels_agree_with_warped_scores_where_these_are_decisive(transform, coordinates):
    """The nearest pixel has a bilinear weight of at least 1/4, so a score above 3/4 is decisive."""
    labels = torch.randint(0, 5, (1, 8, 11)).repeat_interleave(4, 1).repeat_interleave(4, 2)
    t = at(coordinates)
    moved = ag.LabelMap(transform)(labels, t)
    size, canvas = SIZE, transform.canvas(SIZE)
    pull = functional.in_frame(torch.linalg.inv(transform.point_map(t, size)), size)
    scores = functional.warp(F.one_hot(labels, 5).movedim(-1, 1).double(), pull, size=canvas)
    clear, best = scores.max(dim=1)
    assert moved.dtype == labels.dtype and moved.shape[1:] == canvas
    assert (clear > 0.76).float().mean() > 0.2
    assert torch.equal(moved[clear > 0.76], best[clear > 0.76])
    assert set(moved.unique().tolist()) <= {0, 1, 2, 3, 4, 255}
    assert (moved[scores.sum(dim=1) < 0.2] == 255).all()


def test_a_quarter_turn_of_labels_is_exact_and_invertible():
    labels = torch.randint(0, 9, (2, 7, 7), dtype=torch.uint8)
    t = torch.full((2, 1), math.pi / 2)
    action = ag.LabelMap(ag.Affine2d("rotate"))
    assert torch.equal(action(labels, t), labels.rot90(-1, (1, 2)))
    assert torch.equal(action.inverse(action(labels, t), t), labels)


def test_labels_from_outside_are_marked():
    moved = ag.LabelMap(ag.RotoTranslate2d(), ignore=-1)(
        torch.zeros(1, 4, 6, dtype=torch.long), torch.tensor([[0.0, 2.0, 0.0]])
    )
    assert (moved[..., :2] == -1).all() and (moved[..., 2:] == 0).all()


@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        (
            torch.rand(2, 4, 4),
            r"LabelMap needs integer labels \(B, H, W\), but got \(2, 4, 4\) of torch.float32",
        ),
        (
            torch.ones(2, 1, 4, 4, dtype=torch.long),
            r"needs integer labels \(B, H, W\), but got \(2, 1, 4, 4\)",
        ),
        (torch.ones(2, 4, 4, dtype=torch.bool), "of torch.bool"),
        (
            torch.ones(2, 4, 4, dtype=torch.int8),
            "marks pixels from outside the image by 255, which torch.int8 cannot hold",
        ),
    ],
)
def test_inputs_that_are_no_label_map_are_rejected(labels, problem):
    for act in (ag.LabelMap(ag.Flip("vertical")), ag.LabelMap(ag.Flip("vertical")).inverse):
        with pytest.raises(ag.InputError, match=problem):
            act(labels, torch.ones(2, 1))


def test_a_field_with_another_number_of_components_is_rejected():
    with pytest.raises(
        ag.InputError,
        match=r"VectorField needs floating-point fields \(B, 2, H, W\), but got \(2, 3, 4, 4\)",
    ):
        ag.VectorField(ag.Affine2d("rotate"))(torch.rand(2, 3, 4, 4), torch.zeros(2, 1))
