"""Arrays in .npz and .npy files: detection of layouts and roles, rejection of damaged files."""

import io
import struct
import zipfile

import numpy as np
import pytest
import torch

import augerino as ag
from augerino.data import open_dataset
from augerino.data.readers import archives, layouts

BYTES, FLOATS, SHORTS = np.dtype(np.uint8), np.dtype(np.float32), np.dtype(np.int16)
random = np.random.default_rng(0)
Y = np.arange(20) % 2


def images(*shape, dtype=np.uint8):
    return random.integers(0, 256, shape).astype(dtype)


def opened(tmp_path, wishes=None, **arrays):
    np.savez(tmp_path / "data.npz", **arrays)
    return open_dataset(tmp_path / "data.npz", **(wishes or {}))


def test_the_input_is_no_target(tmp_path):
    with pytest.raises(ag.InputError, match="--target x names an array that is part of the input"):
        opened(tmp_path, x=images(20, 6, 6), y=Y, wishes={"target": "x"})


def test_values_that_are_all_the_same_cannot_be_predicted(tmp_path):
    with pytest.raises(
        ag.InputError, match=r"All targets to train on are the same \(0\.5\): nothing to predict"
    ):
        opened(tmp_path, x=images(20, 6, 6), y=np.full(20, 0.5), wishes={"standardize": True})


def said(source, words):
    return any(words in note for note in source.notes)


@pytest.mark.parametrize(
    ("shape", "dtype", "kind", "channels"),
    [
        ((9, 32, 32, 3), BYTES, "images", 3),
        ((9, 3, 32, 32), BYTES, "images", 1),
        ((9, 1, 28, 28), FLOATS, "images", 1),
        ((9, 28, 28, 1), FLOATS, "images", 3),
        ((9, 3, 32, 3), BYTES, "images", 1),
        ((9, 64, 64, 12), FLOATS, "images", 3),
        ((9, 12, 64, 64), FLOATS, "images", 1),
        ((9, 28, 28), BYTES, "images", None),
        ((9, 28, 28), FLOATS, "images", None),
        ((9, 28, 3), BYTES, "images", None),
        ((9, 28, 3), FLOATS, "points", 2),
        ((9, 3, 3), FLOATS, "points", 2),
        ((9, 3, 200), FLOATS, "signals", 1),
        ((9, 200, 12), FLOATS, "signals", 2),
        ((9, 1, 50), SHORTS, "signals", 1),
        ((9, 1, 1), BYTES, "images", None),
        ((9, 100), FLOATS, "signals", None),
        ((9, 7), FLOATS, "values", None),
    ],
)
def test_the_rule(shape, dtype, kind, channels):
    layout = layouts.find_layout(shape, dtype)
    assert (layout.kind, layout.channels) == (kind, channels)


@pytest.mark.parametrize(
    ("shape", "kind", "wins"),
    [
        ((9, 40, 200), "images", True),
        ((9, 28, 3), "signals", True),
        ((9, 28, 28), "signals", True),
        ((9, 100), "values", True),
        ((9, 3, 4, 5, 6), "values", True),
        ((9, 7), "signals", True),
        ((9, 7), "images", False),
        ((9, 28, 28), "points", False),
        ((9, 3, 4, 5), "signals", False),
    ],
)
def test_a_given_kind_wins_if_the_shape_allows_it(shape, kind, wins):
    if wins:
        assert layouts.find_layout(shape, FLOATS, kind).kind == kind
    else:
        with pytest.raises(ag.InputError, match=f"kind {kind} have shape"):
            layouts.find_layout(shape, FLOATS, kind)


@pytest.mark.parametrize("shape", [(9,), (), (9, 2, 3, 4, 5), (0, 3, 3), (9, 0)])
def test_unsupported_shapes_are_rejected(shape):
    with pytest.raises(ag.InputError, match=r"must have shape|are empty"):
        layouts.find_layout(shape, FLOATS)


