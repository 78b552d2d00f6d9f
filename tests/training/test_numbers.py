"""NaN, Inf and extreme numbers: training stops with a clear error or continues correctly."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import augerino as ag
from augerino.data.synthetic.sprites import sprites

DATA = sprites(64)
QUICK = {
    "epochs": 1,
    "width": 2,
    "batch_size": 16,
    "coordinates": ("rotate", "scale"),
    "precision": "float32",
}
REGULARIZERS = [ag.NegativeL2(), ag.NegativeNorm(), ag.LogVolume(), ag.NegativeEntropy()]


def loader(x, y, size=16):
    return DataLoader(TensorDataset(x, y), size)


def poisoned(value):
    x = DATA.x.clone()
    x[3, 0, 0, 0] = value
    return x


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("form", [lambda x, y: (x, y), loader])
def test_a_non_finite_input_is_rejected_with_its_index(value, form):
    with pytest.raises(
        ag.InputError, match=r"1 of \d+ inputs contain NaN or Inf \(the first is number 3\)"
    ):
        ag.learn(None, form(poisoned(value), DATA.y), **QUICK)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_so_is_a_target(value):
    y = torch.rand(64)
    y[5] = value
    with pytest.raises(ag.InputError, match="targets contain NaN or Inf"):
        ag.learn(None, (DATA.x, y), **QUICK)


@pytest.mark.parametrize("method", ["probe", "gradient"])
def test_inputs_too_large_for_the_counts_of_batch_norm_stop_the_training(method):
    """Batch norm keeps the loss finite; only the running statistics for evaluation overflow."""
    with pytest.raises(
        ag.NonFiniteLoss,
        match=r"running_var' are no longer finite \(bounds: .*Look for NaN or huge values",
    ):
        ag.learn(None, (DATA.x * 1e30, DATA.y), method=method, **QUICK)


def test_a_target_too_large_for_the_loss_stops_the_training():
    with pytest.raises(ag.NonFiniteLoss, match="epoch 1, step 1: the loss became inf"):
        ag.learn(None, (DATA.x, torch.linspace(0.9e38, 1e38, 64)), **QUICK)


def test_an_exploding_bound_stops_the_training():
    with pytest.raises(
        ag.NonFiniteLoss,
        match=r"epoch 1: the bound of '\w+' diverged to \d.*Lower its learning rate",
    ):
        ag.learn(
            None,
            (DATA.x, DATA.y),
            method="gradient",
            augmentation_lr=1000.0,
            reg_weight=1e6,
            warm_up=0.0,
            **QUICK,
        )


def test_a_wide_start_is_no_explosion():
    wide = ag.Augmentation(ag.Affine2d("rotate", "scale"), ag.Uniform([900.0, 900.0]))
    options = {key: value for key, value in QUICK.items() if key != "coordinates"}
    learned = ag.learn(None, (DATA.x, DATA.y), augmentation=wide, method="gradient", **options)
    assert all(bound > 800 for bound in learned.extent.values())


def trained(raw, regularizer, epochs=2):
    augmentation = ag.Augmentation(ag.Affine2d("rotate", "scale"), ag.Uniform([0.3, 0.3]))
    augmentation.distribution.raw_bound.data.fill_(raw)
    model = ag.InvariantModel(
        nn.Sequential(nn.Flatten(), nn.Linear(3072, 4)), augmentation, average=ag.mean_log_prob
    )
    optimizer = torch.optim.Adam(ag.param_groups(model), lr=0.01)
    objective = ag.Objective(F.nll_loss, augmentation, regularizer, 0.05)
    return model, ag.fit(
        model, objective, ag.data.Batches(DATA.x, DATA.y, 16), optimizer, epochs=epochs
    )


@pytest.mark.parametrize("regularizer", REGULARIZERS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("raw", [-90.0, -1e4, -1e38])
def test_a_bound_that_goes_to_zero_is_no_augmentation_and_training_goes_on(raw, regularizer):
    model, history = trained(raw, regularizer)
    last = history.epochs[-1]
    assert all(math.isfinite(value) for value in (last.loss, last.penalty, *last.extent.values()))
    assert all(0 < bound < 1e-20 for bound in last.extent.values()) and all(
        p.isfinite().all() for p in model.parameters()
    )
    g = model.augmentation.sample(64)
    torch.testing.assert_close(g(DATA.x), DATA.x)


@pytest.mark.parametrize("regularizer", REGULARIZERS, ids=lambda value: type(value).__name__)
def test_a_bound_that_overflows_stops_the_training(regularizer):
    with pytest.raises(ag.NonFiniteLoss, match=r"became nan|diverged"):
        trained(1e38, regularizer)


class Normed(nn.Sequential):
    """Batch norm over one number an item, which one item alone cannot train."""

    def __init__(self):
        super().__init__(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.BatchNorm1d(3), nn.Linear(3, 4))


def test_a_single_item_under_batch_norm_is_a_clear_error():
    for data, size in (((DATA.x, DATA.y), 1), (loader(DATA.x[:33], DATA.y[:33]), 16)):
        with pytest.raises(
            ag.InputError, match="cannot train on a batch of one sample: use a larger batch_size"
        ):
            ag.learn(Normed(), data, **{**QUICK, "batch_size": size})


def test_a_lone_last_item_in_memory_joins_the_batch_before_it():
    assert ag.learn(Normed(), (DATA.x[:33], DATA.y[:33]), **QUICK).history.epochs


def test_batches_of_one_class_each_are_reported():
    order = DATA.y.argsort()
    with pytest.warns(
        UserWarning, match="Every batch contains a single class, .*Shuffle the loader"
    ):
        ag.learn(None, loader(DATA.x[order], DATA.y[order], 8), **QUICK)


def test_a_batch_of_one_class_among_others_is_not():
    y = DATA.y.clone()
    y[:16] = 0
    assert ag.learn(None, loader(DATA.x, y), **QUICK).history.epochs
