"""The steps of `learn` together, and whether the result pays."""

import pytest
import torch

import augerino as ag
from augerino.data.synthetic.sprites import sprites
from augerino.diagnostics import Estimate
from augerino.errors import NonFiniteLoss
from augerino.learning import pipeline
from augerino.learning.defaults import no_augmentation
from augerino.learning.learn import train
from augerino.learning.payoff import Payoff, paired_gain
from augerino.runtime.deadline import Deadline

DATA = sprites(100, seed=0)
TEST = sprites(60, seed=1)
QUICK = {"epochs": 2, "coordinates": ("rotate",), "batch_size": 32, "width": 4}


def learn(data=(DATA.x, DATA.y), net=None, **changes) -> ag.Learned:
    return ag.learn(net, data, **{**QUICK, **changes})


class TestSteps:
    def test_the_model_is_trained_with_the_chosen_policy(self):
        learned = learn()
        choice = learned.choice
        assert choice is not None and choice.name == choice.race.winner.name
        assert learned.policy == ag.Policy.of(choice.augmentation)
        assert learned.augmentation.names == ("rotate",)
        assert len(choice.history.epochs) == 2
        assert learned.model.test_copies == choice.copies.copies
        assert "rotate: " in learned.check((TEST.x, TEST.y))

    def test_the_network_of_the_caller_is_the_final_one(self):
        net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3072, 4))
        learned = learn(net=net)
        assert learned.model.net is net
        assert learned.finder is not None and learned.finder.net is not net

    @pytest.mark.parametrize(
        "changes",
        [
            {"trial_length": 0.0},
            {"method": "gradient"},
            {"augmentation": no_augmentation(), "coordinates": ()},
        ],
        ids=["no trials", "gradient", "nothing to learn"],
    )
    def test_without_a_policy_step_the_model_is_the_one_that_found_the_ranges(self, changes):
        if "augmentation" in changes:
            data = (DATA.x, DATA.y)
            learned = ag.learn(None, data, augmentation=no_augmentation(), epochs=1, width=4)
        else:
            learned = learn(**changes)
        assert learned.choice is None and learned.finder is None

    @pytest.mark.parametrize("n", [8, 30, 70])
    def test_few_samples_give_a_usable_model(self, n):
        learned = learn((DATA.x[:n], DATA.y[:n]), n_outputs=4)
        assert learned.model(TEST.x[:3]).shape == (3, 4)
        assert (learned.choice is None) == (n < pipeline.MIN_SAMPLES)

    def test_a_class_with_two_samples(self):
        y = torch.zeros(40, dtype=torch.long)
        y[:2] = 1
        assert learn((DATA.x[:40], y)).model(TEST.x[:3]).shape == (3, 2)

    def test_no_augmentation_is_left_if_every_trial_diverges(self, monkeypatch):
        def diverge(self, name, setup, title, **_):
            if name.startswith("trial"):
                raise NonFiniteLoss("diverged")
            return train(setup)

        monkeypatch.setattr(pipeline.Pipeline, "_train", diverge)
        learned = learn()
        assert learned.choice is not None and learned.choice.augmentation.names == ()
        assert all(trial.scores is None for trial in learned.choice.race.trials)

    def test_regression_chooses_a_policy_too(self):
        learned = learn((DATA.x, DATA.angles[:, None]))
        assert learned.choice is not None and learned.choice.race.winner.accuracy is None

    def test_an_interrupted_policy_step_resumes_to_the_same_bits(self, tmp_path, monkeypatch):
        straight = learn(checkpoint=tmp_path / "a.safetensors")
        run = pipeline.Pipeline._train

        def stop(self, name, setup, title, **step):
            if name == "trial-2":
                raise KeyboardInterrupt
            return run(self, name, setup, title, **step)

        with monkeypatch.context() as patch:
            patch.setattr(pipeline.Pipeline, "_train", stop)
            with pytest.raises(KeyboardInterrupt):
                learn(checkpoint=tmp_path / "b.safetensors")
        again = learn(checkpoint=tmp_path / "b.safetensors", resume=True)
        assert again.policy == straight.policy
        for name, value in straight.model.state_dict().items():
            assert torch.equal(value, again.model.state_dict()[name])

    def test_a_checkpoint_of_another_run_is_not_overwritten(self, tmp_path):
        (tmp_path / "a-final.safetensors").write_text("mine")
        with pytest.raises(ag.InputError, match="exists already"):
            learn(checkpoint=tmp_path / "a.safetensors")
        assert (tmp_path / "a-final.safetensors").read_text() == "mine"