class TestInputs:
    def test_channels_are_moved_and_bytes_stay_bytes(self, tmp_path):
        x = images(20, 6, 5, 3)
        source = opened(tmp_path, x=x, y=Y)
        assert (
            source.shape == (3, 6, 5)
            and source.train[0].dtype == torch.uint8
            and said(source, "channel last; moved")
        )
        both = torch.cat([source.train[0], source.test[0]])
        assert both.long().sum() == int(x.astype(int).sum()) and len(both) == 20
        assert opened(tmp_path, x=images(20, 6, 5), y=Y).shape == (1, 6, 5)

    def test_numbers_of_other_types(self, tmp_path):
        source = opened(
            tmp_path, x=images(20, 6, 6, dtype=np.int64), y=Y, wishes={"kind": "images"}
        )
        assert source.train[0].dtype == torch.uint8 and said(source, "read as bytes")
        assert (
            opened(tmp_path, x=images(20, 6, 6, dtype=np.float64), y=Y).train[0].dtype
            == torch.uint8
        )
        source = opened(tmp_path, x=np.full((20, 6, 6), 65535, dtype=np.uint16), y=Y)
        assert (
            source.train[0].dtype == torch.float32
            and (source.train[0] == 1).all()
            and said(source, "divided by 65535")
        )
        source = opened(tmp_path, x=random.normal(size=(20, 6, 6)), y=Y)
        assert source.train[0].dtype == torch.float32 and said(source, "are kept unscaled")
        assert (opened(tmp_path, x=images(20, 6, 6) > 100, y=Y).train[0] % 255 == 0).all()
        big_endian = opened(
            tmp_path, x=random.normal(size=(20, 2, 50)).astype(">f4"), y=Y.astype(">i8")
        )
        assert big_endian.kind == "signals" and big_endian.shape == (2, 50)
        with pytest.raises(ag.InputError, match="must have values from 0 to 255"):
            opened(tmp_path, x=images(20, 6, 6).astype(np.int64) * 1000, y=Y)
        with pytest.raises(ag.InputError, match="Inputs must be numbers"):
            opened(tmp_path, x=np.zeros((20, 6, 6), dtype=complex), y=Y)

    def test_non_finite_values_are_reported_with_their_index(self, tmp_path):
        x = random.normal(size=(20, 2, 50))
        x[13, 1, 3] = np.nan
        with pytest.raises(
            ag.InputError, match=r"1 of 20 inputs contain NaN or Inf \(the first is number 13\)"
        ):
            opened(tmp_path, x=x, y=Y)
        with pytest.raises(ag.InputError, match="range of float32"):
            opened(tmp_path, x=np.full((20, 2, 50), 1e300), y=Y)

    def test_signals_points_and_values(self, tmp_path):
        source = opened(tmp_path, x=random.normal(size=(20, 100, 2)), y=Y)
        assert (
            source.kind == "signals"
            and source.shape == (2, 100)
            and source.train[0].shape[1:] == (2, 100)
        )
        source = opened(tmp_path, x=random.normal(size=(20, 9, 3)), y=Y)
        assert (
            source.kind == "points"
            and source.shape == (9, 3)
            and source.train[0].dtype == torch.float32
        )
        assert opened(tmp_path, x=random.normal(size=(20, 64)), y=Y).shape == (1, 64)
        assert opened(tmp_path, x=random.normal(size=(20, 4)), y=Y).kind == "values"

    def test_padded_clouds(self, tmp_path):
        positions, count = random.normal(size=(20, 9, 3)), np.arange(20) % 9 + 1
        charges = (images(20, 9) % 8 + 1) * (np.arange(9) < count[:, None])
        more = {
            "num_atoms": count,
            "charges": charges,
            "gap": random.normal(size=20),
            "index": np.arange(20),
        }
        source = opened(tmp_path, positions=positions, **more)
        x, y = source.train
        assert (
            source.task == "regression"
            and set(x) == {"positions", "mask", "charges"}
            and y.shape == (16, 1)
        )
        assert x["mask"].dtype == torch.bool and x["charges"].dtype == torch.int64
        mask = np.arange(9)[None] < more["num_atoms"][:, None]
        again = opened(tmp_path, positions=positions, mask=mask, charges=charges, gap=more["gap"])
        assert torch.equal(again.train[0]["mask"], x["mask"])
        alone = opened(
            tmp_path, positions=positions, charges=charges, gap=more["gap"]
        )  # a charge of 0 is padding
        assert torch.equal(alone.train[0]["mask"], x["mask"]) and said(
            source, "Points are atoms with the atomic numbers 1, 2, 3"
        )
        for bad in (np.full(20, 10), np.zeros(20, dtype=int), np.ones((20, 3)), np.full(20, 0.5)):
            with pytest.raises(ag.InputError, match="umbers of points"):
                opened(tmp_path, positions=positions, num_points=bad, y=Y)
        with pytest.raises(ag.InputError, match="Charges must be"):
            opened(tmp_path, positions=positions, charges=charges[:, :3], y=Y)
        with pytest.raises(
            ag.InputError, match=r"atomic numbers, 0 to 118, but go from 0 to 1\d\d"
        ):
            opened(tmp_path, positions=positions, charges=charges.astype(int) * 20, y=Y)
        with pytest.raises(ag.InputError, match="sample 0 has 1 points and charges for 9"):
            opened(tmp_path, positions=positions, charges=charges + 1, num_atoms=count, y=Y)
        with pytest.raises(ag.InputError, match="Sample 0 has no points"):
            opened(tmp_path, positions=positions, charges=charges * 0, y=Y)

    def test_quantities_are_standardized_by_the_training_part_on_request(self, tmp_path):
        y = 1e-3 * random.normal(size=(20, 2)) + [-400.0, 7.0]
        plain = opened(tmp_path, x=images(20, 8, 8, 3), y=y)
        source = opened(tmp_path, x=images(20, 8, 8, 3), y=y, wishes={"standardize": True})
        assert plain.train[1].mean() < -100 and said(
            source, "Targets are standardized: minus their mean (-4"
        )
        assert source.train[1].mean(0).abs().max() < 1e-2
        assert torch.allclose(source.train[1].std(0, correction=0), torch.ones(2), atol=1e-3)
        assert source.test[1].abs().max() > 0 and not torch.allclose(
            source.test[1].mean(0), torch.zeros(2), atol=1e-3
        )

    def test_a_size_is_for_images(self, tmp_path):
        source = opened(tmp_path, x=images(20, 12, 8, 3), y=Y, wishes={"size": 4})
        assert (
            source.shape == (3, 4, 4)
            and source.train[0].dtype == torch.uint8
            and said(source, "resized to 4×4")
        )
        flat = opened(
            tmp_path, x=np.full((20, 12, 8, 3), 99, dtype=np.uint8), y=Y, wishes={"size": 5}
        )
        assert (flat.train[0] == 99).all()
        with pytest.raises(ag.InputError, match="A size is for images"):
            opened(tmp_path, x=random.normal(size=(20, 2, 50)), y=Y, wishes={"size": 4})


