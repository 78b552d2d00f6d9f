"""Synthetic letters: few images, position and size vary, with an exact extent of the rotation."""

import math

import pytest
import torch

import augerino as ag
from augerino.data import open_dataset
from augerino.data.synthetic.letters import CLASS_NAMES, LINES, draw, letters


def test_shapes_ranges_and_balance():
    data = letters(400, seed=3)
    assert data.x.shape == (400, 1, 24, 24)
    assert data.x.min() >= 0
    assert data.x.max() <= 1
    assert torch.bincount(data.y).tolist() == [50] * len(CLASS_NAMES)


@pytest.mark.parametrize("extent", [0.3, math.pi / 4, 1.2])
def test_angles_match_the_labels(extent):
    data = letters(1000, seed=1, extent=extent)
    from_upright = data.angles.abs()
    is_upright = data.y % 2 == 0
    assert from_upright[is_upright].max() <= extent + 1e-5
    assert from_upright[~is_upright].min() >= math.pi - extent - 1e-5
    assert from_upright[is_upright].max() > 0.95 * extent  # and they fill the range
    assert data.true_extent == pytest.approx(math.pi / 2 - extent)


def test_no_letter_leaves_the_frame():
    data = letters(300, seed=4, side=96)
    border = torch.ones(96, 96, dtype=torch.bool)
    border[1:-1, 1:-1] = False
    assert data.x[:, 0, border].max() < 0.5
    assert data.x.flatten(1).mean(dim=1).min() > 0.02


def test_positions_and_sizes_vary_independently_of_the_label():
    data = letters(2000, seed=5)
    centers = (torch.arange(24) + 0.5) / 12 - 1
    ink = data.x[:, 0]
    total = ink.sum(dim=(1, 2))
    x_center = (ink.sum(dim=1) @ centers) / total
    assert x_center.std() > 0.2
    for label in range(len(CLASS_NAMES)):
        assert x_center[data.y == label].mean().abs() < 0.15


def test_a_mirrored_l_is_a_j():
    mirrored = draw(LINES["L"], 0.1, 32).flip(-1)
    others = {name: (draw(lines, 0.1, 32) - mirrored).norm() for name, lines in LINES.items()}
    assert min(others, key=lambda name: float(others[name])) == "J"


def test_a_seed_repeats_and_leaves_the_global_state_alone():
    before = torch.get_rng_state()
    first = letters(20, seed=1)
    again = letters(20, seed=1)
    other = letters(20, seed=2)
    assert torch.equal(first.x, again.x)
    assert torch.equal(first.y, again.y)
    assert not torch.equal(first.x, other.x)
    assert torch.equal(before, torch.get_rng_state())


def test_the_dataset_has_few_training_images_and_the_true_extent():
    dataset = open_dataset("letters")
    assert dataset.n_train == 120
    assert dataset.n_test == 1000
    assert dataset.true_extent == {"rotate": pytest.approx(math.pi / 4)}


@pytest.mark.parametrize("options", [{"n": 0}, {"extent": 0.0}, {"extent": 2.0}, {"side": 4}])
def test_impossible_sizes_are_rejected(options):
    with pytest.raises(ag.InputError, match="letters needs"):
        letters(**{"n": 4, **options})
