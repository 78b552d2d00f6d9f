"""The front door."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import augerino as ag
from augerino.data.sprites import sprites

DATA = sprites(96, seed=0)
QUICK = {"epochs": 1, "coordinates": ("rotate",), "batch_size": 32}


@pytest.mark.parametrize(
    "data",
    [
        (DATA.x, DATA.y),
        (DATA.x.numpy(), DATA.y.numpy()),
        ((DATA.x * 255).byte(), DATA.y.to(torch.uint8)),
        TensorDataset(DATA.x, DATA.y),
        DataLoader(TensorDataset(DATA.x, DATA.y), batch_size=32, shuffle=True),
    ],
    ids=["tensors", "arrays", "uint8", "dataset", "loader"],
)
def test_any_form_of_data(data):
    learned = ag.learn(None, data, **QUICK)
    assert learned.task == "classification" and len(learned.history.epochs) == 1
    assert learned.model(DATA.x[:3]).shape == (3, 4) and not learned.model.training
    assert learned.evaluate(data).items == 96
    assert "rotate: yes" in str(learned)
    assert learned.policy.augmentation().bounds() == learned.bounds


def test_floating_targets_make_a_regression():
    learned = ag.learn(None, (DATA.x, DATA.angles), **QUICK)
    assert learned.task == "regression" and learned.model(DATA.x[:3]).shape == (3, 1)
    assert learned.evaluate((DATA.x, DATA.angles)).accuracy is None


def test_a_net_and_an_augmentation_of_ones_own():
    net = nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 4))
    augmentation = ag.Augmentation(ag.Brightness(), ag.Gaussian([0.0], [0.1]))
    learned = ag.learn(net, (DATA.x, DATA.y), augmentation=augmentation, epochs=1)
    assert learned.model.net is net and set(learned.bounds) == {"brightness"}


def test_a_seed_repeats_and_the_global_state_is_left_alone():
    before = torch.get_rng_state()
    runs = [ag.learn(None, (DATA.x, DATA.y), seed=seed, **QUICK).bounds for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]
    assert torch.equal(before, torch.get_rng_state())


def test_records_are_reported_as_they_come():
    seen, steps = [], []
    ag.learn(None, (DATA.x, DATA.y), on_epoch=seen.append, on_step=lambda *s: steps.append(s), **{**QUICK, "epochs": 2})
    assert [record.epoch for record in seen] == [1, 2] and len(steps) == 6


def test_grey_images_of_any_size():
    x = torch.rand(12, 1, 17, 9)
    assert ag.learn(None, (x, torch.arange(12) % 2), **QUICK).model(x).shape == (12, 2)


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ("sprites", {}, "a pair .* a Dataset or a DataLoader, but is a str"),
        ((DATA.x, DATA.y[:5]), {}, "one target per input"),
        ((DATA.x[:0], DATA.y[:0]), {}, "empty"),
        ((DATA.x, torch.zeros(96, dtype=torch.long)), {}, "only one class"),
        ((DATA.x * float("nan"), DATA.y), {}, "NaN"),
        ((DATA.x[:, 0], DATA.y), {}, r"images \(N, C, H, W\) only"),
        ((np.array(["a"] * 96), DATA.y), {}, "numbers"),
        (TensorDataset(DATA.x[:0], DATA.y[:0]), {}, "empty"),
        (DataLoader(TensorDataset(DATA.x)), {}, r"\(input, target\) pairs"),
        ((DATA.x, DATA.y), {"epoch": 3}, "did you mean 'epochs'"),
        ((DATA.x, DATA.y), {"coordinates": ("spin",)}, "no coordinate 'spin'"),
        ((DATA.x, DATA.y), {"device": "tpu9"}, "device 'tpu9'"),
    ],
)
def test_wrong_input_is_told_in_one_sentence(data, options, message):
    with pytest.raises(ag.InputError, match=message):
        ag.learn(None, data, **options)


def test_labels_beyond_the_nets_outputs_are_told():
    net = nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 2))
    with pytest.raises(ag.InputError, match=r"2 classes.*label 3"):
        ag.learn(net, (DATA.x, DATA.y), **QUICK)
    with pytest.raises(ag.InputError, match=r"returns \(2, 2\) for targets \(2, 1\)"):
        ag.learn(net, (DATA.x, DATA.angles), **QUICK)  # which a loss would broadcast in silence


def test_a_recipe_is_checked():
    assert ag.Recipe().but(epochs=3).epochs == 3
    for bad in ({"epochs": 0}, {"start": 0.0}, {"weight": -1.0}, {"lr": float("inf")}, {"precision": "fp8"}, {"coordinates": ()}):
        with pytest.raises(ag.InputError):
            ag.Recipe(**bad)
