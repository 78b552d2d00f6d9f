"""Control characters from files do not reach the terminal."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from augerino.app.cli import main
from augerino.runtime.printable import printable

RED = "\x1b[31mred"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_line_breaks_and_letters_are_kept():
    assert printable("±45°\nλ") == "±45°\nλ"
    assert printable("\x07\x9b\u202e") == "\\x07\\x9b\\u202e"


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("recipe", "method"),
        ("recipe", "device"),
        ("recipe", "coordinates"),
        ("settings", "net"),
        ("settings", "task"),
        ("settings", "data"),
    ],
)
def test_a_configuration_with_escape_sequences(part, name, capsys):
    words = ["learn", "letters", "--epochs", "1", "--no-baseline", "--trial-length", "0"]
    assert main([*words, "--coordinates", "rotate", "--out", "run"]) == 0
    Path("run/result.json").unlink()
    config = json.loads(Path("run/config.json").read_text())
    config[part][name] = RED
    Path("run/config.json").write_text(json.dumps(config))
    capsys.readouterr()
    assert main(["learn", "--resume", "run"]) == 2
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    assert "\\x1b" in said.err


def test_file_names_with_escape_sequences(capsys):
    for label in ("a", RED):
        Path("data", label).mkdir(parents=True)
        for i in range(6):
            Image.fromarray(np.full((12, 12), 10 * i, np.uint8)).save(f"data/{label}/{i}.png")
    assert main(["learn", "data", "--out", f"{RED}/run", "--epochs", "1", "--no-baseline"]) == 0
    assert main(["report", f"{RED}/run"]) == 0
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    assert "\\x1b[31mred" in said.out


@pytest.mark.parametrize("value", [None, 1.5, True, [], {"a": 1}, 10**400])
def test_a_device_that_is_no_name_is_one_line(value, capsys):
    words = ["learn", "letters", "--epochs", "1", "--no-baseline", "--trial-length", "0"]
    assert main([*words, "--coordinates", "rotate", "--out", "run"]) == 0
    Path("run/result.json").unlink()
    config = json.loads(Path("run/config.json").read_text())
    config["recipe"]["device"] = value
    Path("run/config.json").write_text(json.dumps(config))
    capsys.readouterr()
    assert main(["learn", "--resume", "run"]) == 2
    assert "device must be a name" in capsys.readouterr().err
