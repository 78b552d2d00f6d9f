"""Equivariant models: exact and approximate laws, up to the border."""

import math

import pytest
import torch
from torch import nn

import augerino as ag
from augerino.testing import equivariance_error
from tests.conftest import smooth_images


def rotation(bound=0.5):
    return ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([bound]))


class TestEquivariance:
    def test_the_identity_network_gives_the_identity(self):
        model = ag.EquivariantModel(nn.Identity(), rotation(1.0), test_copies=16).eval()
        x = smooth_images(2, dtype=torch.float32)
        assert (model(x) - x).abs().max() < 0.05

    @pytest.mark.parametrize("padding", ["zeros", "border"])
    def test_a_mean_of_constants_is_the_constant_up_to_the_border(self, padding):
        """Without weights the corners would be too dark; with wrong ones the edge too bright."""

        class Constant(nn.Module):
            def forward(self, x):
                return torch.full_like(x, -4.0)

        turn = ag.Augmentation(
            ag.Affine2d("rotate", "scale", "translate_x", padding=padding),
            ag.Uniform([3.1, 1.0, 0.5]),
        )
        chain = ag.Chain(
            turn, ag.Augmentation(ag.Affine2d("translate_y", padding="border"), ag.Uniform([0.5]))
        )
        for augmentation in (turn, chain):
            model = ag.EquivariantModel(Constant(), augmentation, test_copies=4).eval()
            assert torch.allclose(model(torch.rand(8, 1, 16, 16)), torch.tensor(-4.0), atol=1e-3)

    def test_probabilities_stay_probabilities(self):
        model = ag.EquivariantModel(
            nn.Conv2d(2, 3, 3, padding=1), rotation(math.pi), average=ag.mean_prob, test_copies=4
        ).eval()
        total = model(smooth_images(2, dtype=torch.float32)).exp().sum(dim=1)
        assert torch.allclose(total, torch.ones_like(total), atol=1e-3)

    def test_border_padding_keeps_the_identity_up_to_the_border(self):
        turn = ag.Augmentation(ag.Affine2d("rotate", padding="border"), ag.Uniform([math.pi]))
        model = ag.EquivariantModel(nn.Identity(), turn, test_copies=8).eval()
        assert torch.allclose(model(torch.ones(2, 1, 16, 16)), torch.ones(2, 1, 16, 16), atol=1e-4)

    def test_chunks_limit_the_unaugmented_prediction_too(self):
        sizes = []

        class Spy(nn.Module):
            def forward(self, x):
                sizes.append(len(x))
                return x

        far = ag.Augmentation(ag.Affine2d("translate_x"), ag.Uniform([5.0]))
        ag.EquivariantModel(Spy(), far, test_copies=2, chunk=2).eval()(torch.rand(10, 1, 8, 8))
        assert max(sizes) == 2 and sum(sizes) == 30

    def test_uncovered_pixels_get_the_unaugmented_prediction(self):
        class Far(ag.Uniform):
            """A translation by half of the image to the right, with probability 1."""

            def rsample(self, n, generator=None):
                return torch.ones(n, 1)

        model = ag.EquivariantModel(
            nn.Identity(), ag.Augmentation(ag.Affine2d("translate_x"), Far([1.0])), test_copies=2
        ).eval()
        x = torch.rand(1, 1, 8, 8)
        assert torch.allclose(model(x), x, atol=1e-6)

    def test_a_pointwise_network_commutes_with_the_warp(self):
        net = nn.Conv2d(2, 3, 1).double()
        error = equivariance_error(
            net,
            smooth_images(3),
            ag.Affine2d("rotate"),
            torch.full((3, 1), 0.4, dtype=torch.float64),
        )
        assert error < 0.02

    def test_the_error_falls_with_the_square_root_of_copies(self):
        net = nn.Conv2d(2, 1, 7, padding=3)
        x = smooth_images(2, dtype=torch.float32)
        turn = ag.Affine2d("rotate")
        t = torch.full((2, 1), 0.9)

        def error(copies):
            model = ag.EquivariantModel(net, rotation(math.pi), test_copies=copies)
            errors = [equivariance_error(model, x, turn, t) for _ in range(6)]
            return sum(e * e for e in errors) ** 0.5

        few, many = error(4), error(64)
        assert 2.5 < few / many < 6  # sqrt(64 / 4) = 4

    def test_a_quarter_turn_is_exact(self):
        net = nn.Conv2d(1, 1, 3, padding=1, bias=False).double()
        net.weight.data = torch.ones(1, 1, 3, 3, dtype=torch.float64)
        error = equivariance_error(
            net,
            torch.rand(2, 1, 12, 12, dtype=torch.float64),
            ag.Affine2d("rotate"),
            torch.full((2, 1), math.pi / 2, dtype=torch.float64),
        )
        assert error < 1e-10

    def test_outputs_may_have_another_action(self):
        class Keypoints(ag.Transform):
            """Rotates points (B, 2) in the frame of the image with the image."""

            coordinates = (ag.Coordinate("rotate"),)

            def forward(self, x, t):
                cos, sin = t[:, 0].cos(), t[:, 0].sin()
                return torch.stack(
                    [cos * x[:, 0] - sin * x[:, 1], sin * x[:, 0] + cos * x[:, 1]], dim=1
                )

            def inverse(self, y, t):
                return self.forward(y, -t)

        class Center(nn.Module):
            """Computes the centre of mass of each image, which is exactly equivariant."""

            def forward(self, x):
                side = torch.linspace(-1, 1, x.shape[-1])
                mass = x[:, 0].clamp_min(0) / x[:, 0].clamp_min(0).sum(dim=(1, 2), keepdim=True)
                return torch.stack(
                    [(mass.sum(1) * side).sum(1), (mass.sum(2) * side).sum(1)], dim=1
                )

        x = torch.zeros(1, 1, 33, 33)
        x[0, 0, 16, 24:28] = 1  # right of the centre
        model = ag.EquivariantModel(
            Center(), rotation(1.0), action=Keypoints(), test_copies=50
        ).eval()
        assert torch.allclose(model(x), Center()(x), atol=0.02)
        invariant = ag.InvariantModel(Center(), rotation(1.0), test_copies=50).eval()
        assert not torch.allclose(invariant(x), Center()(x), atol=0.02)

    def test_mismatches_are_rejected(self):
        with pytest.raises(ag.InputError, match="must be those of the augmentation"):
            ag.EquivariantModel(nn.Identity(), rotation(), action=ag.Affine2d("scale"))
        for transform in (ag.Brightness(), ag.On("image", ag.Brightness())):
            with pytest.raises(
                ag.InputError, match=r"Brightness has no inverse.*write Brightness\.inverse"
            ):
                ag.EquivariantModel(nn.Identity(), ag.Augmentation(transform, ag.Uniform([0.1])))
        with pytest.raises(ag.InputError, match="Contrast has no inverse"):
            ag.EquivariantModel(
                nn.Identity(),
                ag.Chain(rotation(), ag.Augmentation(ag.Contrast(), ag.Uniform([0.1]))),
            )
