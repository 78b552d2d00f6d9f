"""Files of molecules read by ASE: the same atoms as in an archive, and properties as targets."""

import sys

import numpy as np
import pytest
import torch

import augerino as ag
from augerino.data import open_dataset
from tests.conftest import need

pytestmark = pytest.mark.extras


def write(path, count: int = 20, **more) -> None:
    need("ase")
    from ase import Atoms
    from ase.db import connect
    from ase.io import write

    random = np.random.default_rng(0)
    molecules = []
    for i in range(count):
        size = 1 + i % 3
        values = {"homo": -0.2 - 0.013 * i, "part": i, **({"rare": 1.0} if i else {})}
        molecules.append(
            Atoms("CHO"[:size], positions=random.normal(size=(size, 3)), info=values, **more)
        )
    if path.suffix == ".db":
        with connect(path) as database:
            for atoms in molecules:
                database.write(atoms, homo=atoms.info["homo"], part=atoms.info["part"])
    else:
        write(path, molecules, format="extxyz")


@pytest.mark.parametrize("name", ["m.xyz", "m.extxyz", "m.db"])
def test_atoms_and_a_property(tmp_path, name):
    write(tmp_path / name)
    source = open_dataset(tmp_path / name, target="homo")
    x, y = source.train
    assert (source.kind, source.task, source.shape) == (
        "points",
        "regression",
        (3, 3),
    ) and y.shape == (16, 1)
    assert torch.equal(x["mask"], x["charges"] > 0) and set(x["charges"].unique().tolist()) == {
        0,
        1,
        6,
        8,
    }
    both = torch.cat([y, source.test[1]])[:, 0]
    assert torch.allclose(both.sort().values, torch.linspace(-0.447, -0.2, 20), atol=1e-5)
    with pytest.raises(ag.InputError, match="--target, one of homo, part"):
        open_dataset(tmp_path / name)


def test_a_property_that_only_some_have_is_no_target(tmp_path):
    write(tmp_path / "m.xyz")
    with pytest.raises(ag.InputError, match="has no array 'rare' for --target"):
        open_dataset(tmp_path / "m.xyz", target="rare")


def test_a_periodic_cell_is_noted(tmp_path):
    write(tmp_path / "m.xyz", cell=[5, 5, 5], pbc=True)
    assert any(
        "periodic cell, which is not used" in note
        for note in open_dataset(tmp_path / "m.xyz", target="homo").notes
    )


@pytest.mark.parametrize(
    "content", [b"rubbish", b"3\n\nH 0 0 0\n", b"1\n\nXx 0 0 0\n", b"1\nhomo=1\nH nan 0 0\n"]
)
def test_damaged_files_raise_a_one_line_error(tmp_path, content):
    need("ase")
    for name in ("m.xyz", "m.db"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ag.InputError) as error:
            open_dataset(tmp_path / name)
        assert "\n" not in str(error.value)


def test_without_ase_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ase", None)
    (tmp_path / "m.xyz").write_text("1\n\nH 0 0 0\n")
    with pytest.raises(ag.InputError, match=r'pip install "augerino\[molecules\]"'):
        open_dataset(tmp_path / "m.xyz")
