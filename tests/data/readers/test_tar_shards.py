"""Tar shards: read without unpacking, in bounded memory; damaged ones are rejected clearly."""

import io
import json
import pickle
import tarfile
import tracemalloc

import numpy as np
import pytest
import torch

import augerino as ag
from augerino.data import open_dataset
from augerino.data.readers import streams, tar_shards
from augerino.data.readers.streams import ImageStream, StreamLoader
from tests.data.made import class_folder, encoded, everything, picture, shard_folder, write_tar


def members(n=6, label=lambda i: b"%d" % (i % 2), ending="cls"):
    return [
        m
        for i in range(n)
        for m in ((f"{i}.png", encoded(picture(i))), (f"{i}.{ending}", label(i)))
    ]


@pytest.fixture
def streamed(monkeypatch):
    """A memory limit below any dataset, and few headers per index."""
    monkeypatch.setattr(streams, "MEMORY", 0)
    monkeypatch.setattr(streams, "MAX_HEADERS", 8)


def test_shards_are_read_like_a_folder_of_classes(tmp_path):
    source = open_dataset(shard_folder(tmp_path / "shards"))
    assert (source.kind, source.task, source.class_names, source.shape) == (
        "images",
        "classification",
        ("0", "1"),
        (3, 8, 8),
    )
    assert len(source.train[1]) == 32 and len(source.test[1]) == 8
    for x, y in everything(source.train):
        number = next(
            i
            for i in range(40)
            if np.array_equal(np.asarray(picture(i)), x.permute(1, 2, 0).numpy())
        )
        assert int(y) == number % 2


def test_shards_that_fit_into_memory_are_checked_image_by_image(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "MAX_HEADERS", 2)
    other = [("9.png", encoded(picture(9, 6, 6))), ("9.cls", b"1")]
    write_tar(tmp_path / "all.tar", [*members(8), *other])
    with pytest.raises(ag.InputError, match=r"must be of one size, but picture 0 of all\.tar"):
        open_dataset(tmp_path)
    monkeypatch.setattr(streams, "MEMORY", 0)
    assert open_dataset(tmp_path).shape == (3, 8, 8)


def test_read_from_disk_they_are_the_same(tmp_path, streamed):
    folder = shard_folder(tmp_path)
    source = open_dataset(folder)
    assert isinstance(source.train, ImageStream)
    items = sorted(
        (x.sum().item(), int(y))
        for part in (source.train, source.test)
        for x, y in everything(part)
    )
    assert items == sorted((int(np.asarray(picture(i)).sum()), i % 2) for i in range(40))
    assert "Sizes and colours are those of 8 of the 40 images" in " ".join(source.notes)
    workers = [y for _, y in StreamLoader(source.train, 5, shuffle=True, num_workers=2)]
    assert sum(map(len, workers)) == 32 and set(torch.cat(workers).tolist()) == {0, 1}


def test_no_headers_pile_up_while_a_shard_is_looked_over(tmp_path, monkeypatch):
    kept = []
    further = tarfile.TarFile.next
    monkeypatch.setattr(
        tarfile.TarFile, "next", lambda tar: kept.append(len(tar.members)) or further(tar)
    )
    open_dataset(write_tar(tmp_path / "all.tar", members(10)))
    assert len(kept) > 20 and max(kept) <= 2


@pytest.mark.parametrize(
    "names", [("train/0.tar", "test/0.tar"), ("a-train-000.tar", "a-val-000.tar")]
)
def test_parts_are_recognised_by_name(tmp_path, names):
    for name, n in zip(names, (6, 4), strict=True):
        write_tar(tmp_path / name, members(n))
    source = open_dataset(tmp_path)
    assert len(source.train[1]) == 6 and len(source.test[1]) == 4


def test_one_shard_is_a_dataset(tmp_path):
    assert len(open_dataset(write_tar(tmp_path / "all.tar", members(10))).train[1]) == 8


def test_labels_may_be_names_or_fields(tmp_path):
    named = write_tar(tmp_path / "named.tar", members(8, lambda i: [b"cat\n", b"dog"][i % 2]))
    assert open_dataset(named).class_names == ("cat", "dog")
    about = [json.dumps({"label": i % 2, "height": 0.5 + i}).encode() for i in range(10)]
    fields = write_tar(tmp_path / "fields.tar", members(10, lambda i: about[i], "json"))
    assert open_dataset(fields).task == "classification"
    heights = open_dataset(fields, target="height")
    assert (
        heights.task == "regression"
        and sorted(torch.cat([heights.train[1], heights.test[1]]).flatten().tolist())[0] == 0.5
    )


def test_class_folders_take_precedence_over_a_tar_file(tmp_path):
    class_folder(tmp_path)
    write_tar(tmp_path / "backup.tar", members())
    assert open_dataset(tmp_path).class_names == ("cat", "dog")


def test_probing_holds_out_samples_of_shards(tmp_path, streamed):
    source = open_dataset(shard_folder(tmp_path, shards=5, each=20))
    learned = ag.learn(
        None, source.train, n_outputs=2, epochs=2, batch_size=16, width=2, coordinates=("rotate",)
    )
    assert learned.n_probe_items == 16


