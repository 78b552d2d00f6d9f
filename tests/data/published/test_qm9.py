"""QM9 from its archive, prepared arrays and the small file; invalid molecules are rejected."""

import bz2
import io
import os
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch

import augerino as ag
from augerino.data.published import gdb9, qm9

SHARED = Path(os.environ.get("AUGERINO_TEST_DATA", Path(__file__).parents[4] / "shared" / "data"))
METHANE = """5
gdb 1\t157.7118\t157.70997\t157.70699\t0.\t13.21\t-0.3877\t0.1171\t0.5048\t35.3641\t0.044749\t\
-40.47893\t-40.476062\t-40.475117\t-40.498597\t6.469\t
C\t-0.0126981359\t 1.0858041578\t 0.0080009958\t-0.535689
H\t 0.002150416\t-0.0060313176\t 0.0019761204\t 0.133921
H\t 1.0117308433\t 1.4637511618\t 2.7*^-6\t 0.133922
H\t-0.540815069\t 1.4475266138\t-0.8766437152\t 0.133923
H\t-0.5238136345\t 1.4379326443\t 0.9063972942\t 0.133923
1341.307\t1341.3284
C\tC\t
InChI=1S/CH4/h1H4\tInChI=1S/CH4/h1H4
"""
LEFT_OUT = "A list\n======\n\n     3  C#N   more\n\nof 1\n"
REFERENCES = """Atoms
     H  0.0  -0.500273  -0.498857  -0.497912  -0.510927  2.981
     C  0.0  -37.846772 -37.845355 -37.844411 -37.861317 2.981
     N  0.0  -54.583861 -54.582445 -54.581501 -54.598897 2.981
     O  0.0  -75.064579 -75.063163 -75.062219 -75.079532 2.981
     F  0.0  -99.718730 -99.717314 -99.716370 -99.733544 2.981
"""


@pytest.fixture(autouse=True)
def _offline(tmp_path, monkeypatch):
    monkeypatch.setenv("AUGERINO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(
        "augerino.data.downloads._download", lambda *_: (_ for _ in ()).throw(OSError("offline"))
    )


def text(number: int) -> str:
    """A chain of a few atoms, none of it like another."""
    random = np.random.default_rng(number)
    elements = "CNOFH"[number % 5] + "H" * (1 + number % 4)
    lines = [f"{e}\t{' '.join(f'{x:.6f}' for x in random.normal(size=3))}\t0.1" for e in elements]
    values = "\t".join(f"{value:.6f}" for value in random.normal(size=15))
    return (
        f"{len(elements)}\ngdb {number}\t{values}\t\n"
        + "\n".join(lines)
        + "\n1.0\nC\tC\nInChI\tInChI\n"
    )


def write_archive(path: Path, texts: list[str]) -> None:
    with tarfile.open(path, "w:bz2") as archive:
        for i, content in enumerate(texts):
            info = tarfile.TarInfo(f"dsgdb9nsd_{i + 1:06d}.xyz")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content.encode()))


@pytest.fixture
def folder(tmp_path):
    """Forty molecules, of which number 3 is on the list of those to be left out."""
    place = tmp_path / "data"
    place.mkdir()
    write_archive(
        place / "dsgdb9nsd.xyz.tar.bz2", [METHANE, *(text(number) for number in range(2, 41))]
    )
    (place / "uncharacterized.txt").write_text(LEFT_OUT)
    (place / "atomref.txt").write_text(REFERENCES)
    return place


def everything(molecules):
    parts = molecules.train, molecules.validation, molecules.test
    y = torch.cat([part[1] for part in parts])[:, 0].double() * molecules.scale + molecules.mean
    return {
        key: torch.cat([part[0][key] for part in parts]) for key in ("positions", "charges", "mask")
    }, y


def test_a_molecule_is_read_as_it_is_written():
    number, charges, positions, values = gdb9.parse(METHANE)
    assert number == 1 and charges == [6, 1, 1, 1, 1] and len(positions) == 5
    assert positions[2] == [1.0117308433, 1.4637511618, 2.7e-6]
    assert (
        dict(zip(gdb9.PROPERTIES, values, strict=True))["homo"] == -0.3877 and values[-1] == 6.469
    )


