"""Augmentations: a transform with a distribution."""

import copy
import math
import pickle

import pytest
import torch

import augerino as ag
from augerino.learning.probe import refit_fraction
from augerino.transforms import Compose
from tests.conftest import smooth_images


def make(names=("rotate", "scale"), start=0.3):
    return ag.Augmentation(ag.Affine2d(*names), ag.Uniform.named(names, start=start))


def test_an_element_acts_and_inverts():
    g = make().sample(3)
    x = smooth_images(3, dtype=torch.float32)
    assert torch.equal(g(x), g.transform(x, g.t))
    assert torch.equal(g.inv(x), g.transform.inverse(x, g.t))
    assert torch.equal(g.on(ag.Affine2d("rotate", "scale"))(x), g(x))


def test_every_sample_gets_its_own_element():
    x = smooth_images(1, dtype=torch.float32).expand(4, -1, -1, -1)
    moved = make()(x)
    assert all((moved[i] - moved[0]).abs().max() > 1e-3 for i in range(1, 4))


def test_sampling_repeats_with_a_seed():
    augmentation = make()
    draws = [augmentation.sample(5, torch.Generator().manual_seed(3)).t for _ in range(2)]
    assert torch.equal(*draws)


def test_gradients_reach_theta_through_the_element():
    augmentation = make()
    augmentation(smooth_images(3, dtype=torch.float32)).square().sum().backward()
    gradient = augmentation.distribution.raw_bound.grad
    assert gradient is not None and (gradient != 0).all()


def test_autocast_does_not_touch_the_coordinates():
    augmentation = make()
    with torch.autocast("cpu", torch.bfloat16):
        g = augmentation.sample(4, torch.Generator().manual_seed(0))
    assert g.t.dtype == torch.float32
    assert torch.equal(g.t, augmentation.sample(4, torch.Generator().manual_seed(0)).t)


def test_a_chain_runs_in_order_and_its_inverse_backwards():
    spatial, flip = make(("rotate",)), ag.Augmentation(ag.Flip("horizontal"), ag.Bernoulli([0.5]))
    chain = ag.Chain(spatial, flip)
    assert chain.names == ("rotate", "flip_horizontal")
    g, x = chain.sample(3), smooth_images(3, dtype=torch.float32)
    by_hand = flip.transform(spatial.transform(x, g.t[:, :1]), g.t[:, 1:])
    assert torch.equal(g(x), by_hand)
    assert (g.inv(g(x)) - x).abs().max() < 0.05
    assert set(chain.extent) == {"rotate", "flip_horizontal"}
    assert chain.limits.tolist() == pytest.approx([torch.pi, 1.0])
    assert {id(p) for p in chain.parameters()} == {
        id(p) for part in (spatial, flip) for p in part.parameters()
    }


def test_its_text_is_in_display_units():
    augmentation = ag.Chain(
        make(("rotate", "scale", "translate_x"), start=0.5),
        ag.Augmentation(ag.Flip("vertical"), ag.Bernoulli([0.25])),
    )
    assert str(augmentation) == (
        "Affine2d + Flip: rotate ±28.6°, scale ×0.61 to ×1.65, "
        "translate_x ±25.0 % of the image, flip_vertical 25.0 % of copies"
    )


def test_mismatches_are_rejected():
    with pytest.raises(
        ag.InputError,
        match=r"Affine2d has 6 coordinates \(translate_x, ..., shear\) but the distribution has 3",
    ):
        ag.Augmentation(ag.Affine2d(), ag.Uniform([0.1, 0.1, 0.1]))
    with pytest.raises(ag.InputError, match="share the coordinate 'rotate'"):
        ag.Chain(make(), make())
    with pytest.raises(ag.InputError, match="at least one"):
        ag.Chain()
    with pytest.raises(ag.InputError, match="Flip are 0 or 1: draw them from a Bernoulli"):
        ag.Augmentation(ag.Flip("vertical"), ag.Uniform([0.5]))
    with pytest.raises(ag.InputError, match="Affine2d are continuous"):
        ag.Augmentation(ag.Affine2d("rotate"), ag.Bernoulli([0.5]))


def test_augmentations_and_models_can_be_pickled_and_copied():
    chain = ag.Chain(
        make(),
        ag.Augmentation(ag.Contrast(), ag.Uniform([0.1])),
        ag.Augmentation(ag.Flip(), ag.Bernoulli([0.1, 0.2])),
    )
    model = ag.InvariantModel(torch.nn.Flatten(), chain, average=ag.mean_prob)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert str(other.augmentation) == str(chain) and other.average == ag.mean_prob


