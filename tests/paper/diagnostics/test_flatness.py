"""Eigenvalues against the dense Hessian, laws of the effective dimension and of rays."""

import sys

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import augerino as ag
from augerino.paper.diagnostics import LossSurface, curvature, effective_dimension, loss_along_rays
from augerino.paper.diagnostics.curvature import hessian_product
from augerino.paper.diagnostics.rays import random_direction

SPECTRA = st.lists(st.floats(-10, 1e6), min_size=1, max_size=30)
POSITIVE = st.floats(1e-3, 1e3)


def small_net(dtype=torch.float64) -> nn.Module:
    """A convolution with batch norm of nontrivial statistics, a bias, and a head: 102 weights."""
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Tanh(), nn.Flatten(), nn.Linear(16, 3)
    ).to(dtype)
    net(torch.randn(20, 1, 4, 4, dtype=dtype))
    return net


def items(count: int = 7, dtype=torch.float64) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    return torch.randn(count, 1, 4, 4, dtype=torch.float64, generator=generator).to(
        dtype
    ), torch.arange(count) % 3


def averaged(net: nn.Module, **options) -> ag.InvariantModel:
    augmentation = ag.Augmentation(
        ag.Affine2d("rotate", "translate_x"), ag.Uniform([0.8, 0.4])
    ).double()
    return ag.InvariantModel(net, augmentation, average=ag.mean_log_prob, **options)


def dense_hessian(surface: LossSurface) -> torch.Tensor:
    """The whole matrix, row by row."""
    gradient = torch.autograd.grad(sum(surface.losses()), surface.weights, create_graph=True)
    rows = [
        torch.autograd.grad(slope, surface.weights, retain_graph=True, materialize_grads=True)
        for part in gradient
        for slope in part.flatten()
    ]
    return torch.stack([torch.cat([part.flatten() for part in row]) for row in rows])


def test_the_dense_hessian_is_torchs():
    surface = LossSurface(small_net(), F.cross_entropy, *items(), batch_size=3)
    net, weights = surface.model.eval(), dict(surface.model.named_parameters())

    def loss(flat):
        parts = flat.split([weight.numel() for weight in weights.values()])
        moved = {
            name: part.reshape(weights[name].shape)
            for name, part in zip(weights, parts, strict=True)
        }
        return F.cross_entropy(torch.func.functional_call(net, moved, (surface.x,)), surface.y)

    at = torch.cat([weight.detach().flatten() for weight in weights.values()])
    assert torch.allclose(
        torch.autograd.functional.hessian(loss, at), dense_hessian(surface), atol=1e-12
    )


@pytest.mark.parametrize(
    "model",
    [small_net, lambda: averaged(small_net()), lambda: averaged(small_net(), test_copies=1)],
)
def test_leading_eigenvalues_are_those_of_the_dense_hessian(model):
    """Also in several batches, and for an averaged model, whose draws are always the same."""
    surface = LossSurface(
        model(), lambda p, y: F.nll_loss(p.log_softmax(1), y), *items(), batch_size=4
    )
    dense = dense_hessian(surface)
    assert dense.shape == (surface.size, surface.size) and torch.allclose(
        dense, dense.T, atol=1e-12
    )
    v = torch.randn(surface.size, dtype=torch.float64)
    assert torch.allclose(hessian_product(surface, v), dense @ v, atol=1e-12)
    exact = torch.linalg.eigvalsh(dense).flip(0)
    found = curvature(surface, 6, tolerance=1e-8)
    assert found.eigenvalues == pytest.approx(exact[:6].tolist(), abs=1e-9)
    assert found.size == surface.size and found.products >= 6
    for z in (0.01, 1.0):
        rest = effective_dimension(exact, z) - found.effective_dimension(z)
        assert -1e-9 <= rest <= (surface.size - 6) * found.last_term(z) + 1e-9


