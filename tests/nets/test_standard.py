"""The usual fixed augmentation: its effect on pixels, its modes, and its gradients."""

import pytest
import torch
from torch import nn

from augerino.nets.normalized import Normalized
from augerino.nets.standard import Standard


def pictures(n=200, side=8):
    """Every pixel of an image has another value, none of them 0."""
    return (1 + torch.arange(3 * side * side).float()).reshape(1, 3, side, side).repeat(n, 1, 1, 1)


class TestStandard:
    def test_it_acts_in_training_only_by_default(self):
        x, layer = pictures(), Standard(2, cutout=3)
        assert not torch.equal(layer(x), x)
        layer.eval()
        assert layer(x) is x
        layer.always = True
        assert not torch.equal(layer(x), x)

    def test_a_shift_is_a_crop_of_the_padded_image(self):
        x = pictures()
        padded = nn.functional.pad(x, (2, 2, 2, 2))
        crops = {
            padded[0, :, i : i + 8, j : j + 8].flatten().numpy().tobytes()
            for i in range(5)
            for j in range(5)
        }
        seen = {image.flatten().numpy().tobytes() for image in Standard(2, flip=False)(x)}
        assert seen <= crops and len(seen) > 15

    def test_half_are_mirrored_and_nothing_else(self):
        x = pictures(400)
        found = Standard(0)(x)
        mirrored = (found == x.flip(-1)).flatten(1).all(dim=1)
        assert ((found == x).flatten(1).all(dim=1) ^ mirrored).all() and 140 < int(
            mirrored.sum()
        ) < 260

    def test_the_square_is_black_and_may_extend_beyond_the_edge(self):
        black = Standard(0, flip=False, cutout=4)(pictures(500)) == 0
        assert (black == black[:, :1]).all()  # in all channels
        heights, widths = black[:, 0].any(dim=2).sum(dim=1), black[:, 0].any(dim=1).sum(dim=1)
        assert torch.equal(black[:, 0].sum(dim=(1, 2)), heights * widths)
        assert set(heights.tolist()) == set(widths.tolist()) == {2, 3, 4}
        assert black[:, 0].any(dim=0).all()

    def test_each_image_has_a_draw_of_its_own(self):
        found = Standard(2, cutout=2)(pictures(50))
        assert len({image.numpy().tobytes() for image in found}) > 40

    def test_gradients_reach_earlier_modules(self):
        x = torch.rand(2, 1, 5, 5, dtype=torch.float64, requires_grad=True)

        def layer(x):
            torch.manual_seed(3)
            return Standard(2, cutout=3)(x)

        assert torch.autograd.gradcheck(layer, (x,))


class TestNormalized:
    def test_the_network_sees_zero_mean_and_unit_deviation(self):
        x = torch.rand(50, 2, 6, 6) * torch.tensor([1.0, 0.5])[:, None, None]
        mean, std = x.mean(dim=(0, 2, 3)), x.std(dim=(0, 2, 3))
        seen = Normalized(nn.Identity(), mean.tolist(), std.tolist())(x)
        assert seen.mean(dim=(0, 2, 3)).tolist() == pytest.approx([0, 0], abs=1e-5)
        assert seen.std(dim=(0, 2, 3)).tolist() == pytest.approx([1, 1], abs=1e-5)

    def test_its_constants_move_along_and_are_not_learned(self):
        net = Normalized(nn.Linear(1, 1), [0.5], [0.25])
        assert {"mean", "std"} <= set(net.state_dict()) and len(list(net.parameters())) == 2
        assert net.double().mean.dtype == torch.float64
