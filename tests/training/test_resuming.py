"""Bit-exact resume after a crash or a signal; other set-ups are rejected with the reason."""

import dataclasses
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from torch import nn

import augerino as ag
from augerino.training import checkpoint as checkpoints
from tests.training import training_script

SCRIPT = Path(__file__).with_name("training_script.py")


def same(a, b) -> bool:
    """Equality to the bit, through nested state."""
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b) and a.dtype == b.dtype
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return a == b


def timeless(history) -> list:
    return [dataclasses.replace(record, seconds=0) for record in history.epochs]


class TestResume:
    @pytest.mark.parametrize("loader_kind", ["dataloader", "batches"])
    @pytest.mark.parametrize("stop_after", [4, 8, 13])
    def test_resuming_equals_never_having_stopped(self, tmp_path, loader_kind, stop_after):
        """An exception simulates a crash; the checkpoint is up to three steps behind."""
        model, optimizer, history = training_script.run(
            tmp_path / "whole", 3, False, loader_kind=loader_kind
        )

        class Crash(Exception):
            pass

        parts = training_script.build(loader_kind)
        steps = []

        def crash(epoch, step, loss):
            steps.append(step)
            if len(steps) == stop_after:
                raise Crash

        with pytest.raises(Crash):
            ag.fit(
                *parts[:4],
                epochs=3,
                scheduler=parts[4],
                checkpoint=tmp_path / "part",
                save_every=3,
                on_step=crash,
            )
        torch.rand(5)  # the world goes on in between
        again = training_script.run(tmp_path / "part", 3, True, loader_kind=loader_kind)
        assert same(model.state_dict(), again[0].state_dict())
        assert same(optimizer.state_dict(), again[1].state_dict())
        assert timeless(history) == timeless(again[2])

    def test_a_killed_process_resumes_to_the_same_bits(self, tmp_path):
        path = tmp_path / "killed.safetensors"
        process = subprocess.Popen(
            [sys.executable, SCRIPT, path, "3", "new", "13"], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout.readline() == "waiting\n"  # in the middle of the second epoch
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        subprocess.run([sys.executable, SCRIPT, path, "3", "resume"], check=True)
        subprocess.run(
            [sys.executable, SCRIPT, tmp_path / "whole.safetensors", "3", "new"], check=True
        )
        killed, whole = checkpoints.load(path), checkpoints.load(tmp_path / "whole.safetensors")
        for state in (killed, whole):
            for record in state["records"]:
                del record["seconds"]
        assert same(killed, whole)
        assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []

    @pytest.mark.parametrize(
        "make",
        [
            lambda optimizer: None,
            lambda optimizer: torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.9**step),
            lambda optimizer: torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 24),
            lambda optimizer: torch.optim.lr_scheduler.StepLR(optimizer, 5),
        ],
        ids=["none", "lambda", "cosine", "step"],
    )
    def test_schedulers_resume_too(self, tmp_path, make):
        states = []
        for path, epochs in (("whole", [3]), ("part", [1, 3])):
            for i, count in enumerate(epochs):
                model, objective, loader, optimizer, _ = training_script.build("batches")
                options = {
                    "scheduler": make(optimizer),
                    "checkpoint": tmp_path / path,
                    "resume": i > 0,
                }
                ag.fit(model, objective, loader, optimizer, epochs=count, **options)
            states.append((model.state_dict(), optimizer.state_dict()))
        assert same(*states)

    def test_a_missing_scheduler_or_other_settings_are_rejected(self, tmp_path):
        model, objective, loader, optimizer, scheduler = training_script.build()
        options = {"epochs": 1, "checkpoint": tmp_path / "c"}
        ag.fit(
            model, objective, loader, optimizer, scheduler=scheduler, settings={"lr": 1}, **options
        )
        with pytest.raises(ag.InputError, match="with a scheduler"):
            ag.fit(model, objective, loader, optimizer, settings={"lr": 1}, resume=True, **options)
        with pytest.raises(ag.InputError, match="made with lr=1, but is resumed with lr=2"):
            ag.fit(
                model,
                objective,
                loader,
                optimizer,
                scheduler=scheduler,
                settings={"lr": 2},
                resume=True,
                **options,
            )
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
        with pytest.raises(ag.InputError, match="waits for a metric"):
            ag.fit(model, objective, loader, optimizer, scheduler=plateau, epochs=1)

    def test_a_tensor_in_place_of_a_setting_is_rejected(self, tmp_path):
        model, objective, loader, optimizer, _ = training_script.build()
        options = {"epochs": 1, "checkpoint": tmp_path / "c"}
        ag.fit(model, objective, loader, optimizer, settings={"lr": 1}, **options)
        saved = checkpoints.load(tmp_path / "c")
        checkpoints.save(tmp_path / "c", {**saved, "settings": {"lr": torch.ones(20, 20)}})
        with pytest.raises(
            ag.InputError, match=r"^.{,200} but is resumed with lr=1: keep the settings\.$"
        ):
            ag.fit(model, objective, loader, optimizer, settings={"lr": 1}, resume=True, **options)

    def test_a_shorter_loader_is_reported(self, tmp_path):
        model, objective, loader, optimizer, _ = training_script.build("batches")

        class Crash(Exception):
            pass

        def crash(epoch, step, loss):
            if step == 7:
                raise Crash

        with pytest.raises(Crash):
            ag.fit(
                model,
                objective,
                loader,
                optimizer,
                epochs=1,
                checkpoint=tmp_path / "c",
                save_every=6,
                on_step=crash,
            )
        short = ag.data.Batches(loader.x[:16], loader.y[:16], 8, generator=loader.generator)
        with pytest.raises(
            ag.InputError, match="after 6 batches of an epoch, but the loader has fewer"
        ):
            ag.fit(
                model, objective, short, optimizer, epochs=1, checkpoint=tmp_path / "c", resume=True
            )

    def test_a_finished_training_resumes_to_its_records(self, tmp_path):
        _, _, history = training_script.run(tmp_path / "c", 2, False)
        _, _, again = training_script.run(tmp_path / "c", 2, True)
        assert history == again

    def test_saving_takes_a_small_part_of_a_training_with_short_epochs(self, tmp_path, monkeypatch):
        saved = []
        save = checkpoints.save

        def slow_save(path, state):
            time.sleep(0.05)
            saved.append(len(state["records"]))
            save(path, state)

        monkeypatch.setattr(checkpoints, "save", slow_save)
        parts = training_script.build("batches")
        ag.fit(*parts[:4], epochs=8, scheduler=parts[4], checkpoint=tmp_path / "c")
        assert saved[0] == 1
        assert saved[-1] == 8
        assert len(saved) < 8

    def test_an_existing_checkpoint_is_never_overwritten(self, tmp_path):
        training_script.run(tmp_path / "c", 1, False)
        before = (tmp_path / "c").read_bytes()
        with pytest.raises(ag.InputError, match="exists already: pass resume=True"):
            training_script.run(tmp_path / "c", 1, False)
        assert (tmp_path / "c").read_bytes() == before

    def test_a_checkpoint_of_another_model_is_rejected(self, tmp_path):
        training_script.run(tmp_path / "c", 1, False)
        model, objective, loader, optimizer, scheduler = training_script.build()
        other = ag.InvariantModel(nn.Linear(3, 3), model.augmentation)
        with pytest.raises(
            ag.InputError,
            match=r"does not fit this model, .*: 'net\.0\.bias' is unknown to the network\.$",
        ):
            ag.fit(
                other,
                objective,
                loader,
                optimizer,
                epochs=2,
                scheduler=scheduler,
                checkpoint=tmp_path / "c",
                resume=True,
            )

    @pytest.mark.parametrize(
        ("place", "value"),
        [
            (("settings",), None),
            (("settings",), {1: 2}),
            (("sums", "step"), -1),
            (("sums", "step"), 1.5),
            (("sums", "model"), "another attribute"),
            (("records", 0, "loss"), "low"),
            (("records", 0, "extra"), 1),
            (("optimizer", "param_groups", 0, "lr"), "fast"),
            (("optimizer", "param_groups", 0, "betas"), (2.0, 0.9)),
            (("optimizer", "state", 0, "exp_avg"), torch.zeros(1)),
            (("optimizer", "state", 0, "more"), 1),
            (("optimizer", "state", 99), {"exp_avg": torch.zeros(1)}),
            (("scheduler", "optimizer"), "another attribute"),
            (("scheduler", "last_epoch"), "one"),
            (("rng", "numpy", "pos"), 10**6),
            (("rng", "numpy", "key"), torch.zeros(3)),
            (("rng", "python", 1), [2**40] * 625),
            (("rng", "torch"), torch.zeros(5056, dtype=torch.uint8)),
            (("order",), {"torch": 1}),
            (("model",), []),
        ],
        ids=str,
    )
    def test_a_modified_state_is_rejected(self, tmp_path, place, value):
        training_script.run(tmp_path / "c", 1, False)
        state = holder = checkpoints.load(tmp_path / "c")
        for key in place[:-1]:
            holder = holder[key]
        if isinstance(holder, tuple):
            pytest.fail("choose another place")
        holder[place[-1]] = value
        checkpoints.save(tmp_path / "c", state)
        before = (tmp_path / "c").read_bytes()
        with pytest.raises(
            ag.InputError, match=r"does not fit this model, optimizer and loader|holds no settings"
        ) as caught:
            training_script.run(tmp_path / "c", 2, True)
        assert "\n" not in str(caught.value) and (tmp_path / "c").read_bytes() == before