def test_single_precision_finds_the_same_to_its_own_precision():
    double, single = small_net(), small_net(torch.float32)
    single.load_state_dict(double.state_dict())
    found = [
        curvature(LossSurface(net, F.cross_entropy, *items(dtype=net[0].weight.dtype)), 8)
        for net in (double, single)
    ]
    assert found[1].eigenvalues == pytest.approx(found[0].eigenvalues, rel=1e-3)


def test_a_zero_hessian_is_flat():
    """Linear in the weights: no curvature anywhere."""
    surface = LossSurface(
        nn.Linear(3, 1).double(),
        lambda p, y: p.mean(),
        torch.randn(5, 3).double(),
        torch.zeros(5, 1),
    )
    assert hessian_product(surface, torch.ones(4, dtype=torch.float64)).tolist() == [0.0] * 4
    assert curvature(surface, 2).effective_dimension(1e-6) == 0


class TestEffectiveDimension:
    @settings(deadline=None, max_examples=50)
    @given(SPECTRA, POSITIVE)
    def test_it_lies_between_nothing_and_the_number_of_directions(self, eigenvalues, z):
        assert 0 <= effective_dimension(eigenvalues, z) <= len(eigenvalues)

    @settings(deadline=None, max_examples=50)
    @given(SPECTRA, POSITIVE, POSITIVE)
    def test_it_falls_as_z_grows(self, eigenvalues, z, more):
        assert effective_dimension(eigenvalues, z + more) <= effective_dimension(eigenvalues, z)

    @settings(deadline=None, max_examples=50)
    @given(SPECTRA, POSITIVE, st.randoms(use_true_random=False))
    def test_the_order_does_not_matter(self, eigenvalues, z, random):
        shuffled = random.sample(eigenvalues, len(eigenvalues))
        assert effective_dimension(shuffled, z) == effective_dimension(
            torch.tensor(eigenvalues, dtype=torch.float64), z
        )

    @settings(deadline=None, max_examples=50)
    @given(SPECTRA, POSITIVE, POSITIVE)
    def test_only_curvature_as_a_multiple_of_z_matters(self, eigenvalues, z, scale):
        scaled = effective_dimension([scale * value for value in eigenvalues], scale * z)
        assert scaled == pytest.approx(effective_dimension(eigenvalues, z), abs=1e-9)

    def test_a_direction_at_z_counts_as_a_half_and_a_saddle_as_none(self):
        assert (
            effective_dimension([2.0], 2.0) == 0.5 and effective_dimension([-2.0, -1e9], 2.0) == 0
        )

    @pytest.mark.parametrize("z", [0.0, -1.0, float("nan")])
    def test_z_is_above_zero(self, z):
        with pytest.raises(ag.InputError, match="z must be above 0"):
            effective_dimension([1.0], z)