class TestNames:
    @pytest.mark.parametrize(
        "names",
        [("x", "y"), ("X", "Y"), ("images", "labels"), ("data", "target"), ("arr_0", "arr_1")],
    )
    def test_aliases(self, tmp_path, names):
        assert opened(
            tmp_path, **dict(zip(names, (images(20, 6, 6), Y), strict=True))
        ).class_names == ("0", "1")

    @pytest.mark.parametrize("form", ["{}_train", "train_{}", "{}-training"])
    def test_parts(self, tmp_path, form):
        other = form.replace("training", "test").replace("train", "test")
        arrays = {
            form.format("x"): images(20, 6, 6),
            form.format("y"): Y,
            other.format("x"): images(4, 6, 6),
            other.format("y"): Y[:4],
        }
        source = opened(tmp_path, **arrays)
        assert (
            len(source.train[1]) == 20
            and len(source.test[1]) == 4
            and not said(source, "split off")
        )

    def test_the_validation_part_stands_in_or_is_left_out(self, tmp_path):
        x, y = images(20, 6, 6), Y
        source = opened(tmp_path, x_train=x, y_train=y, x_val=x[:6], y_val=y[:6])
        assert len(source.test[1]) == 6 and said(source, "validation part is used for testing")
        source = opened(
            tmp_path, x_train=x, y_train=y, x_val=x[:6], y_val=y[:6], x_test=x[:3], y_test=y[:3]
        )
        assert len(source.test[1]) == 3 and said(source, "not used")
        assert said(opened(tmp_path, x_train=x, y_train=y), "split off")

    def test_a_split_array(self, tmp_path):
        split = np.array([0] * 12 + [1] * 4 + [2] * 4)
        for values in (split, np.array(["train", "val", "test"])[split]):
            source = opened(tmp_path, x=images(20, 6, 6), y=Y, split=values)
            assert len(source.train[1]) == 12 and len(source.test[1]) == 4
        with pytest.raises(ag.InputError, match=r"'split' .* must be train"):
            opened(tmp_path, x=images(20, 6, 6), y=Y, split=split + 5)

    def test_several_targets_are_listed(self, tmp_path):
        with pytest.raises(ag.InputError, match="choose with --target, one of homo, lumo"):
            opened(tmp_path, x=images(20, 6, 6), homo=Y, lumo=Y, index=Y)
        assert (
            opened(
                tmp_path, x=images(20, 6, 6), homo=Y, lumo=Y * 1.5, wishes={"target": "lumo"}
            ).task
            == "regression"
        )
        with pytest.raises(ag.InputError, match="no array 'mass' for --target"):
            opened(tmp_path, x=images(20, 6, 6), homo=Y, wishes={"target": "mass"})
        with pytest.raises(ag.InputError, match="no targets"):
            opened(tmp_path, x=images(20, 6, 6))
        with pytest.raises(ag.InputError, match="it contains: a, b"):
            opened(tmp_path, a=images(20, 6, 6), b=Y)

    def test_lengths_must_agree(self, tmp_path):
        with pytest.raises(
            ag.InputError,
            match=r"one row per sample, but 'x' has shape \(20, 6, 6\) and 'y' \(19,\)",
        ):
            opened(tmp_path, x=images(20, 6, 6), y=Y[:19])
        with pytest.raises(ag.InputError, match="'x' differs"):
            opened(tmp_path, x_train=images(20, 6, 6), y_train=Y, x_test=images(20, 5, 6), y_test=Y)

    def test_npy_pairs(self, tmp_path):
        np.save(tmp_path / "x.npy", images(20, 6, 6))
        with pytest.raises(ag.InputError, match=r"no .*y\.npy"):
            open_dataset(tmp_path / "x.npy")
        np.save(tmp_path / "y.npy", Y)
        assert (
            open_dataset(tmp_path / "x.npy").shape
            == open_dataset(tmp_path).shape
            == open_dataset(tmp_path / "y.npy").shape
        )
        np.save(tmp_path / "digits_X.npy", images(20, 6, 6))
        np.save(tmp_path / "digits_Y.npy", Y)
        assert open_dataset(tmp_path / "digits_X.npy").task == "classification"
        np.save(tmp_path / "other.npy", Y)
        with pytest.raises(ag.InputError, match=r"called x\.npy or NAME_x\.npy"):
            open_dataset(tmp_path / "other.npy")


