"""The choice of the method, and the samples that the weights are trained on."""

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import augerino as ag
from augerino.data.batches import Batches, CheckedBatches
from augerino.data.readers.streams import StreamLoader
from augerino.data.synthetic.sprites import sprites
from augerino.learning.defaults import default_augmentation, default_model
from augerino.learning.methods import choose_method
from augerino.nets.small import SmallCNN


def data(n=100):
    """Constant images whose pixels are the index of the sample divided by 1000."""
    index = torch.arange(n)
    return index[:, None, None, None].expand(n, 1, 4, 4) / 1000, index % 2


def method_for(batches, labels=None, epochs=10, augmentation=None, **changes):
    recipe = ag.Recipe(batch_size=20).but(**changes)
    augmentation = default_augmentation(recipe) if augmentation is None else augmentation
    model, _ = default_model(SmallCNN(1, 2, 2), augmentation, task="classification", recipe=recipe)
    return choose_method(model, CheckedBatches(batches, labels), epochs, recipe)


def seen(loader):
    return sorted(int(i) for x, _ in loader for i in (x[:, 0, 0, 0] * 1000).round())


@pytest.mark.parametrize("streamed", [False, True])
def test_held_out_samples_are_trained_on_only_after_the_extents_are_fixed(streamed):
    x, y = data()
    if streamed:
        method = method_for(StreamLoader(TensorDataset(x, y), 20, shuffle=True))
    else:
        method = method_for(Batches(x, y, 20), y)
    held = {int(i) for i in (method.tuner.x[:, 0, 0, 0] * 1000).round()}
    assert len(held) == 16  # 15 % of 100, but at least MIN_HOLDOUT
    assert seen(method.loader) == sorted(set(range(100)) - held)
    assert len(method.loader) == len(list(method.loader))
    while not method.tuner.settled:
        method.tuner.step()
    assert seen(method.loader) == list(range(100))


def test_at_most_a_thousand_samples_are_held_out():
    x, y = torch.zeros(20000, 1, 1, 1), torch.arange(20000) % 2
    assert len(method_for(Batches(x, y, 20), y, holdout_fraction=0.2).tuner.y) == 1000


def test_the_probe_settles_before_the_training_ends():
    x, y = data()
    method = method_for(Batches(x, y, 20), y, epochs=10)
    passes = 0
    for _ in range(10):
        passes += method.tuner.settled
        for _ in method.loader:
            method.tuner.step()
    assert passes in (1, 2)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"loader": True}, "Probing holds out samples, which it cannot do with a DataLoader"),
        (
            {"augmentation": ag.Augmentation(ag.Affine2d("rotate"), ag.Gaussian([0.0], [0.1]))},
            "but got a Gaussian",
        ),
        (
            {
                "augmentation": ag.Augmentation(
                    ag.Affine2d("rotate"), ag.Uniform([0.1])
                ).requires_grad_(False)
            },
            "is fixed",
        ),
        (
            {"n": 17},
            "Probing holds out at least 16 samples and trains on three times as many, but got 17",
        ),
    ],
)
def test_if_probing_is_impossible_auto_uses_the_gradient_and_probe_raises(change, reason):
    x, y = data(change.pop("n", 100))
    batches = (
        DataLoader(TensorDataset(x, y), 20) if change.pop("loader", False) else Batches(x, y, 20)
    )
    assert method_for(batches, **change).tuner is None
    with pytest.raises(ag.InputError, match=reason):
        method_for(batches, method="probe", **change)


def test_an_interrupted_training_that_probes_ends_in_the_same_bits(tmp_path):
    images = sprites(200)

    def learn(path, stop=None, resume=False):
        class Stop(Exception):
            pass

        def on_step(epoch, step, loss):
            if (epoch, step) == stop:
                raise Stop

        options = {"coordinates": "rotate", "epochs": 8, "width": 2, "batch_size": 50}
        options["trial_length"] = 0.0
        try:
            return ag.learn(
                None,
                (images.x, images.y),
                checkpoint=path,
                resume=resume,
                on_step=on_step,
                **options,
            )
        except Stop:
            return None

    straight = learn(tmp_path / "a.safetensors")
    # Before the extents are fixed, and after the held-out samples are included.
    for i, stop in enumerate([(3, 2), (7, 1), (8, 2)]):
        path = tmp_path / f"b{i}.safetensors"
        assert learn(path, stop) is None
        again = learn(path, resume=True)
        assert again.extent == straight.extent
        assert all(
            torch.equal(a, b)
            for a, b in zip(again.model.parameters(), straight.model.parameters(), strict=True)
        )


def test_a_probe_builds_no_graph_for_the_extents():
    """With a probe, extents need no gradient, so no input of the network requires one."""
    seen = []

    class Watched(SmallCNN):
        def forward(self, x):
            seen.append(x.requires_grad)
            return super().forward(x)

    x, y = data()
    ag.learn(Watched(1, 2, 2), (x, y), batch_size=20, epochs=1)
    assert seen and not any(seen)


def test_rarer_gradients_of_the_bounds_take_longer_steps():
    x, y = data()
    rates = []
    for every in (1, 4):
        method = method_for(Batches(x, y, 20), y, method="gradient", theta_every=every)
        rates.append(method.optimizer.param_groups[-1]["initial_lr"])
    assert rates[1] == 4 * rates[0]


@pytest.mark.parametrize("name", ["solarize", "posterize", "erase", "shift_y"])
def test_the_gradient_rejects_coordinates_along_which_images_jump(name):
    x, y = data()
    coordinates = ("rotate", name)
    with pytest.raises(ag.InputError, match=f"cannot learn '{name}'.*use the method 'probe'"):
        method_for(Batches(x, y, 20), y, method="gradient", coordinates=coordinates)
    assert method_for(Batches(x, y, 20), y, coordinates=coordinates).tuner is not None
    fixed = default_augmentation(ag.Recipe(coordinates=coordinates)).requires_grad_(False)
    method_for(Batches(x, y, 20), y, method="gradient", augmentation=fixed)


def test_the_gradient_takes_smooth_photometric_coordinates_and_noise():
    x, y = data()
    coordinates = ("gamma", "sharpness", "equalize", "pixel_noise")
    method = method_for(Batches(x, y, 20), y, method="gradient", coordinates=coordinates)
    assert method.tuner is None
