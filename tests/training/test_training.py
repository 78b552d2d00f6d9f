"""The loop, its groups and records, its precision, and stopping before harm is done."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import augerino as ag
from augerino.data.synthetic.sprites import sprites
from augerino.nets.points import SmallPointNet
from augerino.nets.small import SmallCNN
from augerino.training import checkpoint as checkpoints
from augerino.training import precision
from augerino.training.optimizer import cosine_schedule
from augerino.training.precision import choose_precision
from tests.training import training_script


class TestThetaEvery:
    """The bounds have a gradient only in every n-th step."""

    def run(self, theta_every, epochs=2, **changes):
        model, objective, loader, optimizer = training_script.build()[:4]
        seen = []

        class Watched(type(model.net)):
            def forward(self, x):
                if self.training:
                    seen.append(x.requires_grad)
                return super().forward(x)

        model.net.__class__ = Watched
        bounds, gradients = [], []

        def note(epoch, step, loss):
            theta = model.augmentation.distribution.raw_bound
            bounds.append(theta.detach().clone())
            gradients.append(theta.grad is not None)
            assert theta.requires_grad

        ag.fit(
            model,
            objective,
            loader,
            optimizer,
            epochs=epochs,
            theta_every=theta_every,
            on_step=note,
            **changes,
        )
        return model, seen, gradients, bounds

    def test_in_between_the_bounds_have_no_gradient_and_stay(self):
        _, seen, gradients, bounds = self.run(3)
        steps = len(seen) // 2
        assert steps > 3
        expected = [step % 3 == 0 for step in range(steps)] * 2
        assert seen == expected and gradients == expected
        moved = [not torch.equal(a, b) for a, b in itertools.pairwise(bounds)]
        assert moved == expected[1:]

    def test_the_weights_are_trained_as_ever(self):
        """With fixed bounds, computing their gradient does not change the weights."""
        found = []
        for theta_every in (1, 4):
            model, objective, loader, optimizer = training_script.build()[:4]
            optimizer.param_groups[-1]["lr"] = 0.0
            ag.fit(model, objective, loader, optimizer, epochs=2, theta_every=theta_every)
            found.append(model.state_dict())
        assert all(
            torch.allclose(value, found[1][name], atol=1e-6) for name, value in found[0].items()
        )

    def test_bounds_still_have_a_gradient_after_an_error(self):
        model, objective, loader, optimizer = training_script.build()[:4]
        calls = []

        class Fails(type(model.net)):
            def forward(self, x):
                calls.append(None)
                if len(calls) == 2:
                    raise KeyboardInterrupt
                return super().forward(x)

        model.net.__class__ = Fails
        with pytest.raises(KeyboardInterrupt):
            ag.fit(model, objective, loader, optimizer, epochs=1, theta_every=2)
        assert model.augmentation.distribution.raw_bound.requires_grad

    def test_wrong_counts_are_reported(self):
        model, objective, loader, optimizer = training_script.build()[:4]
        with pytest.raises(ag.InputError, match="theta_every must be at least 1, but got 0"):
            ag.fit(model, objective, loader, optimizer, epochs=1, theta_every=0)
        model.net.requires_grad_(False)
        with pytest.raises(ag.InputError, match="but the network has no weights to train"):
            ag.fit(model, objective, loader, optimizer, epochs=1, theta_every=2)
        with pytest.raises(ag.InputError, match="use method='gradient', or leave theta_every out"):
            ag.Recipe(theta_every=4)


def test_the_mean_gradient_of_theta_in_bf16_is_that_of_float32_within_two_percent():
    """Where it is well above its noise: the bound of a trained network is far too wide."""
    torch.manual_seed(0)
    data = sprites(256)
    augmentation = ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([1.5]))
    model = ag.InvariantModel(
        SmallCNN(data.x.shape[1], 4, 8), augmentation, average=ag.mean_log_prob
    )
    optimizer = torch.optim.Adam(model.net.parameters(), lr=0.01)

    def mean_gradient(steps, half, update):
        augmentation.zero_grad()
        for i in range(steps):  # the same draws either way, so that what differs is the arithmetic
            torch.manual_seed(i)
            items = torch.randint(len(data.y), (64,))
            with torch.autocast("cpu", torch.bfloat16, enabled=half):
                loss = F.nll_loss(model(data.x[items]), data.y[items])
            optimizer.zero_grad()
            loss.backward()
            if update:
                optimizer.step()
        return augmentation.distribution.raw_bound.grad.clone() / steps

    mean_gradient(25, half=False, update=True)
    full, half = (mean_gradient(25, half=half, update=False) for half in (False, True))
    assert full > 0.1
    assert (half - full).abs() < 0.02 * full


class TestGroups:
    def test_theta_never_meets_weight_decay(self):
        model, *_ = training_script.build()
        weights, theta = ag.param_groups(model, weight_decay=0.1, augmentation_lr=0.5)
        assert weights["weight_decay"] == 0.1 and "lr" not in weights
        assert theta["weight_decay"] == 0 and theta["lr"] == 0.5
        assert [id(p) for p in theta["params"]] == [id(model.augmentation.distribution.raw_bound)]
        assert {id(p) for p in weights["params"]} == {id(p) for p in model.net.parameters()}

    def test_every_parameter_of_a_chain_is_found_once(self):
        chain = ag.Chain(
            ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([0.1])),
            ag.Augmentation(ag.Flip("vertical"), ag.Bernoulli([0.5])),
        )
        groups = ag.param_groups(ag.InvariantModel(nn.Linear(2, 2), chain))
        assert [len(group["params"]) for group in groups] == [2, 2]

    def test_a_fixed_augmentation_has_no_group(self):
        model, *_ = training_script.build()
        model.augmentation.requires_grad_(False)
        assert len(ag.param_groups(model)) == 1


def test_bounds_wait_for_the_network_and_then_follow_a_cosine():
    model, *_ = training_script.build()
    optimizer = torch.optim.SGD(ag.param_groups(model, augmentation_lr=4.0), lr=1.0)
    scheduler = cosine_schedule(optimizer, 100, wait=10)
    rates = []
    for _ in range(101):
        rates.append([group["lr"] for group in optimizer.param_groups])
        optimizer.step()
        scheduler.step()
    assert (
        rates[0] == [1, 0]
        and rates[9][1] == 0
        and rates[10][1] == pytest.approx(4 * 0.9755, abs=1e-3)
    )
    assert rates[50] == pytest.approx([0.5, 2]) and rates[100] == pytest.approx([0, 0])


def test_the_rate_of_the_weights_may_rise_first():
    model, *_ = training_script.build()
    optimizer = torch.optim.SGD(ag.param_groups(model, augmentation_lr=4.0), lr=1.0)
    scheduler = cosine_schedule(optimizer, 100, wait=10, rise=5)
    rates = []
    for _ in range(20):
        rates.append([group["lr"] for group in optimizer.param_groups])
        optimizer.step()
        scheduler.step()
    assert [rate for rate, _ in rates[:5]] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0], rel=0.01)
    assert rates[5][0] < 1 and [rate for _, rate in rates[:10]] == [0] * 10  # theta waits as before


class TestDictBatches:
    """Padded molecules as dicts, from memory and from torch's loader."""

    mask = torch.arange(5) < torch.tensor([5, 2, 3, 4, 1, 5, 2, 3])[:, None]

    def data(self):
        generator = torch.Generator().manual_seed(0)
        positions = torch.randn(8, 5, 3, generator=generator) * self.mask[..., None]
        x = {"positions": positions, "charges": torch.where(self.mask, 6, 0), "mask": self.mask}
        return x, torch.randn(8, 1, generator=generator)

    def loader(self, kind):
        x, y = self.data()
        if kind == "memory":
            return ag.data.Batches(x, y, 3)
        items = [({key: value[i] for key, value in x.items()}, y[i]) for i in range(8)]
        return torch.utils.data.DataLoader(items, batch_size=4, shuffle=True)

    @pytest.mark.parametrize("kind", ["memory", "loader"])
    @pytest.mark.parametrize("precision", ["float32", "bf16"])
    def test_they_train_and_are_evaluated(self, kind, precision):
        augmentation = ag.Augmentation(
            ag.On("positions", ag.Affine3d(), where="mask"), ag.Uniform([0.3] * 9)
        )
        model = ag.InvariantModel(SmallPointNet(1, width=4), augmentation, train_copies=2)
        objective = ag.Objective(F.l1_loss, augmentation, reg_weight=0.01)
        optimizer = torch.optim.Adam(ag.param_groups(model), lr=0.01)
        before = augmentation.extent
        history = ag.fit(
            model, objective, self.loader(kind), optimizer, epochs=2, precision=precision
        )
        assert len(history.epochs) == 2 and all(
            augmentation.extent[name] != before[name] for name in before
        )
        found = ag.diagnostics.evaluate(model, F.l1_loss, self.loader(kind))
        assert found.n_items == 8 and found.accuracy is None


