"""The policy step: candidates, trials, and the choice of test copies."""

import math

import pytest
import torch

import augerino as ag
from augerino.diagnostics.items import ItemScores
from augerino.learning.averaging import averaged_model, evaluation_candidates, single_view
from augerino.learning.candidates import (
    NONE,
    Candidate,
    geometric_candidates,
    photometric_candidates,
    rotation_candidate,
    standard_candidates,
)
from augerino.learning.race import SOLVED, Trial, calibrated_loss, run_race, split_samples

IMAGES = torch.rand(4, 3, 16, 16, generator=torch.Generator().manual_seed(0))
FOUND = ag.Augmentation(
    ag.Affine2d("translate_x", "rotate", "scale", "shear"), ag.Uniform([0.3, math.pi, 0.2, 1e-4])
)


class TestCandidates:
    def test_no_augmentation_has_no_coordinates(self):
        assert Candidate(NONE).augmentation.names == ()

    @pytest.mark.parametrize(
        ("kind", "x"),
        [
            ("images", IMAGES),
            ("masks", IMAGES),
            ("signals", torch.randn(4, 2, 32)),
            ("points", torch.randn(4, 9, 3)),
            ("points", {"positions": torch.randn(4, 9, 3), "mask": torch.ones(4, 9).bool()}),
        ],
    )
    def test_standard_policies_apply_and_need_no_gradient(self, kind, x):
        for candidate in standard_candidates(kind, x):
            augmentation = candidate.augmentation
            changed = augmentation(x)
            if isinstance(x, dict):
                assert not torch.equal(changed["positions"], x["positions"])
            else:
                assert changed.shape == x.shape and not torch.equal(changed, x)
            assert not any(p.requires_grad for p in augmentation.parameters())

    def test_photometric_policies_need_intensities(self):
        few, many = photometric_candidates("images", IMAGES)
        assert few.names < many.names and "saturation" in many.names
        assert "saturation" not in photometric_candidates("images", IMAGES[:, :1])[1].names
        assert photometric_candidates("images", 2 * IMAGES) == []
        assert photometric_candidates("signals", torch.rand(4, 2, 32)) == []

    def test_full_rotations_are_a_candidate_of_their_own(self):
        candidate = rotation_candidate(FOUND)
        assert candidate is not None and candidate.names == {"rotate"}
        assert rotation_candidate(FOUND.only("scale", "shear")) is None

    def geometric(self, found, base=None, kind="images", x=IMAGES) -> list[Candidate]:
        return geometric_candidates(found, base or Candidate(NONE), kind=kind, x=x)

    def test_learned_ranges_leave_out_negligible_and_repeated_ones(self):
        _, some = self.geometric(FOUND)
        assert some.names == {"translate_x", "scale"}
        assert some.augmentation.distribution.rate.tolist() == [0.25, 0.25]
        base = standard_candidates("images", IMAGES)[0]
        assert self.geometric(FOUND, base)[1].names == {"scale"}
        assert len(self.geometric(FOUND.only("shear"), base)) == 1

    def test_moderate_ranges_do_not_depend_on_the_learned_ones(self):
        moderate = self.geometric(FOUND)[0].augmentation
        assert moderate.names == ("rotate", "scale", "squeeze", "shear")
        extent = [moderate.extent[name] for name in moderate.names]
        assert extent == pytest.approx([0.52, 0.3, 0.2, 0.3], abs=1e-4)

    def test_moderate_ranges_leave_out_the_motions_of_the_base(self):
        base = rotation_candidate(FOUND)
        assert self.geometric(FOUND, base)[0].names == {"scale", "squeeze", "shear"}

    @pytest.mark.parametrize(
        "x", [torch.randn(4, 9, 3), {"positions": torch.randn(4, 9, 3), "mask": torch.ones(4, 9)}]
    )
    def test_moderate_ranges_of_points_move_the_positions(self, x):
        found = ag.Augmentation(ag.Affine3d("rotate_x", "rotate_y"), ag.Uniform([0.1, 1e-4]))
        first, learned = self.geometric(found, kind="points", x=x)
        assert learned.augmentation.distribution.rate.tolist() == [1.0]
        assert first.names == {"rotate_x", "rotate_y", "rotate_z", "scale"}
        assert type(first.augmentation(x)) is type(x)

    def test_signals_have_no_moderate_ranges(self):
        found = ag.Augmentation(ag.TimeShift(), ag.Uniform([0.1]))
        names = [c.name for c in self.geometric(found, kind="signals", x=torch.rand(4, 2, 9))]
        assert names == ["learned ranges in some samples", "learned ranges in all samples"]

    def test_policies_with_a_common_coordinate_are_not_chained(self):
        moderate, some = self.geometric(FOUND)
        assert moderate.plus(some).names == some.names


