"""Equivariant averages weighted by coverage, in covered and in uncovered pixels."""

import math

import pytest
import torch
from torch import nn

import augerino as ag
from augerino.augmentation import Element
from augerino.testing import equivariance_error
from tests.conftest import smooth_images

SIZE = (20, 28)
TRANSFORMS = {
    "affine": (ag.Affine2d("rotate", "translate_x", "scale"), [3.0, 0.2, 0.2]),
    "rigid": (ag.RotoTranslate2d(), [3.0, 3.0, 3.0]),
    "padded": (ag.RotoTranslate2d(padding=0.4), [3.0, 3.0, 3.0]),
}
EACH = pytest.mark.parametrize(("transform", "bounds"), TRANSFORMS.values(), ids=TRANSFORMS.keys())


def pictures(batch=3, channels=2, size=SIZE):
    """Smooth images that do not fade towards the border, unlike `smooth_images`."""
    height, width = size
    down = torch.linspace(0, 2, height, dtype=torch.float64)[:, None]
    across = torch.linspace(0, 3, width, dtype=torch.float64)
    phase = torch.rand(batch, channels, 2, 1, 1, dtype=torch.float64) * 6
    return torch.sin(across + phase[:, :, 0]) + torch.cos(down + phase[:, :, 1])


def averaged(net, transform, bounds, copies, x):
    """The prediction averaged over sampled elements, and a mask of the fully covered pixels."""
    augmentation = ag.Augmentation(transform, ag.Uniform(bounds)).double()
    model = ag.EquivariantModel(net.double(), augmentation, test_copies=copies).eval()
    with torch.no_grad():
        g = augmentation.sample(copies * len(x))
        seen = g.coverage(g(x.repeat(copies, 1, 1, 1))).unflatten(0, (copies, len(x)))
        return model.average_over(x, g, copies), (seen > 1 - 1e-6).all(0)


@EACH
def test_the_identity_network_gives_the_identity(transform, bounds):
    x = pictures()
    y, seen = averaged(nn.Identity(), transform, bounds, 3, x)
    assert seen.float().mean() > 0.1
    assert ((y - x).abs() * seen).max() < 0.02  # the error of two bilinear interpolations


@EACH
def test_a_pointwise_network_commutes_with_the_warp(transform, bounds):
    x = pictures()
    net = nn.Sequential(nn.Conv2d(2, 5, 1), nn.Tanh(), nn.Conv2d(5, 3, 1)).double()
    y, seen = averaged(net, transform, bounds, 3, x)
    assert ((y - net(x)).abs() * seen).max() < 0.02


@EACH
def test_a_constant_stays_constant_up_to_the_border(transform, bounds):
    class Constant(nn.Module):
        def forward(self, x):
            return torch.full_like(x, -4.0)

    y, _ = averaged(Constant(), transform, bounds, 4, pictures())
    assert torch.allclose(y, torch.full_like(y, -4.0), atol=1e-3)


@pytest.mark.parametrize("padding", [0.0, 0.3])
def test_an_average_over_quarter_turns_is_exactly_equivariant_to_them(padding):
    net = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.Tanh(), nn.Conv2d(4, 2, 3, padding=1)
    ).double()
    rigid = ag.RotoTranslate2d(padding)
    model = ag.EquivariantModel(net, ag.Augmentation(rigid, ag.Uniform([1.0] * 3))).eval()
    x = torch.rand(1, 2, 9, 9, dtype=torch.float64)
    turns = torch.tensor([[k * math.pi / 2, 0.0, 0.0] for k in range(4)], dtype=torch.float64)
    with torch.no_grad():
        upright, turned = (
            model.average_over(each, Element(rigid, turns), 4) for each in (x, x.rot90(1, (2, 3)))
        )
    assert torch.allclose(upright.rot90(1, (2, 3)), turned, atol=1e-9)
    assert not torch.allclose(net(x).rot90(1, (2, 3)), net(x.rot90(1, (2, 3))), atol=1e-3)


