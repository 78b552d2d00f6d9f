"""Synthetic images: the paper's construction, identifiable in every pose, with an exact extent."""

import math

import pytest
import torch

import augerino as ag
from augerino.data.synthetic.sprites import CLASS_NAMES, boat, robot, sprites


def test_shapes_ranges_and_balance():
    data = sprites(400, seed=3)
    assert data.x.shape == (400, 3, 32, 32) and data.x.min() >= 0 and data.x.max() <= 1
    assert torch.bincount(data.y).tolist() == [100] * 4 and len(CLASS_NAMES) == 4
    assert data.true_extent == pytest.approx(math.pi / 4)


@pytest.mark.parametrize("extent", [0.3, math.pi / 4, 1.2])
def test_angles_match_the_labels(extent):
    data = sprites(1000, seed=1, extent=extent)
    from_upright = data.angles.abs()
    upright = data.y % 2 == 0
    assert from_upright[upright].max() <= extent + 1e-5
    assert from_upright[~upright].min() >= math.pi - extent - 1e-5
    assert from_upright[upright].max() > 0.95 * extent  # and they fill the range
    assert data.true_extent == pytest.approx(math.pi / 2 - extent)


def test_a_picture_is_its_figure_turned_by_its_angle():
    data = sprites(8, seed=2)
    figures = torch.stack([robot(), boat()])[data.y // 2]
    assert torch.allclose(data.x, ag.Affine2d("rotate")(figures, data.angles[:, None]), atol=1e-5)


def test_a_seed_repeats_and_leaves_the_global_state_alone():
    before = torch.get_rng_state()
    a, b, c = sprites(20, seed=1), sprites(20, seed=1), sprites(20, seed=2)
    assert torch.equal(a.x, b.x) and torch.equal(a.y, b.y) and not torch.equal(a.x, c.x)
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("draw", [robot, boat])
def test_figures_keep_within_the_circle_that_rotations_keep(draw):
    image = draw(64)
    side = torch.linspace(-1, 1, 64)
    outside = side[:, None] ** 2 + side[None, :] ** 2 > 1.02
    assert image[:, outside].max() == 0


def test_every_pose_of_each_figure_is_unlike_every_other():
    """No rotation and no reflection takes a figure to itself, to the other, or nearly so."""
    turn = ag.Affine2d("rotate")
    angles = torch.arange(0, 360, 5) * math.pi / 180
    poses = {
        name: turn(draw().expand(72, -1, -1, -1), angles[:, None])
        for name, draw in (("robot", robot), ("boat", boat))
    }
    for name, own in poses.items():
        size = own[0].norm()
        far = own[6:-5]  # turned by 30 degrees or more
        assert ((far - own[0]).flatten(1).norm(dim=1) / size).min() > 0.4
        assert ((own.flip(-1) - own[0]).flatten(1).norm(dim=1) / size).min() > 0.25
        other = poses["boat" if name == "robot" else "robot"]
        assert (
            (torch.cat([other, other.flip(-1)]) - own[0]).flatten(1).norm(dim=1) / size
        ).min() > 0.5


@pytest.mark.parametrize("options", [{"n": 0}, {"extent": 0.0}, {"extent": 2.0}, {"side": 4}])
def test_impossible_sizes_are_rejected(options):
    with pytest.raises(ag.InputError, match="sprites needs"):
        sprites(**{"n": 4, **options})
