"""Synthetic signals: the extent of the time shift is exact, and the gain carries no label."""

import pytest
import torch

import augerino as ag
from augerino.data.synthetic.signals import CLASS_NAMES, LOUDNESS, signals


def test_shapes_and_balance():
    data = signals(400, seed=3)
    assert data.x.shape == (400, 1, 128) and data.x.isfinite().all()
    assert torch.bincount(data.y).tolist() == [100] * 4 and data.class_names == CLASS_NAMES
    assert data.true == {"time_shift": pytest.approx(0.4), "gain": ag.Gain.coordinates[0].limit}


@pytest.mark.parametrize(("place", "extent"), [(0.45, 0.05), (0.5, 0.25), (0.3, 0.29)])
def test_pulses_match_the_labels_and_fill_the_range(place, extent):
    data = signals(1000, seed=1, place=place, extent=extent)
    late = data.y % 2 == 1
    for centers, middle in ((data.centers[late], place), (data.centers[~late], -place)):
        assert (centers - middle).abs().max() <= extent + 1e-6
        assert (centers - middle).abs().max() > 0.95 * extent
    assert data.true["time_shift"] == pytest.approx(place - extent)


def place_of(x: torch.Tensor) -> torch.Tensor:
    """Where the energy of a signal lies, from -1 to 1."""
    time = (torch.arange(x.shape[-1]) * 2 + 1) / x.shape[-1] - 1
    energy = x[:, 0].square()
    return (energy * time).sum(1) / energy.sum(1)


def test_shifts_within_the_true_extent_keep_the_places_apart_and_further_ones_do_not():
    data = signals(2000, seed=4)
    shift, late = ag.TimeShift(), data.y % 2 == 1
    true = data.true["time_shift"]

    def worst(t):
        towards_the_middle = torch.where(late, -t, t)[:, None]
        position = place_of(shift(data.x, towards_the_middle))
        return torch.where(late, position, -position).min()

    assert worst(torch.tensor(0.99 * true)) > 0
    assert worst(torch.tensor(1.02 * true)) < 0


def test_a_shifted_signal_does_not_reveal_how_far_it_was_shifted():
    """An early pulse moved late is a late pulse, to the last silent sample."""
    data = signals(400, seed=8)
    early, late = (int((data.y == label).nonzero()[0]) for label in (0, 1))
    bumps = data.x / data.x.amax(-1, keepdim=True)
    moved = ag.TimeShift()(bumps[[early]], (data.centers[late] - data.centers[early]).reshape(1, 1))
    assert (moved - bumps[[late]]).abs().max() < 0.05  # what a linear interpolation loses


def test_every_pulse_stays_in_view_at_the_true_extent():
    data = signals(200, seed=5)
    outwards = torch.sign(data.centers)[:, None] * data.true["time_shift"]
    kept = ag.TimeShift()(data.x, outwards).square().sum((1, 2)) / data.x.square().sum((1, 2))
    assert kept.min() > 0.9


def test_stretching_never_takes_a_pulse_across_the_middle():
    data = signals(200, seed=5)
    for t in (-1.0, 0.5):
        moved = place_of(ag.TimeScale()(data.x, torch.full((200, 1), t)))
        assert (torch.sign(moved) == torch.sign(data.centers)).all()


def test_loudness_is_independent_of_the_label():
    data = signals(4000, seed=6)
    loud = data.x.abs().amax((1, 2)).log()
    assert loud.max() > 0.9 * LOUDNESS and loud.min() < -0.9 * LOUDNESS
    means = torch.stack([loud[data.y == label].mean() for label in range(4)])
    assert (
        means - loud.mean()
    ).abs().max() < 5 * LOUDNESS / 3**0.5 / 1000**0.5  # five standard errors of a uniform draw


def test_the_two_shapes_are_unlike_each_other():
    data = signals(200, seed=7)
    x = data.x[:, 0] / data.x[:, 0].norm(dim=1, keepdim=True)
    spectrum = torch.fft.rfft(x).abs()  # blind to where a pulse stands
    bump, wave = (spectrum[data.y // 2 == shape] for shape in (0, 1))
    assert torch.cdist(bump, wave).min() > 3 * torch.cdist(bump, bump).max()


def test_a_seed_repeats_and_leaves_the_global_state_alone():
    before = torch.get_rng_state()
    a, b, c = signals(20, seed=1), signals(20, seed=1), signals(20, seed=2)
    assert torch.equal(a.x, b.x) and torch.equal(a.y, b.y) and not torch.equal(a.x, c.x)
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize(
    "options", [{"n": 0}, {"extent": 0.0}, {"extent": 0.5}, {"place": 1.2}, {"samples": 8}]
)
def test_impossible_sizes_are_rejected(options):
    with pytest.raises(ag.InputError, match="signals needs"):
        signals(**{"n": 4, **options})