def test_the_error_falls_with_the_square_root_of_copies():
    """Over the full circle the expectation is equivariant; its estimate has a sampling error."""
    net, x = nn.Conv2d(2, 1, 7, padding=3), smooth_images(2, dtype=torch.float32)
    circle = ag.Augmentation(ag.RotoTranslate2d(0.21), ag.Uniform([math.pi, 1e-6, 1e-6]))
    counts = (2, 6, 18, 54)

    def error(copies):
        model = ag.EquivariantModel(net, circle, test_copies=copies)
        errors = [
            equivariance_error(model, x, ag.Affine2d("rotate"), torch.full((2, 1), 0.9))
            for _ in range(8)
        ]
        return sum(e * e for e in errors) ** 0.5

    logs = torch.tensor([[math.log(n), math.log(error(n))] for n in counts])
    centred = logs - logs.mean(0)
    slope = (centred[:, 0] * centred[:, 1]).sum() / centred[:, 0].square().sum()
    # The square root is -1/2; the interpolation error does not depend on the number of copies.
    assert -0.75 < slope < -0.25


@pytest.mark.parametrize(
    "average", [ag.mean, ag.mean_log_prob, ag.mean_prob], ids=lambda rule: rule.name
)
def test_the_mean_of_the_rule_is_weighted_by_coverage(average):
    net, rigid, x = nn.Conv2d(2, 3, 3, padding=1), ag.RotoTranslate2d(), pictures(2).float()
    model = ag.EquivariantModel(
        net, ag.Augmentation(rigid, ag.Uniform([1.0] * 3)), average=average
    ).eval()
    t = torch.tensor([[0.3, 1.0, 0.0], [-0.8, 0.0, 2.0], [0.0, -2.0, 1.0], [1.2, 0.0, 0.0]])
    kinds = {
        "mean": lambda y: y,
        "mean_log_prob": lambda y: y.log_softmax(1),
        "mean_prob": lambda y: y.softmax(1),
    }
    value = rigid.inverse(kinds[average.name](net(rigid(x.repeat(2, 1, 1, 1), t))), t)
    value = value / rigid.inverse(torch.ones(4, 1, *SIZE), t).clamp_min(1e-6)
    seen = rigid.coverage(value, t)
    total, weight = ((part[:2] + part[2:]) for part in (value * seen, seen))
    expected = total / weight
    expected = expected.log() if average is ag.mean_prob else expected
    inside = (weight > 1e-3).expand_as(expected)
    assert torch.allclose(
        model.average_over(x, Element(rigid, t), 2)[inside], expected[inside], atol=1e-5
    )


def test_labels_are_never_averaged():
    class Labels(nn.Module):
        def forward(self, x):
            return x.argmax(1)

    turn = ag.Affine2d("rotate")
    for options in ({}, {"action": ag.LabelMap(turn)}):
        model = ag.EquivariantModel(Labels(), ag.Augmentation(turn, ag.Uniform([0.5])), **options)
        with pytest.raises(
            ag.InputError, match="must return numbers that have a mean, such as class scores"
        ):
            model(torch.rand(2, 3, 8, 8))


