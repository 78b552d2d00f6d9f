"""cifar10 and stl10: their rows, the meaning of copies, and the known answer."""

import dataclasses

import pytest
import torch

import augerino as ag
from augerino.app import catalogue
from augerino.data.published.image_split import ImageSplit
from augerino.data.synthetic.shades import shades
from augerino.nets.normalized import Normalized
from augerino.nets.small import SmallCNN
from augerino.nets.standard import Standard
from augerino.paper.experiments import cifar10, stl10
from augerino.paper.experiments.recognition import (
    RecognitionSettings,
    bounds_text,
    make_net,
    measure,
    train_row,
)
from augerino.paper.experiments.settings import Row
from augerino.runtime.trials import trial_name


def test_the_papers_settings_are_the_papers():
    for name in ("cifar10", "stl10"):
        paper = catalogue.find(name).presets["paper"]
        assert (paper.net, paper.width, paper.epochs, paper.lr, paper.batch_size) == (
            "layer13",
            128,
            200,
            0.01,
            128,
        )
        assert max(paper.reg_weights) / min(paper.reg_weights) >= 1000 and paper.seeds >= 3
    assert catalogue.find("cifar10").presets["paper"].sizes == (50_000,)
    assert catalogue.find("cifar10").presets["cpu"].sizes == (1_000, 5_000, 10_000)


class TestRows:
    def test_each_size_has_every_kind_and_one_size_all_settings(self):
        settings = cifar10.Cifar10(
            sizes=(100, 200),
            sweep_size=200,
            reg_weight=0.01,
            reg_weights=(0.001, 0.01, 1.0),
            tolerances=(0.1,),
        )
        rows = cifar10.rows(settings)
        assert len({trial_name(row.name, 0) for row in rows}) == len(rows)
        for size, weights, tolerances in (
            ("100", [0.01], [0.03]),
            ("200", [0.001, 0.01, 1.0], [0.03, 0.1]),
        ):
            chosen = [row for row in rows if row.variant == size]
            assert {row.kind for row in chosen} == {"none", "fixed", "policy", "learned"}
            assert [
                row.reg_weight
                for row in chosen
                if row.kind == "learned" and row.method == "gradient"
            ] == weights
            assert [
                row.tolerance for row in chosen if row.method == "probe" and not row.refit
            ] == tolerances
            assert [row.tolerance for row in chosen if row.refit] == [0.03]

    def test_only_learned_rows_learn_from_their_start(self):
        for row in cifar10.rows(cifar10.Cifar10()):
            augmentation = cifar10.make_augmentation(row)
            assert (augmentation is not None) == (row.kind == "learned")
            if row.method == "probe":
                assert augmentation.extent == pytest.approx(dict.fromkeys(augmentation.names, 0.3))
            elif augmentation is not None:  # softplus(0) / 2, a tenth of it for translations
                assert augmentation.extent["shear"] == pytest.approx(0.3466, abs=1e-4)
                assert augmentation.extent["translate_x"] == pytest.approx(0.0347, abs=1e-4)
        starts = {
            row.method: stl10.make_augmentation(row).extent
            for row in stl10.rows(stl10.Stl10())
            if row.kind == "learned"
        }
        assert starts["probe"] == pytest.approx({"contrast": 0.3, "brightness": 0.3})

    def test_a_refit_trains_the_initial_network_on_the_learned_ranges(self):
        settings = cifar10.Cifar10(epochs=1, batch_size=32, net="small", width=4)
        row = Row(name="x", kind="learned", start=0.3, method="probe", tolerance=0.03, refit=True)
        x, y = torch.randint(255, (96, 3, 12, 12), dtype=torch.uint8), torch.arange(96) % 10
        found = {}
        for one in (row, dataclasses.replace(row, refit=False)):
            torch.manual_seed(0)
            net = make_net(settings, (0.5,) * 3, (0.2,) * 3)
            found[one.refit] = train_row(
                settings, one, 0, x, y, net=net, augmentation=cifar10.make_augmentation(one)
            )
        assert (
            found[True].extent == found[False].extent
            and found[True].history.epochs[0].loss == found[False].history.epochs[0].loss
        )
        affine, flip = found[True].augmentation.distribution.parts
        assert affine.rate.tolist() == [21 / 256] * 6
        assert flip.rate.tolist() == flip.probability.tolist()
        one, other = (next(learned.model.net.parameters()) for learned in found.values())
        assert not torch.equal(one, other)

    def test_the_larger_subset_holds_the_smaller(self):
        x, y = torch.arange(40, dtype=torch.uint8).reshape(40, 1, 1, 1), torch.arange(40) % 10
        whole = ImageSplit(x, y, x[:5], y[:5])
        assert torch.equal(
            whole.subset(30, None, 3).x_train[:10], whole.subset(10, None, 3).x_train
        )


