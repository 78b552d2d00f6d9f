"""Evidence from held-out data, on a problem whose answer can be computed by hand.

Flat pictures of intensity v, class 1 above one half. All v are at least 0.2 away from one half, so
brightness may change by 0.2 and no more. The network below implements the rule exactly.
"""

import math

import pytest
import torch
from torch import nn

import augerino as ag
from augerino.diagnostics import (
    CoordinateEvidence,
    Estimate,
    Evidence,
    gather_evidence,
    verdicts,
)
from augerino.diagnostics.items import chance, resample, score_items


class Threshold(nn.Module):
    def __init__(self, sharpness=200.0):
        super().__init__()
        self.sharpness = nn.Parameter(torch.tensor(sharpness))

    def forward(self, x):
        score = self.sharpness * (x.mean(dim=(1, 2, 3)) - 0.5)
        return torch.stack([-score, score], dim=1) / 2


def flat_pictures(n=400, seed=0):
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % 2
    v = 0.3 * y + 0.1 + 0.2 * torch.rand(n, generator=generator) + 0.3 * y
    return v[:, None, None, None].expand(-1, 1, 4, 4).clone(), y


def model_with(bound, transform=None, sharpness=200.0):
    transform = transform or ag.Brightness()
    return ag.InvariantModel(
        Threshold(sharpness),
        ag.Augmentation(transform, ag.Uniform([bound] * len(transform.names))),
        average=ag.mean_log_prob,
    )


def test_the_loss_rises_where_labels_begin_to_lie():
    x, y = flat_pictures()
    found = gather_evidence(model_with(0.15), x, y, steps=12)
    (evidence,) = found.coordinates.values()
    assert found.chance == pytest.approx(math.log(2), rel=1e-3) and found.information.low > 0.6
    low, high = evidence.interval
    assert 0.19 < evidence.edge < 0.24 and low <= evidence.edge <= high and high - low < 0.02
    assert evidence.rise[0] == Estimate(0.0, 0.0, 0.0)
    assert evidence.rise[-1].low > evidence.tolerance


def test_switching_off_and_widening_are_paired_changes():
    x, y = flat_pictures()
    model = model_with(0.25)
    (evidence,) = gather_evidence(model, x, y).coordinates.values()
    assert (
        evidence.off.high < 0 and evidence.off_accuracy.mean > 0
    )  # learned too wide: better without
    assert evidence.wider.low > 0 and evidence.wider_accuracy.mean < 0
    assert evidence.wider_extent == pytest.approx(0.375)


def test_evidence_leaves_the_model_and_the_random_state_alone():
    x, y = flat_pictures(40)
    model = model_with(0.15).train()
    state, bounds = torch.get_rng_state(), model.augmentation.extent
    first = gather_evidence(model, x, y)
    assert (
        model.training
        and torch.equal(state, torch.get_rng_state())
        and model.augmentation.extent == bounds
    )
    assert gather_evidence(model, x, y) == first


def sentence(bound, **options):
    x, y = flat_pictures()
    model = model_with(bound, sharpness=options.pop("sharpness", 200.0))
    (verdict,) = verdicts(
        model.augmentation,
        {"brightness": 0.3},
        evidence=gather_evidence(model, x, y, steps=20),
        **options,
    )
    return verdict


def test_a_symmetry_is_reported_with_its_interval():
    verdict = sentence(0.2)
    assert (
        verdict.answer == "symmetry"
        and "95 %" in verdict.sentence
        and "invariant up to" in verdict.sentence
    )
    assert verdict.interval[0] < 0.22 < verdict.interval[1] + 0.02


def test_no_extent_is_no_symmetry():
    verdict = sentence(0.01)
    assert verdict.answer == "none" and "no symmetry found" in verdict.sentence


def test_a_bound_below_the_edge_reports_both():
    verdict = sentence(0.11)
    assert verdict.answer == "symmetry" and "held-out loss stays flat up to" in verdict.sentence


def test_a_bound_still_on_its_way_decides_nothing():
    verdict = sentence(0.11, unfinished=("brightness",))
    assert (
        verdict.answer == "undecided"
        and "still moving" in verdict.sentence
        and "more data or epochs" in verdict.sentence
    )