def test_memory_grows_by_a_few_bytes_per_image(tmp_path, streamed):
    """Opening and reading shards of 200 kB images keeps only a few of them in memory."""
    noise = [encoded(picture(i, 256, 256)) for i in range(4)]
    pairs = [[(f"{i}.png", noise[i % 4]), (f"{i}.cls", b"%d" % (i % 2))] for i in range(60)]
    for k in range(3):
        write_tar(tmp_path / f"{k}.tar", [m for pair in pairs[20 * k : 20 * k + 20] for m in pair])
    tracemalloc.start()
    source = open_dataset(tmp_path)
    for _ in StreamLoader(source.train, 4, shuffle=True):
        pass
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 15 * len(noise[0]) and held < len(noise[0])  # sixty of them are on disk
    assert len(pickle.dumps(source.train.pictures)) < 60 * 100  # what goes to a worker


class TestRefused:
    def assert_rejected(self, path, sentence):
        with pytest.raises(ag.InputError, match=sentence) as caught:
            open_dataset(path)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("keep", [0.3, 0.5, 0.9])
    def test_a_shard_that_is_cut_off(self, tmp_path, keep):
        path = write_tar(tmp_path / "a.tar", members(20))
        data = path.read_bytes()
        path.write_bytes(data[: int(keep * len(data.rstrip(b"\0")))])
        self.assert_rejected(tmp_path, "shard a.tar is truncated")

    def test_a_shard_that_is_cut_off_between_two_members(self, tmp_path):
        path = write_tar(tmp_path / "a.tar", members(4))
        with tarfile.open(path) as tar:
            third = tar.getmembers()[4].offset
        path.write_bytes(path.read_bytes()[:third])
        self.assert_rejected(tmp_path, "shard a.tar is truncated at byte")

    def test_a_damaged_header(self, tmp_path):
        path = write_tar(tmp_path / "a.tar", members(4))
        with tarfile.open(path) as tar:
            third = tar.getmembers()[4].offset
        data = bytearray(path.read_bytes())
        data[third : third + 200] = b"x" * 200
        path.write_bytes(data)
        self.assert_rejected(tmp_path, "shard a.tar is damaged at byte")

    def test_pictures_without_labels(self, tmp_path):
        write_tar(tmp_path / "a.tar", members()[:-1])
        self.assert_rejected(
            tmp_path, r"a.tar has no label for 5: expected 5.cls, or 5.json with a field"
        )

    def test_labels_without_pictures(self, tmp_path):
        write_tar(tmp_path / "a.tar", members()[1::2])
        self.assert_rejected(tmp_path, "a.tar contains no images")

    @pytest.mark.parametrize("name", ["../../0.png", "/etc/0.png", "a/../../0.png"])
    def test_names_that_lead_out_of_the_archive_are_rejected(self, tmp_path, name):
        write_tar(tmp_path / "a.tar", [*members(), (name, encoded(picture()))])
        self.assert_rejected(tmp_path, "a member whose name leads out of the archive")
        assert [file.name for file in tmp_path.iterdir()] == ["a.tar"]

    @pytest.mark.parametrize(
        ("data", "sentence"),
        [
            (b"[1, 2]", "must contain a number or a name, but contains a list"),
            (b"{", "is not readable as JSON"),
            (b"[" * 60_000, "is not readable as JSON"),
            (b"\xff\xfe", "is not readable as JSON"),
            (b'{"label": null}', "must contain a number or a name"),
            (b" " * 70_000, "more than the limit of 65536"),
            (b"1" * 400, "out of range"),
        ],
    )
    def test_labels_that_are_none(self, tmp_path, data, sentence):
        write_tar(tmp_path / "a.tar", members(6, lambda i: data, "json"))
        self.assert_rejected(tmp_path, sentence)

    def test_a_header_that_claims_more_than_there_is(self, tmp_path):
        header = tarfile.TarInfo("0.png")
        header.size = 2**40
        (tmp_path / "a.tar").write_bytes(header.tobuf() + bytes(1024))
        self.assert_rejected(tmp_path, "a.tar is truncated within 0.png")

    def test_a_name_of_many_megabytes_is_not_read(self, tmp_path):
        header = tarfile.TarInfo("././@LongLink")
        header.type, header.size = tarfile.GNUTYPE_LONGNAME, 2**24
        (tmp_path / "a.tar").write_bytes(header.tobuf() + bytes(2**24))
        self.assert_rejected(tmp_path, "a.tar is not a readable tar file")

    def test_compressed_and_foreign_files(self, tmp_path):
        with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as tar:
            tar.addfile(tarfile.TarInfo("0.png"), io.BytesIO())
        self.assert_rejected(tmp_path, "a.tar.gz is compressed")
        (tmp_path / "b.tar").write_bytes(pickle.dumps([1, 2, 3]) * 100)
        self.assert_rejected(tmp_path, "b.tar is not a readable tar file")

    def test_a_picture_that_is_none(self, tmp_path, streamed):
        some = members(40)
        some[60] = ("30.png", b"no picture at all")
        write_tar(tmp_path / "a.tar", some)
        train = open_dataset(tmp_path).train
        with pytest.raises(ag.InputError, match=r"picture 30 of a\.tar is not a readable image"):
            train.image(30)

    def test_links_lead_nowhere(self, tmp_path):
        path = write_tar(tmp_path / "a.tar", members(10))
        with tarfile.open(path, "a") as tar:
            link = tarfile.TarInfo("99.png")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            tar.addfile(link)
        assert len(open_dataset(tmp_path).train[1]) == 8


def test_a_few_shards_are_open_at_a_time(tmp_path, streamed, monkeypatch):
    monkeypatch.setattr(tar_shards.TarPictures, "n_open", 2)
    train = open_dataset(shard_folder(tmp_path, shards=5)).train
    everything(train)
    assert len(train.pictures._open) == 2