def test_the_archive_becomes_three_parts_in_units_of_the_training_part(folder):
    molecules = qm9.qm9(folder, target="homo")
    inputs, y = everything(molecules)
    assert len(y) == 39 and (len(molecules.train[1]), len(molecules.test[1])) == (30, 4)
    assert torch.equal(inputs["mask"], inputs["charges"] > 0)
    assert (
        inputs["positions"][~inputs["mask"]].abs().max() == 0
        and inputs["positions"].dtype == torch.float32
    )
    methane = (
        inputs["mask"].sum(1).eq(5)
        & inputs["charges"][:, 0].eq(6)
        & inputs["positions"][:, 0, 1].sub(1.0858).abs().lt(1e-4)
    )
    assert methane.sum() == 1 and y[methane].item() == pytest.approx(-0.3877 * 27211.386, rel=1e-5)
    assert molecules.train[1].mean().abs() < 1e-5 and molecules.train[
        1
    ].abs().mean().item() == pytest.approx(1)
    assert molecules.unit == "meV" and molecules.train[1].shape == (30, 1)
    assert any("without those in uncharacterized.txt" in note for note in molecules.notes)


def test_excluded_molecules_are_left_out(folder):
    assert 3 not in gdb9.read_archive(folder / "dsgdb9nsd.xyz.tar.bz2", {3})["index"]
    assert gdb9.read_excluded(folder / "uncharacterized.txt") == {3}


def test_a_constant_guess_has_the_scale_as_its_error(folder):
    molecules = qm9.qm9(folder, target="gap")
    _, y = molecules.train
    assert molecules.error(torch.zeros_like(y), y) == pytest.approx(molecules.scale, rel=1e-5)


def test_energies_of_molecules_are_relative_to_their_atoms(folder):
    inputs, y = everything(qm9.qm9(folder, target="U0"))
    methane = inputs["positions"][:, 0, 1].sub(1.0858).abs().lt(1e-4)
    assert y[methane].item() / 27211.386 == pytest.approx(
        -40.47893 + 37.846772 + 4 * 0.500273, rel=1e-4
    )
    assert qm9.qm9(folder, target="mu").unit == "D"


def test_the_second_reading_is_from_the_cache_and_the_same(folder, monkeypatch):
    seen = []
    first = qm9.qm9(folder, on_progress=lambda done, total: seen.append((done, total)))
    size = (folder / "dsgdb9nsd.xyz.tar.bz2").stat().st_size
    assert seen[-1] == (size, size)
    monkeypatch.setattr(gdb9, "read_archive", None)
    again = qm9.qm9(folder)
    assert torch.equal(first.train[1], again.train[1]) and torch.equal(
        first.test[0]["positions"], again.test[0]["positions"]
    )


