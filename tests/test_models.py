"""Averaged models: averaging rules, chunks, fixed nodes, graphs and flips."""

import math

import pytest
import torch
from torch import nn

import augerino as ag
from augerino.testing import invariance_error
from tests.conftest import smooth_images


def rotation(bound=0.5):
    return ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([bound]))


def classifier(classes=4):
    return nn.Sequential(nn.Flatten(), nn.Linear(2 * 24 * 24, classes))


X = smooth_images(5, dtype=torch.float32)


class TestAveraging:
    Y = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(1))

    def test_rules_match_their_formulas(self):
        assert torch.allclose(ag.mean(self.Y), self.Y.mean(0))
        assert torch.allclose(ag.mean_log_prob(self.Y), self.Y.log_softmax(-1).mean(0))
        assert torch.allclose(ag.mean_prob(self.Y), self.Y.softmax(-1).mean(0).log())

    def test_mean_log_prob_makes_the_loss_of_the_mean_the_mean_of_the_losses(self):
        target = torch.tensor([0, 1, 2, 3, 0])
        of_mean = nn.functional.nll_loss(ag.mean_log_prob(self.Y), target)
        mean_of = torch.stack([nn.functional.cross_entropy(y, target) for y in self.Y]).mean()
        assert torch.allclose(of_mean, mean_of)

    @pytest.mark.parametrize(
        "average", [ag.mean, ag.mean_log_prob, ag.mean_prob], ids=lambda a: a.name
    )
    @pytest.mark.parametrize("copies", [1, 3])
    def test_training_and_evaluation_give_the_same_kind_of_output(self, average, copies):
        model = ag.InvariantModel(
            classifier(), rotation(), train_copies=copies, test_copies=copies, average=average
        )
        outputs = []
        for training in (True, False):
            model.train(training)
            torch.manual_seed(0)
            outputs.append(model(X))
        assert torch.allclose(*outputs)
        if average is not ag.mean:
            assert (outputs[0] <= 0).all()

    def test_it_is_the_mean_over_copies_of_the_net_on_transformed_inputs(self):
        augmentation, net = rotation(), classifier()
        model = ag.InvariantModel(net, augmentation, test_copies=3).eval()
        torch.manual_seed(5)
        got = model(X)
        torch.manual_seed(5)
        g = augmentation.sample(15)
        expected = net(g(X.repeat(3, 1, 1, 1))).reshape(3, 5, 4).mean(0)
        assert torch.allclose(got, expected, atol=1e-6)

    def test_one_copy_of_mean_prob_keeps_its_gradient_where_probabilities_vanish(self):
        class Scores(nn.Module):
            def __init__(self):
                super().__init__()
                self.gap = nn.Parameter(torch.tensor(200.0))

            def forward(self, x):
                return torch.stack([self.gap.expand(len(x)), torch.zeros(len(x))], dim=1)

        model = ag.InvariantModel(Scores(), rotation(), average=ag.mean_prob)
        nn.functional.nll_loss(model(X), torch.ones(5, dtype=torch.long)).backward()
        assert model.net.gap.grad == 1

    def test_an_empty_batch_gives_an_empty_output(self):
        for copies in (1, 3):
            model = ag.InvariantModel(
                classifier(), rotation(), test_copies=copies, average=ag.mean_log_prob
            ).eval()
            assert model(X[:0]).shape == (0, 4)

    def test_under_bf16_the_average_is_taken_in_float32(self):
        model = ag.InvariantModel(classifier(), rotation(), average=ag.mean_log_prob).eval()
        with torch.autocast("cpu", torch.bfloat16):
            assert model(X).dtype == torch.float32


