"""Learned distributions: the laws of the family, and parameters in real units."""

import math

import pytest
import torch

import augerino as ag
from augerino.distributions import Product
from augerino.distributions.haar import rotation_vector
from augerino.testing import check_distribution

FACTOR = [[0.5, 0.0, 0.0], [0.1, 0.2, 0.0], [-0.3, 0.05, 1.0]]
MEMBERS = {
    "Uniform": lambda: ag.Uniform([0.1, 2.0, 1e-3]),
    "Uniform with rates": lambda: ag.Uniform([0.1, 2.0, 1e-3], rate=[0.5, 1.0, 0.75]),
    "Interval": lambda: ag.Interval([-0.1, -1.0], [0.3, 0.5]),
    "Gaussian": lambda: ag.Gaussian([0.1, -0.2, 0.0], FACTOR),
    "Gaussian of one": lambda: ag.Gaussian([0.1], [0.5]),
    "Bernoulli": lambda: ag.Bernoulli([0.1, 0.5, 0.8]),
    "Haar": lambda: ag.Haar(),
    "Product": lambda: Product(
        [ag.Uniform([0.1]), ag.Bernoulli([0.3]), ag.Gaussian([0.0, 1.0], [0.2, 0.3])]
    ),
}
each = pytest.mark.parametrize("make", MEMBERS.values(), ids=MEMBERS.keys())


@each
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_laws(make, dtype):
    distribution = make().to(dtype)
    assert distribution.rsample(2).dtype == dtype
    check_distribution(distribution)


@each
def test_rsample_agrees_with_the_torch_distribution_it_returns(make):
    distribution = make()
    ours, theirs = distribution.rsample(40_000), distribution().sample((40_000,))
    assert torch.allclose(ours.mean(0), theirs.mean(0), atol=0.05)
    assert torch.allclose(ours.T.cov(), theirs.T.cov(), atol=0.05)


@each
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_quadrature_points_are_deterministic_and_evenly_spaced(make, dtype):
    distribution = make().to(dtype)
    nodes = distribution.quadrature_points(1024)
    assert nodes.dtype == dtype
    assert nodes.isfinite().all()
    assert torch.equal(nodes, make().to(dtype).quadrature_points(1024))
    current = distribution()
    deviation = current.variance.sqrt()
    # The standard error of 1024 random draws would be 0.03 deviations.
    assert ((nodes.mean(0) - current.mean).abs() < 0.01 * deviation).all()
    assert ((nodes.std(0) - deviation).abs() < 0.02 * deviation).all()
    assert all(
        parameter.grad_fn is None and parameter.requires_grad
        for parameter in distribution.parameters()
    )
    parameters = list(distribution.parameters())
    gradients = (
        torch.autograd.grad(nodes.square().sum(), parameters, allow_unused=True)
        if parameters
        else ()
    )
    assert all(gradient is not None for gradient in gradients)


@pytest.mark.parametrize("n", [1, 2, 16, 64])
def test_a_power_of_two_of_nodes_is_the_midpoint_rule_in_every_coordinate(n):
    nodes = ag.Uniform([1.0, 1.0, 1.0]).double().quadrature_points(n)
    middles = (2 * torch.arange(n, dtype=torch.float64) + 1) / n - 1
    for column in nodes.T:
        assert torch.allclose(column.sort().values, middles)


def test_zero_nodes_are_rejected():
    with pytest.raises(ag.InputError, match="at least 1 node, but got 0"):
        ag.Uniform([1.0]).quadrature_points(0)


def test_bounds_are_set_and_read_in_real_units():
    uniform = ag.Uniform([0.1, 0.2])
    uniform.bound = 0.3
    assert torch.allclose(uniform.bound, torch.tensor([0.3, 0.3]))
    uniform.bound = [1e-6, 50.0]
    assert torch.allclose(uniform.bound, torch.tensor([1e-6, 50.0]))
    assert torch.allclose(uniform.support[1], uniform.bound) and torch.allclose(
        uniform.support[0], -uniform.bound
    )
    interval = ag.Interval([-0.1], [0.1])
    interval.low = -0.5
    interval.high = 0.7
    assert torch.allclose(interval.extent, torch.tensor([0.6]))
    bernoulli = ag.Bernoulli([0.5])
    bernoulli.probability = 0.9
    assert torch.allclose(bernoulli.probability, torch.tensor([0.9]))
    assert torch.allclose(bernoulli.extent, torch.tensor([0.2]))
    gaussian = ag.Gaussian([0.0, 0.0, 0.0], [1.0, 1.0, 1.0])
    gaussian.scale_tril = FACTOR
    assert torch.allclose(gaussian.scale_tril, torch.tensor(FACTOR))
    assert torch.allclose(gaussian.extent, torch.tensor(FACTOR).norm(dim=1))