class TestSurface:
    def test_it_is_the_mean_loss_whatever_the_batches_and_bytes_are_scaled(self):
        net, (x, y) = small_net(), items()
        whole = F.cross_entropy(net.eval()(x), y).item()
        assert [
            LossSurface(net, F.cross_entropy, x, y, batch_size=n).mean() for n in (1, 3, 99)
        ] == pytest.approx([whole] * 3)
        pixels = torch.randint(0, 256, x.shape, dtype=torch.uint8)
        scaled = LossSurface(net, F.cross_entropy, pixels.double() / 255, y)
        assert LossSurface(net, F.cross_entropy, pixels, y).mean() == pytest.approx(
            scaled.mean(), abs=1e-12
        )

    def test_draws_are_those_of_the_seed_and_leave_everything_as_it_was(self):
        model, (x, y) = averaged(small_net()).train(), items()
        before = torch.get_rng_state()
        values = [
            LossSurface(model, F.nll_loss, x, y, copies=2, seed=seed).mean() for seed in (0, 0, 1)
        ]
        assert values[0] == values[1] != values[2]
        assert (
            torch.equal(torch.get_rng_state(), before) and model.training and model.test_copies == 4
        )

    def test_for_log_probabilities_it_is_the_loss_averaged_over_the_draws(self):
        """The loss of the mean is the mean of the losses: one copy more is one term more."""
        model, (x, y) = averaged(small_net()), items()
        torch.manual_seed(5)
        with torch.no_grad():
            g = model.augmentation.sample(3 * len(y))
            terms = [
                F.nll_loss(model.net.eval()(moved).log_softmax(1), y)
                for moved in g(x.repeat(3, 1, 1, 1)).split(len(y))
            ]
        surface = LossSurface(model, F.nll_loss, x, y, copies=3, seed=5)
        assert surface.mean() == pytest.approx(float(sum(terms)) / 3, abs=1e-12)

    def test_bounds_are_no_weights_and_frozen_weights_neither(self):
        net = small_net()
        every = sum(weight.numel() for weight in net.parameters())
        assert LossSurface(averaged(net), F.nll_loss, *items()).size == every
        net[4].requires_grad_(False)
        assert LossSurface(averaged(net), F.nll_loss, *items()).size == every - 51

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"y": torch.zeros(3)}, "one target per input.* but got 7 inputs and 3 targets"),
            ({"copies": 0}, "copies must be at least 1, but got 250 and 0"),
            ({"batch_size": 0}, "must be at least 1, but got 0"),
            ({"copies": 2}, "A Sequential draws no copies"),
            ({"model": nn.Flatten()}, "needs trainable weights, but the Flatten has none"),
        ],
    )
    def test_invalid_arguments_are_rejected(self, options, message):
        x, y = items()
        given = {"model": small_net(), "loss": F.cross_entropy, "x": x, "y": y, **options}
        with pytest.raises(ag.InputError, match=message):
            LossSurface(**given)


class TestCurvature:
    def test_the_count_must_leave_one_out(self):
        surface = LossSurface(nn.Linear(2, 1), F.mse_loss, torch.randn(4, 2), torch.zeros(4, 1))
        with pytest.raises(
            ag.InputError,
            match="count must be at least 1 and below the number of weights, 3, but got 3",
        ):
            curvature(surface, 3)

    def test_missing_convergence_is_reported(self, monkeypatch):
        monkeypatch.setattr(sys.modules["augerino.paper.diagnostics.curvature"], "_RESTARTS", 1)
        surface = LossSurface(small_net(), F.cross_entropy, *items())
        with pytest.raises(
            ag.InputError, match=r"of 3 eigenvalues converged in \d+ products: request fewer"
        ):
            curvature(surface, 3, tolerance=1e-15)

    def test_without_scipy_the_error_names_the_package_to_install(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "scipy.sparse.linalg", None)
        with pytest.raises(ag.InputError, match=r'need scipy: pip install "augerino\[flatness\]"'):
            curvature(LossSurface(small_net(), F.cross_entropy, *items()), 3)