class TestTargets:
    def read(self, tmp_path, y, **wishes):
        return opened(tmp_path, x=images(len(y), 4, 4), y=y, wishes=wishes)

    def test_strings_are_classes(self, tmp_path):
        for names in (np.array(["b", "a"])[Y], np.array([b"b", b"a"])[Y]):
            assert self.read(tmp_path, names).class_names == ("a", "b")

    def test_whole_floats_of_few_values_are_classes(self, tmp_path):
        source = self.read(tmp_path, Y.astype(float))
        assert source.task == "classification" and said(
            source, "integer-valued floats with 2 distinct values: taken as classes"
        )
        assert (
            self.read(tmp_path, Y.astype(float), task="regression").train[1].dtype == torch.float32
        )
        assert self.read(tmp_path, np.arange(20.0)).task == "regression"
        assert self.read(tmp_path, Y + 0.5).task == "regression"
        assert self.read(tmp_path, random.normal(size=(20, 3))).train[1].shape == (16, 3)

    def test_labels_are_renumbered_and_named(self, tmp_path):
        source = self.read(tmp_path, Y * 4 + 3)
        assert (
            source.class_names == ("3", "7")
            and set(source.train[1].tolist()) == {0, 1}
            and said(source, "renumbered 0 to 1")
        )
        source = opened(
            tmp_path, x=images(20, 4, 4), y=Y, class_names=np.array(["cat", "dog", "eel"])
        )
        assert source.class_names == ("cat", "dog") and said(source, "left out: eel")
        with pytest.raises(
            ag.InputError, match="There are 1 class names, so labels must be 0 to 0"
        ):
            opened(tmp_path, x=images(20, 4, 4), y=Y, class_names=np.array(["cat"]))

    def test_single_ones_booleans_and_columns(self, tmp_path):
        assert self.read(tmp_path, np.eye(2)[Y]).class_names == ("0", "1")
        assert self.read(tmp_path, Y == 1).task == "classification"
        assert self.read(tmp_path, Y[:, None]).task == "classification"

    @pytest.mark.parametrize(
        ("y", "task", "message"),
        [
            (Y + 0.5, "classification", "use --task regression"),
            (Y, "segmentation", "Masks must have the size"),
            (
                np.where(Y, 1.5, np.nan),
                None,
                r"10 of 20 targets are NaN or Inf \(the first is number 0\)",
            ),
            (np.zeros(20, dtype=int), None, "only one class"),
            (np.arange(20), None, "The class '0' has only one sample.*--task regression"),
            (random.normal(size=(20, 3)), "classification", "one label per sample"),
            (np.zeros(20, dtype=complex), None, "numbers or strings"),
            (np.where(Y, 1e300, 0.1), None, "range of float32"),
        ],
    )
    def test_targets_that_cannot_be_used(self, tmp_path, y, task, message):
        with pytest.raises(ag.InputError, match=message):
            self.read(tmp_path, y, task=task)


