"""The command line: verdicts, run folders, interruption, invalid input."""

import dataclasses
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

import augerino as ag
from augerino.app import console as screen
from augerino.app import learn as learn_command
from augerino.app.cli import main
from augerino.training import checkpoint

QUICK = ["--epochs", "2", "--coordinates", "rotate,scale", "--no-baseline"]
ONE_EPOCH = ["learn", "--epochs", "1", "--coordinates", "scale", "--no-baseline"]
FIGURES = {"ranges.png"}


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("augerino.data.synthetic.embedded.N_TRAIN", 128)
    monkeypatch.setattr("augerino.data.synthetic.embedded.N_TEST", 40)
    monkeypatch.setattr("augerino.learning.outcome.EVIDENCE_ITEMS", 20)


def run(*words: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "augerino", *words], capture_output=True, text=True, **options
    )


def _stopped_at(word: str):
    """A training display that is interrupted when a title starts with `word`."""
    display = screen.training_display

    def show(epochs, steps, augmentation, title):
        if title.startswith(word):
            raise KeyboardInterrupt
        return display(epochs, steps, augmentation, title)

    return show


class TestLearn:
    def test_it_prints_verdicts_and_writes_a_run_folder(self, capsys):
        options = ["--baseline", "--out", "run", "--seed", "3", "--start", "0.2"]
        words = ["learn", "sprites", *QUICK, *options]
        assert main(words) == 0
        shown = capsys.readouterr().out
        for text in ("rotate: ", "true extent ±45.0°", "no augmentation", "report.html"):
            assert text in shown

        folder = Path("run")
        assert {p.name for p in (folder / "figures").iterdir()} == FIGURES
        for name in FIGURES:
            assert (folder / "figures" / name).read_bytes().startswith(b"\x89PNG")
        result = json.loads((folder / "result.json").read_text())
        assert [c["name"] for c in result["coordinates"]] == ["rotate", "scale"]
        assert result["seed"] == 3
        assert [c["start"] for c in result["coordinates"]] == pytest.approx([0.2, 0.2])
        names = [m["name"] for m in result["models"]]
        assert names[0] == "no augmentation"
        assert all(name.startswith("learned") for name in names[1:])
        assert result["payoff"]["sentence"].split(":")[0] in shown
        assert result["policy"]["trials"][0]["name"] == "no augmentation"
        for model in result["models"]:
            assert model["items"] == 40
            assert model["low"] <= model["accuracy"] <= model["high"]
        assert sum(row["items"] for row in result["per_class"]) == 40
        assert {curve["coordinate"] for curve in result["orbits"]} == {"rotate", "scale"}
        assert result["coordinates"][0]["evidence"]["profile"]["loss"][0] == 0
        assert result["seconds"] > 0
        assert result["command"] == shlex.join(["augerino", *words])
        assert ag.Policy.load(folder / "policy.json").sentence() == result["policy"]["sentence"]
        ranges = ag.Policy.load(folder / "ranges.json").augmentation()
        assert ranges.extent == pytest.approx(result["bounds"])
        history = ag.History.from_json(json.loads((folder / "history.json").read_text()))
        assert history.epochs[-1].extent == pytest.approx(result["bounds"])
        assert json.loads((folder / "config.json").read_text())["recipe"]["epochs"] == 2
        assert (folder / "checkpoint.safetensors").exists()
        assert (folder / "baseline.safetensors").exists()
        assert "Symmetries of" in (folder / "report.html").read_text()
        model = ag.from_pretrained(folder / "model")
        assert model(torch.rand(2, 3, 32, 32)).shape == (2, 4)

    def test_a_baseline_is_trained_with_the_method_probe(self, monkeypatch):
        monkeypatch.setattr("augerino.app.learn.write_outcome", lambda outcome: None)
        assert main(["learn", *QUICK, "--baseline", "--method", "probe", "--out", "run"]) == 0
        assert Path("run/baseline.safetensors").exists()

    def test_a_standard_baseline_is_compared_on_the_same_samples(self, capsys):
        options = ["--baseline", "--standard-baseline", "--trial-length", "0", "--out", "run"]
        assert main(["learn", "sprites", *QUICK, *options]) == 0
        result = json.loads(Path("run/result.json").read_text())
        names = [model["name"] for model in result["models"]]
        assert names[:2] == ["no augmentation", "flip + shift"]
        assert len(names) > 2
        text = " ".join(capsys.readouterr().out.split())
        assert "over flip + shift" in text
        assert "On the same samples" in result["payoff"]["sentence"]
        assert Path("run/standard.safetensors").exists()

    def test_a_standard_baseline_is_compared_with_a_model_without_augmentation(self):
        y = torch.arange(200) % 2
        x = torch.rand(200, 3, 8, 8) / 10 + y.view(-1, 1, 1, 1) / 2
        np.savez("easy.npz", x=x.numpy(), y=y.numpy())  # solved without augmentation
        options = ["--epochs", "40", "--standard-baseline", "--out", "run"]
        assert main(["learn", "easy.npz", *options]) == 0
        result = json.loads(Path("run/result.json").read_text())
        assert [model["name"] for model in result["models"]] == ["flip + shift", "no augmentation"]
        assert result["payoff"]["answer"] == "none"
        assert "over flip + shift" in result["payoff"]["sentence"]

    def test_a_baseline_is_trained_with_theta_every(self, monkeypatch):
        monkeypatch.setattr("augerino.app.learn.write_outcome", lambda outcome: None)
        options = ["--baseline", "--method", "gradient", "--theta-every", "4", "--out", "run"]
        assert main(["learn", *QUICK, *options]) == 0
        assert Path("run/baseline.safetensors").exists()

    def test_the_saved_model_is_the_final_one(self):
        assert main(["learn", *QUICK, "--out", "run"]) == 0
        model = ag.from_pretrained("run/model")
        trained = checkpoint.load("run/final.safetensors")["model"]
        for name, value in model.net.state_dict().items():
            assert torch.equal(trained[f"net.{name}"], value)
        assert not list(Path("run").glob("trial-*"))

    def test_without_trials_the_model_is_the_one_that_found_the_ranges(self):
        assert main(["learn", *QUICK, "--trial-length", "0", "--out", "run"]) == 0
        result = json.loads(Path("run/result.json").read_text())
        assert [m["name"] for m in result["models"]] == ["learned, 1 copy", "learned, 4 copies"]
        assert result["policy"] is None
        policy = ag.Policy.load("run/policy.json").augmentation()
        assert policy.extent == pytest.approx(result["bounds"])

    @pytest.mark.parametrize("stage", ["trial 2", "final"])
    def test_an_interrupted_policy_step_resumes_to_the_same_bits(self, monkeypatch, stage):
        monkeypatch.setattr("augerino.app.learn.write_outcome", lambda outcome: None)
        assert main(["learn", *QUICK, "--out", "whole"]) == 0
        with monkeypatch.context() as patch:
            patch.setattr("augerino.app.console.training_display", _stopped_at(stage))
            assert main(["learn", *QUICK, "--out", "run"]) == 130
        assert main(["learn", "--resume", "run"]) == 0
        one, other = (
            checkpoint.load(f"{folder}/final.safetensors")["model"] for folder in ("whole", "run")
        )
        assert all(torch.equal(value, other[name]) for name, value in one.items())

    def test_several_seeds_show_their_spread(self, capsys):
        options = ["--seeds", "2", "--method", "gradient", "--warm-up", "0", "--out", "run"]
        assert main(["learn", *QUICK, *options]) == 0
        assert "rotate over 2 seeds: ±" in capsys.readouterr().out
        seeds = json.loads(Path("run/result.json").read_text())["seeds"]
        assert [entry["seed"] for entry in seeds] == [0, 1]
        assert seeds[0]["learned"] != seeds[1]["learned"]

    @pytest.mark.parametrize("name", ["signals", "clouds"])
    def test_signals_and_clouds_are_embedded_too(self, capsys, name):
        assert main(["learn", name, "--epochs", "1", "--no-baseline", "--out", "run"]) == 0
        assert (
            "extents learned by probing with 19 held-out training samples"
            in capsys.readouterr().out
        )
        result = json.loads(Path("run/result.json").read_text())
        assert result["kind"] == {"signals": "signals", "clouds": "points"}[name]
        assert any(c["true"] is not None for c in result["coordinates"])

    def test_without_a_name_it_learns_the_sprites_into_a_new_folder(self, capsys):
        assert main(["learn", *QUICK]) == 0
        assert main(["learn", *QUICK]) == 0
        folders = list(Path("runs").iterdir())
        assert len(folders) == 2 and all((folder / "result.json").exists() for folder in folders)

    def test_folders_may_have_any_name(self, capsys):
        for out in ("a[/b]", "run[old]", "ünï cödé"):
            assert main([*ONE_EPOCH, "--out", out]) == 0
            assert f"Report: {out}/report.html" in capsys.readouterr().out

    def test_a_seed_repeats(self, capsys):
        for out in ("a", "b"):
            main(["learn", *QUICK, "--method", "gradient", "--out", out])
        main(["learn", *QUICK, "--method", "gradient", "--out", "c", "--seed", "1"])
        a, b, c = (json.loads(Path(out, "result.json").read_text())["bounds"] for out in "abc")
        assert a == b and a != c

    def test_a_true_extent_is_printed_for_learned_coordinates_only(self, capsys):
        assert main([*ONE_EPOCH, "--out", "run"]) == 0
        assert "true extent" not in capsys.readouterr().out


