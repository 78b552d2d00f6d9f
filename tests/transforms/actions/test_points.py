"""Keypoints and boxes move with the image."""

import math

import pytest
import torch

import augerino as ag
from augerino.testing import check_transform
from augerino.transforms import Compose

HEIGHT, WIDTH = SIZE = (32, 44)
#: transforms with coordinates that keep the centre of the image in view
MOVES = {
    "affine": (ag.Affine2d(), (0.1, -0.2, 0.6, 0.2, -0.15, 0.1)),
    "rigid": (ag.RotoTranslate2d(), (-0.9, 3.0, -2.5)),
    "padded": (ag.RotoTranslate2d(padding=0.3), (2.5, -4.0, 3.0)),
    "flips": (ag.Flip(), (1.0, 1.0)),
    "chain": (
        Compose([ag.Affine2d("rotate", "translate_x"), ag.Flip("horizontal")]),
        (0.5, 0.2, 1.0),
    ),
    "canvases": (
        Compose([ag.RotoTranslate2d(0.1), ag.Flip("vertical"), ag.Affine2d("scale")]),
        (1.2, 2.0, 1.0, 1.0, -0.2),
    ),
    "color": (
        Compose([ag.Flip("vertical"), ag.Brightness(), ag.Affine2d("rotate")]),
        (1.0, 0.0, 0.4),
    ),
}
MOVED = pytest.mark.parametrize(("transform", "coordinates"), MOVES.values(), ids=MOVES.keys())


def at(coordinates, batch=1):
    return torch.tensor([coordinates] * batch, dtype=torch.float64)


def places(height, width):
    """Pixel centres: x, (width,), and y, (height, 1)."""
    across = torch.arange(width, dtype=torch.float64) + 0.5
    down = torch.arange(height, dtype=torch.float64)[:, None] + 0.5
    return across, down


def centre_of_mass(x):
    across, down = places(*x.shape[-2:])
    mass = x / x.sum(dim=(-2, -1), keepdim=True)
    return torch.stack([(mass * across).sum(dim=(-2, -1)), (mass * down).sum(dim=(-2, -1))], dim=-1)


@MOVED
def test_a_point_on_a_bright_spot_follows_it(transform, coordinates):
    points = torch.tensor([[25.5, 13.5], [18.0, 20.0]], dtype=torch.float64)
    across, down = places(*SIZE)
    spots = [torch.exp(-((across - x) ** 2 + (down - y) ** 2) / 4) for x, y in points]
    picture = torch.stack(spots)[None]
    moved = ag.Keypoints(transform, SIZE)(points[None], at(coordinates))
    assert (moved - points).abs().max() > 1
    assert torch.allclose(moved, centre_of_mass(transform(picture, at(coordinates))), atol=0.02)


@MOVED
def test_points_satisfy_the_laws_of_transforms(transform, coordinates):
    x = torch.rand(3, 5, 2, dtype=torch.float64) * 30
    if transform.canvas(SIZE) != SIZE:
        # At zero coordinates, positions change from the corner of the image to that of the canvas.
        still = torch.zeros(3, len(coordinates), dtype=torch.float64)
        margin = (transform.canvas(SIZE)[0] - HEIGHT) / 2
        assert torch.allclose(ag.Keypoints(transform, SIZE)(x, still), x + margin, atol=1e-9)
        t = at(coordinates, 3)
        assert torch.allclose(
            ag.Keypoints(transform, SIZE).inverse(ag.Keypoints(transform, SIZE)(x, t), t),
            x,
            atol=1e-9,
        )
    else:
        check_transform(
            ag.Keypoints(transform, SIZE), x, t=at(coordinates, 3), inverse_tolerance=1e-9
        )


@MOVED
def test_a_box_becomes_the_bounding_box_of_its_image(transform, coordinates):
    box = torch.tensor([[[16.0, 11.0, 28.0, 19.0]]], dtype=torch.float64)
    picture = torch.zeros(1, 1, *SIZE, dtype=torch.float64)
    picture[..., 11:19, 16:28] = 1
    moved = ag.Boxes(transform, SIZE)(box, at(coordinates))[0, 0]
    lit = transform(picture, at(coordinates))[0, 0] > 0.05
    columns, rows = lit.any(0).nonzero().flatten(), lit.any(1).nonzero().flatten()
    seen = torch.stack([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1])
    assert (moved - seen).abs().max() < 1.5  # a pixel at a corner may be lit or not


@pytest.mark.parametrize(
    ("transform", "coordinates"),
    [
        (ag.Affine2d("rotate"), (math.pi / 2,)),
        (ag.Affine2d("scale", "translate_y"), (0.4, -0.3)),
        (Compose([ag.Flip(), ag.Affine2d("translate_x")]), (1.0, 0.0, 0.3)),
    ],
)
def test_the_inverse_is_exact_where_boxes_stay_axis_aligned(transform, coordinates):
    boxes = torch.tensor([[[1.0, 2.0, 5.0, 9.0], [0.0, 0.0, 44.0, 32.0]]], dtype=torch.float64)
    action = ag.Boxes(transform, SIZE)
    assert torch.allclose(
        action.inverse(action(boxes, at(coordinates)), at(coordinates)), boxes, atol=1e-9
    )


def test_rotating_a_box_and_back_encloses_the_box():
    box, t = torch.tensor([[[10.0, 12.0, 20.0, 16.0]]]), torch.tensor([[0.6]])
    action = ag.Boxes(ag.Affine2d("rotate"), SIZE)
    back = action.inverse(action(box, t), t)
    assert (back[..., :2] < box[..., :2]).all() and (back[..., 2:] > box[..., 2:]).all()


@pytest.mark.parametrize(
    ("action", "output", "needs"),
    [
        (
            ag.Keypoints(ag.Affine2d("rotate"), SIZE),
            torch.rand(2, 10),
            r"Keypoints needs floating-point positions \(B, N, 2\)",
        ),
        (
            ag.Keypoints(ag.Affine2d("rotate"), SIZE),
            torch.ones(2, 1, 2, dtype=torch.long),
            r"but got \(2, 1, 2\) of torch.int64",
        ),
        (
            ag.Boxes(ag.Affine2d("rotate"), SIZE),
            torch.rand(2, 5, 2),
            r"Boxes needs floating-point boxes \(B, N, 4\)",
        ),
    ],
)
def test_outputs_of_another_kind_are_rejected(action, output, needs):
    for act in (action, action.inverse):
        with pytest.raises(ag.InputError, match=needs):
            act(output, torch.zeros(2, 1))


@pytest.mark.parametrize("size", [(3,), (0, 4), (3.5, 4), (1, 2, 3)])
def test_an_invalid_size_is_rejected(size):
    with pytest.raises(ag.InputError, match=r"size as \(height, width\)"):
        ag.Keypoints(ag.Affine2d("rotate"), size)


@pytest.mark.parametrize(
    "transform", [ag.Gain(), ag.Affine3d("rotate_z"), Compose([ag.Flip(), ag.NoiseLevel()])]
)
def test_transforms_without_a_point_map_are_rejected(transform):
    for make in (
        lambda: ag.Boxes(transform, SIZE),
        lambda: ag.VectorField(transform),
        lambda: ag.LabelMap(transform),
    ):
        with pytest.raises(
            ag.InputError, match="does not define how it moves the points of an image"
        ):
            make()