def test_a_network_at_chance_is_undecided():
    verdict = sentence(0.2, sharpness=0.0)
    assert verdict.answer == "undecided" and "no better than chance" in verdict.sentence


def test_a_loose_interval_decides_nothing():
    known = Estimate(1.0, 0.9, 1.1)
    none = Estimate(0.0, 0.0, 0.0)
    evidence = CoordinateEvidence(
        "brightness", none, None, none, None, 0.3, [0.0, 0.4], [none, none], 0.05, 0.2, (0.05, 0.39)
    )
    augmentation = ag.Augmentation(ag.Brightness(), ag.Uniform([0.2]))
    (verdict,) = verdicts(
        augmentation,
        {"brightness": 0.3},
        evidence=Evidence(10, 2.0, known, {"brightness": evidence}),
    )
    assert (
        verdict.answer == "undecided"
        and "starts to rise somewhere between ±5.0 and ±39.0 %" in verdict.sentence
    )


def scale_verdict(edge, interval):
    none = Estimate(0.0, 0.0, 0.0)
    evidence = CoordinateEvidence(
        coordinate="scale",
        off=none,
        off_accuracy=None,
        wider=none,
        wider_accuracy=None,
        wider_extent=0.3,
        extents=[0.0, 0.4],
        rise=[none, none],
        tolerance=0.05,
        edge=edge,
        interval=interval,
    )
    augmentation = ag.Augmentation(ag.Affine2d("scale"), ag.Uniform([0.2]))
    known = Evidence(10, 2.0, Estimate(1.0, 0.9, 1.1), {"scale": evidence})
    (verdict,) = verdicts(augmentation, {"scale": 0.3}, evidence=known)
    return verdict.sentence


@pytest.mark.parametrize(
    ("edge", "interval", "sentence"),
    [
        (
            0.16,
            (0.08, 0.24),
            "scale: undecided: the held-out loss starts to rise somewhere between ×1.08 and ×1.27; "
            "use more data or epochs",
        ),
        (0.18, (0.16, 0.21), "scale: yes, invariant up to ×1.20 (95 %: ×1.17 to ×1.23)"),
        (
            None,
            None,
            "scale: yes, invariant up to ×1.22 (the held-out loss stays flat even at ×1.49)",
        ),
    ],
)
def test_an_interval_of_factors_names_one_edge(edge, interval, sentence):
    assert scale_verdict(edge, interval) == sentence


@pytest.mark.parametrize(
    ("probability", "answer"), [(0.5, "full"), (0.02, "none"), (0.25, "undecided")]
)
def test_flips_are_decided_by_the_loss_of_mirrored_samples(probability, answer):
    class Side(nn.Module):
        def __init__(self, sharpness):
            super().__init__()
            self.sharpness = nn.Parameter(torch.tensor(sharpness))

        def forward(self, x):
            right = x[..., 2:].mean(dim=(1, 2, 3)) - x[..., :2].mean(dim=(1, 2, 3))
            score = self.sharpness * (right.abs() - 0.5 if probability == 0.5 else right)
            return torch.stack([-score, score], dim=1)

    generator = torch.Generator().manual_seed(0)
    y = torch.arange(100) % 2
    x = torch.rand(100, 1, 4, 4, generator=generator) * 0.1
    if probability == 0.5:  # class 1 has a bright side, no matter which
        side = torch.randint(2, (100,), generator=generator)
        x[y == 1, :, :, :2] += ((side == 0) & (y == 1))[y == 1][:, None, None, None].float()
        x[y == 1, :, :, 2:] += ((side == 1) & (y == 1))[y == 1][:, None, None, None].float()
    else:
        x[y == 1, :, :, 2:] += 1
        x[y == 0, :, :, :2] += 1
    augmentation = ag.Augmentation(ag.Flip("horizontal"), ag.Bernoulli([probability]))
    model = ag.InvariantModel(Side(10.0), augmentation, average=ag.mean_log_prob)
    findings = gather_evidence(model, x, y)
    (verdict,) = verdicts(augmentation, {"flip_horizontal": 0.3}, evidence=findings)
    assert verdict.answer == answer


class Copy(nn.Module):
    """Scores of two classes: which of two the pixel is."""

    def __init__(self):
        super().__init__()
        self.sharpness = nn.Parameter(torch.tensor(20.0))

    def forward(self, x):
        return self.sharpness * torch.cat([0.5 - x, x - 0.5], dim=1)