class TestResume:
    def test_an_interrupted_run_resumes_to_the_same_result(self, monkeypatch, capsys):
        options = ["--epochs", "4", "--coordinates", "rotate"]
        assert main(["learn", *options, "--out", "whole"]) == 0
        train = learn_command.train

        def interrupted(*arguments, on_epoch, **named):
            def stop(record):
                on_epoch(record)
                if record.epoch == 2:
                    raise KeyboardInterrupt

            return train(*arguments, on_epoch=stop, **named)

        monkeypatch.setattr(learn_command, "train", interrupted)
        assert main(["learn", *options, "--out", "part"]) == 130
        assert "augerino learn --resume part" in capsys.readouterr().out
        assert not Path("part/result.json").exists()
        monkeypatch.setattr(learn_command, "train", train)
        assert main(["learn", "--resume", "part"]) == 0
        assert Path("part/policy.json").read_text() == Path("whole/policy.json").read_text()
        whole, part = (
            json.loads(Path(run, "history.json").read_text()) for run in ("whole", "part")
        )
        assert [record["loss"] for record in whole] == [record["loss"] for record in part]

    def test_control_c_leaves_a_resumable_run_and_prints_the_command(self, tmp_path):
        process = subprocess.Popen(
            [sys.executable, "-m", "augerino", "learn", "--out", "run", "--epochs", "500"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A process in the background may ignore SIGINT.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        try:
            deadline = time.monotonic() + 120
            while not Path("run/checkpoint.safetensors").exists() and time.monotonic() < deadline:
                time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=120)
        finally:
            process.kill()
        assert process.returncode == 130
        assert "augerino learn --resume run" in out and "Traceback" not in out + err
        assert checkpoint.load("run/checkpoint.safetensors")["records"]

    def test_a_run_stopped_before_its_first_checkpoint_starts_again(self, capsys):
        main(["learn", *QUICK, "--out", "run"])
        for name in ("result.json", "policy.json", "history.json", "checkpoint.safetensors"):
            Path("run", name).unlink()
        assert main(["learn", "--resume", "run"]) == 0 and Path("run/result.json").exists()


class TestInvalidInput:
    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["mnist"], "There is no file or folder 'mnist'"),
            (["--size", "8"], "--size is for your own data"),
            (["--net", "resnet_of_mine"], "There is no network 'resnet_of_mine'"),
            (["--net", "no.module:net"], "The network 'no.module:net' cannot be built"),
            (["--transforms", "colour"], "There is no group of transforms 'colour'"),
            (["--seeds", "0"], "seeds must be at least 1"),
            (["--epochs", "0"], "epochs must lie between 1 and 10000000, but got 0"),
            (["--epochs", "-2"], "epochs must lie between 1 and 10000000, but got -2"),
            (["--test-copies", "0"], "copies must be at least 1, but got 0"),
            (["--batch-size", "-1"], "batch_size must be at least 1, but got -1"),
            (["--start", "0"], "start must be a number above 0"),
            (["--start", "nan"], "start must be a number above 0"),
            (["--start", "900"], "The start of 900 is beyond the limit of translate_x, 1"),
            (["--reg-weight", "-0.1"], "reg_weight must be a number from 0"),
            (["--weight-decay", "1e300"], "weight_decay must be a number from 0 to 1000000"),
            (["--width", "1000000"], "width must be at most 65536, but got 1000000"),
            (["--test-copies", "1000000000"], "copies must be at most 100000"),
            (
                ["--holdout-fraction", "0.999"],
                "holdout_fraction must be a fraction above 0 and below 0.5, but got 0.999",
            ),
            (
                ["--seed", "4294967295", "--seeds", "2"],
                "seed must lie between 0 and 4294967295, but got 4294967296",
            ),
            (
                ["--net", "torch.nn:Linear"],
                "The network does not take inputs of shape (2, 1, 24, 24)",
            ),
            (
                ["--method", "gradient", "--tolerance", "0.5"],
                "--tolerance has no effect with --method gradient",
            ),
            (
                ["--method", "probe", "--reg-weight", "3"],
                "--reg-weight has no effect with --method probe",
            ),
            (
                ["--method", "gradient", "--probe.shell", "1.5"],
                "--probe has no effect with --method gradient",
            ),
            (["--probe.shell", "0.5"], "augerino: probe.shell must lie between 1.001 and 100"),
            (["--seed", "-1"], "seed must lie between 0"),
            (
                ["--coordinates", "rotate,scael"],
                "images has no coordinate 'scael'. Did you mean 'scale'?",
            ),
            (["--coordinates", "rotate,rotate"], "'rotate' twice"),
            (["--device", "gpu"], "'gpu' cannot be used here: torch has no device of this type."),
            (["--device", "meta"], "The device 'meta' cannot be used here"),
            (["--start", "1e39"], "start must be a number above 0 and at most 1000"),
            (["--resume", "x", "--epochs", "40"], "Remove --epochs"),
            (["--budget", "0"], "The time limit must be above 0 minutes, but got 0"),
            (["sprites", "--resume", "x"], "Remove sprites"),
            (["--resume", "nowhere"], "nowhere is not a run folder: it contains no config.json"),
            (["--resume", "x", "--epochs", "7"], "Remove --epochs"),
        ],
    )
    def test_one_line_exit_code_two_and_no_folder(self, capsys, words, message):
        assert main(["learn", *words]) == 2
        caught = capsys.readouterr()
        assert message in caught.err
        assert caught.err.count("\n") == 1
        assert caught.err.startswith("augerino: ")
        assert list(Path().iterdir()) == []

    @pytest.mark.parametrize(
        ("words", "messages"),
        [
            (
                ["learn", "--epochs", "many"],
                ["parsing --epochs: expected an integer, got 'many'", "--epochs INT"],
            ),
            (["learn", "--ignore", "1.5"], ["parsing --ignore: expected an integer, got '1.5'"]),
            (
                ["learn", "--tolerance", "much"],
                ["parsing --tolerance: expected a number, got 'much'"],
            ),
            (
                ["learn", "--probe.shell", "wide"],
                ["parsing --probe.shell: expected a number, got 'wide'"],
            ),
            (
                ["learn", "--probe.shel", "2"],
                ["Unrecognized options: --probe.shel", "--probe.shell FLOAT"],
            ),
            (["learn", "--epocs", "3"], ["Unrecognized options: --epocs", "--epochs INT"]),
            (
                ["learn", "--precision", "fp8"],
                ["invalid choice 'fp8' for argument '--precision'", "'auto', 'float32', 'bf16'"],
            ),
            (
                ["learn", "--task", "regresion"],
                ["expected one of classification, regression, segmentation, got 'regresion'"],
            ),
            (["learn", "--coordinates"], ["Missing value for argument '--coordinates'"]),
            (["learn", "sprites", "more"], ["Unrecognized options: more"]),
            (["lern"], ["Unrecognized options: lern", "learn, report, export, run, list"]),
            (["export"], ["Missing from augerino export", "RUN_OR_POLICY", "--to torchvision|"]),
            (
                ["run", "cifar10", "--sizes", "a"],
                ["parsing --sizes", "['a']", "INT", "augerino run cifar10 --help"],
            ),
        ],
    )
    def test_a_wrong_command_line_gets_one_message_and_no_traceback(
        self, capsys, monkeypatch, words, messages
    ):
        monkeypatch.setenv("COLUMNS", "80")
        assert main(words) == 2
        caught = capsys.readouterr()
        lines = [line.strip("│ ") for line in caught.err.splitlines()]
        text = " ".join(" ".join(lines).split())
        assert all(message in text for message in messages)
        assert max(map(len, caught.err.splitlines())) <= 80
        assert "Traceback" not in caught.err and caught.out == ""
        assert list(Path().iterdir()) == []

    def test_a_missing_value_of_a_common_option_is_named(self, capsys):
        assert main(["run", "cifar10", "--preset"]) == 2
        assert capsys.readouterr().err == (
            "augerino: Missing value of --preset. "
            "`augerino run cifar10 --help` lists the options.\n"
        )

    @pytest.mark.parametrize(
        "error",
        [
            MemoryError(),
            RuntimeError("DefaultCPUAllocator: not enough memory"),
            RuntimeError("CUDA out of memory."),
        ],
    )
    def test_too_little_memory_gets_a_message(self, capsys, monkeypatch, error):
        def fail(*_):
            raise error

        monkeypatch.setattr(learn_command, "_run", fail)
        assert main(["learn", *QUICK]) == 1
        assert "Not enough memory. Reduce --batch-size" in capsys.readouterr().err
        error = RuntimeError("something else")
        with pytest.raises(RuntimeError, match="something else"):
            main(["learn", *QUICK])

    def test_an_existing_folder_or_file_is_never_overwritten(self, capsys):
        Path("full").mkdir()
        Path("full/mine.txt").write_text("precious")
        Path("file").write_text("precious")
        for out in ("full", "file"):
            assert main(["learn", *QUICK, "--out", out]) == 2
            assert f"{out} already exists" in capsys.readouterr().err
        assert Path("full/mine.txt").read_text() == "precious"
        assert len(list(Path("full").iterdir())) == 1
        Path("empty").mkdir()
        assert main(["learn", *QUICK, "--out", "empty"]) == 0

    def test_a_folder_that_cannot_be_made_is_named(self, capsys):
        Path("file").write_text("")
        assert main(["learn", *QUICK, "--out", "file/run"]) == 2
        assert "Cannot create the run folder file/run" in capsys.readouterr().err

    def test_a_time_limit_ends_with_a_preliminary_result_that_can_be_completed(self, capsys):
        words = ["learn", "sprites", *QUICK]
        assert main([*words, "--budget", "0.0001", "--out", "part"]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert "The time limit was reached while finding the ranges" in shown
        assert "augerino learn --resume part" in shown
        assert "undecided: the training ended before the ranges were fixed" in shown
        assert json.loads(Path("part/result.json").read_text())["interrupted"]
        preliminary = "Preliminary: the time limit was reached while finding the ranges."
        assert preliminary in Path("part/report.html").read_text()
        assert main(["learn", "--resume", "part", "--budget", "60"]) == 0
        assert preliminary not in Path("part/report.html").read_text()
        assert main([*words, "--out", "whole"]) == 0
        results = [json.loads(Path(run, "result.json").read_text()) for run in ("part", "whole")]
        assert results[0]["interrupted"] == "" and results[0]["models"] == results[1]["models"]
        assert results[0]["coordinates"] == results[1]["coordinates"]

    def test_a_finished_run_is_not_resumed(self, capsys):
        main(["learn", *QUICK, "--out", "run"])
        assert main(["learn", "--resume", "run"]) == 2
        assert "already finished" in capsys.readouterr().err

    def test_a_run_of_an_experiment_is_resumed_by_run(self, capsys):
        Path("run").mkdir()
        Path("run/config.json").write_text('{"experiment": "why"}')
        assert main(["learn", "--resume", "run"]) == 2
        assert "Resume it with `augerino run --resume`" in capsys.readouterr().err

    @pytest.mark.parametrize(
        "content", ["", "{", "[]", "{}", '{"recipe": {"coordinates": 5}, "data": "sprites"}']
    )
    def test_a_damaged_configuration_is_named(self, capsys, content):
        Path("run").mkdir()
        Path("run/config.json").write_text(content)
        assert main(["learn", "--resume", "run"]) == 2
        assert "config.json" in capsys.readouterr().err

    def test_settings_of_the_probe_are_kept_and_restored(self, capsys, monkeypatch):
        def interrupted(self):
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(ag.Probe, "step", interrupted)
            assert main(["learn", *QUICK, "--probe.shell", "1.5", "--out", "run"]) == 130
        config = json.loads(Path("run/config.json").read_text())
        assert config["recipe"]["probe"]["shell"] == 1.5
        used = []
        step = ag.Probe.step
        monkeypatch.setattr(ag.Probe, "step", lambda self: used.append(self.settings) or step(self))
        assert main(["learn", "--resume", "run"]) == 0
        assert set(used) == {ag.ProbeSettings(shell=1.5)}
        capsys.readouterr()
        config["recipe"]["probe"]["shell"] = "wide"
        Path("other").mkdir()
        Path("other/config.json").write_text(json.dumps(config))
        assert main(["learn", "--resume", "other"]) == 2
        assert "probe.shell must be a number, but got 'wide'" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("seeds", "many"),
            ("seeds", 0),
            ("data", 5),
            ("net", None),
            ("baseline", "yes"),
            ("size", [8]),
        ],
    )
    def test_a_setting_of_the_wrong_type_is_named(self, capsys, name, value):
        recipe, settings = learn_command._settings(learn_command.LearnOptions())
        Path("run").mkdir()
        config = {
            "recipe": dataclasses.asdict(recipe),
            "settings": {**settings, name: value},
            "fingerprint": "",
        }
        Path("run/config.json").write_text(json.dumps(config))
        assert main(["learn", "--resume", "run"]) == 2
        said = capsys.readouterr().err
        assert (
            f"invalid value of {name}: {value!r}" in said
            and "config.json" in said
            and said.count("\n") == 1
        )

    def test_code_named_only_by_a_file_is_not_run(self, capsys, monkeypatch):
        Path("mine.py").write_text(
            "open('executed', 'w').close()\n"
            "from augerino.nets.small import SmallCNN\n"
            "net = SmallCNN\n"
        )
        monkeypatch.syspath_prepend(os.getcwd())
        recipe, settings = learn_command._settings(
            learn_command.LearnOptions(epochs=1, coordinates=("rotate",))
        )
        Path("run").mkdir()
        given = learn_command.open_data(settings, recipe.seed)
        config = {
            "recipe": dataclasses.asdict(recipe),
            "settings": {**settings, "net": "mine:net"},
            "fingerprint": given.fingerprint,
        }
        Path("run/config.json").write_text(json.dumps(config))
        for words in ([], ["--net", "small"]):
            assert main(["learn", "--resume", "run", *words]) == 2
            assert (
                "Confirm that it may run by adding --net mine:net" in capsys.readouterr().err
                and not Path("executed").exists()
            )
        monkeypatch.setattr(learn_command, "write_outcome", lambda outcome: None)
        assert main(["learn", "--resume", "run", "--net", "mine:net"]) == 0
        assert Path("executed").exists()

    @pytest.mark.parametrize("damage", [b"", b"garbage"])
    def test_a_damaged_checkpoint_is_named_and_kept(self, capsys, damage):
        main(["learn", *QUICK, "--out", "run"])
        Path("run/result.json").unlink()
        Path("run/checkpoint.safetensors").write_bytes(damage)
        assert main(["learn", "--resume", "run"]) == 2
        assert "not a readable checkpoint" in capsys.readouterr().err
        assert Path("run/checkpoint.safetensors").read_bytes() == damage

    def test_a_loss_of_nan_exits_with_code_one(self, capsys, monkeypatch):
        losses = {"classification": (lambda *_: torch.tensor(float("nan")), ag.mean_log_prob)}
        monkeypatch.setattr("augerino.learning.defaults._LOSSES", losses)
        assert main(["learn", *QUICK, "--out", "run"]) == 1
        assert "the loss became nan" in capsys.readouterr().err


class TestAsAProcess:
    def test_help_version_and_module_entry(self):
        for words in (["--help"], ["learn", "--help"]):
            done = run(*words)
            assert done.returncode == 0 and "usage: augerino" in done.stdout
        assert "augerino 0." in run("--version").stdout
        bare = run()
        assert bare.returncode == 0 and "learn" in bare.stdout

    def test_the_help_names_every_option_of_the_recipe(self):
        shown = run("learn", "--help").stdout
        for name in ag.Recipe.__dataclass_fields__:
            assert f"--{name.replace('_', '-')}" in shown

    def test_verdicts_are_printed_on_a_terminal_without_unicode(self):
        done = run(*ONE_EPOCH, env={**os.environ, "PYTHONIOENCODING": "ascii"})
        assert done.returncode == 0 and "scale: " in done.stdout

    def test_invalid_input_shows_no_traceback(self):
        done = run("learn", "--coordinates", "spin")
        assert done.returncode == 2 and "Traceback" not in done.stderr
        assert os.listdir() == []


def test_an_invalid_number_of_processes_is_one_line(monkeypatch, capsys):
    monkeypatch.setenv("LOCAL_RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "abc")
    assert main(["list"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "WORLD_SIZE must be a number of processes" in said