def test_a_read_only_cache_is_noted_and_not_needed(folder, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("AUGERINO_CACHE", str(tmp_path / "file"))
    assert any("could not be stored" in note for note in qm9.qm9(folder).notes)


def test_prepared_parts_give_the_same_molecules(folder, tmp_path):
    """The form of Cormorant and EGNN: published names, energies of atoms, different padding."""
    arrays = gdb9.read_archive(folder / "dsgdb9nsd.xyz.tar.bz2", {3})
    references = gdb9.read_references(folder / "atomref.txt")["u0"]
    arrays["U0"], arrays["U0_thermo"] = arrays.pop("u0"), references[arrays["charges"]].sum(1)
    prepared = tmp_path / "prepared"
    prepared.mkdir()
    for part, places in (
        ("train", slice(0, 29)),
        ("valid", slice(29, 35)),
        ("test", slice(35, 39)),
    ):
        rows = {name: array[places] for name, array in arrays.items()}
        longest = rows["num_atoms"].max()
        rows["positions"], rows["charges"] = (
            rows["positions"][:, :longest],
            rows["charges"][:, :longest].astype(np.int64),
        )
        np.savez(prepared / f"{part}.npz", **rows)
    molecules = qm9.qm9(prepared, target="u0")
    assert (len(molecules.train[1]), len(molecules.validation[1]), len(molecules.test[1])) == (
        29,
        6,
        4,
    )
    a, b = everything(molecules)[1], everything(qm9.qm9(folder, target="u0"))[1]
    assert torch.allclose(a.sort().values, b.sort().values, rtol=1e-4)


def small(**changes):
    arrays = {
        "positions": np.random.default_rng(0).normal(size=(12, 4, 3)).astype(np.float32),
        "charges": np.tile(np.array([6, 1, 1, 0], dtype=np.uint8), (12, 1)),
        "num_atoms": np.full(12, 3, dtype=np.uint8),
        "homo": np.linspace(-0.3, -0.2, 12).astype(np.float32),
        "split": np.array([0] * 8 + [1] * 2 + [2] * 2, dtype=np.uint8),
    }
    return {name: array for name, array in {**arrays, **changes}.items() if array is not None}


def test_the_small_file_keeps_its_split_and_parts_are_drawn_from_it(tmp_path):
    np.savez(tmp_path / "qm9_small.npz", **small())
    whole = qm9.qm9(tmp_path)
    assert (len(whole.train[1]), len(whole.validation[1]), len(whole.test[1])) == (8, 2, 2)
    some, again, other = (qm9.qm9(tmp_path, train=5, seed=seed) for seed in (0, 0, 1))
    assert len(some.train[1]) == 5 and torch.equal(some.train[1], again.train[1])
    assert not torch.equal(some.train[0]["positions"], other.train[0]["positions"])
    everywhere = whole.train[0]["positions"][:, 0, 0].tolist()
    assert set(some.train[0]["positions"][:, 0, 0].tolist()) <= set(everywhere)
    with pytest.raises(
        ag.InputError, match="There are 8 molecules for train, but 9 were requested"
    ):
        qm9.qm9(tmp_path, train=9)


def test_centred_molecules_have_their_middle_at_the_origin(tmp_path):
    np.savez(tmp_path / "qm9_small.npz", **small())
    inputs, _ = qm9.qm9(tmp_path, centre=True).train
    assert (
        inputs["positions"].sum(1).abs().max() < 1e-5 and inputs["positions"][:, 3].abs().max() == 0
    )
    assert qm9.qm9(tmp_path).train[0]["positions"].sum(1).abs().max() > 0.1


def test_the_standard_split_has_the_standard_sizes():
    arrays = {"positions": np.empty((130_831, 0, 3))}
    parts = qm9._split(arrays, 0, [])
    assert [len(part) for part in parts.values()] == [100_000, 17_748, 13_083]
    assert len(np.unique(np.concatenate(list(parts.values())))) == 130_831


BAD = [
    ({"positions": np.full((12, 4, 3), np.nan)}, "molecule 0 has positions that are not finite"),
    ({"num_atoms": np.array([3, 0] + [3] * 10)}, "molecule 1 has no atoms"),
    ({"num_atoms": np.array([3, 2] + [3] * 10)}, "molecule 1 has 2 atoms and 3 charges"),
    (
        {"num_atoms": np.array([9] * 12)},
        "molecule 0 should have 9 atoms, but the arrays hold only 4",
    ),
    (
        {"charges": np.ones((12, 5), dtype=np.uint8)},
        r"charges should be numbers \(12, 4\), as positions are",
    ),
    ({"charges": np.tile(np.array([17, 1, 1, 0]), (12, 1))}, "has an atom of charge 17"),
    ({"positions": np.zeros((12, 4, 2))}, r"positions should be numbers \(N, P, 3\)"),
    ({"homo": np.zeros(11)}, "'homo' should have one row for each of 12 molecules"),
    ({"homo": np.array([np.inf] + [0.0] * 11)}, "'homo' of molecule 0 is not finite"),
    ({"homo": None}, "has no property 'homo'; it has: none"),
    ({"charges": None}, "has no array 'charges'"),
    ({"split": np.full(12, 7)}, "'split' of QM9 must hold 0"),
    ({"num_atoms": np.full(12, 3.0)}, "num_atoms should be integers"),
]


@pytest.mark.parametrize(("changes", "sentence"), BAD, ids=[sentence for _, sentence in BAD])
def test_invalid_molecules_are_rejected(tmp_path, changes, sentence):
    np.savez(tmp_path / "qm9_small.npz", **small(**changes))
    with pytest.raises(ag.InputError, match=sentence) as error:
        qm9.qm9(tmp_path)
    assert "\n" not in str(error.value)


def test_an_error_on_an_unknown_property_lists_the_known_ones(tmp_path):
    with pytest.raises(
        ag.InputError, match=r"no property 'hommo'\. Did you mean 'homo'\? It has: homo, lumo, gap"
    ):
        qm9.qm9(tmp_path, target="hommo")


@pytest.mark.parametrize("fraction", [0.3, 0.9, 0.999])
def test_a_truncated_archive_is_rejected_and_not_cached(folder, tmp_path, fraction):
    path = folder / "dsgdb9nsd.xyz.tar.bz2"
    path.write_bytes(path.read_bytes()[: int(fraction * path.stat().st_size)])
    with pytest.raises(
        ag.InputError,
        match=r"is not a complete archive of molecules: .*Remove it and download it again",
    ):
        qm9.qm9(folder)
    assert not list(tmp_path.glob("cache/*"))


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("5\ngdb", "0\ngdb", "it has no atoms"),
        ("5\ngdb", "900\ngdb", "should have 900 atoms, but has fewer"),
        ("5\ngdb", "five\ngdb", "does not start with the number of atoms"),
        ("C\t-0.01", "Xx\t-0.01", "an atom 'Xx', which is none of H, C, N, O, F"),
        ("C\t-0.0126981359", "C\tnan", "'nan' is not a finite number"),
        ("gdb 1\t", "gdb 1\t1.0\t", "second line should be gdb, a number and 15 properties"),
    ],
)
def test_an_error_names_the_unreadable_molecule(tmp_path, before, after, sentence):
    write_archive(tmp_path / "dsgdb9nsd.xyz.tar.bz2", [text(1), METHANE.replace(before, after)])
    (tmp_path / "uncharacterized.txt").write_text(LEFT_OUT)
    with pytest.raises(
        ag.InputError, match=rf"dsgdb9nsd_000002\.xyz in .* is not a molecule of QM9: .*{sentence}"
    ):
        qm9.qm9(tmp_path)