@pytest.mark.parametrize("name", [name for name in MEMBERS if name != "Haar"])
def test_an_extent_is_set_in_real_units(name):
    distribution = MEMBERS[name]().double()
    parameters = list(distribution.parameters())
    wanted = 0.7 * distribution.extent.detach()
    distribution.extent = wanted
    assert torch.allclose(distribution.extent, wanted)
    distribution.extent = 0.25
    assert torch.allclose(distribution.extent, torch.full_like(wanted, 0.25))
    assert all(a is b for a, b in zip(distribution.parameters(), parameters, strict=True))
    with pytest.raises(ag.InputError):
        distribution.extent = -1.0


def test_setting_an_extent_keeps_the_shape_of_a_distribution():
    interval = ag.Interval([-0.1, -1.0], [0.3, 0.5])
    interval.extent = [0.4, 0.75]
    assert torch.allclose(interval.low, torch.tensor([-0.2, -1.0]))
    assert torch.allclose(interval.high, torch.tensor([0.6, 0.5]))
    gaussian = ag.Gaussian([0.1, -0.2, 0.0], FACTOR)
    before = gaussian().covariance_matrix
    gaussian.extent = 2 * gaussian.extent.detach()
    assert torch.allclose(gaussian().covariance_matrix, 4 * before)
    bernoulli = ag.Bernoulli([0.8])
    bernoulli.extent = 0.5
    assert torch.allclose(bernoulli.probability, torch.tensor([0.25]))


def test_the_extent_of_uniform_rotations_cannot_be_set():
    haar = ag.Haar()
    haar.extent = math.pi
    with pytest.raises(ag.InputError, match="its extent is pi, but got"):
        haar.extent = 1.0


def test_an_incomplete_distribution_cannot_be_built():
    class NoExtent(ag.LearnedDistribution):
        def forward(self):
            raise NotImplementedError

    with pytest.raises(TypeError, match="abstract"):
        NoExtent()


def test_setting_a_bound_keeps_the_parameter_that_an_optimizer_holds():
    uniform = ag.Uniform([0.1])
    parameter = uniform.raw_bound
    uniform.bound = 0.5
    assert uniform.raw_bound is parameter and parameter.requires_grad


def test_named_starts():
    names = ("rotate", "scale")
    assert torch.allclose(ag.Uniform.named(names, start=0.2).bound, torch.tensor([0.2, 0.2]))
    assert torch.allclose(
        ag.Uniform.named(names, start=0.2, scale=0.5).bound, torch.tensor([0.2, 0.5])
    )
    assert torch.allclose(ag.Gaussian.named(names, start=0.2).extent, torch.tensor([0.2, 0.2]))
    with pytest.raises(
        ag.InputError, match="start for 'sclae', but the coordinates are: rotate, scale"
    ):
        ag.Uniform.named(names, sclae=0.5)


def test_the_entropy_of_a_box_is_its_log_volume():
    assert torch.allclose(ag.Uniform([0.5, 2.0]).entropy(), torch.tensor(1.0 * 4.0).log())


def test_a_rate_is_the_fraction_of_samples_drawn_from_the_range():
    uniform = ag.Uniform([0.4, 2.0, 1.0], rate=[0.2, 1.0, 0.01])
    t = uniform.rsample(40_000, torch.Generator().manual_seed(0)).detach()
    moved = t != 0
    assert torch.allclose(moved.float().mean(0), uniform.rate, atol=0.01)
    for i, bound in enumerate((0.4, 2.0)):
        values = t[moved[:, i], i] / bound
        assert values.abs().max() <= 1 and values.abs().max() > 0.99
        assert (
            values.std().item() == pytest.approx(3**-0.5, rel=0.02)
            and abs(values.mean().item()) < 0.02
        )
    both = (moved[:, 0] & moved[:, 2]).float().mean().item()
    assert both == pytest.approx(0.2 * 0.01, abs=0.001)  # independent


def test_a_rate_of_one_changes_no_bit_of_a_draw():
    u = torch.rand(1000, 2, generator=torch.Generator().manual_seed(0))
    uniform = ag.Uniform([0.3, 5.0])
    assert torch.equal(uniform.icdf(u), uniform.bound * (2 * u - 1))