class TestSettings:
    def test_steps_end_a_training_early_and_never_lengthen_it(self):
        settings = RecognitionSettings(epochs=50, batch_size=100, steps=200)
        assert [settings.epochs_for(n) for n in (100, 1_000, 10_000, 10**6)] == [50, 20, 2, 1]
        assert RecognitionSettings(epochs=50).epochs_for(10**6) == 50

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            (RecognitionSettings(augmentation_beta2=0.9), "must be 0.999 in this experiment"),
            (RecognitionSettings(steps=0), "steps must be at least 1"),
            (cifar10.Cifar10(sizes=()), "sizes must be one or more numbers of training images"),
            (stl10.Stl10(downscale=0), "downscale must be at least 1"),
        ],
    )
    def test_invalid_settings_are_rejected(self, settings, message):
        with pytest.raises(ag.InputError, match=message):
            settings.check()


class Sides(torch.nn.Module):
    """Predicts with certainty which half of an image is lighter; has one trainable weight."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor(50.0))

    def forward(self, x):
        left, right = x[..., :4].mean(dim=(1, 2, 3)), x[..., 4:].mean(dim=(1, 2, 3))
        return self.scale * torch.stack([left, right], dim=1)


def test_copies_of_a_fixed_augmentation_are_drawn_in_evaluation_and_only_then():
    """Mirroring swaps the label: the fixed row is right in half of its copies, bare always."""
    x = torch.zeros(200, 3, 4, 8, dtype=torch.uint8)
    x[..., :4] = 200
    y = torch.zeros(200, dtype=torch.long)
    net = torch.nn.Sequential(Standard(0, flip=True), Sides())
    settings = RecognitionSettings(epochs=1, lr=1e-6)
    both = torch.cat([x, x.flip(-1)]), torch.cat([y, y + 1])
    for row, expected in (
        (Row(name="fixed", kind="fixed"), (0.3, 0.7)),
        (Row(name="none", kind="none"), (1.0, 1.0)),
    ):
        learned = train_row(settings, row, 0, *both, net=net, augmentation=None)
        found = measure(learned, row, ImageSplit(*both, x, y), 0)["accuracy"]
        assert found["bare"] == 1.0 and expected[0] <= found["1"] <= expected[1]
        assert not net[0].always


def test_the_network_normalises_after_earlier_modules():
    net = make_net(RecognitionSettings(net="small", width=4), [0.5] * 3, [0.25] * 3, Standard(1))
    assert [type(layer) for layer in net] == [Standard, Normalized] and net(
        torch.rand(2, 3, 16, 16)
    ).shape == (2, 10)


def test_bounds_are_formatted_as_text():
    trials = [{"bounds": {"rotate": 0.2, "flip_horizontal": 1.0}, "unfinished": []}]
    assert bounds_text(trials) == "rotate 0.200, flip_horizontal in 50 %"
    trials.append({"bounds": {"rotate": 0.4, "flip_horizontal": 0.8}, "unfinished": ["rotate"]})
    assert (
        bounds_text(trials)
        == "rotate 0.300 ± 0.141, flip_horizontal in 45 ± 7 % (not converged: rotate)"
    )


def test_bounds_of_a_trial_come_back():
    augmentation = cifar10.make_augmentation(Row(name="x", kind="learned", method="probe"))
    wanted = {name: 0.05 * (i + 1) for i, name in enumerate(augmentation.names)}
    augmentation.extent = wanted
    assert augmentation.extent == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("seed", [0, 1])
def test_where_labels_depend_on_brightness_it_goes_to_zero_and_contrast_stays_wide(seed):
    """The known answer: any contrast, no brightness. From the same start, only contrast stays."""
    data = shades(400, seed=seed, side=12)
    torch.manual_seed(seed)
    net = Normalized(SmallCNN(3, 2, 8), [0.5] * 3, [0.25] * 3)
    augmentation = stl10.make_augmentation(
        Row(name="known", kind="learned", start=0.3, variant=stl10.SYNTHETIC)
    )
    assert augmentation.names == ("brightness", "contrast")
    assert stl10.make_augmentation(Row(name="photographs", kind="learned", start=0.3)).names == (
        "contrast",
        "brightness",
    )
    learned = ag.learn(
        net, (data.x, data.y), augmentation=augmentation, epochs=16, batch_size=32, seed=seed
    )
    assert (
        learned.n_probe_items
        and learned.extent["brightness"] < 0.05
        and learned.extent["contrast"] > 0.2
    )
