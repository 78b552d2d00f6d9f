"""Checkpoints: complete or absent, exact, and never executed."""

import json
import math
import os
import pickle

import pytest
import torch

import augerino as ag
from augerino.runtime import files
from augerino.training import checkpoint, validation

STATE = {
    "tensors": {
        0: torch.rand(3),
        "scalar": torch.tensor(1.5),
        "empty": torch.zeros(0, 2),
        "bytes": torch.arange(5, dtype=torch.uint8),
    },
    "list": [1, 2.5, None, True, "text", (1, (2, 3))],
    "float": 0.1 + 0.2,
    "shared": [torch.ones(2)] * 2,
}


def test_round_trip_is_exact(tmp_path):
    checkpoint.save(tmp_path / "c", STATE)
    loaded = checkpoint.load(tmp_path / "c")
    assert loaded["list"] == STATE["list"] and loaded["float"] == STATE["float"]
    assert list(loaded["tensors"]) == [0, "scalar", "empty", "bytes"]
    for key, value in STATE["tensors"].items():
        assert (
            torch.equal(loaded["tensors"][key], value)
            and loaded["tensors"][key].dtype == value.dtype
        )


def test_objects_are_rejected_at_saving_and_the_file_is_not_touched(tmp_path):
    (tmp_path / "c").write_text("precious")
    with pytest.raises(TypeError, match="but got a object"):
        checkpoint.save(tmp_path / "c", {"x": object()})
    assert (tmp_path / "c").read_text() == "precious"


class Bomb:
    def __reduce__(self):
        return os._exit, (66,)


def written(path, content: bytes):
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a readable checkpoint"),
        (b"garbage" * 100, "not a readable checkpoint"),
        (pickle.dumps(Bomb()), "not a readable checkpoint"),
        (b"\xff" * 8 + b"{}", "not a readable checkpoint"),
    ],
)
def test_a_file_that_is_no_checkpoint_is_a_one_line_error(tmp_path, content, message):
    with pytest.raises(ag.InputError, match=message):
        checkpoint.load(written(tmp_path / "c", content))


def test_truncated_newer_and_foreign_files_are_rejected(tmp_path):
    from safetensors.torch import save

    checkpoint.save(tmp_path / "c", STATE)
    whole = (tmp_path / "c").read_bytes()
    with pytest.raises(ag.InputError, match="not a readable checkpoint"):
        checkpoint.load(written(tmp_path / "t", whole[:-3]))
    with pytest.raises(ag.InputError, match="not an augerino checkpoint"):
        checkpoint.load(written(tmp_path / "f", save({"x": torch.ones(1)})))
    newer = save(
        {"x": torch.ones(1)},
        metadata={"format": "augerino-checkpoint", "version": "99", "state": "{}"},
    )
    with pytest.raises(ag.InputError, match="version 99, but this augerino reads version 1"):
        checkpoint.load(written(tmp_path / "n", newer))
    for state in ("{", '{"tensor": "nowhere"}', '{"a": 1, "b": 2}', "[1]"):
        damaged = save(
            {"x": torch.ones(1)},
            metadata={"format": "augerino-checkpoint", "version": "1", "state": state},
        )
        with pytest.raises(ag.InputError, match="damaged"):
            checkpoint.load(written(tmp_path / "d", damaged))
    with pytest.raises(ag.InputError, match="no checkpoint"):
        checkpoint.load(tmp_path / "absent")


def test_claims_of_a_header_cost_nothing(tmp_path):
    """Tensors beyond the end of the file, a header longer than the file, overlapping tensors."""
    for header, length in (
        ({"t": {"dtype": "F32", "shape": [10**12], "data_offsets": [0, 4 * 10**12]}}, None),
        ({"t": {"dtype": "F32", "shape": [2**40, 2**40], "data_offsets": [0, 8]}}, None),
        ({"t": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 8]}}, None),
        (
            {
                "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
                "b": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
            },
            None,
        ),
        ({}, 10**15),
    ):
        text = json.dumps(header).encode()
        content = (len(text) if length is None else length).to_bytes(8, "little") + text + bytes(8)
        with pytest.raises(ag.InputError, match="not a readable checkpoint"):
            checkpoint.load(written(tmp_path / "c", content))


@pytest.mark.parametrize(
    ("own", "good", "bad"),
    [
        (
            torch.ones(2),
            [torch.zeros(2)],
            [torch.zeros(3), torch.zeros(2).double(), 1.0, None, [0, 0]],
        ),
        (
            {"a": 1},
            [{"a": 2.5}],
            [{}, {"a": 1, "b": 2}, {"a": "1"}, {"a": True}, {"a": math.nan}, [1], None],
        ),
        ((0.9, 0.99), [[0.1, 1]], [(0.9,), "ab", {"0": 1}, (0.9, None)]),
        (True, [False], [1, None, "True"]),
        ("cos", ["linear"], [None, 1, ["cos"]]),
        (None, [None, 3], ["x", [], True]),
    ],
)
def test_loaded_state_is_compared_with_the_state_it_replaces(own, good, bad):
    for value in good:
        validation.validate_structure(value, own, "it")
    for value in bad:
        with pytest.raises(ValueError, match=r"it.* has an invalid value"):
            validation.validate_structure(value, own, "it")


def test_a_failed_write_leaves_the_old_file_and_no_debris(tmp_path, monkeypatch):
    path = tmp_path / "c"
    checkpoint.save(path, {"a": 1})

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        ag.InputError, match=r"No space left on device\. The previous content is unchanged"
    ):
        checkpoint.save(path, {"a": 2})
    assert checkpoint.load(path) == {"a": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["c"]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(ag.InputError, match="No such file or directory"):
        files.write_json(tmp_path / "nowhere" / "x.json", {})