def test_rates_below_one_are_described_and_saved():
    pair = ag.Augmentation(
        ag.Affine2d("rotate", "scale"), ag.Uniform([math.pi / 4, 0.1], rate=[0.25, 1.0])
    )
    assert pair.describe()["rotate"] == "±45.0° in 25 % of copies"
    assert "copies" not in pair.describe()["scale"]
    assert "rate" not in ag.Uniform([0.1]).settings()
    other = ag.Uniform([1.0, 1.0])
    other.load_state_dict(pair.distribution.state_dict())
    assert other.rate.tolist() == [0.25, 1.0]


def test_bernoulli_samples_are_zero_or_one_and_pass_the_gradient_straight():
    bernoulli = ag.Bernoulli([0.3])
    t = bernoulli.rsample(1000)
    assert set(t.detach().flatten().tolist()) == {0.0, 1.0}
    (gradient,) = torch.autograd.grad(t.sum(), bernoulli.raw_probability)
    assert torch.allclose(gradient, torch.tensor([1000 * 0.3 * 0.7]), rtol=1e-4)


def test_a_tiny_bound_stays_positive_and_samples():
    uniform = ag.Uniform([0.1])
    uniform.raw_bound.data.fill_(-1e4)
    assert uniform.bound.item() > 0
    assert (
        uniform.rsample(3).isfinite().all()
        and uniform().sample((3,)).isfinite().all()
        and uniform.entropy().isfinite()
    )


def test_parameters_follow_dtype_and_state_dict():
    uniform = ag.Uniform([0.3]).double()
    assert uniform().sample().dtype == torch.float64
    other = ag.Uniform([1.0]).double()
    other.load_state_dict(uniform.state_dict())
    assert torch.equal(other.bound, uniform.bound)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ag.Uniform([0.1, -0.2]), "above 0"),
        (lambda: ag.Uniform([0.0]), "leave it out of the transform"),
        (lambda: ag.Uniform([float("nan")]), "finite"),
        (lambda: ag.Uniform([[0.1]]), "a vector"),
        (lambda: ag.Uniform([0.1], rate=0.0), "above 0 and at most 1"),
        (lambda: ag.Uniform([0.1], rate=[1.5]), "above 0 and at most 1"),
        (lambda: ag.Uniform([0.1, 0.2], rate=[0.5, 0.5, 0.5]), "one number or 2"),
        (lambda: ag.Interval([0.1], [0.2]), "Interval's low"),
        (lambda: ag.Interval([-0.1], [0.2, 0.3]), "as many low as high"),
        (lambda: ag.Bernoulli([1.0]), "strictly between 0 and 1"),
        (lambda: ag.Gaussian([0.0, 0.0], [[1.0, 0.5], [0.0, 1.0]]), "above the diagonal"),
        (lambda: ag.Gaussian([0.0, 0.0], [1.0, -1.0]), "above 0"),
        (lambda: ag.Gaussian([0.0, 0.0], [1.0, 1.0, 1.0]), "2 standard deviations"),
    ],
)
def test_invalid_values_are_rejected(make, message):
    with pytest.raises(ag.InputError, match=message):
        make()


def test_discrete_outcomes_are_enumerated_and_share_the_continuous_samples():
    product = Product([ag.Uniform([0.5]), ag.Bernoulli([0.2, 0.7])])
    t, weight = product.enumerate_discrete(3)
    t = t.reshape(4, 3, 3)
    assert torch.equal(t[..., 0], t[0, :, 0].expand(4, 3))
    outcomes = [tuple(branch[0, 1:].tolist()) for branch in t]
    assert outcomes == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert weight.tolist() == pytest.approx([0.8 * 0.3, 0.8 * 0.7, 0.2 * 0.3, 0.2 * 0.7])


def test_continuous_distributions_and_many_flips_are_not_enumerated():
    assert ag.Uniform([0.5, 0.1]).enumerate_discrete(4)[1] is None
    t, weight = ag.Bernoulli([0.5] * 3).enumerate_discrete(4)  # eight outcomes would cost too much
    assert weight is None and t.shape == (4, 3)


def test_two_discrete_parts_are_crossed():
    t, weight = Product([ag.Bernoulli([0.25]), ag.Bernoulli([0.5])]).enumerate_discrete(2)
    assert t.shape == (8, 2)
    assert weight.sum().item() == pytest.approx(1)
    assert t[::2].tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]


