"""Hugging Face datasets on disk, read by pyarrow; written by `datasets` if it is installed."""

import contextlib
import io
import json
import pickle
import sys

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import augerino as ag
from augerino.data import open_dataset
from augerino.data.readers import row_groups, streams
from augerino.data.readers.row_groups import RowGroups
from tests.data.made import everything, picture


def said(source, words):
    return any(words in note for note in source.notes)


def test_a_missing_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "state.json").write_text("{}")
    with pytest.raises(ag.InputError, match=r'pip install "augerino\[hf\]"'):
        open_dataset(tmp_path)


def blob(seed):
    file = io.BytesIO()
    picture(seed).save(file, "PNG")
    return file.getvalue()


@pytest.mark.extras
class TestArrow:
    @pytest.fixture(autouse=True)
    def _pyarrow(self):
        self.pa = pytest.importorskip("pyarrow", reason='needs pyarrow: pip install "augerino[hf]"')
        self.pq = pytest.importorskip("pyarrow.parquet")

    def table(self, n=10, **more):
        images = [{"bytes": blob(i), "path": None} for i in range(n)]
        kind = self.pa.struct([("bytes", self.pa.binary()), ("path", self.pa.string())])
        columns = {
            "image": self.pa.array(images, kind),
            "label": self.pa.array([i % 2 for i in range(n)]),
            **more,
        }
        features = {
            "image": {"_type": "Image"},
            "label": {"names": ["cat", "dog"], "_type": "ClassLabel"},
        }
        described = {"huggingface": json.dumps({"info": {"features": features}})}
        return self.pa.table(columns).replace_schema_metadata(described)

    def save(self, folder, table):
        """As `Dataset.save_to_disk` does."""
        folder.mkdir(parents=True, exist_ok=True)
        with (
            self.pa.OSFile(str(folder / "data-0.arrow"), "wb") as file,
            self.pa.ipc.new_stream(file, table.schema) as writer,
        ):
            writer.write_table(table)
        (folder / "state.json").write_text(
            json.dumps({"_data_files": [{"filename": "data-0.arrow"}]})
        )
        (folder / "dataset_info.json").write_text("{}")
        return folder

    def test_images_and_named_labels(self, tmp_path):
        source = open_dataset(self.save(tmp_path, self.table()))
        assert (
            source.class_names == ("cat", "dog")
            and source.shape == (3, 8, 8)
            and len(source.test[1]) == 2
        )
        assert source.fingerprint.startswith("sha256:")

    def test_parts(self, tmp_path):
        self.save(tmp_path / "train", self.table(8))
        self.save(tmp_path / "test", self.table(4))
        (tmp_path / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
        source = open_dataset(tmp_path)
        assert (
            len(source.train[1]) == 8
            and len(source.test[1]) == 4
            and source.train[1].tolist() == [0, 1] * 4
        )

    def test_parquet(self, tmp_path):
        (tmp_path / "data").mkdir()
        self.pq.write_table(self.table(8), tmp_path / "data" / "train-00000-of-00001.parquet")
        self.pq.write_table(self.table(4), tmp_path / "data" / "validation-00000-of-00001.parquet")
        source = open_dataset(tmp_path)
        assert (
            len(source.train[1]) == 8
            and len(source.test[1]) == 4
            and said(source, "validation part is used")
        )
        alone = open_dataset(tmp_path / "data" / "train-00000-of-00001.parquet")
        assert len(alone.train[1]) == 6 and alone.class_names == ("cat", "dog")

    def test_a_stream_with_workers_yields_the_same_samples_as_memory(self, tmp_path, monkeypatch):
        self.save(tmp_path, self.table())
        held = open_dataset(tmp_path)
        monkeypatch.setattr(streams, "MEMORY", 100)
        source = open_dataset(tmp_path)
        assert torch.equal(torch.stack([x for x, _ in everything(source.train)]), held.train[0])
        assert len(pickle.dumps(source.train)) < 5000
        assert torch.equal(
            torch.cat([x for x, _ in DataLoader(source.train, 3, num_workers=1)]), held.train[0]
        )

    def test_columns_of_arrays(self, tmp_path):
        signals = np.random.default_rng(0).normal(size=(10, 2, 40))
        table = self.pa.table({"x": signals.tolist(), "y": [0.5 * i for i in range(10)]})
        source = open_dataset(self.save(tmp_path, table))
        assert source.kind == "signals" and source.shape == (2, 40) and source.task == "regression"
        both = torch.cat([source.train[0], source.test[0]])
        assert both.sum().item() == pytest.approx(signals.sum(), abs=1e-3)
        ragged = self.pa.table({"x": [[1.0], [1.0, 2.0, 3.0]] * 5, "y": [0, 1] * 5})
        with pytest.raises(ag.InputError, match="must all be of one length"):
            open_dataset(self.save(tmp_path, ragged))

    def test_targets_are_chosen(self, tmp_path):
        table = (
            self.table()
            .rename_columns(["image", "age"])
            .append_column("size", self.pa.array(range(10)))
        )
        self.save(tmp_path, table)
        with pytest.raises(ag.InputError, match="--target, one of age, size"):
            open_dataset(tmp_path)
        assert open_dataset(tmp_path, target="size", task="regression").task == "regression"

    def test_bad_images_are_named_by_row(self, tmp_path):
        images = [{"bytes": blob(i) if i != 3 else b"rubbish", "path": None} for i in range(9)]
        images.append({"bytes": None, "path": "../../etc/passwd"})
        kind = self.pa.struct([("bytes", self.pa.binary()), ("path", self.pa.string())])
        table = self.pa.table(
            {"image": self.pa.array(images, kind), "label": [i % 2 for i in range(10)]}
        )
        self.save(tmp_path, table)
        with pytest.raises(ag.InputError, match=r"row 3 of data-0\.arrow is not a readable image"):
            open_dataset(tmp_path)
        assert said(
            open_dataset(tmp_path, skip_bad=True),
            "2 unreadable files skipped: row 3 of data-0.arrow, row 9 of data-0.arrow",
        )

    @pytest.mark.parametrize(
        "state", ["{", "[]", '{"_data_files": 3}', '{"_data_files": [{"filename": "../x.arrow"}]}']
    )
    def test_descriptions_that_lead_elsewhere(self, tmp_path, state):
        self.save(tmp_path, self.table())
        (tmp_path / "state.json").write_text(state)
        with pytest.raises(ag.InputError, match=r"lists no data files|not a readable JSON"):
            open_dataset(tmp_path)

    def test_damaged_files(self, tmp_path):
        self.save(tmp_path, self.table())
        good = (tmp_path / "data-0.arrow").read_bytes()
        self.pq.write_table(self.table(), tmp_path / "a.parquet")
        parquet = (tmp_path / "a.parquet").read_bytes()
        random = np.random.default_rng(0)
        for path, data in [(tmp_path, good), (tmp_path / "a.parquet", parquet)] * 20:
            damaged = bytearray(data[: random.integers(1, len(data) + 1)])
            for place in random.integers(0, len(damaged), 3):
                damaged[place] ^= int(random.integers(1, 256))
            (path if path.suffix else path / "data-0.arrow").write_bytes(bytes(damaged))
            with contextlib.suppress(ag.InputError):
                open_dataset(path)

    def test_folders_written_by_the_datasets_package(self, tmp_path):
        datasets = pytest.importorskip("datasets", reason="needs the datasets package")
        features = datasets.Features(
            {"image": datasets.Image(), "label": datasets.ClassLabel(names=["cat", "dog"])}
        )
        rows = {"image": [picture(i) for i in range(10)], "label": [i % 2 for i in range(10)]}
        data = datasets.Dataset.from_dict(rows, features=features)
        data.save_to_disk(str(tmp_path / "one"))
        datasets.DatasetDict({"train": data, "test": data.select(range(4))}).save_to_disk(
            str(tmp_path / "two")
        )
        (tmp_path / "three").mkdir()
        data.to_parquet(str(tmp_path / "three" / "train.parquet"))
        for name in ("one", "two", "three"):
            source = open_dataset(tmp_path / name)
            assert source.class_names == ("cat", "dog") and source.shape == (3, 8, 8)
            assert sum(int(y.sum()) for _, y in (source.train, source.test)) == (
                7 if name == "two" else 5
            )
        arrays = datasets.Features(
            {"x": datasets.Array2D((6, 5), "float32"), "y": datasets.Value("int64")}
        )
        x = np.random.default_rng(0).random((10, 6, 5)).astype(np.float32)
        datasets.Dataset.from_dict(
            {"x": list(x), "y": [i % 2 for i in range(10)]}, features=arrays
        ).save_to_disk(str(tmp_path / "four"))
        source = open_dataset(tmp_path / "four")
        assert source.kind == "images" and source.shape == (1, 6, 5)
        both = torch.cat([source.train[0], source.test[0]])
        assert both.sum().item() == pytest.approx(float(x.sum()), rel=1e-5)


@pytest.mark.extras
class TestRowGroups:
    """Parquet with more images than fit in memory: a few row groups at a time."""

    @pytest.fixture
    def folder(self, tmp_path, monkeypatch):
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        monkeypatch.setattr(streams, "MEMORY", 0)
        monkeypatch.setattr(streams, "MAX_HEADERS", 8)
        for part, first, n in (("train-0", 0, 20), ("train-1", 20, 15), ("test-0", 35, 9)):
            numbers = range(first, first + n)
            table = pa.table(
                {
                    "image": [{"bytes": blob(i), "path": None} for i in numbers],
                    "label": [i % 2 for i in numbers],
                }
            )
            pq.write_table(table, tmp_path / f"{part}.parquet", row_group_size=5)
        return tmp_path

    def test_row_groups_give_the_original_images(self, folder):
        source = open_dataset(folder)
        assert (
            isinstance(source.train.pictures, RowGroups)
            and len(source.train) == 35
            and len(source.test) == 9
        )
        for k, (x, y) in enumerate([*everything(source.train), *everything(source.test)]):
            assert (
                np.array_equal(x.permute(1, 2, 0).numpy(), np.asarray(picture(k)))
                and int(y) == k % 2
            )
        assert source.train.pictures.name(22) == "row 2 of train-1.parquet"

    def test_few_are_in_memory_and_each_is_read_once(self, folder, monkeypatch):
        import pyarrow.parquet as pq

        read, pictures = [], open_dataset(folder).train.pictures
        whole = pq.ParquetFile.read_row_group
        monkeypatch.setattr(
            pq.ParquetFile,
            "read_row_group",
            lambda self, i, **o: read.append(i) or whole(self, i, **o),
        )
        train = streams.ImageStream(
            pictures, open_dataset(folder).train.form, torch.arange(44), np.arange(35)
        )
        read.clear()
        items = torch.cat([y for _, y in streams.StreamLoader(train, 4, shuffle=True)])
        assert (
            sorted(items.tolist()) == list(range(35))
            and len(read) == 7
            and len(pictures._open) <= 2
        )

    def test_workers_read_every_row_once(self, folder):
        pictures = open_dataset(folder).train
        train = streams.ImageStream(
            pictures.pictures, pictures.form, targets=torch.arange(44), order=np.arange(35)
        )
        loader = streams.StreamLoader(train, 4, shuffle=True, num_workers=2)
        items = torch.cat([y for _, y in loader])
        assert sorted(items.tolist()) == list(range(35))

    def test_a_row_group_that_is_too_large_is_rejected(self, folder, monkeypatch):
        monkeypatch.setattr(row_groups, "LARGEST", 100)
        with pytest.raises(ag.InputError, match=r"row group of 0 MB, but the limit is 0 MB"):
            open_dataset(folder)

    def test_a_file_that_is_cut_off_is_rejected(self, folder):
        data = (folder / "train-1.parquet").read_bytes()
        (folder / "train-1.parquet").write_bytes(data[: len(data) // 2])
        with pytest.raises(ag.InputError, match="is not a readable dataset"):
            open_dataset(folder)