class Counted(nn.Module):
    """A convolution that records the shapes of its inputs."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 3, 3, padding=1)
        self.shapes = []

    def forward(self, x):
        self.shapes.append(tuple(x.shape))
        return self.conv(x)


class TestUnseen:
    """Translations by more than the size of the image, which leave every pixel uncovered."""

    T = torch.tensor([[0.0, 50.0, 0.0]]).repeat(2, 1)
    X = torch.rand(2, 1, 8, 8)

    def model(self, padding=0.0, average=ag.mean_log_prob, **options):
        augmentation = ag.Augmentation(
            ag.RotoTranslate2d(padding), ag.Gaussian([0.0, 50.0, 0.0], [1e-3] * 3)
        )
        return ag.EquivariantModel(Counted(), augmentation, average=average, **options)

    @pytest.mark.parametrize(
        "average", [ag.mean, ag.mean_log_prob, ag.mean_prob], ids=lambda rule: rule.name
    )
    def test_in_evaluation_it_keeps_the_un_augmented_prediction(self, average):
        model = self.model(average=average).eval()
        assert torch.allclose(model(self.X), average.alone(model.net(self.X)), atol=1e-5)

    @pytest.mark.parametrize("chunk", [None, 1])
    def test_the_un_augmented_prediction_sees_the_same_canvas(self, chunk):
        model = self.model(padding=0.25, test_copies=2, chunk=chunk).eval()
        expected = model.net(nn.functional.pad(self.X, [2] * 4))[..., 2:-2, 2:-2].log_softmax(1)
        model.net.shapes.clear()
        assert torch.allclose(model(self.X), expected, atol=1e-5)
        assert {shape[2:] for shape in model.net.shapes} == {(12, 12)}

    @pytest.mark.parametrize(
        ("average", "value"),
        [(ag.mean, 0.0), (ag.mean_log_prob, -math.log(3)), (ag.mean_prob, -math.log(3))],
        ids=["mean", "log", "prob"],
    )
    def test_in_training_it_predicts_zero_scores_without_a_gradient(self, average, value):
        model = self.model(average=average).train()
        y = model(self.X)
        assert torch.allclose(y, torch.tensor(value), atol=1e-5)
        y.sum().backward()
        assert all(p.grad.abs().max() < 1e-9 for p in model.parameters())

    def test_in_training_the_network_runs_once(self):
        model = self.model().train()
        model(self.X)
        assert model.net.shapes == [(2, 1, 8, 8)]

    def test_covered_pixels_are_the_same_in_training(self):
        turn = ag.Augmentation(ag.RotoTranslate2d(), ag.Uniform([0.8, 1.0, 1.0]))
        net = nn.Conv2d(1, 3, 3, padding=1)
        model = ag.EquivariantModel(net, turn, test_copies=1, average=ag.mean_log_prob)
        outputs = []
        g = turn.sample(2)
        for training in (True, False):
            outputs.append(model.train(training).average_over(self.X, g))
        seen = (g.coverage(self.X) > 1e-3).expand_as(outputs[0])
        assert torch.equal(outputs[0][seen], outputs[1][seen]) and not seen.all()


class TestGraphs:
    """One graph in either mode, including uncovered pixels: no branch on data, any batch size."""

    def model(self):
        augmentation = ag.Augmentation(
            ag.RotoTranslate2d(0.1), ag.Gaussian([0.0] * 3, [1.0, 4.0, 4.0])
        )
        return ag.EquivariantModel(
            nn.Conv2d(2, 3, 3, padding=1), augmentation, test_copies=2, average=ag.mean_prob
        )

    def agree(self, model, graph):
        for rows in (5, 3):
            x = torch.rand(rows, 2, 12, 16)
            torch.manual_seed(1)
            expected = model(x)
            torch.manual_seed(1)
            assert torch.allclose(graph(x), expected, atol=1e-6)

    @pytest.mark.parametrize("training", [False, pytest.param(True, marks=pytest.mark.slow)])
    def test_compile(self, training):
        model = self.model().train(training)
        self.agree(model, torch.compile(model, backend="eager", fullgraph=True))
        torch.compiler.reset()

    def test_export(self):
        model = self.model().eval()
        batch = ({0: torch.export.Dim("batch")},)
        with torch.no_grad():
            self.agree(
                model,
                torch.export.export(
                    model, (torch.rand(5, 2, 12, 16),), dynamic_shapes=batch
                ).module(),
            )


class TestActions:
    def test_points_are_transformed_back_from_the_padded_canvas(self):
        class CentreOfMass(nn.Module):
            """Computes the centre of mass in pixels, (B, 1, 2)."""

            def forward(self, x):
                mass = x[:, 0] / x[:, 0].sum(dim=(1, 2), keepdim=True)
                across, down = (torch.arange(n) + 0.5 for n in (x.shape[3], x.shape[2]))
                return torch.stack(
                    [(mass.sum(1) * across).sum(1), (mass.sum(2) * down).sum(1)], dim=1
                )[:, None]

        x = torch.zeros(1, 1, *SIZE)
        x[0, 0, 4:6, 20:24] = 1
        rigid = ag.RotoTranslate2d(padding=0.4)
        augmentation = ag.Augmentation(rigid, ag.Gaussian([0.0] * 3, [2.0, 1.0, 1.0]))
        model = ag.EquivariantModel(
            CentreOfMass(), augmentation, action=ag.Keypoints(rigid, SIZE), test_copies=5
        ).eval()
        assert torch.allclose(model(x), torch.tensor([[[22.0, 5.0]]]), atol=0.05)

    def test_a_radial_field_is_equivariant(self):
        """Displacements from the centre equal their mean over rotations, up to the border."""

        class Radial(nn.Module):
            def forward(self, x):
                down, across = (torch.arange(n) - (n - 1) / 2 for n in x.shape[2:])
                return torch.stack(
                    [across.expand(*x.shape[2:]), down[:, None].expand(*x.shape[2:])]
                ).expand(len(x), -1, -1, -1)

        turn = ag.Affine2d("rotate")
        model = ag.EquivariantModel(
            Radial(),
            ag.Augmentation(turn, ag.Uniform([3.0])),
            action=ag.VectorField(turn),
            test_copies=6,
        )
        x = torch.rand(2, 1, *SIZE)
        y = model.eval()(x)
        assert torch.allclose(y[..., 3:-3, 7:-7], Radial()(x)[..., 3:-3, 7:-7], atol=1e-3)

    @pytest.mark.parametrize(
        ("action", "net"),
        [
            (lambda g: g, nn.Conv2d(1, 2, 3, padding=1)),
            (lambda g: ag.VectorField(g), nn.Conv2d(1, 2, 3, padding=1)),
            (
                lambda g: ag.Keypoints(g, (8, 8)),
                nn.Sequential(nn.Flatten(), nn.Linear(64, 6), nn.Unflatten(1, (3, 2))),
            ),
            (
                lambda g: ag.Boxes(g, (8, 8)),
                nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.Unflatten(1, (2, 4))),
            ),
            (lambda g: ag.Vectors(g), nn.Sequential(nn.Flatten(), nn.Linear(64, 2))),
            (lambda g: ag.Identity(g), nn.Sequential(nn.Flatten(), nn.Linear(64, 2))),
        ],
        ids=["same", "VectorField", "Keypoints", "Boxes", "Vectors", "Identity"],
    )
    @pytest.mark.parametrize("flips", [False, True])
    def test_a_model_with_an_action_is_saved_and_loaded(self, tmp_path, action, net, flips):
        augmentation = ag.Augmentation(
            ag.RotoTranslate2d(),
            ag.Gaussian([0.1, 0.0, 1.0], [[1.0, 0, 0], [0.5, 2.0, 0], [0.1, 0.2, 1.0]]),
        )
        if flips:
            augmentation = ag.Chain(
                augmentation, ag.Augmentation(ag.Flip("vertical"), ag.Bernoulli([0.4]))
            )
        model = ag.EquivariantModel(
            net, augmentation, action=action(augmentation.transform), test_copies=3
        ).eval()
        ag.save_pretrained(model, tmp_path / "m")
        loaded = ag.from_pretrained(tmp_path / "m", net=net)
        assert (
            type(loaded.action) is type(model.action) and loaded.action.names == model.action.names
        )
        outputs = []
        for each in (model, loaded):
            torch.manual_seed(0)
            outputs.append(each(torch.ones(2, 1, 8, 8)))
        assert torch.equal(*outputs)

    @pytest.mark.parametrize(
        ("action", "message"),
        [
            (lambda g: g, r"A warp needs .*\(B, C, H, W\), but got \(2, 6\)"),
            (
                lambda g: ag.Keypoints(g, (8, 8)),
                r"Keypoints needs floating-point positions \(B, N, 2\), but got \(2, 6\)",
            ),
            (
                lambda g: ag.VectorField(g),
                r"VectorField needs floating-point fields \(B, 2, H, W\), but got \(2, 6\)",
            ),
        ],
    )
    def test_an_output_that_does_not_match_the_action_is_rejected(self, action, message):
        turn = ag.Affine2d("rotate")
        net = nn.Sequential(nn.Flatten(), nn.Linear(64, 6))
        model = ag.EquivariantModel(
            net, ag.Augmentation(turn, ag.Uniform([0.5])), action=action(turn)
        )
        with pytest.raises(
            ag.InputError, match=f"The network's output does not match how g acts on it: {message}"
        ):
            model(torch.rand(2, 1, 8, 8))

    def test_a_coarser_map_cannot_be_translated_by_pixels(self):
        net, rigid = nn.Conv2d(1, 2, 2, stride=2), ag.RotoTranslate2d()
        model = ag.EquivariantModel(net, ag.Augmentation(rigid, ag.Uniform([0.5, 1.0, 1.0])))
        with pytest.raises(
            ag.InputError,
            match=r"translates by pixels.*size of its input, \(8, 8\), but returned \(2, 2, 4, 4\)",
        ):
            model(torch.rand(2, 1, 8, 8))
        fractions = ag.EquivariantModel(
            net, ag.Augmentation(ag.Affine2d("rotate", "translate_x"), ag.Uniform([0.5, 0.2]))
        )
        assert fractions(torch.rand(2, 1, 8, 8)).shape == (2, 2, 4, 4)
