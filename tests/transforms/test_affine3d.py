"""Affine maps of point clouds: directions, centre, masks and precisions."""

import math

import pytest
import torch

import augerino as ag

X, Y, Z = torch.eye(3, dtype=torch.float64)


def move(point: torch.Tensor, **coordinates: float) -> torch.Tensor:
    affine = ag.Affine3d(*coordinates)
    return affine(
        point.reshape(1, 1, 3), torch.tensor([list(coordinates.values())], dtype=point.dtype)
    )[0, 0]


@pytest.mark.parametrize(
    ("name", "start", "end"), [("rotate_x", Y, Z), ("rotate_y", Z, X), ("rotate_z", X, Y)]
)
def test_rotations_follow_the_right_hand_rule(name, start, end):
    assert torch.allclose(move(start, **{name: math.pi / 2}), end)
    axis = {"rotate_x": X, "rotate_y": Y, "rotate_z": Z}[name]
    assert torch.allclose(move(axis, **{name: 0.7}), axis)


def test_rotate_z_is_rotate_of_affine2d():
    t = torch.tensor([[0.3]])
    assert torch.allclose(
        ag.Affine3d("rotate_z").matrix(t)[0, :2, :2], ag.Affine2d("rotate").matrix(t)[0, :2, :2]
    )


def test_translations_are_in_data_units():
    assert torch.allclose(
        move(7 * X, translate_x=5.0, translate_y=-2.0, translate_z=0.5),
        torch.tensor([12, -2, 0.5]).double(),
    )
    assert [c.limit for c in ag.Affine3d().coordinates[:3]] == [math.inf] * 3


def test_scale_squeezes_and_shears_are_log_factors():
    two, ones = math.log(2), X + Y + Z
    assert torch.allclose(move(ones, scale=two), 2 * ones)
    assert torch.allclose(move(ones, squeeze_xy=two), 2 * X + Y / 2 + Z)
    assert torch.allclose(move(ones, squeeze_yz=two), X + 2 * Y + Z / 2)
    for name, diagonal, across in (
        ("shear_xy", X + Y, X - Y),
        ("shear_yz", Y + Z, Y - Z),
        ("shear_xz", X + Z, X - Z),
    ):
        assert torch.allclose(move(diagonal, **{name: two}), 2 * diagonal)
        assert torch.allclose(move(across, **{name: two}), across / 2)


def test_the_papers_nine_come_by_default_and_shears_by_name():
    names = ag.Affine3d().names
    assert len(names) == 9 and not any("shear" in name for name in names)
    assert ag.Affine3d("shear_xz").names == ("shear_xz",)
    assert str(
        ag.Augmentation(ag.Affine3d("translate_x", "rotate_z"), ag.Uniform([2.5, math.pi / 4]))
    ) == ("Affine3d: translate_x ±2.5, rotate_z ±45.0°")


def test_it_is_a_left_action():
    affine = ag.Affine3d("rotate_z", "translate_x")
    p = torch.randn(1, 4, 3, dtype=torch.float64)
    a = torch.tensor([[1.5, 0.0]], dtype=torch.float64)
    b = torch.tensor([[0.0, 0.2]], dtype=torch.float64)
    product = affine.matrix(a) @ affine.matrix(b)
    assert torch.allclose(
        affine(affine(p, b), a), p @ product[:, :3, :3].mT + product[:, None, :3, 3]
    )


def test_the_rotation_part_stays_orthogonal_beside_translations():
    t = torch.randn(20, 6, dtype=torch.float64) * torch.tensor([1, 10, 100, 3, 3, 3])
    linear = ag.Affine3d(*ag.Affine3d().names[:6]).matrix(t)[:, :3, :3]
    assert torch.allclose(
        linear @ linear.mT, torch.eye(3, dtype=torch.float64).expand_as(linear), atol=1e-12
    )
    assert torch.allclose(torch.linalg.det(linear), torch.ones(20, dtype=torch.float64))


def test_ranges_are_two_sided():
    draws = ag.Augmentation(ag.Affine3d(), ag.Uniform([0.5] * 9)).sample(200).t
    assert (draws.amin(0) < -0.4).all() and (draws.amax(0) > 0.4).all()


def test_padded_molecules_move_as_if_alone_and_come_back():
    """All nine coordinates under a mask: padding stays zero and contributes no gradient."""
    lens = ag.On("positions", ag.Affine3d(), where="mask")
    counts = (5, 2, 1)
    mask = torch.arange(5) < torch.tensor(counts)[:, None]
    positions = torch.randn(3, 5, 3, dtype=torch.float64) * mask[..., None]
    t = torch.randn(3, 9, dtype=torch.float64, requires_grad=True)
    batch = {"positions": positions, "charges": torch.ones(3, 5), "mask": mask}
    moved = lens(batch, t)
    for i, n in enumerate(counts):
        assert torch.allclose(
            moved["positions"][i : i + 1, :n], ag.Affine3d()(positions[i : i + 1, :n], t[i : i + 1])
        )
    assert not moved["positions"][~mask].any() and moved["charges"] is batch["charges"]
    assert torch.allclose(lens.inverse(moved, t)["positions"], positions)
    (whole,) = torch.autograd.grad(moved["positions"].square().sum(), t)
    (own,) = torch.autograd.grad(ag.Affine3d()(positions, t).square()[mask].sum(), t)
    assert torch.allclose(whole, own)


def test_huge_coordinates_give_finite_points_and_gradients():
    t = ((torch.rand(50, 12) * 2 - 1) * 1e3).requires_grad_()
    y = ag.Affine3d(*ag.lie.AFFINE3D)(torch.randn(50, 4, 3), t)
    assert y.isfinite().all() and torch.autograd.grad(y.sum(), t)[0].isfinite().all()


def test_gradients_reach_the_points_too():
    affine, t = ag.Affine3d(), torch.rand(2, 9, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        affine, (torch.randn(2, 3, 3, dtype=torch.float64, requires_grad=True), t)
    )


def test_autocast_changes_nothing():
    x, t = torch.randn(2, 4, 3), torch.rand(2, 9)
    expected = ag.Affine3d()(x, t)
    with torch.autocast("cpu", torch.bfloat16):
        got = ag.Affine3d()(x, t)
    assert got.dtype == torch.float32 and torch.equal(got, expected)


def test_wrong_input_raises_a_helpful_error():
    with pytest.raises(ag.InputError, match=r"no coordinate 'rotate'\. Did you mean 'rotate_"):
        ag.Affine3d("rotate")
    with pytest.raises(
        ag.InputError, match=r"needs positions \(B, N, 3\), but got \(2, 5, 4\).*On\(\"positions\""
    ):
        ag.Affine3d("rotate_x")(torch.rand(2, 5, 4), torch.zeros(2, 1))
    with pytest.raises(
        ag.InputError, match=r"needs coordinates \(2, 1\), one row per input, but got \(3, 1\)"
    ):
        ag.Affine3d("rotate_x")(torch.rand(2, 5, 3), torch.zeros(3, 1))


def test_it_compiles_as_one_graph():
    affine, x, t = ag.Affine3d(), torch.randn(2, 4, 3), torch.rand(2, 9)
    assert torch.equal(torch.compile(affine, backend="eager", fullgraph=True)(x, t), affine(x, t))