class TestBudget:
    @pytest.mark.parametrize(
        ("stage", "step"),
        [
            ("", "finding the ranges"),
            ("-trial-1", "comparing policies"),
            ("-trial-2", "comparing policies"),
            ("-final", "training the final model"),
        ],
    )
    def test_a_time_limit_gives_a_usable_model_and_resumes_to_the_same_bits(
        self, tmp_path, monkeypatch, stage, step
    ):
        whole = learn()
        started = tmp_path / f"run{stage}.safetensors"
        with monkeypatch.context() as patch:
            patch.setattr(Deadline, "is_over", lambda _: started.exists())
            part = learn(checkpoint=tmp_path / "run.safetensors", budget=1.0)
        assert part.interrupted == step
        assert part.evaluate((TEST.x, TEST.y)).loss > 0
        if step == "finding the ranges":
            ended = "undecided: the training ended before the ranges were fixed"
            assert ended in part.check((TEST.x, TEST.y))
        again = learn(checkpoint=tmp_path / "run.safetensors", resume=True)
        assert again.interrupted == ""
        for a, b in zip(whole.model.parameters(), again.model.parameters(), strict=True):
            assert torch.equal(a, b)

    def test_the_limit_must_be_positive(self):
        with pytest.raises(ag.InputError, match="above 0 minutes, but got 0"):
            learn(budget=0)


class TestPayoff:
    def payoff(self, answer, gain, over_standard=None, *, in_trials=True) -> str:
        return Payoff(
            answer=answer,
            gain=gain,
            over_standard=over_standard,
            standard="flip + shift",
            in_trials=in_trials,
            is_accuracy=True,
            n_items=500,
        ).sentence

    def test_each_answer_is_a_sentence(self):
        yes = self.payoff("yes", Estimate(3.2, 1.9, 4.5), Estimate(0.6, -0.4, 1.6))
        assert yes == (
            "Use it: +3.2 points (95 %: +1.9 to +4.5) over no augmentation, on 500 held-out "
            "samples. In short trials: +0.6 points (95 %: −0.4 to +1.6) over flip + shift."
        )
        assert self.payoff("no", Estimate(-3.0, -4.0, -2.0)).startswith("Do not use it: −3.0")
        assert self.payoff("undecided", Estimate(0.1, -1.0, 1.2)).startswith("Undecided: +0.1")
        assert self.payoff("undecided", Estimate(0.0, 0.0, 0.0)).startswith("No difference from")
        assert self.payoff("none", None).startswith("Not worth it here")

    def test_a_full_training_with_the_standard_policy_is_compared_on_the_same_samples(self):
        over = Estimate(0.6, -0.4, 1.6)
        text = self.payoff("yes", Estimate(3.2, 1.9, 4.5), over, in_trials=False)
        assert text.endswith(
            "On the same samples: +0.6 points (95 %: −0.4 to +1.6) over flip + shift."
        )

    def test_a_paired_gain_changes_its_sign_with_the_order(self):
        from augerino.diagnostics.items import ItemScores

        generator = torch.Generator().manual_seed(0)
        a, b = (torch.rand(300, generator=generator).double() for _ in range(2))
        one = ItemScores(a, (a > 0.3).double())
        other = ItemScores(b, (b > 0.5).double())
        forward = paired_gain(one, other)
        backward = paired_gain(other, one)
        assert forward.mean == pytest.approx(-backward.mean)
        assert forward.low < forward.mean < forward.high
        assert paired_gain(one, one).mean == 0