class TestRace:
    def race(self, losses: dict[str, float | None]):
        """A race with the given mean losses; 1.0 for policies that are not named.

        Differences of losses have a standard error of 0.02 if the policies differ in length.
        """
        noise = 0.1 * torch.tensor([-1.0, 1.0]).double().repeat(50)

        def run(candidate: Candidate) -> Trial:
            loss = losses.get(candidate.name, 1.0)
            if loss is None:
                return Trial(candidate, None)
            sign = (-1) ** len(candidate.parts)
            return Trial(candidate, ItemScores(loss + sign * noise, None))

        return run_race(FOUND, kind="images", x=IMAGES, run=run)

    def names(self, losses) -> list[str]:
        return [trial.name for trial in self.race(losses).trials]

    def test_the_lowest_loss_wins(self):
        race = self.race({"flip + shift": 0.5})
        assert race.winner.name == race.standard == "flip + shift"

    def test_every_standard_policy_is_tried(self):
        assert self.names({"flip + shift": 0.5})[:3] == [NONE, "flip + shift", "shift"]
        race = self.race({"flip + shift": 0.5, "shift": 0.4})
        assert race.winner.name == race.standard == "shift"

    @pytest.mark.parametrize(("loss", "is_accepted"), [(0.4, True), (0.51, True), (0.53, False)])
    def test_an_addition_is_accepted_within_a_standard_error(self, loss, is_accepted):
        race = self.race({"shift": 0.5, "shift + moderate ranges": loss})
        assert (race.winner.name == "shift + moderate ranges") == is_accepted

    def test_the_best_of_the_accepted_variants_counts(self):
        losses = {"shift": 0.5, "shift + tones": 0.49, "shift + photometric": 0.495}
        assert self.race(losses).winner.name == "shift + tones"
        losses["shift + tones"] = 0.5
        assert self.race(losses).winner.name == "shift + photometric"

    @pytest.mark.parametrize(("loss", "is_accepted"), [(0.49, True), (0.51, True), (0.53, False)])
    def test_a_standard_policy_is_accepted_within_a_standard_error(self, loss, is_accepted):
        race = self.race({NONE: 0.5, "shift": loss})
        assert (race.winner.name == race.standard == "shift") == is_accepted

    def test_no_augmentation_wins_if_every_policy_costs_accuracy(self):
        race = self.race({NONE: 0.5})
        assert race.winner.name == race.standard == NONE

    def test_the_better_of_two_additions_wins_if_both_together_are_worse(self):
        tones = "shift + tones"
        losses = {"shift": 0.5, "shift + moderate ranges": 0.4, tones: 0.3}
        assert self.race(losses).winner.name == tones

    def test_two_kinds_that_help_are_combined(self):
        moderate = "flip + shift + moderate ranges"
        losses = {"flip + shift": 0.5, moderate: 0.4, "flip + shift + tones": 0.4}
        assert self.names(losses)[-1] == f"{moderate} + tones"

    def test_learned_ranges_within_rejected_moderate_ones_are_not_tried(self):
        learned = "shift + learned ranges in some samples"
        assert learned not in self.names({"shift": 0.5, "shift + moderate ranges": 0.7})
        assert learned in self.names({"shift": 0.5, "shift + moderate ranges": 0.5})

    def test_learned_ranges_beyond_rejected_moderate_ones_are_tried(self):
        # Without a base, they include a translation, which moderate ranges do not.
        assert "learned ranges in some samples" in self.names({NONE: 0.5, "moderate ranges": 2.0})

    def test_nothing_else_is_tried_if_no_augmentation_solves_the_task(self):
        race = self.race({NONE: SOLVED - 0.1})
        assert [trial.name for trial in race.trials] == [NONE]
        assert race.winner.name == race.standard == NONE

    def test_full_rotations_can_be_the_base(self):
        race = self.race({"flip + shift": 0.5, "full rotations": 0.2})
        assert race.winner.name == "full rotations" and race.standard == "flip + shift"

    def test_diverged_trials_never_win(self):
        assert self.race({"flip + shift": None, "shift": 0.9}).winner.name == "shift"

    def test_no_augmentation_is_left_if_every_trial_diverges(self):
        class All(dict):
            def get(self, name, default=None):
                return None

        assert self.race(All()).winner.name == NONE


