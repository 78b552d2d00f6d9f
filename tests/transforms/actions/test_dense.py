"""Vector fields turn as they move; labels move without being mixed."""

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
def test_a_field_of_displacements_is_that_of_the_moved_plane(transform, coordinates):
    """v(p) = p - centre goes to (g v)(p) = L g^-1 p = p - centre - shift: linear, so no interpolation errs."""
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
def test_the_gradient_of_a_picture_turns_with_the_picture(transform):
    """The contract against a warped picture: for rigid maps, the gradient of g x is g of the gradient of x."""

    def gradient(x):
        dx, dy = (
            (x[..., 1:-1, 2:] - x[..., 1:-1, :-2]) / 2,
            (x[..., 2:, 1:-1] - x[..., :-2, 1:-1]) / 2,
        )
        return F.pad(torch.cat([dx, dy], dim=1), [1] * 4)

    x, t = (
        smooth_images(2, 1, 60, 80) ** 3,
        at((0.7, 3.0, -2.0), 2),
    )  # cubed, so that nothing is left at the border
    moved, expected = ag.VectorField(transform)(gradient(x), t), gradient(transform(x, t))
    assert (moved - expected).abs().max() < 0.05 * expected.abs().max()


@MOVED
def test_fields_keep_the_laws_of_transforms(transform, coordinates):
    if not any(coordinate.discrete for coordinate in transform.coordinates):
        check_transform(
            ag.VectorField(transform),
            smooth_images(3, 2, *SIZE),
            t=at(coordinates, 3),
            inverse_tolerance=0.05,
        )


@MOVED
def test_labels_are_those_of_the_scores_wherever_these_are_clear(transform, coordinates):
    """The nearest pixel has at least a quarter of the bilinear weight: a score above 3/4 leaves no other label."""
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


def test_a_quarter_turn_of_labels_is_exact_there_and_back():
    labels, t = torch.randint(0, 9, (2, 7, 7), dtype=torch.uint8), torch.full((2, 1), math.pi / 2)
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
            "cannot mark what comes from outside by 255 in torch.int8",
        ),
    ],
)
def test_what_is_no_label_map_is_refused(labels, problem):
    for act in (ag.LabelMap(ag.Flip("vertical")), ag.LabelMap(ag.Flip("vertical")).inverse):
        with pytest.raises(ag.InputError, match=problem):
            act(labels, torch.ones(2, 1))


def test_a_field_with_other_components_is_refused():
    with pytest.raises(
        ag.InputError,
        match=r"VectorField needs floating-point fields \(B, 2, H, W\), but got \(2, 3, 4, 4\)",
    ):
        ag.VectorField(ag.Affine2d("rotate"))(torch.rand(2, 3, 4, 4), torch.zeros(2, 1))