def test_invalid_files_are_rejected(folder):
    archive = folder / "dsgdb9nsd.xyz.tar.bz2"
    for content in (b"rubbish", bz2.compress(b"rubbish"), bz2.compress(b"")):
        archive.write_bytes(content)
        with pytest.raises(ag.InputError, match=r"dsgdb9nsd\.xyz\.tar\.bz2"):
            qm9.qm9(folder)
    (folder / "uncharacterized.txt").write_text("nothing")
    with pytest.raises(ag.InputError, match="should list one number per line"):
        qm9.qm9(folder)
    (folder / "atomref.txt").write_text("H 1 2 3 4 5 6\n")
    with pytest.raises(ag.InputError, match="a line for each of H, C, N, O, F, but has H"):
        gdb9.read_references(folder / "atomref.txt")


def test_offline_without_data_the_error_explains_what_to_do(tmp_path):
    with pytest.raises(
        ag.InputError, match=r"Could not download dsgdb9nsd\.xyz\.tar\.bz2.*--data DIR"
    ):
        qm9.qm9(tmp_path)


@pytest.mark.skipif(
    not (SHARED / "qm9_small.npz").is_file(),
    reason="qm9_small.npz is not there: set AUGERINO_TEST_DATA",
)
def test_the_real_molecules():
    molecules = qm9.qm9(SHARED, target="homo")
    assert len(molecules.train[1]) == 16_000 and molecules.scale == pytest.approx(439, abs=5)
    assert molecules.mean == pytest.approx(-6527, abs=10)