@pytest.mark.parametrize("chunk", [1, 2, 5, 7, 100])
@pytest.mark.parametrize("kind", [ag.InvariantModel, ag.EquivariantModel])
def test_chunks_change_no_result(kind, chunk):
    net = nn.Conv2d(2, 3, 3, padding=1)
    outputs = []
    for size in (None, chunk):
        model = kind(net, rotation(2.0), test_copies=4, average=ag.mean_prob, chunk=size).eval()
        torch.manual_seed(0)
        outputs.append(model(X))
    assert torch.allclose(*outputs, atol=1e-5)


def test_chunks_limit_the_batch_size_of_the_network():
    sizes = []

    class Spy(nn.Module):
        def forward(self, x):
            sizes.append(len(x))
            return x.mean(dim=(1, 2, 3))[:, None]

    ag.InvariantModel(Spy(), rotation(), test_copies=4, chunk=6).eval()(X)
    assert max(sizes) <= 6 and sum(sizes) == 20


class TestFixedNodes:
    def net(self):
        torch.manual_seed(3)
        return nn.Sequential(nn.Flatten(), nn.Linear(2 * 24 * 24, 16), nn.Tanh(), nn.Linear(16, 4))

    @pytest.mark.parametrize("kind", [ag.InvariantModel, ag.EquivariantModel])
    @pytest.mark.parametrize("chunk", [None, 7])
    def test_every_input_is_averaged_over_the_same_elements(self, kind, chunk):
        model = kind(
            nn.Conv2d(2, 3, 3, padding=1), rotation(), average=ag.mean_prob, chunk=chunk
        ).eval()
        fixed = model.with_nodes(8)
        together, alone = fixed(X), torch.cat([fixed(x[None]) for x in X])
        assert torch.allclose(together, alone, atol=1e-6) and torch.equal(fixed(X), together)
        assert not fixed.training

    def test_it_is_the_mean_over_its_nodes(self):
        model = ag.InvariantModel(self.net(), rotation(), average=ag.mean_log_prob).eval()
        net = self.net()
        fixed = model.with_nodes(5)
        moved = [net(ag.Affine2d("rotate")(X, t.expand(5, 1))).log_softmax(1) for t in fixed.t]
        assert torch.allclose(fixed(X), torch.stack(moved).mean(0), atol=1e-6)

    @pytest.mark.parametrize(
        "names",
        [("rotate",), ("rotate", "scale"), ("rotate", "scale", "translate_x", "translate_y")],
    )
    def test_quadrature_points_are_closer_to_the_expectation_than_samples(self, names):
        augmentation = ag.Augmentation(ag.Affine2d(*names), ag.Uniform([0.5] * len(names)))
        model = ag.InvariantModel(self.net(), augmentation, test_copies=16).eval()
        with torch.no_grad():
            truth = model.with_nodes(4096)(X)
            even = (model.with_nodes(16)(X) - truth).square().mean()
            random = torch.stack([(model(X) - truth).square().mean() for _ in range(20)]).mean()
        assert 1.5 * even.sqrt() < random.sqrt()