class TestCalibration:
    def test_it_does_not_depend_on_the_temperature_of_the_predictions(self):
        logits = torch.randn(200, 5, generator=torch.Generator().manual_seed(0))
        y = (logits + torch.randn(200, 5, generator=torch.Generator().manual_seed(1))).argmax(1)
        losses = [
            float(calibrated_loss((s * logits).log_softmax(1), y).mean()) for s in (0.5, 1, 3)
        ]
        assert losses[0] == pytest.approx(losses[1], abs=1e-6)
        assert losses[2] == pytest.approx(losses[1], abs=1e-6)

    def test_a_sure_network_that_is_often_right_beats_one_that_knows_nothing(self):
        y = torch.arange(100) % 4
        guess = torch.where(torch.arange(100) < 60, y, (y + 1) % 4)
        sure = 50 * torch.nn.functional.one_hot(guess, 4).double()
        plain = torch.nn.functional.cross_entropy(sure, y)
        assert plain > math.log(4) > calibrated_loss(sure.log_softmax(1), y).mean()

    def test_networks_that_solve_a_task_are_equally_good(self):
        y = torch.arange(100) % 4
        right = torch.nn.functional.one_hot(y, 4).double()
        losses = [calibrated_loss((s * right).log_softmax(1), y) for s in (5.0, 30.0)]
        assert torch.equal(*losses)


class TestSplit:
    def test_every_sample_is_in_one_part_and_every_class_in_both(self):
        y = torch.arange(90) % 9
        trained, judged = split_samples(y, 90, 5)
        assert sorted([*trained.tolist(), *judged.tolist()]) == list(range(90))
        assert len(trained) == 18
        assert set(y[trained].tolist()) == set(y[judged].tolist()) == set(range(9))


class TestAveraging:
    def policy(self) -> ag.Augmentation:
        base = standard_candidates("images", IMAGES)[0]
        tones = photometric_candidates("images", IMAGES)[0]
        rotation = rotation_candidate(FOUND)
        assert rotation is not None
        return base.plus(rotation).plus(tones).augmentation

    def test_copies_have_no_photometric_operations_and_may_be_weaker(self):
        single, half, whole = evaluation_candidates(self.policy(), 4)
        assert single.copies == 1 and single.augmentation.names == ()
        names = {"flip_horizontal", "shift_x", "shift_y", "rotate"}
        assert set(half.augmentation.names) == set(whole.augmentation.names) == names
        assert half.augmentation.extent["shift_x"] == pytest.approx(0.125)
        assert whole.augmentation.extent["shift_x"] == pytest.approx(0.25)
        assert half.augmentation.extent["rotate"] == pytest.approx(math.pi)
        assert half.augmentation.extent["flip_horizontal"] == pytest.approx(1.0)

    def test_one_copy_is_a_single_view(self):
        assert len(evaluation_candidates(self.policy(), 1)) == 1

    def test_a_single_view_is_the_network_itself(self):
        net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(768, 3))
        model = averaged_model(net, single_view(), task="classification", recipe=ag.Recipe())
        assert torch.allclose(model(IMAGES), net(IMAGES).log_softmax(1))
