"""Time series from `.ts` files: values, labels, padding, and clear errors."""

import pytest
import torch

from augerino.data.published import time_series as module
from augerino.data.published.time_series import read_ts, time_series
from augerino.errors import InputError

TRAIN = """# a comment
@problemName Toy
@timeStamps false
@classLabel true up down
@data
1,2,3:4,5,6:up

-1,-2:-4,-5:down
"""
TEST = "@data\n0.5,0:1e-1,2:down\n"


def write(folder, name="Toy", train=TRAIN, test=TEST):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}_TRAIN.ts").write_text(train)
    (folder / f"{name}_TEST.ts").write_text(test)


@pytest.fixture(autouse=True)
def _no_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("AUGERINO_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("inner", ["", "Toy"])
def test_series_are_read_and_padded(tmp_path, inner):
    write(tmp_path / "data" / inner)
    found = time_series("Toy", tmp_path / "data")
    assert found.class_names == ("down", "up")
    assert found.y_train.tolist() == [1, 0] and found.y_test.tolist() == [0]
    assert torch.equal(found.x_train[0], torch.tensor([[1.0, 2, 3], [4, 5, 6]]))
    assert torch.equal(found.x_train[1], torch.tensor([[-1.0, -2, 0], [-4, -5, 0]]))
    assert found.x_test.shape == (1, 2, 3)


def test_the_files_of_an_installed_package_are_found_without_importing_it(tmp_path, monkeypatch):
    package = tmp_path / "site" / "aeon"
    write(package / "datasets" / "data" / "Toy")
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert len(time_series("Toy").y_train) == 2


def test_missing_files_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_aeon_folders", list)
    with pytest.raises(InputError, match=r"need Toy_TRAIN\.ts and Toy_TEST\.ts: install aeon"):
        time_series("Toy", tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2:up\n", "should have a line '@data'"),
        ("@timeStamps true\n@data\n1,2:up\n", "has time stamps"),
        ("@data\n", "has no series"),
        ("@data\n1,x:up\n", "channels of equally many numbers"),
        ("@data\n1,2:3:up\n", "channels of equally many numbers"),
        ("@data\n1,nan:up\n", "finite numbers"),
        ("@data\nup\n", "finite numbers"),
    ],
)
def test_wrong_files_are_rejected(text, message, tmp_path):
    path = tmp_path / "a.ts"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_ts(path)


def test_parts_that_do_not_fit_are_rejected(tmp_path):
    write(tmp_path, test="@data\n1,2:3,4:left\n")
    with pytest.raises(InputError, match="the label 'left', which the training part lacks"):
        time_series("Toy", tmp_path)
    write(tmp_path, test="@data\n1,2:up\n")
    with pytest.raises(InputError, match="same number of channels"):
        time_series("Toy", tmp_path)
