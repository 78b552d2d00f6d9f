"""Measurements: evaluation, orbits, verdicts."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import augerino as ag
from augerino.diagnostics import evaluate, evaluate_items, orbit, score, verdicts
from augerino.diagnostics.items import chance, score_items
from augerino.diagnostics.pixels import PixelCounts
from augerino.learning.defaults import masked_nll, output_action
from tests.conftest import smooth_images


class Scores(nn.Module):
    """Class 1 if the image is brighter on the right."""

    def __init__(self):
        super().__init__()
        self.unused = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        right = x[..., x.shape[-1] // 2 :].sum(dim=(1, 2, 3)) - x[..., : x.shape[-1] // 2].sum(
            dim=(1, 2, 3)
        )
        return torch.stack([-right, right], dim=1)


def test_evaluation_weighs_items_not_batches_and_puts_the_mode_back():
    x = torch.zeros(5, 1, 4, 4)
    x[:3, ..., 3] = 1  # class 1
    y = torch.tensor([1, 1, 0, 0, 1])
    model = Scores().train()
    found = evaluate(model, F.cross_entropy, ag.data.Batches(x, y, 2, shuffle=False))
    assert model.training
    assert found.n_items == 5 and found.accuracy == pytest.approx(3 / 5)
    assert found.loss == pytest.approx(F.cross_entropy(model(x), y).item(), rel=1e-5)


def test_several_known_extents_are_each_reported():
    augmentation = ag.Augmentation(ag.Affine2d("rotate", "scale"), ag.Uniform([0.5, 0.5]))
    start = {"rotate": 0.3, "scale": 0.3}
    first, second = verdicts(augmentation, start, {"rotate": math.pi / 4, "scale": 1.0})
    assert (
        first.sentence.endswith("true extent by itself ±45.0°")
        and "true extent by itself" in second.sentence
    )
    alone, _ = verdicts(augmentation, start, {"rotate": math.pi / 4, "shear": 1.0})
    assert alone.sentence.endswith("true extent ±45.0°")


def test_an_orbit_follows_the_input_around():
    x = torch.zeros(1, 21, 21)
    x[0, 10, 15:] = 1
    values = torch.tensor([0.0, math.pi])
    curve = orbit(Scores(), x, ag.Affine2d("scale", "rotate"), "rotate", values)
    assert curve.coordinate == "rotate" and curve.values == pytest.approx(values.tolist())
    assert curve.outputs[0][1] > 0.9 and curve.outputs[1][0] > 0.9
    assert sum(curve.outputs[0]) == pytest.approx(1)
    with pytest.raises(ag.InputError, match="no coordinate 'spin'"):
        orbit(Scores(), x, ag.Affine2d(), "spin", values)


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        (0.01, "rotate: learned ±0.6°, which is negligible"),
        (0.8, "rotate: learned ±45.8°"),
        (3.1, "rotate: learned the full range"),
    ],
)
def test_verdicts_in_words(bound, words):
    augmentation = ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([bound]))
    (verdict,) = verdicts(augmentation, {"rotate": 0.3}, {"rotate": math.pi / 4})
    assert verdict.sentence.startswith(words) and verdict.sentence.endswith("true extent ±45.0°")
    assert verdict.start_text == "±17.2°" and verdict.learned == pytest.approx(bound)


def test_without_evidence_a_bound_on_its_way_is_not_decided():
    augmentation = ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([0.4]))
    (verdict,) = verdicts(augmentation, {"rotate": 0.3}, unfinished=("rotate",))
    assert verdict.answer == "undecided"
    assert (
        verdict.sentence
        == "rotate: undecided: the bound was still moving when training ended (±22.9° so far); "
        "use more data or epochs"
    )


def test_a_verdict_without_limits_or_units():
    class Plain(ag.Transform):
        coordinates = (ag.Coordinate("amount"),)

        def forward(self, x, t):
            return x + t

    (verdict,) = verdicts(ag.Augmentation(Plain(), ag.Gaussian([0.0], [0.5])), {"amount": 0.1})
    assert verdict.sentence == "amount: learned ±0.5 (sd) around +0"


@pytest.mark.parametrize(
    ("augmentation", "sentence"),
    [
        (
            ag.Augmentation(ag.Flip("horizontal"), ag.Bernoulli([0.9])),
            "flip_horizontal: learned 90.0 % of copies",
        ),
        (
            ag.Augmentation(ag.Flip("horizontal"), ag.Bernoulli([0.001])),
            "flip_horizontal: learned 0.1 % of copies, which is negligible",
        ),
        (
            ag.Augmentation(ag.Affine2d("rotate"), ag.Interval([-0.001], [1.57])),
            "rotate: learned -0.1° to +90.0°",
        ),
        (
            ag.Augmentation(ag.Affine2d("rotate"), ag.Gaussian([1.5], [0.01])),
            "rotate: learned ±0.6° (sd) around +85.9°",
        ),
    ],
)
def test_every_distribution_is_described(augmentation, sentence):
    (verdict,) = verdicts(augmentation, augmentation.extent)
    assert verdict.sentence == sentence


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        (0.01, "rotate: learned ±0.6°, which is negligible"),
        (0.8, "rotate: learned ±45.8°, masks follow"),
        (3.1, "rotate: learned the full range (±177.6°), masks follow"),
    ],
)
def test_masks_follow_where_labels_stay(bound, words):
    spatial = ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([bound]))
    augmentation = ag.Chain(spatial, ag.Augmentation(ag.Brightness(), ag.Uniform([0.5])))
    model = ag.EquivariantModel(
        nn.Identity(), augmentation, action=output_action(augmentation.transform)
    )
    assert (
        model.followed == ("rotate",)
        and ag.InvariantModel(nn.Identity(), augmentation).followed == ()
    )
    rotate, brightness = verdicts(
        augmentation, augmentation.extent, followed=model.followed, output_name="masks"
    )
    assert (
        rotate.sentence == words
        and brightness.sentence == "brightness: learned ±50.0 % of full intensity"
    )


def test_ignored_pixels_and_wholly_ignored_maps_do_not_count():
    class Left(nn.Module):
        def __init__(self):
            super().__init__()
            self.unused = nn.Parameter(torch.zeros(1))

        def forward(self, x):
            return torch.cat([x, -x], dim=1).log_softmax(dim=1)  # class 0 where it is bright

    x = torch.ones(3, 1, 2, 2)
    y = torch.tensor([[[0, 0], [0, 1]], [[255, 255], [255, 1]], [[255, 255], [255, 255]]])
    batches = [(x[:2], y[:2]), (x[2:], y[2:])]
    assert evaluate(Left(), masked_nll, batches).accuracy == pytest.approx(3 / 5)
    judged = evaluate_items(Left(), batches)
    found = score("left", 1, judged)
    assert (
        found.n_items == 2
        and found.accuracy.mean == pytest.approx(3 / 5)
        and found.mean_iou.mean == pytest.approx(0.3)
    )
    assert found.accuracy.low == 0 and found.accuracy.high == pytest.approx(3 / 4)
    assert judged.pixels.iou() == [pytest.approx(0.6), 0.0] and judged.pixels.items_per_class() == [
        1,
        2,
    ]
    assert judged.targets is None and all(math.isfinite(value) for value in judged.scores.loss)
    with pytest.raises(ag.InputError, match="every pixel of its masks is ignored"):
        evaluate_items(Left(), batches[1:])


def test_the_interval_of_very_many_maps_is_that_of_fewer_groups(monkeypatch):
    target = torch.randint(3, (60, 4, 4), generator=torch.Generator().manual_seed(0))
    predicted = torch.where(
        torch.rand(target.shape, generator=torch.Generator().manual_seed(1)) < 0.7, target, 0
    )
    few = PixelCounts.of(predicted, target, 3)
    monkeypatch.setattr("augerino.diagnostics.pixels.MAX_GROUPS", 20)
    many = PixelCounts.concatenate([few])
    for name in ("accuracy", "mean_iou"):
        a, b = getattr(few, name)(), getattr(many, name)()
        assert a.low < a.mean < a.high and a.mean == b.mean
    assert many.correct.shape == (60, 3) and many.accuracy().high - many.accuracy().low < 0.2


def test_class_255_is_a_class_like_any_other():
    scores = torch.zeros(2, 300)
    scores[0, 255] = 9
    found = score_items(scores.log_softmax(dim=1), torch.tensor([255, 255]))
    assert found.correct.tolist() == [1.0, 0.0] and found.loss[1] > 5
    assert chance(torch.tensor([0, 255])) == pytest.approx(math.log(2))


def test_evaluation_leaves_frozen_parts_frozen():
    model = nn.Sequential(Scores(), nn.BatchNorm1d(2)).train()
    model[1].eval()
    evaluate(
        model, F.cross_entropy, ag.data.Batches(torch.rand(4, 1, 4, 4), torch.arange(4) % 2, 2)
    )
    assert model.training and model[0].training and not model[1].training


def test_the_gallery_shows_the_input_first():
    from augerino import plots

    augmentation = ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([0.5]))
    x = smooth_images(2, dtype=torch.float32)
    gallery = plots.sample_gallery(augmentation, x, copies=3)
    assert gallery.shape == (2, 4, *x.shape[1:]) and torch.equal(gallery[:, 0], x)
    assert torch.equal(gallery, plots.sample_gallery(augmentation, x, copies=3))


def test_a_verdict_speaks_of_extents_and_its_table_also_of_how_often():
    turn = ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([math.pi / 6], rate=0.25))
    mirror = ag.Augmentation(ag.Flip("horizontal"), ag.Bernoulli([0.5]))
    found = verdicts(ag.Chain(turn, mirror), start={"rotate": 0.3, "flip_horizontal": 0.3})
    assert found[0].sentence == "rotate: learned ±30.0°"
    assert [verdict.learned_text for verdict in found] == [
        "±30.0° in 25 % of copies",
        "50.0 % of copies",
    ]