def follower(bound):
    return ag.EquivariantModel(
        Copy(),
        ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([bound])),
        average=ag.mean_log_prob,
    )


def test_evidence_uses_only_valid_pixels_of_masks():
    x = (
        torch.rand(12, 1, 9, 9, generator=torch.Generator().manual_seed(0)).cumsum(-1) > 2.5
    ).float()
    y = x[:, 0].long()
    y[0] = 255
    y[1, :4] = 255
    findings = gather_evidence(follower(0.3), x, y)
    assert findings.n_items == 11 and findings.information.low > 0
    numbers = [c.mean for c in findings.coordinates["rotate"].rise] + [
        findings.chance,
        findings.information.mean,
    ]
    assert all(math.isfinite(number) for number in numbers)
    assert findings == gather_evidence(follower(0.3), x[1:], y[1:])
    with pytest.raises(ag.InputError, match="Every pixel of the held-out masks is ignored"):
        gather_evidence(follower(0.3), x[:1], y[:1])


def test_a_symmetry_of_masks_is_an_equivariance():
    known, none = Estimate(1.0, 0.9, 1.1), Estimate(0.0, 0.0, 0.0)
    evidence = CoordinateEvidence(
        "rotate", none, None, none, None, 0.3, [0.0, 0.6], [none, none], 0.05, 0.3, (0.29, 0.31)
    )
    model = follower(0.3)
    findings = Evidence(10, 2.0, known, {"rotate": evidence})
    (verdict,) = verdicts(
        model.augmentation,
        {"rotate": 0.3},
        None,
        findings,
        followed=model.followed,
        output_name="masks",
    )
    assert (
        verdict.sentence
        == "rotate: yes, equivariant, masks follow up to ±17.2° (95 %: ±16.6° to ±17.8°)"
    )


def test_mirrored_masks_are_reported_as_such():
    known, harmless, harm = (
        Estimate(1.0, 0.9, 1.1),
        Estimate(0.0, 0.0, 0.0),
        Estimate(0.9, 0.8, 1.0),
    )
    sentences = []
    for probability, rise in ((0.5, harmless), (0.02, harm)):
        evidence = CoordinateEvidence(
            "flip_horizontal",
            rise,
            None,
            rise,
            None,
            1.0,
            [0.0, 1.0],
            [harmless, rise],
            0.05,
            None,
            None,
        )
        augmentation = ag.Augmentation(ag.Flip("horizontal"), ag.Bernoulli([probability]))
        findings = Evidence(10, 2.0, known, {"flip_horizontal": evidence})
        options = {"evidence": findings, "followed": augmentation.names, "output_name": "masks"}
        sentences += [
            verdict.sentence for verdict in verdicts(augmentation, augmentation.extent, **options)
        ]
    assert (
        "equivariant, masks follow under mirroring" in sentences[0]
        and "no symmetry found, mirroring raises the held-out loss" in sentences[1]
    )


def test_judging_classes_values_and_maps():
    log_probs = torch.log_softmax(torch.randn(3, 4, 2, 2), dim=1)
    labels = torch.randint(4, (3, 2, 2))
    labels[0, 0, 0] = labels[1] = 255
    loss, right = score_items(log_probs, labels)
    counted = labels[2]
    expected = -log_probs[2].gather(0, counted[None])[0].mean()
    assert (
        loss[2].item() == pytest.approx(expected.item(), rel=1e-5)
        and loss[1] == 0
        and right[1] == 0
    )
    loss, right = score_items(torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, 4.0]]))
    assert loss.item() == 2 and right is None


def test_chance_is_the_best_blind_guess():
    assert chance(torch.tensor([0, 0, 1, 1])) == pytest.approx(math.log(2))
    assert chance(torch.tensor([[1.0], [3.0]])) == pytest.approx(1.0)


def test_a_bootstrap_interval_covers_the_mean_as_often_as_it_says():
    generator = torch.Generator().manual_seed(0)
    inside = 0
    for seed in range(200):
        change = resample(60, seed).estimate(torch.randn(60, generator=generator))
        inside += change.low <= 0 <= change.high
    assert (
        0.88 <= inside / 200 <= 0.99
    )  # 95 % up to the noise of 200 tries and the bias of small samples