class TestDamage:
    def test_objects_are_rejected_without_unpickling(self, tmp_path):
        class Trap:
            def __reduce__(self):
                return (pytest.fail, ("unpickled",))

        np.savez(tmp_path / "a.npz", x=np.array([Trap()], dtype=object), y=Y)
        with pytest.raises(ag.InputError, match="contains Python objects"):
            open_dataset(tmp_path / "a.npz")
        np.save(tmp_path / "x.npy", np.array([Trap()], dtype=object))
        np.save(tmp_path / "y.npy", Y)
        with pytest.raises(ag.InputError, match="contains Python objects"):
            open_dataset(tmp_path)

    @staticmethod
    def header(shape, dtype="<f8"):
        text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text

    @pytest.mark.parametrize("shape", [(10**12,), (2**40, 2**40), (-5, 3), (3,)])
    def test_a_shape_that_is_not_there_is_rejected_before_allocating_memory(self, tmp_path, shape):
        data = self.header(shape) + bytes(16)
        with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
            archive.writestr("x.npy", data)
        (tmp_path / "x.npy").write_bytes(data)
        np.save(tmp_path / "y.npy", Y)
        for path in ("a.npz", "x.npy"):
            with pytest.raises(ag.InputError, match="declares the shape"):
                open_dataset(tmp_path / path)

    def test_a_bomb_is_rejected_before_it_is_unpacked(self, tmp_path, monkeypatch):
        np.savez_compressed(
            tmp_path / "a.npz", x=np.zeros((1000, 32, 32), dtype=np.uint8), y=np.arange(1000) % 2
        )
        monkeypatch.setattr(
            archives.os, "sysconf", lambda name: 1000 if name == "SC_PHYS_PAGES" else 1024
        )
        with pytest.raises(
            ag.InputError, match=r"unpacks to 0\.0 GB, more than half of this machine's memory"
        ):
            open_dataset(tmp_path / "a.npz")

    def test_an_archive_that_claims_a_terabyte_and_an_array_to_fill_it(self, tmp_path):
        with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
            for name in ("x", "y"):
                header = self.header((10**12 // 8,))
                archive.writestr(f"{name}.npy", header)
                archive.infolist()[-1].file_size = (
                    len(header) + 10**12
                )  # from the directory at the end of the archive
        with pytest.raises(
            ag.InputError,
            match=r"unpacks to 2\d\d\d\.\d GB, more than half of this machine's memory",
        ):
            open_dataset(tmp_path / "a.npz")

    def test_a_header_that_claims_gigabytes_gets_none_of_them(self, tmp_path, monkeypatch):
        sizes = []
        read = zipfile.ZipExtFile.read
        monkeypatch.setattr(
            zipfile.ZipExtFile, "read", lambda self, size=-1: sizes.append(size) or read(self, size)
        )
        with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(
                "x.npy", b"\x93NUMPY\x02\x00" + (2**32 - 1).to_bytes(4, "little") + b" " * 2**20
            )
        with pytest.raises(
            ag.InputError, match=r"whose header declares a length of 4294967295 bytes"
        ):
            open_dataset(tmp_path / "a.npz")
        assert sizes and max(sizes) <= 2**16

    def test_truncated_and_damaged_archives(self, tmp_path):
        file = io.BytesIO()
        np.savez(file, x=images(20, 6, 6), y=Y)
        good = file.getvalue()
        for data in (
            good[: len(good) // 2],
            good[:-10],
            b"PK" + good[2:].replace(b"NUMPY", b"NUMPT"),
            b"hello",
        ):
            (tmp_path / "a.npz").write_bytes(data)
            with pytest.raises(ag.InputError, match=r"is not a readable \.npz archive"):
                open_dataset(tmp_path / "a.npz")
        flipped = bytearray(good)
        flipped[200] ^= 255  # among the pixels: only the checksum detects it
        (tmp_path / "a.npz").write_bytes(bytes(flipped))
        with pytest.raises(ag.InputError, match="Bad CRC"):
            open_dataset(tmp_path / "a.npz")

    def test_structured_arrays_and_dates(self, tmp_path):
        for x in (np.zeros(20, dtype=[("a", "f4")]), np.zeros(20, dtype="datetime64[s]")):
            with pytest.raises(ag.InputError, match="neither numbers nor strings"):
                opened(tmp_path, x=x, y=Y)

    def test_characters_that_do_not_exist(self, tmp_path):
        for code in (0x110000, 0xFF000000, 0xD800):
            for order in "<>":
                names = np.array([65, code], dtype=f"{order}u4").view(f"{order}U1")
                with pytest.raises(ag.InputError, match="invalid Unicode characters"):
                    opened(tmp_path, x=images(20, 6, 6), y=names[Y])

    def test_names_can_be_printed(self, tmp_path):
        source = opened(tmp_path, x=images(20, 6, 6), y=np.array(["a\nb", "c\x1b[2J"])[Y])
        assert source.class_names == ("a\\nb", "c\\x1b[2J")

    def test_no_permission(self, tmp_path, monkeypatch):
        np.savez(tmp_path / "a.npz", x=images(20, 6, 6), y=Y)
        monkeypatch.setattr(
            "builtins.open",
            lambda *_, **__: (_ for _ in ()).throw(PermissionError(13, "Permission denied")),
        )
        with pytest.raises(ag.InputError, match="cannot be read: Permission denied"):
            open_dataset(tmp_path / "a.npz")
