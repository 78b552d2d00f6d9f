"""`augerino export`, as a user meets it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import augerino as ag
from augerino.app.cli import main
from augerino.nets.small import SmallCNN
from tests.conftest import need


@pytest.fixture(autouse=True)
def _a_run(tmp_path, monkeypatch):
    """A finished run as far as an export sees it."""
    monkeypatch.chdir(tmp_path)
    model = ag.InvariantModel(
        SmallCNN(1, 3, width=4), ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([0.7854]))
    )
    Path("run").mkdir()
    ag.Policy.of(model.augmentation).save("run/policy.json")
    ag.save_pretrained(model, "run/model", example=torch.rand(1, 1, 12, 12))


@pytest.mark.parametrize("library", ["torchvision", "kornia", "albumentations"])
@pytest.mark.parametrize("source", ["run", "run/policy.json", "run/model"])
def test_a_transform_is_written_without_the_library(capsys, library, source):
    assert main(["export", source, "--to", library]) == 0
    shown, text = capsys.readouterr().out, Path(f"learned_{library}.py").read_text(encoding="utf-8")
    assert "rotate ±45.0°" in shown and f"from learned_{library} import augmentation" in shown
    assert f"from learned_{library} import augmentation" in text
    compile(text, "learned.py", "exec")


@pytest.mark.extras
def test_what_the_screen_says_to_import_can_be_imported():
    need("kornia")
    main(["export", "run", "--to", "kornia", "--out", "mine.py"])
    code = "from mine import augmentation; import torch; print(augmentation(torch.rand(2, 1, 8, 8)).shape)"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    )
    assert "[2, 1, 8, 8]" in done.stdout


def test_what_a_run_did_not_decide_is_named(capsys):
    Path("run/result.json").write_text(
        json.dumps({"coordinates": [{"name": "rotate", "answer": "undecided"}]})
    )
    assert main(["export", "run", "--to", "kornia"]) == 0
    assert "Not decided by this run, so as training left them: rotate." in capsys.readouterr().out
    assert "rotate ±45.0° (undecided" in Path("learned_kornia.py").read_text(encoding="utf-8")


def test_options_of_onnx_are_refused_elsewhere(capsys):
    assert main(["export", "run", "--to", "kornia", "--nodes", "7"]) == 2
    assert "--nodes and --shape are for onnx" in capsys.readouterr().err


def test_a_name_that_python_cannot_import_is_told(capsys):
    assert main(["export", "run", "--to", "kornia", "--out", "my-aug 1.py"]) == 0
    assert "rename it to something Python can import" in capsys.readouterr().out


def test_the_policy_is_copied(capsys):
    assert main(["export", "run", "--to", "policy", "--out", "p.json"]) == 0
    assert ag.Policy.load("p.json") == ag.Policy.load("run/policy.json")


@pytest.mark.extras
def test_onnx_tells_how_far_it_is_from_pytorch(capsys):
    need("onnx", "onnxscript", "onnxruntime")
    assert main(["export", "run", "--to", "onnx", "--nodes", "4"]) == 0
    assert (
        "averaged over 4 fixed elements. ONNX Runtime differs from PyTorch by at most"
        in capsys.readouterr().out
    )
    assert Path("learned.onnx").exists()


def lens():
    ag.Policy.of(ag.Augmentation(ag.On("image", ag.Affine2d("rotate")), ag.Uniform([0.3]))).save(
        "on.json"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere", "--to", "kornia"], "There is no nowhere: name a run folder or a policy.json"),
        (["empty", "--to", "kornia"], "empty holds no policy.json"),
        (["empty", "--to", "onnx"], "empty holds no saved model, which ONNX needs"),
        (["run/policy.json", "--to", "onnx"], "holds no saved model"),
        (["text.json", "--to", "kornia"], "text.json is not a readable policy"),
        (["on.json", "--to", "kornia"], "holds On, which cannot be exported to kornia"),
        (
            ["run", "--to", "kornia", "--out", "text.json"],
            "text.json exists already and nothing is overwritten",
        ),
        (
            ["run", "--to", "policy", "--out", "empty"],
            "empty exists already and nothing is overwritten",
        ),
        (
            ["run", "--to", "kornia", "--out", "no/where.py"],
            "There is no folder no to write where.py into",
        ),
        (["run", "--to", "onnx", "--nodes", "0"], "nodes must be at least 1, but got 0"),
        (
            ["run", "--to", "onnx", "--shape", "3,12,12"],
            "The model does not take inputs of shape (3, 12, 12)",
        ),
        (
            ["run", "--to", "onnx", "--shape", "0,12"],
            "--shape 0,12 is no shape: say it, as in --shape 3,32,32",
        ),
        (
            ["run", "--to", "onnx", "--shape", "big"],
            "--shape big is no shape: say it, as in --shape 3,32,32",
        ),
    ],
)
def test_wrong_input_is_one_sentence_and_writes_nothing(capsys, words, message):
    lens()
    Path("empty").mkdir()
    Path("text.json").write_text("precious")
    before = sorted(Path().rglob("*"))
    assert main(["export", *words]) == 2
    caught = capsys.readouterr().err
    assert message in caught and caught.count("\n") == 1 and caught.startswith("augerino: ")
    assert sorted(Path().rglob("*")) == before and Path("text.json").read_text() == "precious"


def test_a_model_that_does_not_tell_its_inputs_asks_for_their_shape(capsys):
    config = json.loads(Path("run/model/config.json").read_text())
    for told in (None, {"shape": "big"}, {"shape": [10**9, 10**9]}, [3]):
        Path("run/model/config.json").write_text(json.dumps({**config, "input": told}))
        assert main(["export", "run", "--to", "onnx"]) == 2
        assert "say it, as in --shape 3,32,32" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run"], "Something is missing: --to."),
        (["--to", "kornia"], "Something is missing: RUN_OR_POLICY."),
        (
            ["run", "--to", "jax"],
            "--to is one of torchvision, kornia, albumentations, onnx, policy, but got 'jax'.",
        ),
    ],
)
def test_words_that_do_not_parse_are_told_in_a_sentence(capsys, words, message):
    assert main(["export", *words]) == 2
    assert (
        capsys.readouterr().err
        == f"augerino: {message} `augerino export --help` lists what there is.\n"
    )
