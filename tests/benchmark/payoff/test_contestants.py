"""Contestants train with one budget, from the same weights, and are scored the same way."""

import json

import pytest
import torch
from torch import nn

import augerino as ag
from augerino.benchmark.payoff import contestants as module
from augerino.benchmark.payoff.contestants import Contestant, all_contestants, as_contestant, named
from augerino.benchmark.payoff.trained import make_net, scores
from augerino.errors import InputError
from tests.benchmark.payoff.made import tiny_cell


@pytest.mark.parametrize("name", all_contestants())
def test_every_contestant_trains_and_repeats_with_a_seed(name, tmp_path):
    policy = {"policy": [[["Invert", 0.5, 0.5], ["Rotate", 0.5, 0.9]]]}
    (tmp_path / module.FAST_AUTO_AUGMENT).write_text(json.dumps(policy))
    cell = tiny_cell()
    split = cell.load(0, None)
    contestant = named(name, str(tmp_path))
    contestant.check_files(str(tmp_path))
    state = torch.get_rng_state()
    first = contestant.run(cell, split, 0)
    assert torch.equal(torch.get_rng_state(), state)
    assert first.items.shape == (70,) and set(first.items.tolist()) <= {0.0, 100.0}
    assert torch.equal(contestant.run(cell, split, 0).items, first.items)
    assert 0 <= first.one_view <= 100 and first.seconds > 0


def test_the_budget_of_a_cell_is_in_steps():
    cell = tiny_cell(steps=30, lr=0.003, batch_size=10)
    recipe = cell.recipe(70, seed=4)
    assert (recipe.epochs, recipe.batch_size, recipe.lr, recipe.seed) == (4, 10, 0.003, 4)


def test_all_start_from_the_same_weights():
    cell = tiny_cell()
    split = cell.load(0, None)
    first = make_net(cell, split, 1).state_dict()
    torch.rand(3)
    again = make_net(cell, split, 1).state_dict()
    other = make_net(cell, split, 2).state_dict()
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert any(not torch.equal(first[key], other[key]) for key in first)


def test_contestants_apply_to_their_kinds_of_data():
    def applying(**changes):
        cell = tiny_cell(**changes)
        return {name for name, one in all_contestants().items() if one.applies_to(cell)}

    everything = set(all_contestants())
    assert applying() == everything
    assert everything - applying(oracle=None) == {"oracle"}
    assert everything - applying(kind="digits") == {"AutoAugment", "FastAutoAugment"}
    policies = {"AutoAugment", "FastAutoAugment", "RandAugment", "TrivialAugment"}
    assert everything - applying(kind="signals") == policies


def test_a_missing_policy_and_an_unknown_name_are_errors(tmp_path, monkeypatch):
    monkeypatch.setenv("AUGERINO_CACHE", str(tmp_path))
    with pytest.raises(InputError, match=r"fast_autoaugment_cifar10\.json is not there"):
        named("FastAutoAugment").check_files(None)
    with pytest.raises(InputError, match=r"no contestant 'best'\. There are: none, standard"):
        named("best")


class Bright(nn.Module):
    """Knows the answer of the tiny cell: class 1 is brighter."""

    def forward(self, x):
        mean = x.mean(dim=(1, 2, 3))
        return torch.stack([torch.full_like(mean, 0.5), mean], dim=1)


class TestScores:
    def test_a_model_that_knows_the_answer_is_right(self):
        cell = tiny_cell()
        split = cell.load(0, None)
        items, one_view = scores(cell, split, Bright(), 0)
        assert items.mean() == one_view == 100

    def test_copies_are_those_of_the_model_but_at_most_four(self):
        cell = tiny_cell()
        split = cell.load(0, None)
        for given, expected in ((1, 1), (4, 4), (16, 4)):
            model = ag.InvariantModel(
                Bright(), cell.standard(), test_copies=given, average=ag.mean_log_prob
            )
            scores(cell, split, model, 0)
            assert model.test_copies == expected

    def test_one_view_is_not_moved(self):
        cell = tiny_cell()
        split = cell.load(0, None)
        away = ag.Augmentation(ag.Brightness(), ag.Interval([-1e-6], [20.0]))
        model = ag.InvariantModel(Bright(), away, average=ag.mean_log_prob)
        items, one_view = scores(cell, split, model, 0)
        assert one_view == 100 and items.mean() < 60

    def test_an_error_is_in_the_unit_of_the_cell(self):
        from augerino.benchmark.payoff.cell import Split

        x = torch.zeros(6, 1)
        y = torch.full((6, 1), 2.0)
        split = Split((x, y), (x, y), n_outputs=1, scale=50.0)
        items, one_view = scores(tiny_cell(unit="meV"), split, nn.Identity(), 0)
        assert items.tolist() == [100.0] * 6 and one_view == 100

    def test_useless_models_are_rejected(self):
        cell = tiny_cell(unit="meV")
        split = cell.load(0, None)

        class Nan(nn.Module):
            def forward(self, x):
                return x.flatten(1)[:, :1] * float("nan")

        with pytest.raises(InputError, match="predicts NaN"):
            scores(cell, split, Nan(), 0)
        with pytest.raises(InputError, match="a row of class scores for each of 70"):
            scores(tiny_cell(), split, nn.Identity(), 0)


class TestOwn:
    def test_a_function_gets_network_data_and_seed(self):
        seen = []

        def mine(make_net, data, seed):
            seen.append((make_net(), len(data[1]), seed))
            return Bright()

        cell = tiny_cell()
        contestant = as_contestant(mine)
        found = contestant.run(cell, cell.load(3, None), 3)
        assert contestant.name == "mine" and found.score == 100
        assert isinstance(seen[0][0], nn.Module) and seen[0][1:] == (70, 3)

    def test_a_recipe_keeps_its_method_and_gets_the_budget(self, monkeypatch):
        seen = []

        def learn(net, data, *, recipe, **_):
            seen.append(recipe)
            return type("Learned", (), {"model": net})

        monkeypatch.setattr(module, "learn", learn)
        contestant = as_contestant(ag.Recipe(method="gradient", reg_weight=0.3, epochs=99))
        cell = tiny_cell()
        contestant.train(cell, cell.load(0, None), 5)
        (recipe,) = seen
        assert (recipe.method, recipe.reg_weight) == ("gradient", 0.3)
        assert recipe.but(method="auto", reg_weight=ag.Recipe.reg_weight) == cell.recipe(70, 5)

    def test_anything_else_is_rejected(self):
        with pytest.raises(InputError, match=r"A recipe is an ag\.Recipe, a function of"):
            as_contestant(3)
        cell = tiny_cell()
        with pytest.raises(InputError, match="must return the trained model, but returned a str"):
            as_contestant(lambda *_: "model").run(cell, cell.load(0, None), 0)
        contestant = Contestant("x", lambda *_: Bright())
        assert as_contestant(contestant) is contestant