class TestGraphs:
    """A model in evaluation compiles to one graph without breaks, for any batch size."""

    def models(self):
        chain = ag.Chain(
            ag.Augmentation(ag.Affine2d(), ag.Uniform([0.3] * 6)),
            ag.Augmentation(ag.Contrast(), ag.Gaussian([0.0], [0.1])),
            ag.Augmentation(ag.Brightness(), ag.Interval([-0.1], [0.2])),
            ag.Augmentation(ag.Flip("horizontal"), ag.Bernoulli([0.4])),
        )
        invariant = ag.InvariantModel(classifier(), chain, average=ag.mean_log_prob).eval()
        equivariant = ag.EquivariantModel(
            nn.Conv2d(2, 3, 3, padding=1), rotation(2.0), average=ag.mean_prob
        ).eval()
        return [invariant, equivariant, invariant.with_nodes(4), equivariant.with_nodes(4)]

    # Tracing an equivariant model takes half a minute: it has five warps.
    EACH = pytest.mark.parametrize(
        "which", [0, *(pytest.param(i, marks=pytest.mark.slow) for i in (1, 2, 3))]
    )

    @EACH
    def test_compile(self, which):
        model = self.models()[which]
        compiled = torch.compile(model, backend="eager", fullgraph=True)
        with torch.no_grad():
            for x in (X, X[:3], X[:4]):
                torch.manual_seed(0)
                expected = model(x)
                torch.manual_seed(0)
                assert torch.allclose(compiled(x), expected, atol=1e-6)
        torch.compiler.reset()

    def test_a_training_step_compiles_whole_and_has_the_same_gradients(self):
        model = ag.InvariantModel(classifier(), rotation(0.5), average=ag.mean_log_prob)
        objective = ag.Objective(nn.functional.nll_loss, model.augmentation)
        y = torch.zeros(len(X), dtype=torch.long)

        def total(x, y):
            return objective(model(x), y).total

        gradients = []
        for step in (total, torch.compile(total, backend="aot_eager", fullgraph=True)):
            model.zero_grad()
            torch.manual_seed(0)
            step(X, y).backward()
            gradients.append([parameter.grad.clone() for parameter in model.parameters()])
        for ours, expected in zip(*gradients, strict=True):
            assert torch.allclose(ours, expected, atol=1e-5)
        torch.compiler.reset()

    @EACH
    def test_export(self, which):
        model = self.models()[which]
        with torch.no_grad():
            exported = torch.export.export(
                model, (X,), dynamic_shapes=({0: torch.export.Dim("batch")},)
            ).module()
            for x in (X, X[:2]):
                torch.manual_seed(0)
                expected = model(x)
                torch.manual_seed(0)
                assert torch.allclose(exported(x), expected, atol=1e-6)


def test_structured_inputs():
    class Net(nn.Module):
        def forward(self, batch):
            return batch["image"].mean(dim=(1, 2, 3))[:, None] + batch["age"][:, None]

    augmentation = ag.Augmentation(ag.On("image", ag.Affine2d("rotate")), ag.Uniform([0.5]))
    out = ag.InvariantModel(Net(), augmentation, test_copies=2).eval()(
        {"image": X, "age": torch.arange(5.0)}
    )
    assert out.shape == (5, 1) and (out[:, 0].diff() > 0.5).all()


def test_a_full_circle_of_many_copies_is_nearly_invariant():
    x, turn = smooth_images(4, dtype=torch.float32), ag.Affine2d("rotate")
    t = torch.full((4, 1), 1.0)
    net = nn.Sequential(nn.Flatten(), nn.Linear(2 * 24 * 24, 8))
    bare = invariance_error(net, x, turn, t)
    averaged = invariance_error(
        ag.InvariantModel(net, rotation(math.pi), test_copies=400), x, turn, t
    )
    assert averaged < 0.35 * bare


@pytest.mark.parametrize("option", ["train_copies", "test_copies", "chunk"])
@pytest.mark.parametrize("value", [0, -1])
def test_counts_below_one_are_rejected(option, value):
    with pytest.raises(ag.InputError, match=f"{option} must be at least 1, but got {value}"):
        ag.InvariantModel(classifier(), rotation(), **{option: value})


def test_an_output_without_a_row_per_input_is_rejected():
    with pytest.raises(ag.InputError, match="must return one tensor with 5 rows"):
        ag.InvariantModel(nn.Flatten(0), rotation())(X)