class TestHaar:
    """Known properties of uniform rotations; tests at a significance level of 1e-4."""

    turn = ag.Augmentation(ag.Affine3d("rotate_x", "rotate_y", "rotate_z"), ag.Haar()).double()

    def matrices(self, n=20_000):
        return self.turn.transform.matrix(self.turn.sample(n).t)[:, :3, :3]

    def test_the_angle_has_density_one_minus_cosine_over_pi(self):
        trace = self.matrices().diagonal(dim1=1, dim2=2).sum(1)
        angle = torch.acos(((trace - 1) / 2).clamp(-1, 1)).sort().values
        expected = (angle - angle.sin()) / math.pi
        drawn = torch.arange(1, len(angle) + 1, dtype=torch.float64) / len(angle)
        assert (drawn - expected).abs().max() < 2.23 / len(angle) ** 0.5  # Kolmogorov-Smirnov

    def test_every_column_is_uniform_on_the_sphere(self):
        matrices = self.matrices()
        # A coordinate of a uniform point on the sphere is uniform (Archimedes).
        for heights in matrices.permute(1, 2, 0).flatten(0, 1):
            drawn = torch.arange(1, len(heights) + 1, dtype=torch.float64) / len(heights)
            expected = (heights.sort().values + 1) / 2
            assert (drawn - expected).abs().max() < 2.23 / len(heights) ** 0.5
        assert matrices.mean(0).abs().max() < 5 / (3 * len(matrices)) ** 0.5

    def test_the_distribution_is_invariant_to_rotations_from_both_sides(self):
        t = torch.tensor([[0.3, -1.0, 2.0]], dtype=torch.float64)
        fixed = self.turn.transform.matrix(t)[:, :3, :3]
        for moved in (fixed @ self.matrices(), self.matrices() @ fixed):
            assert moved.mean(0).abs().max() < 5 / (3 * len(moved)) ** 0.5
            assert torch.allclose(
                moved.square().mean(0),
                torch.full((3, 3), 1 / 3).double(),
                atol=5 * 0.3 / len(moved) ** 0.5,
            )

    def test_the_density_integrates_to_one_and_is_zero_outside_the_ball(self):
        angle = torch.linspace(0, math.pi, 2001, dtype=torch.float64)
        vectors = angle[:, None] * torch.tensor([[0.6, 0.0, 0.8]], dtype=torch.float64)
        density = 4 * math.pi * angle.square() * ag.Haar()().log_prob(vectors).exp()
        assert torch.trapezoid(density, angle).item() == pytest.approx(1, abs=1e-6)
        assert torch.allclose(density, (1 - angle.cos()) / math.pi)
        assert ag.Haar()().log_prob(torch.tensor([3.0, 3.0, 0.0])).item() == -math.inf

    def test_the_identity_and_half_turns_are_finite(self):
        quaternions = torch.tensor(
            [[1.0, 0, 0, 0], [-1.0, 0, 0, 0], [0, 1.0, 0, 0], [0, 0, -1.0, 0]]
        )
        vectors = rotation_vector(quaternions)
        assert torch.equal(vectors[:2], torch.zeros(2, 3)) and torch.allclose(
            vectors[2:].norm(dim=1), torch.tensor(math.pi)
        )

    def test_it_combines_with_translations(self):
        """As one product, or as a chain in which translation and rotation are independent."""
        names = ("rotate_x", "rotate_y", "rotate_z", "translate_x", "translate_y", "translate_z")
        joint = ag.Augmentation(
            ag.Affine3d(*names), Product([ag.Haar(), ag.Uniform([2.0] * 3)])
        ).double()
        chain = ag.Chain(
            self.turn, ag.Augmentation(ag.Affine3d(*names[3:]), ag.Uniform([2.0] * 3).double())
        )
        point = torch.zeros(2000, 1, 3, dtype=torch.float64)
        assert (chain(point).abs().amax((0, 1)) > 1.9).all() and chain(point).abs().max() <= 2
        g = joint.sample(2000)
        linear = joint.transform.matrix(g.t)[:, :3, :3]
        assert torch.allclose(
            linear @ linear.mT, torch.eye(3, dtype=torch.float64).expand_as(linear)
        )
        assert linear.mean(0).abs().max() < 5 / (3 * len(linear)) ** 0.5

    def test_it_has_no_parameters(self):
        assert not list(ag.Haar().parameters()) and not ag.Haar().state_dict()
        assert str(self.turn).startswith("Affine3d: rotate_x uniform over all rotations")