def test_a_transform_without_coordinates_is_rejected():
    with pytest.raises(
        ag.InputError, match="Compose has no coordinates, but the distribution has 1"
    ):
        ag.Augmentation(Compose([]), ag.Uniform([0.1]))


class TestCoordinates:
    """`augmentation.coordinates` combines the transform's coordinates with their learned ranges."""

    def test_a_coordinate_has_its_range_limit_rate_and_text(self):
        chain = ag.Chain(
            ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([math.pi / 4], rate=[0.25])),
            ag.Augmentation(ag.Flip("horizontal"), ag.Bernoulli([0.25])),
        )
        rotate, flip = chain.coordinates
        assert (rotate.name, rotate.limit, rotate.discrete) == ("rotate", math.pi, False)
        assert (rotate.low, rotate.high) == (-rotate.extent, rotate.extent)
        assert rotate.extent == chain.extent["rotate"] == pytest.approx(math.pi / 4)
        assert rotate.text == "±45.0° in 25 % of copies" and rotate.range_text == "±45.0°"
        assert (flip.low, flip.high, flip.rate, flip.extent) == (0.0, 1.0, 0.25, 0.5)
        assert flip.discrete and flip.text == "25.0 % of copies"
        assert chain.describe() == {"rotate": rotate.text, "flip_horizontal": flip.text}

    @pytest.mark.parametrize(
        ("distribution", "full", "negligible"),
        [
            (ag.Uniform([0.94 * math.pi]), False, False),
            (ag.Uniform([0.96 * math.pi]), True, False),
            (ag.Uniform([0.019 * math.pi]), False, True),
            (ag.Uniform([0.021 * math.pi]), False, False),
            (ag.Interval([-0.01], [3.1]), False, False),
            (ag.Interval([-3.1], [3.1]), True, False),
            (ag.Gaussian([0.0], [1.6]), True, False),
            (ag.Gaussian([3.1], [0.01]), False, False),
            (ag.Gaussian([0.0], [0.01]), False, True),
        ],
    )
    def test_full_and_negligible_ranges(self, distribution, full, negligible):
        (rotate,) = ag.Augmentation(ag.Affine2d("rotate"), distribution).coordinates
        assert (rotate.is_full, rotate.is_negligible) == (full, negligible)

    @pytest.mark.parametrize(
        ("p", "full", "negligible"),
        [(0.01, False, True), (0.2, False, False), (0.5, True, False), (0.9, False, False)],
    )
    def test_a_flip_is_full_at_a_half_and_negligible_near_zero(self, p, full, negligible):
        (flip,) = ag.Augmentation(ag.Flip("vertical"), ag.Bernoulli([p])).coordinates
        assert (flip.is_full, flip.is_negligible) == (full, negligible)

    def test_without_a_limit_no_range_is_full(self):
        wide, tiny = ag.Augmentation(Shifted(), ag.Uniform([1e6, 1e-3])).coordinates
        assert not wide.is_full and not wide.is_negligible
        assert tiny.is_negligible

    def test_a_discrete_coordinate_in_a_chain_needs_a_discrete_distribution(self):
        both = Compose([ag.Affine2d("rotate"), ag.Flip("vertical")])
        with pytest.raises(ag.InputError, match=r"0 or 1.*flip_vertical"):
            ag.Augmentation(both, ag.Uniform([0.3, 0.3]))

    def test_extents_are_set_by_name(self):
        augmentation = make(("rotate", "scale"), start=0.25)
        augmentation.extent = {"scale": 0.5}
        assert augmentation.extent == pytest.approx({"rotate": 0.25, "scale": 0.5})
        with pytest.raises(
            ag.InputError, match=r"no coordinate 'sclae'\. There are: rotate, scale"
        ):
            augmentation.extent = {"sclae": 0.5}