def test_monte_carlo_gradient_of_theta_is_that_of_the_expected_loss():
    """The mean of many one-sample gradients agrees with a finite difference on a fine grid."""
    torch.manual_seed(1)
    x, y = smooth_images(1), torch.tensor([2])
    net = nn.Sequential(
        nn.Flatten(), nn.Linear(2 * 24 * 24, 16), nn.Tanh(), nn.Linear(16, 4)
    ).double()
    for parameter in net.parameters():
        parameter.data *= 6  # a strong dependence of the loss on the angle
    turn, theta = ag.Affine2d("rotate"), 0.6

    def expected_loss(bound):
        nodes = (torch.arange(2000, dtype=torch.float64) + 0.5) / 1000 - 1
        return nn.functional.cross_entropy(
            net(turn(x.expand(2000, -1, -1, -1), (bound * nodes)[:, None])), y.expand(2000)
        )

    with torch.no_grad():
        numeric = (expected_loss(theta + 1e-4) - expected_loss(theta - 1e-4)) / 2e-4
    uniform = ag.Uniform([theta]).double()
    model = ag.InvariantModel(net, ag.Augmentation(turn, uniform), average=ag.mean_log_prob)
    slope = torch.sigmoid(uniform.raw_bound.detach())  # d bound / d raw
    estimates = []
    for _ in range(40):
        loss = nn.functional.nll_loss(model(x.expand(1000, -1, -1, -1)), y.expand(1000))
        estimates.append(torch.autograd.grad(loss, uniform.raw_bound)[0] / slope)
    mean, error = torch.cat(estimates).mean(), torch.cat(estimates).std() / len(estimates) ** 0.5
    assert error < 0.1 * numeric.abs()  # the estimate is precise enough to compare
    assert (mean - numeric).abs() < 4 * error


def flipping(probability, **options):
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2, bias=False))
    return ag.InvariantModel(
        net, ag.Augmentation(ag.Flip("horizontal"), ag.Bernoulli([probability])), **options
    )


@pytest.mark.parametrize("average", [ag.mean, ag.mean_log_prob, ag.mean_prob])
@pytest.mark.parametrize("options", [{}, {"train_copies": 3}, {"chunk": 2}])
def test_training_weights_both_outcomes_of_a_flip_by_their_probability(average, options):
    model, x = flipping(0.3, average=average, **options), torch.rand(5, 1, 2, 2)
    plain, mirrored = (average.before(model.net(side)) for side in (x, x.flip(-1)))
    assert torch.allclose(model.train()(x), average.after(0.7 * plain + 0.3 * mirrored), atol=1e-6)


def test_the_gradient_of_a_flips_probability_is_exact():
    model, x = flipping(0.3), torch.rand(5, 1, 2, 2)
    (gradient,) = torch.autograd.grad(
        model.train()(x).square().sum(), model.augmentation.distribution.raw_probability
    )

    def loss(probability):
        y = (1 - probability) * model.net(x) + probability * model.net(x.flip(-1))
        return y.square().sum().item()

    slope = (loss(0.3 + 1e-3) - loss(0.3 - 1e-3)) / 2e-3
    assert gradient.item() == pytest.approx(slope * 0.3 * 0.7, rel=1e-3)


def test_an_equivariant_model_weights_flips_too():
    net = torch.nn.Conv2d(1, 1, 3, padding=1)
    model = ag.EquivariantModel(net, ag.Augmentation(ag.Flip("horizontal"), ag.Bernoulli([0.3])))
    x = torch.rand(2, 1, 4, 4)
    assert torch.allclose(
        model.train()(x), 0.7 * net(x) + 0.3 * net(x.flip(-1)).flip(-1), atol=1e-6
    )


def test_a_cpu_evaluates_one_copy_of_the_batch_at_a_time():
    seen = []

    class Seeing(nn.Linear):
        def forward(self, x):
            seen.append(len(x))
            return super().forward(x.flatten(1))

    augmentation = ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([0.5]))
    model = ag.InvariantModel(
        Seeing(64, 3), augmentation, test_copies=4, average=ag.mean_prob
    ).eval()
    x = torch.rand(5, 1, 8, 8)
    torch.manual_seed(0)
    at_once = model(x).detach()
    torch.manual_seed(0)
    with torch.no_grad():
        one_by_one = model(x)
    # With gradients, activations of all copies are stored anyway, so they run in one call.
    assert seen == [20, 5, 5, 5, 5]
    torch.testing.assert_close(one_by_one, at_once)
