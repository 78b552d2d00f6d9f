"""`augerino export` on the command line."""

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
def test_the_printed_import_works():
    need("kornia")
    main(["export", "run", "--to", "kornia", "--out", "mine.py"])
    code = (
        "from mine import augmentation\n"
        "import torch\n"
        "print(augmentation(torch.rand(2, 1, 8, 8)).shape)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    )
    assert "[2, 1, 8, 8]" in done.stdout


def test_undecided_coordinates_are_named(capsys):
    Path("run/result.json").write_text(
        json.dumps({"coordinates": [{"name": "rotate", "answer": "undecided"}]})
    )
    assert main(["export", "run", "--to", "kornia"]) == 0
    assert "Undecided in this run, exported as trained: rotate." in capsys.readouterr().out
    assert "rotate ±45.0° (undecided" in Path("learned_kornia.py").read_text(encoding="utf-8")


def test_options_of_onnx_are_rejected_for_other_formats(capsys):
    assert main(["export", "run", "--to", "kornia", "--nodes", "7"]) == 2
    assert "--nodes and --shape need --to onnx" in capsys.readouterr().err


def test_a_file_name_that_python_cannot_import_is_mentioned(capsys):
    assert main(["export", "run", "--to", "kornia", "--out", "my-aug 1.py"]) == 0
    assert "rename it to a Python identifier to import it" in capsys.readouterr().out


def test_the_policy_is_copied(capsys):
    assert main(["export", "run", "--to", "policy", "--out", "p.json"]) == 0
    assert ag.Policy.load("p.json") == ag.Policy.load("run/policy.json")


@pytest.mark.extras
def test_onnx_prints_its_difference_from_pytorch(capsys):
    need("onnx", "onnxscript", "onnxruntime")
    assert main(["export", "run", "--to", "onnx", "--nodes", "4"]) == 0
    assert (
        "averaged over 4 fixed elements. ONNX Runtime and PyTorch differ by at most"
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
        (
            ["nowhere", "--to", "kornia"],
            "nowhere does not exist. Pass a run folder or a policy.json",
        ),
        (["empty", "--to", "kornia"], "empty contains no policy.json"),
        (["empty", "--to", "onnx"], "empty contains no saved model, which ONNX needs"),
        (["run/policy.json", "--to", "onnx"], "contains no saved model"),
        (["text.json", "--to", "kornia"], "text.json is not a readable policy"),
        (["on.json", "--to", "kornia"], "contains On, which cannot be exported to kornia"),
        (
            ["run", "--to", "kornia", "--out", "text.json"],
            "text.json already exists",
        ),
        (
            ["run", "--to", "policy", "--out", "empty"],
            "empty already exists",
        ),
        (
            ["run", "--to", "kornia", "--out", "no/where.py"],
            "There is no folder no. Create it",
        ),
        (["run", "--to", "onnx", "--nodes", "0"], "nodes must be at least 1, but got 0"),
        (
            ["run", "--to", "onnx", "--shape", "3,12,12"],
            "The model does not accept inputs of shape (3, 12, 12)",
        ),
        (
            ["run", "--to", "onnx", "--shape", "0,12"],
            "--shape must be positive integers, but got 0,12. Write it as in --shape 3,32,32",
        ),
        (
            ["run", "--to", "onnx", "--shape", "big"],
            "--shape must be positive integers, but got big. Write it as in --shape 3,32,32",
        ),
    ],
)
def test_wrong_input_gets_one_message_and_writes_nothing(capsys, words, message):
    lens()
    Path("empty").mkdir()
    Path("text.json").write_text("precious")
    before = sorted(Path().rglob("*"))
    assert main(["export", *words]) == 2
    caught = capsys.readouterr().err
    assert message in caught and caught.count("\n") == 1 and caught.startswith("augerino: ")
    assert sorted(Path().rglob("*")) == before and Path("text.json").read_text() == "precious"


def test_a_model_saved_without_its_input_shape_needs_the_option(capsys):
    config = json.loads(Path("run/model/config.json").read_text())
    for saved in (None, {"shape": "big"}, {"shape": [10**9, 10**9]}, [3]):
        Path("run/model/config.json").write_text(json.dumps({**config, "input": saved}))
        assert main(["export", "run", "--to", "onnx"]) == 2
        assert "Pass it as in --shape 3,32,32" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        (["run"], ["Missing from augerino export:", "--to torchvision|kornia|"]),
        (["--to", "kornia"], ["Missing from augerino export:", "RUN_OR_POLICY"]),
        (
            ["run", "--to", "jax"],
            ["invalid choice 'jax' for argument '--to'", "'albumentations', 'onnx', 'policy'"],
        ),
    ],
)
def test_a_wrong_command_line_gets_one_message(capsys, words, messages):
    assert main(["export", *words]) == 2
    lines = [line.strip("│ ") for line in capsys.readouterr().err.splitlines()]
    text = " ".join(" ".join(lines).split())
    assert all(message in text for message in [*messages, "augerino export --help"])
