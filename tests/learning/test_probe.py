"""Probes on networks given by formulas: extents converge to the known ones from any start."""

import math

import pytest
import torch
from torch import nn

import augerino as ag
from augerino.learning.probe import Probe, sharing

STEPS = 300


class Shift(ag.Transform):
    """Translates points: x + t.   x: (B, 2)   t: (B, 2)"""

    coordinates = (ag.Coordinate("first", limit=4.0), ag.Coordinate("second", limit=4.0))

    def forward(self, x, t):
        return x + t


class Sharp(nn.Module):
    """Predicts the sign of the first number with high confidence and ignores the second."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(50.0))

    def forward(self, x):
        return torch.stack([-self.scale * x[:, 0], self.scale * x[:, 0]], dim=1)


def numbers(n=1000):
    """Points whose first number lies in ±[0.5, 1.5]; its sign is the label.

    Translations of the first number by up to 0.5 preserve every label.
    """
    g = torch.Generator().manual_seed(0)
    side = torch.randint(2, (n,), generator=g)
    x = torch.stack(
        [(2 * side - 1) * (0.5 + torch.rand(n, generator=g)), torch.randn(n, generator=g)], dim=1
    )
    return x, side


def probed(net, bounds, **options):
    augmentation = ag.Augmentation(Shift(), ag.Uniform(bounds))
    model = ag.InvariantModel(net, augmentation, average=ag.mean_log_prob)
    probe = Probe(model, *numbers(), steps=STEPS, **options)
    torch.manual_seed(0)
    for _ in range(STEPS):
        probe.step()
    return augmentation.extent, probe


@pytest.mark.parametrize("start", [0.05, 0.5, 3.0])
def test_a_bound_goes_to_where_labels_would_change_and_a_free_one_to_its_limit(start):
    bounds, probe = probed(Sharp(), [start, start])
    assert 0.45 < bounds["first"] < 0.7
    assert bounds["second"] == pytest.approx(4.0, rel=0.01)
    assert probe.unfinished == ()


class Fitted(nn.Module):
    """The Bayes-optimal network for samples translated by up to the current bound."""

    def __init__(self):
        super().__init__()
        self.idle = nn.Parameter(torch.zeros(1))
        self.augmentation = [ag.Augmentation(Shift(), ag.Uniform([0.3, 0.3]))]

    def forward(self, x):
        w = self.augmentation[0].distribution.bound[0].detach()
        start = x[:, 0] - w
        end = x[:, 0] + w
        overlaps = [
            (end.clamp_max(high) - start.clamp_min(low)).clamp_min(1e-6)
            for low, high in ((-1.5, -0.5), (0.5, 1.5))
        ]
        return torch.stack(overlaps, dim=1).log() + self.idle


def test_the_extent_follows_from_where_the_loss_begins_to_rise():
    """The extents of the rounds depend on the tolerance; the final one does not."""
    found = {}
    for tolerance in (0.01, 0.03, 0.1):
        net = Fitted()
        model = ag.InvariantModel(net, net.augmentation[0], average=ag.mean_log_prob)
        torch.manual_seed(0)
        probe = Probe(model, *numbers(4000), steps=STEPS, tolerance=tolerance)
        for _ in range(STEPS):
            probe.step()
        found[tolerance] = net.augmentation[0].extent["first"]
    assert list(found.values()) == pytest.approx([0.5] * 3, rel=0.08), found


def test_a_larger_tolerance_gives_wider_bounds():
    narrow, _ = probed(Sharp(), [0.3, 0.3], tolerance=0.01)
    wide, _ = probed(Sharp(), [0.3, 0.3], tolerance=0.2)
    assert narrow["first"] < wide["first"]


def test_settings_change_what_a_probe_does():
    usual, _ = probed(Sharp(), [0.3, 0.3])
    short, probe = probed(Sharp(), [0.3, 0.3], settings=ag.ProbeSettings(max_step=0.01))
    assert short["second"] < usual["second"]
    assert "second" in probe.unfinished


class Harder(nn.Module):
    """Predicts the sign of the first number, with less confidence for larger other numbers.

    The last number has no effect.
    """

    def __init__(self, sure):
        super().__init__()
        self.sure = nn.Parameter(torch.tensor(sure))

    def forward(self, x):
        logit = self.sure * x[:, 0] / (1 + x[:, 1:-1].square().sum(dim=1))
        return torch.stack([-logit, logit], dim=1)


def harder(count, sure=0.5):
    """Learns the extents of `count` coordinates that make a task harder, and of a free one."""

    class Others(ag.Transform):
        coordinates = tuple(
            ag.Coordinate(name, limit=4.0)
            for name in (*(f"harder {i}" for i in range(count)), "free")
        )

        def forward(self, x, t):
            return torch.cat([x[:, :1], x[:, 1:] + t], dim=1)

    side = torch.arange(1000) % 2
    x = torch.cat([2.0 * side[:, None] - 1, torch.zeros(1000, count + 1)], dim=1)
    augmentation = ag.Augmentation(Others(), ag.Uniform([0.3] * (count + 1)))
    model = ag.InvariantModel(Harder(sure), augmentation, average=ag.mean_log_prob)
    torch.manual_seed(0)
    probe = Probe(model, x, side, steps=STEPS)
    for _ in range(STEPS):
        probe.step()
    return augmentation.extent


def test_coordinates_that_cost_something_share_the_tolerance_and_a_free_one_takes_none():
    alone, four = harder(1), harder(4)
    each = [value for name, value in four.items() if name != "free"]
    assert max(each) < 0.85 * alone["harder 0"]
    assert min(each) > 0.8 * max(each)
    assert alone["free"] == four["free"] == pytest.approx(4.0, rel=0.01)


def test_for_a_solved_task_each_coordinate_has_the_whole_tolerance():
    alone = harder(1, sure=3.0)["harder 0"]
    # Not 1.0: drawing the other coordinates from their centres costs a little as well.
    assert harder(4, sure=3.0)["harder 0"] > 0.87 * alone


@pytest.mark.parametrize(
    ("costs", "among"),
    [
        ([1.0] * 4, 4.0),
        ([0.25] * 4, 4.0),
        ([1.0, 0.0, -3.0], 1.0),
        ([0.1, 0.1], 1.0),
        ([0.5, 5.0, 0.0], 2.0),
        ([0.0], 1.0),
    ],
)
def test_among_how_many_the_tolerance_is_divided(costs, among):
    assert sharing(torch.tensor(costs)) == pytest.approx(among)


def test_extents_shrink_together_while_the_network_has_no_information():
    constant = Sharp()
    constant.scale.data.zero_()
    bounds, probe = probed(constant, [0.3, 0.6])
    assert probe.unfinished == ("first", "second")
    assert bounds["first"] < 0.1 and bounds["second"] == pytest.approx(2 * bounds["first"])


def test_extents_stay_positive_under_extreme_settings():
    constant = Sharp()
    constant.scale.data.zero_()
    bounds, _ = probed(constant, [0.3, 0.6], settings=ag.ProbeSettings(max_step=10.0))
    assert all(0 < bound < 1e-20 for bound in bounds.values())


def test_extents_shrink_if_all_labels_are_the_same():
    augmentation = ag.Augmentation(Shift(), ag.Uniform([0.5, 0.5]))
    model = ag.InvariantModel(Sharp(), augmentation, average=ag.mean_log_prob)
    probe = Probe(model, numbers()[0], torch.zeros(1000, dtype=torch.long), steps=STEPS)
    for _ in range(STEPS):
        probe.step()
    assert all(bound < 0.1 for bound in augmentation.extent.values())


def test_an_extent_that_is_still_growing_is_unfinished():
    _, probe = probed(Sharp(), [0.3, 1e-3])
    assert probe.unfinished == ("second",)


def test_a_training_too_short_for_a_round_leaves_all_unfinished():
    model = ag.InvariantModel(
        Sharp(), ag.Augmentation(Shift(), ag.Uniform([0.3, 0.3])), average=ag.mean_log_prob
    )
    probe = Probe(model, *numbers(), steps=2)
    probe.step(), probe.step()
    assert probe.unfinished == ("first", "second")


def test_bounds_stay_once_settled():
    bounds, probe = probed(Sharp(), [0.3, 0.3])
    assert probe.settled
    before = probe.model.augmentation.extent
    for _ in range(STEPS):
        probe.step()
    assert probe.model.augmentation.extent == before == bounds


@pytest.mark.parametrize(("matters", "wanted"), [(True, 0.0), (False, 0.5)])
def test_a_flip_goes_to_zero_where_mirrored_means_something_else_and_to_a_half_where_it_does_not(
    matters, wanted
):
    class Sides(nn.Module):
        """Compares the left half of an image with the right half, by sign or by absolute value."""

        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.tensor(50.0))

        def forward(self, x):
            left, right = x[..., :2].mean(dim=(1, 2, 3)), x[..., 2:].mean(dim=(1, 2, 3))
            score = self.scale * (right - left if matters else (right - left).abs() - 0.5)
            return torch.stack([-score, score], dim=1)

    y = torch.arange(64) % 2
    x = torch.zeros(64, 1, 4, 4)
    x[y == 1, ..., 2:] = 1.0
    x[y == 0, ..., :2] = 1.0 if matters else 0.0
    augmentation = ag.Augmentation(ag.Flip("flip_horizontal"), ag.Bernoulli([0.15]))
    probe = Probe(
        ag.InvariantModel(Sides(), augmentation, average=ag.mean_log_prob), x, y, steps=STEPS
    )
    for _ in range(STEPS):
        probe.step()
    assert augmentation.distribution.probability.item() == pytest.approx(wanted, abs=0.01)


class Triangle(ag.LearnedDistribution):
    """A user-defined distribution: triangular on [-2 scale, 2 scale], with extent 2 scale."""

    def __init__(self, scale):
        super().__init__()
        self.log_scale = nn.Parameter(torch.tensor(scale).log())

    def forward(self):
        raise NotImplementedError

    def icdf(self, u):
        side = 2 * u - 1
        return self.extent * side.sign() * (1 - (1 - side.abs()).sqrt())

    @property
    def extent(self):
        return 2 * self.log_scale.exp()

    @extent.setter
    def extent(self, value):
        self.log_scale.data.copy_((torch.as_tensor(value) / 2).log())

    @property
    def support(self):
        return -self.extent, self.extent

    def settings(self):
        return {"scale": self.log_scale.exp().tolist()}


@pytest.mark.parametrize(
    "distribution",
    [
        ag.Interval([-0.3, -0.3], [0.3, 0.3]),
        Triangle([0.15, 0.15]),
        ag.Uniform([0.3, 0.3]),
    ],
    ids=lambda distribution: type(distribution).__name__,
)
def test_every_distribution_with_a_settable_extent_is_moved(distribution):
    augmentation = ag.Augmentation(Shift(), distribution)
    model = ag.InvariantModel(Sharp(), augmentation, average=ag.mean_log_prob)
    probe = Probe(model, *numbers(), steps=STEPS)
    torch.manual_seed(0)
    for _ in range(STEPS):
        probe.step()
    assert 0.45 < augmentation.extent["first"] < 0.7
    assert augmentation.extent["second"] == pytest.approx(4.0, rel=0.01)


def test_an_interval_is_probed_at_its_own_two_ends():
    """Its ends keep their ratio; the farther end stops where labels change, or at the limit."""
    interval = ag.Interval([-0.1, -0.4], [0.3, 0.2])
    model = ag.InvariantModel(Sharp(), ag.Augmentation(Shift(), interval), average=ag.mean_log_prob)
    probe = Probe(model, *numbers(), steps=STEPS)
    torch.manual_seed(0)
    for _ in range(STEPS):
        probe.step()
    assert torch.allclose(interval.high / interval.low, torch.tensor([-3.0, -0.5]), rtol=1e-3)
    assert 0.45 < interval.high[0] < 0.8
    assert interval.low[1].item() == pytest.approx(-4.0, rel=0.01)
    assert probe.unfinished == ()


def test_a_probe_resumes_from_its_state_dict():
    def run(stop):
        augmentation = ag.Augmentation(Shift(), ag.Uniform([0.1, 0.1]))
        model = ag.InvariantModel(Sharp(), augmentation, average=ag.mean_log_prob)
        probe = Probe(model, *numbers(), steps=STEPS)
        torch.manual_seed(0)
        for step in range(STEPS):
            if step == stop:
                state = probe.state_dict()
                probe = Probe(model, *numbers(), steps=STEPS)
                probe.load_state_dict(state)
            probe.step()
        return augmentation.extent

    assert run(int(STEPS * (ag.ProbeSettings.stop - 0.05))) == run(None)


def test_a_regression_is_scored_in_units_of_its_target_variance():
    x = torch.linspace(-1, 1, 400)[:, None].repeat(1, 2)
    found = []
    for unit in (1.0, 1000.0):

        class First(nn.Module):
            def __init__(self, unit=unit):
                super().__init__()
                self.unit = nn.Parameter(torch.tensor(unit))

            def forward(self, x):
                return self.unit * x[:, :1]

        augmentation = ag.Augmentation(Shift(), ag.Uniform([0.3, 0.3]))
        probe = Probe(ag.InvariantModel(First(), augmentation), x, unit * x[:, :1], steps=STEPS)
        torch.manual_seed(0)
        for _ in range(STEPS):
            probe.step()
        found.append(augmentation.extent)
    assert found[0] == pytest.approx(found[1], rel=1e-3)
    assert found[0]["first"] < 0.35  # the target itself
    assert found[0]["second"] == pytest.approx(4.0, rel=0.01)


def test_a_distribution_without_a_finite_range_is_rejected():
    model = ag.InvariantModel(
        Sharp(), ag.Augmentation(Shift(), ag.Gaussian([0.0, 0.0], [0.1, 0.1]))
    )
    with pytest.raises(
        ag.InputError, match="a finite range and a settable extent, but got a Gaussian"
    ):
        Probe(model, *numbers(), steps=STEPS)


@pytest.mark.parametrize("tolerance", [0, 1, -1, math.nan])
def test_a_tolerance_is_a_fraction(tolerance):
    with pytest.raises(ag.InputError, match="tolerance is a fraction of the information"):
        probed(Sharp(), [0.1, 0.1], tolerance=tolerance)