class TestRecords:
    def test_one_record_an_epoch(self):
        model, objective, loader, optimizer, _ = training_script.build()
        records = list(ag.iter_epochs(model, objective, loader, optimizer, epochs=3))
        assert [record.epoch for record in records] == [1, 2, 3]
        assert records[-1].extent == model.augmentation.extent
        assert records[0].total == pytest.approx(records[0].loss + records[0].penalty)
        history = ag.History(records)
        assert history.curve("rotate") == [record.extent["rotate"] for record in records]
        assert ag.History.from_json(history.to_json()) == history

    def test_a_caller_may_evaluate_between_epochs(self):
        model, objective, loader, optimizer, _ = training_script.build()
        modes = []
        for _ in ag.iter_epochs(
            model,
            objective,
            loader,
            optimizer,
            epochs=2,
            on_step=lambda *_: modes.append(model.training),
        ):
            model.eval()
        assert all(modes)

    def test_the_loss_falls(self):
        model, objective, loader, optimizer, _ = training_script.build("batches")
        history = ag.fit(model, objective, loader, optimizer, epochs=15)
        assert history.epochs[-1].loss < 0.8 * history.epochs[0].loss


class TestStopping:
    def poisoned(self, at_item):
        x = torch.rand(40, 1, 8, 8)
        x[at_item] = math.nan
        model, objective, _, optimizer, _ = training_script.build()
        return (
            model,
            objective,
            ag.data.Batches(x, torch.arange(40) % 3, 8, shuffle=False),
            optimizer,
        )

    def test_a_nan_stops_with_step_bounds_and_the_last_good_checkpoint(self, tmp_path):
        model, objective, good, optimizer, _ = training_script.build("batches")
        ag.fit(model, objective, good, optimizer, epochs=1, checkpoint=tmp_path / "c")
        before = (tmp_path / "c").read_bytes()
        _, _, bad, _ = self.poisoned(20)
        with pytest.raises(
            ag.NonFiniteLoss,
            match=r"epoch 2, step 3: the loss became nan \(bounds: .*rotate 0\.\d+",
        ) as caught:
            list(
                ag.iter_epochs(
                    model,
                    objective,
                    _WithGenerator(bad, good.generator),
                    optimizer,
                    epochs=2,
                    checkpoint=tmp_path / "c",
                    resume=True,
                )
            )
        assert "last good checkpoint" in str(caught.value)
        assert (tmp_path / "c").read_bytes() == before
        assert all(p.isfinite().all() for p in model.parameters())

    def test_weights_that_stop_being_numbers_are_never_saved(self, tmp_path):
        model, objective, loader, optimizer, _ = training_script.build()

        def break_weights(epoch, step, loss):
            if epoch == 2:
                model.net[0].weight.data[0] = math.inf

        with pytest.raises(ag.NonFiniteLoss, match=r"epoch 2, step \d: the (loss became|weights)"):
            ag.fit(
                model,
                objective,
                loader,
                optimizer,
                epochs=2,
                checkpoint=tmp_path / "c",
                on_step=break_weights,
            )
        assert len(checkpoints.load(tmp_path / "c")["records"]) == 1

    @pytest.mark.parametrize(
        "options",
        [
            {"epochs": 0},
            {"epochs": -3},
            {"epochs": 1, "save_every": 0},
            {"epochs": 1, "resume": True},
        ],
    )
    def test_impossible_options_are_rejected(self, options):
        model, objective, loader, optimizer, _ = training_script.build()
        with pytest.raises(ag.InputError):
            ag.fit(model, objective, loader, optimizer, **options)

    def test_an_empty_or_unusual_loader_is_rejected(self):
        model, objective, _, optimizer, _ = training_script.build()
        with pytest.raises(ag.InputError, match="yielded no batch"):
            ag.fit(model, objective, [], optimizer, epochs=1)
        with pytest.raises(ag.InputError, match=r"\(input, target\) pairs"):
            ag.fit(model, objective, [torch.rand(2, 1, 8, 8)], optimizer, epochs=1)