class TestRates:
    """Only partial ranges get a rate below 1: not full or negligible ones, and no flips."""

    def test_each_of_m_partial_ranges_has_the_rate_fraction_over_m(self):
        affine = ag.Augmentation(ag.Affine2d(), ag.Uniform([0.4, 0.5, math.pi, 0.2, 0.2, 0.01]))
        chain = ag.Chain(affine, ag.Augmentation(ag.Flip("horizontal"), ag.Bernoulli([0.5])))
        turns = chain.with_rates(1.0)
        assert turns.distribution.rate.tolist() == [0.25, 0.25, 1.0, 0.25, 0.25, 1.0, 0.5]
        assert turns.extent == chain.extent
        moved = (turns.sample(4000).t != 0).float().mean(dim=0)
        assert torch.allclose(
            moved, torch.tensor([0.25, 0.25, 1.0, 0.25, 0.25, 1.0, 0.5]), atol=0.04
        )

    def test_it_is_a_copy_without_gradients(self):
        augmentation = ag.Augmentation(ag.Affine2d("rotate", "scale"), ag.Uniform([0.4, 0.5]))
        turns = augmentation.with_rates()
        assert (
            augmentation.distribution.rate.tolist() == [1.0, 1.0]
            and augmentation.distribution.raw_bound.requires_grad
        )
        assert not any(parameter.requires_grad for parameter in turns.parameters())
        assert (
            turns.with_rates().distribution.rate.tolist()
            == turns.distribution.rate.tolist()
            == [0.25, 0.25]
        )

    def test_a_range_without_a_limit_is_partial(self):
        endless = ag.Augmentation(Shifted(), ag.Uniform([5.0, 1e-9]))
        assert endless.with_rates().distribution.rate.tolist() == [0.25, 0.25]

    @pytest.mark.parametrize("fraction", [0.0, 1.5, float("nan")])
    def test_a_fraction_outside_0_to_1_is_rejected(self, fraction):
        with pytest.raises(ag.InputError, match="above 0 and at most 1"):
            make().with_rates(fraction)

    @pytest.mark.parametrize(
        ("task_score", "fraction"),
        [(None, 0.5), (0.1, 0.5), (0.5, 0.5), (0.7, 0.3125), (0.9, 0.125), (1.0, 0.125)],
    )
    def test_a_higher_task_score_gives_a_smaller_fraction(self, task_score, fraction):
        assert refit_fraction(task_score) == pytest.approx(fraction)

    def test_distributions_without_settable_rates_are_unchanged(self):
        augmentation = ag.Augmentation(
            ag.Affine2d("rotate", "scale"), ag.Gaussian([0.0, 0.0], [[0.5, 0.0], [0.0, 0.5]])
        )
        assert torch.equal(
            augmentation.with_rates().distribution.scale_tril, augmentation.distribution.scale_tril
        )


class Shifted(ag.Transform):
    coordinates = (ag.Coordinate("across"), ag.Coordinate("down"))

    def forward(self, x, t):
        return x + t.sum(dim=1).view(-1, *[1] * (x.dim() - 1))


class TestOnly:
    def chain(self) -> ag.Chain:
        spatial = ag.Augmentation(
            ag.Affine2d("translate_x", "rotate", "scale"),
            ag.Uniform([0.1, 0.2, 0.3], rate=[1.0, 0.5, 0.25]),
        )
        return ag.Chain(spatial, ag.Augmentation(ag.Flip(), ag.Bernoulli([0.2, 0.4])))

    def test_the_named_coordinates_keep_their_ranges_and_rates(self):
        fewer = self.chain().only("rotate", "flip_vertical")
        assert fewer.names == ("rotate", "flip_vertical")
        assert fewer.distribution.extent.tolist() == pytest.approx([0.2, 0.8])
        assert fewer.distribution.rate.tolist() == pytest.approx([0.5, 0.4])

    def test_the_others_are_fixed_at_zero(self):
        chain = self.chain()
        x = torch.rand(2, 3, 8, 8)
        t = torch.tensor([[0.2], [-0.1]])
        whole = torch.cat([torch.zeros(2, 1), t, torch.zeros(2, 3)], dim=1)
        fewer = chain.only("rotate")
        assert torch.equal(fewer.transform(x, t), chain.transform(x, whole))

    def test_an_entry_of_a_batch_stays_the_same_entry(self):
        turn = ag.On("positions", ag.Affine3d("rotate_x", "scale"))
        fewer = ag.Augmentation(turn, ag.Uniform([1.0, 0.5])).only("scale")
        assert isinstance(fewer.transform, ag.On) and fewer.extent == {"scale": 0.5}

    def test_a_transform_that_cannot_be_restricted_is_kept_whole(self):
        augmentation = ag.Augmentation(ag.RotoTranslate2d(), ag.Uniform([0.1, 0.1, 0.1]))
        name = augmentation.names[0]
        assert augmentation.only(name).names == augmentation.names

    def test_an_unknown_coordinate_is_named(self):
        with pytest.raises(ag.InputError, match="no coordinate 'spin'"):
            self.chain().only("spin")
