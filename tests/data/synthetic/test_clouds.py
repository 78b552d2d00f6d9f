"""The embedded clouds: three rotations whose extents are known exactly."""

import math

import pytest
import torch

import augerino as ag
from augerino.data.synthetic.clouds import CLASS_NAMES, clouds


def test_shapes_and_balance():
    data = clouds(400, seed=3)
    assert data.x.shape == (400, 64, 3) and data.x.norm(dim=-1).max() < 1.3
    assert torch.bincount(data.y).tolist() == [100] * 4 and data.class_names == CLASS_NAMES


@pytest.mark.parametrize("extent", [0.3, math.pi / 4, 1.2])
def test_angles_match_the_labels(extent):
    data = clouds(1000, seed=1, extent=extent)
    from_forwards, forwards = data.angles.abs(), data.y % 2 == 0
    assert from_forwards[forwards].max() <= extent + 1e-5
    assert from_forwards[~forwards].min() >= math.pi - extent - 1e-5
    assert from_forwards[forwards].max() > 0.95 * extent
    assert data.true == {
        "rotate_x": math.pi,
        "rotate_y": math.pi / 2,
        "rotate_z": pytest.approx(math.pi / 2 - extent),
    }


def heads(data) -> torch.Tensor:
    """The direction in which each figure points, from the angle it was turned by."""
    return torch.stack(
        [data.angles.cos(), data.angles.sin(), torch.zeros_like(data.angles)], dim=-1
    )[:, None]


def right(data, name: str, t: float) -> bool:
    """Whether every head is still on the side of its label, rotated by t or by -t."""
    side = 1 - 2 * (data.y % 2)
    turn = ag.Affine3d(name)
    return all(
        bool((turn(heads(data), torch.full((len(data.y), 1), angle))[:, 0, 0] * side > 0).all())
        for angle in (t, -t)
    )


@pytest.mark.parametrize("name", ["rotate_y", "rotate_z"])
def test_labels_stay_right_up_to_the_true_extent_and_no_further(name):
    data = clouds(2000, seed=4)
    true = data.true[name]
    assert all(right(data, name, fraction * true) for fraction in (0.3, 0.7, 0.999))
    assert not right(data, name, 1.02 * true)


def test_a_rotation_about_x_preserves_the_labels():
    data = clouds(500, seed=4)
    assert all(right(data, "rotate_x", angle) for angle in torch.linspace(0, math.pi, 9).tolist())


def test_points_lie_on_the_labelled_figure():
    """Rotated back, a club is widest at its ball (0.6), an arrow at the base of its cone (0.2)."""
    data = clouds(400, seed=5, points=256)
    back = ag.Affine3d("rotate_z")(data.x, -data.angles[:, None])
    along, across = back[..., 0], back[..., 1:].norm(dim=-1)
    widest = along.gather(1, across.argmax(1, keepdim=True))[:, 0]
    club = data.y // 2 == 1
    assert (widest[club] > 0.4).all() and (widest[~club] < 0.4).all()
    assert (across[along < 0.19] < 0.081).all()  # the shaft


def test_figures_are_round():
    data = clouds(2000, seed=6)
    back = ag.Affine3d("rotate_z")(data.x, -data.angles[:, None])
    y, z = back[..., 1].flatten(), back[..., 2].flatten()
    error = 5 / len(y) ** 0.5
    assert (
        abs((y * z).mean()) < error
        and abs(y.mean()) < error
        and abs((y.square() - z.square()).mean()) < error
    )


def test_a_seed_repeats_and_leaves_the_global_state_alone():
    before = torch.get_rng_state()
    a, b, c = clouds(20, seed=1), clouds(20, seed=1), clouds(20, seed=2)
    assert torch.equal(a.x, b.x) and torch.equal(a.y, b.y) and not torch.equal(a.x, c.x)
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("options", [{"n": 0}, {"extent": 0.0}, {"extent": 2.0}, {"points": 4}])
def test_impossible_sizes_are_rejected(options):
    with pytest.raises(ag.InputError, match="clouds needs"):
        clouds(**{"n": 4, **options})