@pytest.mark.parametrize("kind", ["plain", "filter"])
class TestRays:
    def test_length_zero_is_the_solution_and_all_is_put_back(self, kind):
        surface = LossSurface(small_net(), F.cross_entropy, *items())
        before = [weight.clone() for weight in surface.weights]
        found = loss_along_rays(surface, [0.0, 0.5], directions=3, kind=kind)
        wrong = float((surface.model.eval()(surface.x).argmax(1) != surface.y).double().mean())
        assert [ray[0] for ray in found.loss] == [surface.mean()] * 3 and [
            ray[0] for ray in found.error
        ] == pytest.approx([wrong] * 3)
        assert all(ray[1] != ray[0] for ray in found.loss) and all(
            map(torch.equal, before, surface.weights)
        )
        assert [weight.requires_grad for weight in surface.weights] == [True] * len(before)

    def test_a_seed_gives_the_same_directions_on_any_items_and_another_seed_others(self, kind):
        net, (x, y) = small_net(), items()
        whole = LossSurface(net, F.cross_entropy, x, y)
        first = loss_along_rays(whole, [0.3], directions=2, kind=kind, seed=4)
        alone = [LossSurface(net, F.cross_entropy, x[i : i + 1], y[i : i + 1]) for i in range(7)]
        parts = [loss_along_rays(one, [0.3], directions=2, kind=kind, seed=4) for one in alone]
        for d in range(2):
            assert first.loss[d][0] == pytest.approx(
                sum(part.loss[d][0] for part in parts) / 7, abs=1e-12
            )
        assert loss_along_rays(whole, [0.3], directions=2, kind=kind, seed=5).loss != first.loss
        assert first.loss[0] != first.loss[1]

    def test_weights_come_back_after_an_error(self, kind):
        surface = LossSurface(small_net(), F.cross_entropy, *items())
        before = [weight.clone() for weight in surface.weights]
        surface.loss = lambda *_: 1 / 0
        with pytest.raises(ZeroDivisionError):
            loss_along_rays(surface, [1.0], kind=kind)
        assert all(map(torch.equal, before, surface.weights))

    def test_values_have_no_errors_to_count(self, kind):
        surface = LossSurface(nn.Linear(2, 1), F.mse_loss, torch.randn(4, 2), torch.zeros(4, 1))
        assert loss_along_rays(surface, [0.0, 1.0], kind=kind).error is None


class TestDirections:
    def test_plain_ones_have_a_norm_of_one_and_touch_every_weight(self):
        parts = random_direction(
            list(small_net().parameters()), "plain", torch.Generator().manual_seed(0)
        )
        assert sum(float(part.square().sum()) for part in parts) == pytest.approx(1)
        assert all(part.abs().min() > 0 for part in parts)

    def test_normalised_ones_are_as_long_as_each_filter_and_leave_biases_and_batch_norm(self):
        weights = list(small_net().parameters())
        for weight, part in zip(
            weights,
            random_direction(weights, "filter", torch.Generator().manual_seed(0)),
            strict=True,
        ):
            if weight.dim() < 2:
                assert part.abs().max() == 0
            else:
                assert torch.allclose(part.flatten(1).norm(dim=1), weight.flatten(1).norm(dim=1))

    def test_a_filter_of_zeros_stays(self):
        assert (
            random_direction([torch.zeros(2, 3)], "filter", torch.Generator())[0].abs().max() == 0
        )

    def test_rescaling_a_filter_under_batch_norm_changes_plain_rays_only(self):
        """Batch norm cancels the scale of a filter, so normalized rays give the same functions."""
        net = small_net()
        net[0].bias.data.zero_()
        net[1].eps = 0.0
        surface = LossSurface(net, F.cross_entropy, *items())
        before = {
            kind: loss_along_rays(surface, [0.0, 0.7], directions=2, kind=kind).loss
            for kind in ("plain", "filter")
        }
        with torch.no_grad():
            net[0].weight[1] *= 5
            net[1].running_mean[1] *= 5
            net[1].running_var[1] *= 25
        after = {
            kind: loss_along_rays(surface, [0.0, 0.7], directions=2, kind=kind).loss
            for kind in ("plain", "filter")
        }
        for d in range(2):
            assert after["filter"][d] == pytest.approx(before["filter"][d], abs=1e-10)
            assert after["plain"][d][0] == pytest.approx(before["plain"][d][0], abs=1e-10)
            assert after["plain"][d][1] != pytest.approx(before["plain"][d][1], abs=1e-6)

    def test_invalid_arguments_are_rejected(self):
        surface = LossSurface(small_net(), F.cross_entropy, *items())
        with pytest.raises(ag.InputError, match="one of plain, filter, but got 'layer'"):
            loss_along_rays(surface, [1.0], kind="layer")
        with pytest.raises(
            ag.InputError, match="at least one direction and one length, but got 0 and 1"
        ):
            loss_along_rays(surface, [1.0], directions=0)