class _WithGenerator:
    """A loader with the generator of another, so that a checkpoint of that one fits."""

    def __init__(self, loader, generator):
        self.loader, self.generator = loader, generator

    def __iter__(self):
        return iter(self.loader)


class TestPrecision:
    @pytest.mark.parametrize(
        ("precision", "laid_out"), [("auto", True), ("bf16", True), ("float32", False)]
    )
    def test_auto_lays_images_out_as_a_processor_likes_them(self, precision, laid_out):
        augmentation = ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([0.2]))
        model = ag.InvariantModel(
            nn.Sequential(nn.Conv2d(2, 4, 3), nn.Flatten(), nn.Linear(144, 3)), augmentation
        )
        optimizer = torch.optim.SGD(ag.param_groups(model), lr=0.01)
        batches = [(torch.rand(4, 2, 8, 8), torch.arange(4) % 3)]
        ag.fit(
            model,
            ag.Objective(F.cross_entropy, augmentation),
            batches,
            optimizer,
            epochs=1,
            precision=precision,
        )
        weight = model.net[0].weight  # one of a single channel would be laid out either way
        assert weight.is_contiguous(memory_format=torch.channels_last) == laid_out

    def test_bf16_trains_and_keeps_theta_in_float32(self):
        model, objective, loader, optimizer, _ = training_script.build("batches")
        history = ag.fit(model, objective, loader, optimizer, epochs=8, precision="bf16")
        assert model.augmentation.distribution.raw_bound.dtype == torch.float32
        assert history.epochs[-1].loss < history.epochs[0].loss
        assert model.net[0].weight.is_contiguous(memory_format=torch.channels_last)

    def test_thetas_gradient_under_bf16_is_close_to_float32(self):
        torch.manual_seed(3)
        model, objective, _, _, _ = training_script.build("batches")
        model.net[4] = nn.Identity()  # dropout draws other masks in other precisions
        x, y = torch.rand(512, 1, 8, 8), torch.arange(512) % 3
        gradients = []
        for enabled in (False, True):
            torch.manual_seed(0)
            with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
                total = objective(model(x), y).loss
            gradients.append(
                torch.autograd.grad(total, model.augmentation.distribution.raw_bound)[0]
            )
        assert (gradients[0] - gradients[1]).norm() < 0.1 * gradients[0].norm()

    def test_auto_picks_the_precision_of_the_hardware(self, monkeypatch):
        cpu = torch.device("cpu")
        for faster, expected in ((True, "bf16"), (False, "float32")):
            monkeypatch.setattr(precision, "is_bf16_faster_on_cpu", lambda faster=faster: faster)
            assert choose_precision("auto", cpu) == expected
        assert choose_precision("float32", cpu) == "float32"
        with pytest.raises(ag.InputError, match="auto, float32, bf16"):
            choose_precision("fp8", cpu)


def test_the_objective_needs_no_model_so_a_wrapper_changes_nothing():
    class Wrapper(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner(x)

    model, objective, loader, optimizer, _ = training_script.build("batches")
    wrapped = Wrapper(model)
    history = ag.fit(wrapped, objective, loader, optimizer, epochs=1)
    assert math.isfinite(history.epochs[0].loss)
