"""`learn` with every form of data, and its error messages."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

import augerino as ag
from augerino.data.synthetic.sprites import sprites
from tests.conftest import need

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
    assert learned.evaluate(data).n_items == 96
    assert str(learned).startswith("rotate: ") and "learned.check(data)" in str(learned)
    policy = learned.augmentation if learned.choice is None else learned.choice.augmentation
    assert learned.policy.augmentation().extent == policy.extent


def loader_of(x, y, **options):
    return DataLoader(TensorDataset(x, y), batch_size=32, **options)


@pytest.mark.parametrize(
    "wrap", [lambda x, y: (x, y), TensorDataset, loader_of], ids=["pair", "dataset", "loader"]
)
class TestEveryForm:
    """Every form of the same data is accepted or rejected alike."""

    def test_doubles_halves_and_small_integers(self, wrap):
        for x, y in (
            (DATA.x.double(), DATA.y),
            (DATA.x.half(), DATA.y.int()),
            (DATA.x, DATA.y % 2 == 0),
        ):
            learned = ag.learn(None, wrap(x, y), **QUICK)
            assert learned.evaluate(wrap(x, y)).n_items == 96

    def test_scalar_targets(self, wrap):
        assert ag.learn(None, wrap(DATA.x, DATA.angles.double()), **QUICK).task == "regression"

    @pytest.mark.parametrize(
        ("x", "y", "message"),
        [
            (DATA.x, DATA.y - 1, "lowest is -1"),
            (DATA.x, torch.ones(96, dtype=torch.long), "only one class"),
            (
                torch.where(torch.arange(96)[:, None, None, None] == 40, float("nan"), DATA.x),
                DATA.y,
                "NaN or Inf",
            ),
            (
                DATA.x,
                torch.where(torch.arange(96) == 90, 9, DATA.y),
                "label 9|no sample has label 4",
            ),
            (DATA.x[:, :1], DATA.y, r"does not take inputs of shape \(2, 1, 32, 32\)"),
        ],
    )
    def test_bad_data(self, wrap, x, y, message):
        net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(4 * 30 * 30, 4))
        with pytest.raises(ag.InputError, match=message):
            ag.learn(net, wrap(x, y), **QUICK)

    def test_evaluation_accepts_a_single_sample_and_rejects_unknown_labels(self, wrap):
        learned = ag.learn(None, wrap(DATA.x, DATA.y), **QUICK)
        assert learned.evaluate(wrap(DATA.x[:1], DATA.y[:1])).n_items == 1
        with pytest.raises(
            ag.InputError, match="The network has 4 classes, but the data contain label 7"
        ):
            learned.evaluate(wrap(DATA.x[:2], torch.tensor([0, 7])))


@pytest.mark.parametrize(
    ("arguments", "changes", "message"),
    [
        (
            (None, (DATA.x.permute(0, 2, 3, 1), DATA.y)),
            {},
            r"\(32, 32, 3\), look like \(H, W, C\): give x.permute",
        ),
        (
            (None, (255 * DATA.x, DATA.y)),
            {"coordinates": "brightness"},
            r"To learn brightness, .*, but reach from 0 to 255",
        ),
        ((None, (DATA.x, torch.full((96,), 0.5))), {}, r"All targets are the same \(\[0.5\]\)"),
        ((None, (DATA.x, DATA.y)), {"recipe": {}}, "recipe must be an ag.Recipe, but is a dict"),
        ((None, (DATA.x, DATA.y)), {"augmentation": ag.Flip()}, "leave out one of the two"),
        (
            (None, (DATA.x, DATA.y)),
            {"augmentation": ag.Flip(), "coordinates": None},
            "a transform with a distribution",
        ),
        ((None, (DATA.x, DATA.y)), {"n_outputs": -1}, "n_outputs must be at least 1, but got -1"),
        ((nn.Flatten(), (DATA.x, DATA.y)), {}, "The network has no weights to train"),
        ((nn.Conv2d(3, 4, 3), (DATA.x, DATA.y)), {}, "one row of scores per input, but returned"),
        (
            (None, (DATA.x, DATA.y)),
            {"start": 9.0},
            "The start of 9 is beyond the limit of rotate, 3.14159",
        ),
    ],
)
def test_invalid_arguments_are_rejected_before_training(arguments, changes, message):
    options = {key: value for key, value in {**QUICK, **changes}.items() if value is not None}
    with pytest.raises(ag.InputError, match=message):
        ag.learn(*arguments, **options)


def test_a_recipe_accepts_numpy_numbers():
    recipe = ag.Recipe(epochs=np.int64(3), lr=np.float32(0.5), start=1)
    assert (type(recipe.epochs), type(recipe.lr), type(recipe.start)) == (int, float, float)
    for wrong in ({"epochs": 1.5}, {"lr": "fast"}, {"epochs": True}):
        with pytest.raises(ag.InputError, match="must be a"):
            ag.Recipe(**wrong)


def test_held_out_data_must_be_for_the_task_of_the_model():
    learned = ag.learn(None, (DATA.x, DATA.y), **QUICK)
    assert learned.check((DATA.x, DATA.y), n_items=20).startswith("rotate: ")
    for measure in (learned.evaluate, learned.evidence):
        with pytest.raises(
            ag.InputError, match=r"trained for classification, but targets of torch\.float32"
        ):
            measure((DATA.x, DATA.angles))
    with pytest.raises(ag.InputError, match="n_items=-5"):
        learned.evidence((DATA.x, DATA.y), n_items=-5)


def test_a_given_network_may_have_more_outputs_than_there_are_classes():
    net = nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 10))
    assert ag.learn(net, (DATA.x, DATA.y * 2), **QUICK).n_outputs == 10


def test_data_of_unknown_length_are_rejected():
    class Stream(IterableDataset):
        def __iter__(self):
            while True:
                yield DATA.x[0], DATA.y[0]

    for data in (Stream(), DataLoader(Stream(), batch_size=4)):
        with pytest.raises(ag.InputError, match="needs data whose length is known"):
            ag.learn(None, data, **QUICK)


def test_resuming_with_another_recipe_is_rejected(tmp_path):
    ag.learn(None, (DATA.x, DATA.y), checkpoint=tmp_path / "c", **QUICK)
    longer = {**QUICK, "epochs": 3}
    with pytest.raises(ag.InputError, match="made with epochs=1, but is resumed with epochs=3"):
        ag.learn(None, (DATA.x, DATA.y), checkpoint=tmp_path / "c", resume=True, **longer)


def test_floating_point_targets_mean_regression():
    learned = ag.learn(None, (DATA.x, DATA.angles), **QUICK)
    assert learned.task == "regression" and learned.model(DATA.x[:3]).shape == (3, 1)
    assert learned.evaluate((DATA.x, DATA.angles)).accuracy is None


def test_a_given_network_and_augmentation_are_used():
    net = nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 4))
    augmentation = ag.Augmentation(ag.Brightness(), ag.Gaussian([0.0], [0.1]))
    learned = ag.learn(net, (DATA.x, DATA.y), augmentation=augmentation, epochs=1)
    assert learned.model.net is net and set(learned.extent) == {"brightness"}


@pytest.mark.parametrize("method", ["probe", "gradient"])
def test_fixed_parts_stay_fixed_and_learned_ones_learnable(method):
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3072, 8), torch.nn.Linear(8, 4))
    net[1].requires_grad_(False)
    augmentation = ag.Chain(
        ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([0.3])),
        ag.Augmentation(ag.Affine2d("scale"), ag.Uniform([0.2])).requires_grad_(False),
    )
    settings = {"epochs": 1, "method": method, "trial_length": 0.0}
    before = [p.requires_grad for p in (*net.parameters(), *augmentation.parameters())]
    learned = ag.learn(net, (DATA.x, DATA.y), augmentation=augmentation, **settings)
    assert [p.requires_grad for p in learned.model.parameters()] == before


def test_a_seed_repeats_and_the_global_random_state_is_unchanged():
    before = torch.get_rng_state()
    for method in ("probe", "gradient"):
        runs = [
            ag.learn(None, (DATA.x, DATA.y), seed=seed, method=method, **QUICK)
            for seed in (1, 1, 2)
        ]
        extents = [run.extent for run in runs]
        losses = [run.history.curve("loss") for run in runs]
        assert extents[0] == extents[1]
        assert losses[0] == losses[1] != losses[2]
    assert torch.equal(before, torch.get_rng_state())


def test_callbacks_get_every_epoch_and_step():
    seen = []
    steps = []
    ag.learn(
        None,
        (DATA.x, DATA.y),
        on_epoch=seen.append,
        on_step=lambda *s: steps.append(s),
        **{**QUICK, "epochs": 2},
    )
    assert [record.epoch for record in seen] == [1, 2] and len(steps) == 6


def test_grey_images_of_any_size():
    x = torch.rand(12, 1, 17, 9)
    assert ag.learn(None, (x, torch.arange(12) % 2), **QUICK).model(x).shape == (12, 2)


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (3, {}, "a path, .* a torch Dataset or a DataLoader, but is a int"),
        ("mnist", {}, "There is no file or folder 'mnist'"),
        ((DATA.x, DATA.y[:5]), {}, "one target per input"),
        ((DATA.x[:0], DATA.y[:0]), {}, "empty"),
        ((DATA.x, torch.zeros(96, dtype=torch.long)), {}, "only one class"),
        ((DATA.x * float("nan"), DATA.y), {}, "NaN"),
        (
            (DATA.x.flatten(1), DATA.y),
            {},
            "no default augmentation for inputs that are values",
        ),
        ((np.array(["a"] * 96), DATA.y), {}, "numbers"),
        (TensorDataset(DATA.x[:0], DATA.y[:0]), {}, "empty"),
        (DataLoader(TensorDataset(DATA.x)), {}, r"\(input, target\) pairs"),
        ((DATA.x, DATA.y), {"epoch": 3}, "did you mean 'epochs'"),
        ((DATA.x, DATA.y), {"coordinates": ("spin",)}, "no coordinate 'spin'"),
        ((DATA.x, DATA.y), {"device": "tpu9"}, "device 'tpu9'"),
    ],
)
def test_invalid_input_raises_an_error_with_the_reason(data, options, message):
    with pytest.raises(ag.InputError, match=message):
        ag.learn(None, data, **options)


def test_labels_beyond_the_outputs_of_the_network_are_rejected():
    net = nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 2))
    with pytest.raises(ag.InputError, match=r"2 classes.*label 3"):
        ag.learn(net, (DATA.x, DATA.y), **QUICK)
    with pytest.raises(ag.InputError, match=r"returns \(2, 2\) for targets \(2, 1\)"):
        ag.learn(net, (DATA.x, DATA.angles), **QUICK)  # a loss would broadcast them


def test_invalid_settings_are_rejected():
    assert ag.Recipe().but(epochs=3).epochs == 3
    assert ag.Recipe(coordinates="rotate, scale").coordinates == ("rotate", "scale")
    for bad in (
        {"epochs": "3"},
        {"start": "wide"},
        {"start": 1e39},
        {"seed": -1},
        {"epochs": 0},
        {"start": 0.0},
        {"reg_weight": -1.0},
        {"lr": float("inf")},
        {"lr": 10**400},
        {"precision": "fp8"},
        {"epochs": 2.5},
        {"workers": -1},
    ):
        with pytest.raises(ag.InputError):
            ag.Recipe(**bad)


@pytest.mark.extras
@pytest.mark.parametrize("name", ["resnet10t", "vit_tiny_patch16_224"])
def test_a_network_of_timm_learns_behind_the_augmentation(name):
    need("timm")
    size = 224 if name.startswith("vit") else 32
    x = torch.nn.functional.interpolate(sprites(72).x, size)
    learned = ag.learn(
        name,
        (x, sprites(72).y),
        coordinates="rotate",
        epochs=1,
        batch_size=28,
        lr=1e-3,
        method="probe",
    )
    assert learned.n_probe_items == 16 and learned.model(x[:2]).shape == (2, 4)
    assert "timm" in type(learned.model.net).__module__


def test_tensors_in_memory_use_no_worker_processes(monkeypatch):
    from torch.utils.data import dataloader

    started = []
    monkeypatch.setattr(dataloader, "_MultiProcessingDataLoaderIter", started.append)
    ag.learn(None, (torch.rand(96, 1, 8, 8), torch.arange(96) % 2), epochs=1, workers=2)
    assert not started


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_learning_without_gradients_is_rejected(mode):
    data = sprites(16)
    with mode(), pytest.raises(ag.InputError, match="call it outside"):
        ag.learn(None, (data.x, data.y), epochs=1)
