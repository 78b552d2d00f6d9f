"""Folders of images: by class, or named in a table; in memory or from disk; good files and bad."""

import os
import pickle

import numpy as np
import pytest
import torch
from PIL import Image

import augerino as ag
from augerino.data import open_dataset
from augerino.data.readers import streams
from augerino.data.readers.streams import Files, ImageStream, StreamLoader
from tests.data.made import class_folder, everything, picture, save


def said(source, words):
    return any(words in note for note in source.notes)


class TestClasses:
    def test_classes_are_folders_in_the_order_of_their_names(self, tmp_path):
        source = open_dataset(class_folder(tmp_path, ("dog", "cat", "ant")))
        assert (source.kind, source.task, source.class_names) == (
            "images",
            "classification",
            ("ant", "cat", "dog"),
        )
        assert source.shape == (3, 8, 8) and source.train[0].dtype == torch.uint8
        assert source.train[0].shape == (12, 3, 8, 8) and source.test[1].tolist() == [0, 1, 2]
        assert said(source, "20% (3 of 15) split off with seed 0, every class represented")

    def test_every_image_keeps_its_label(self, tmp_path):
        for k, name in enumerate("abc"):
            for i in range(4):
                save(Image.new("L", (3, 3), 50 * k), tmp_path / name / f"{i}.png")
        source = open_dataset(tmp_path)
        for x, y in everything(source.train) + everything(source.test):
            assert (x == 50 * y).all()

    @pytest.mark.parametrize("name", ["test", "val", "valid", "validation", "Test"])
    def test_a_test_folder_is_used(self, tmp_path, name):
        class_folder(tmp_path / "train", each=3)
        class_folder(tmp_path / name, each=2)
        source = open_dataset(tmp_path)
        assert len(source.train[1]) == 6 and len(source.test[1]) == 4
        assert not said(source, "split off")

    def test_a_class_of_trains_is_a_class(self, tmp_path):
        assert open_dataset(class_folder(tmp_path, ("bus", "test", "train"))).class_names == (
            "bus",
            "test",
            "train",
        )

    def test_a_validation_folder_beside_a_test_folder_is_not_used(self, tmp_path):
        for part in ("train", "val", "test"):
            class_folder(tmp_path / part, each=3)
        source = open_dataset(tmp_path)
        assert len(source.test[1]) == 6 and said(source, "'val' is not used")

    def test_differing_classes_are_reported(self, tmp_path):
        class_folder(tmp_path / "train", ("a", "b", "c"), each=3)
        class_folder(tmp_path / "test", ("a", "b"), each=3)
        assert said(open_dataset(tmp_path), "The test part lacks classes: c.")
        class_folder(tmp_path / "test", ("d",), each=1)
        with pytest.raises(ag.InputError, match=r"classes that the training part lacks.*: d"):
            open_dataset(tmp_path)

    def test_nested_folders_are_walked_and_strangers_ignored(self, tmp_path):
        class_folder(tmp_path)
        save(picture(9), tmp_path / "cat" / "more" / "deep" / "x.PNG")
        save(picture(9), tmp_path / "cat" / ".hidden.png")
        save(picture(9), tmp_path / ".thumbnails" / "x.png")
        save(picture(9), tmp_path / "loose.png")
        (tmp_path / "cat" / "notes.txt").write_text("hello")
        (tmp_path / "empty").mkdir()
        source = open_dataset(tmp_path)
        assert len(source.train[1]) + len(source.test[1]) == 11
        assert said(source, "not read: loose.png") and said(source, "left out: empty")

    def test_a_ring_of_links_ends(self, tmp_path):
        class_folder(tmp_path)
        (tmp_path / "cat" / "again").symlink_to(tmp_path / "cat")
        (tmp_path / "cat" / "up").symlink_to(tmp_path)
        (tmp_path / "cat" / "self").symlink_to(tmp_path / "cat" / "self")
        source = open_dataset(tmp_path)
        assert len(source.train[1]) + len(source.test[1]) >= 10

    def test_the_same_seed_gives_the_same_split_and_another_another(self, tmp_path):
        class_folder(tmp_path, each=20)
        a, b, c = (open_dataset(tmp_path, seed=seed).test[0] for seed in (1, 1, 2))
        assert torch.equal(a, b) and not torch.equal(a, c)

    def test_mixed_sizes_need_one(self, tmp_path):
        class_folder(tmp_path)
        save(picture(height=20, width=10), tmp_path / "dog" / "9.png")
        with pytest.raises(
            ag.InputError, match=r"cat/0\.png has 8×8 and dog/9\.png 20×10 pixels: .*--size 8"
        ):
            open_dataset(tmp_path)
        source = open_dataset(tmp_path, size="6x4")
        assert source.shape == (3, 6, 4) and said(
            source, "8×8 to 20×10 pixels are cropped in the middle and resized to 6×4"
        )

    @pytest.mark.parametrize("size", [0, -3, "a", "3x", "1x2x3", (3,) * 3, 10**6, 2.5j])
    def test_a_size_must_make_sense(self, tmp_path, size):
        with pytest.raises(ag.InputError, match="A size is N or HxW"):
            open_dataset(class_folder(tmp_path), size=size)

    def test_grey_alone_stays_grey_and_mixed_becomes_rgb(self, tmp_path):
        class_folder(tmp_path, channels=1)
        assert open_dataset(tmp_path).shape == (1, 8, 8)
        save(picture(), tmp_path / "cat" / "color.png")
        source = open_dataset(tmp_path)
        assert source.shape == (3, 8, 8) and said(source, "10 of 11 are grey")

    def test_sixteen_bits_make_floats(self, tmp_path):
        class_folder(tmp_path, channels=1)
        save(
            Image.fromarray(np.full((8, 8), 40000, dtype=np.uint16)), tmp_path / "cat" / "deep.png"
        )
        source = open_dataset(tmp_path)
        assert (
            source.train[0].dtype == torch.float32
            and source.train[0].max() <= 1
            and said(source, "divided by 65535")
        )

    def test_one_pixel_images_work(self, tmp_path):
        assert open_dataset(class_folder(tmp_path, height=1, width=1)).shape == (3, 1, 1)

    def test_classes_named_by_numbers_can_be_quantities(self, tmp_path):
        source = open_dataset(class_folder(tmp_path, ("0.5", "2")), task="regression")
        assert (
            source.task == "regression"
            and source.class_names == ()
            and set(source.train[1].flatten().tolist()) == {0.5, 2.0}
        )
        with pytest.raises(
            ag.InputError, match="needs numbers as targets, but there are names: cat, dog"
        ):
            open_dataset(class_folder(tmp_path / "b"), task="regression")


class TestBadFolders:
    def test_a_corrupt_image_is_named_and_skipped_only_on_request(self, tmp_path):
        class_folder(tmp_path)
        data = (tmp_path / "dog" / "3.png").read_bytes()
        (tmp_path / "dog" / "3.png").write_bytes(data[: len(data) - 30])
        (tmp_path / "cat" / "1.png").write_bytes(b"rubbish")
        with pytest.raises(
            ag.InputError, match=r"cat/1\.png is not a readable image: .*--skip-bad"
        ):
            open_dataset(tmp_path)
        source = open_dataset(tmp_path, skip_bad=True)
        assert len(source.train[1]) + len(source.test[1]) == 8
        assert said(source, "2 unreadable files skipped: cat/1.png, dog/3.png.")

    def test_only_bad_images(self, tmp_path):
        for name in ("a", "b"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "1.png").write_bytes(b"")
        with pytest.raises(
            ag.InputError, match=r"None of the 2 images can be read: a/1\.png is an empty file"
        ):
            open_dataset(tmp_path, skip_bad=True)

    def test_a_class_with_one_image_is_named(self, tmp_path):
        class_folder(tmp_path)
        save(picture(), tmp_path / "bird" / "only.png")
        with pytest.raises(ag.InputError, match="The class 'bird' has only one sample"):
            open_dataset(tmp_path)

    def test_one_class_is_not_enough(self, tmp_path):
        with pytest.raises(ag.InputError, match=r"only one class \(cat\)"):
            open_dataset(class_folder(tmp_path, ("cat",)))

    def test_too_few_data(self, tmp_path):
        with pytest.raises(ag.InputError, match="too few samples"):
            open_dataset(class_folder(tmp_path, each=1))

    def test_folders_that_lack_required_files(self, tmp_path):
        with pytest.raises(ag.InputError, match="contains no images in class folders"):
            open_dataset(tmp_path)
        save(picture(), tmp_path / "1.png")
        with pytest.raises(ag.InputError, match="contains no images in class folders"):
            open_dataset(tmp_path)
        class_folder(tmp_path / "train")
        (tmp_path / "test").mkdir()
        with pytest.raises(ag.InputError, match="test contains no images"):
            open_dataset(tmp_path)

    def test_no_permission(self, tmp_path, monkeypatch):
        class_folder(tmp_path)
        opened = open

        def fail_to_open(path, *options, **more):
            if str(path).endswith("3.png"):
                raise PermissionError(13, "Permission denied")
            return opened(path, *options, **more)

        monkeypatch.setattr("builtins.open", fail_to_open)
        with pytest.raises(ag.InputError, match=r"cat/3\.png cannot be read: Permission denied"):
            open_dataset(tmp_path)
        assert said(open_dataset(tmp_path, skip_bad=True), "2 unreadable files skipped")
        monkeypatch.setattr(
            "os.scandir", lambda _: (_ for _ in ()).throw(PermissionError(13, "Permission denied"))
        )
        with pytest.raises(ag.InputError, match="cannot be read: Permission denied"):
            open_dataset(tmp_path)
        monkeypatch.setattr("os.access", lambda *_: False)
        with pytest.raises(ag.InputError, match="no permission"):
            open_dataset(tmp_path)

    def test_unknown_paths(self, tmp_path):
        for path in (tmp_path / "nothing", "\0", "x" * 5000):
            with pytest.raises(ag.InputError, match=r"no file or folder|cannot be read"):
                open_dataset(path)
        (tmp_path / "a.txt").write_text("hello")
        with pytest.raises(ag.InputError, match="has an unsupported format"):
            open_dataset(tmp_path / "a.txt")
        (tmp_path / "a.npz").write_bytes(b"")
        with pytest.raises(ag.InputError, match="empty file"):
            open_dataset(tmp_path / "a.npz")

    def test_a_pipe_does_not_hang(self, tmp_path):
        class_folder(tmp_path)
        os.mkfifo(tmp_path / "cat" / "pipe.png")
        with pytest.raises(ag.InputError, match=r"pipe\.png cannot be read: it is not a reg"):
            open_dataset(tmp_path)

    def test_strange_names_can_be_printed(self, tmp_path):
        class_folder(tmp_path)
        for name in (b"bad\xff.png", b"line\nbreak.png"):
            with open(os.path.join(os.fsencode(tmp_path), b"cat", name), "wb") as file:
                file.write(b"rubbish")
        source = open_dataset(tmp_path, skip_bad=True)
        note = next(note for note in source.notes if "skipped" in note)
        assert note.encode() and "\n" not in note and "line\\nbreak.png" in note


class TestStreaming:
    @pytest.fixture(autouse=True)
    def _small_memory(self, monkeypatch):
        monkeypatch.setattr(streams, "MEMORY", 100)

    def test_a_stream_yields_the_same_samples_as_memory(self, tmp_path, monkeypatch):
        class_folder(tmp_path)
        source = open_dataset(tmp_path)
        assert isinstance(source.train, ImageStream) and said(source, "read from disk as needed")
        monkeypatch.setattr(streams, "MEMORY", 10**9)
        held = open_dataset(tmp_path)
        assert held.fingerprint == source.fingerprint
        for part, other in ((source.train, held.train), (source.test, held.test)):
            assert torch.equal(torch.stack([x for x, _ in everything(part)]), other[0])
            assert [int(y) for _, y in everything(part)] == other[1].tolist()

    @pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on a machine of one core
    def test_workers_and_pickles(self, tmp_path):
        source = open_dataset(class_folder(tmp_path))
        again = pickle.loads(pickle.dumps(source.train))
        assert torch.equal(again[3][0], source.train[3][0])
        batches = list(StreamLoader(source.train, batch_size=4, num_workers=2))
        assert sum(len(y) for _, y in batches) == 8 and batches[0][0].dtype == torch.uint8

    @pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on a machine of one core
    @pytest.mark.parametrize("workers", [0, 2])
    def test_a_corrupt_image_is_a_one_line_error_even_in_a_worker(self, tmp_path, workers):
        class_folder(tmp_path, height=32, width=32)
        for name in ("cat", "dog"):
            for i in range(5):
                data = (tmp_path / name / f"{i}.png").read_bytes()
                (tmp_path / name / f"{i}.png").write_bytes(data[: len(data) // 2])
        source = open_dataset(tmp_path)  # the headers are whole
        with pytest.raises(ag.InputError) as caught:
            list(StreamLoader(source.train, batch_size=2, num_workers=workers))
        text = str(caught.value)
        assert (
            "Traceback" not in text
            and "\n" not in text
            and "is not a readable image" in text
            and "--skip-bad" in text
        )

    def test_bad_images_are_found_beforehand_if_they_are_to_be_skipped(self, tmp_path):
        class_folder(tmp_path, height=32, width=32)
        data = (tmp_path / "cat" / "2.png").read_bytes()
        (tmp_path / "cat" / "2.png").write_bytes(data[: len(data) // 2])
        seen = []
        source = open_dataset(
            tmp_path, skip_bad=True, on_progress=lambda done, total: seen.append((done, total))
        )
        assert len(source.train) + len(source.test) == 9 and said(
            source, "1 unreadable file skipped: cat/2.png"
        )
        assert len(everything(source.train)) == len(source.train) and seen[-1] == (10, 10)
        assert [int(y) for _, y in everything(source.test)] == [0, 1]

    def test_names_are_kept_as_one_block(self):
        names = ["a.png", "b/ö.png", "c\udcff.png"]
        files = Files("/root", names)
        assert [files.name(i) for i in range(3)] == names and len(files) == 3
        many = Files("/root", [f"class/{i:06d}.png" for i in range(10000)])
        assert len(pickle.dumps(many)) < 10000 * 30


class TestListed:
    def write(self, root, rows, name="labels.csv"):
        for i in range(6):
            save(picture(i), root / f"{i}.png")
        (root / name).write_text("\n".join(rows) + "\n")
        return root

    def test_quantities(self, tmp_path):
        source = open_dataset(
            self.write(tmp_path, ["filename,target", *(f"{i}.png,{i / 3}" for i in range(6))])
        )
        assert (
            source.task == "regression"
            and source.train[1].dtype == torch.float32
            and source.train[1].shape == (5, 1)
        )

    def test_classes_by_name_with_other_delimiters_and_heads(self, tmp_path):
        for head, sign in (
            ("image;class", ";"),
            ("path\tlabel", "\t"),
            ("\ufefffile,y", ","),
            ("FILE, Label", ","),
        ):
            rows = [head, *(f"{i}.png{sign}{'ab'[i % 2]}" for i in range(6))]
            source = open_dataset(self.write(tmp_path, rows))
            assert source.class_names == ("a", "b") and source.task == "classification"
        rows = [f"{i}.png,{i % 2}" for i in range(6)]
        assert open_dataset(self.write(tmp_path, rows)).class_names == ("0", "1")  # no head
        assert open_dataset(tmp_path / "labels.csv").class_names == ("0", "1")

    def test_a_column_marks_the_test_part(self, tmp_path):
        parts = ["train", "train", "train", "test", "test", "val"]
        rows = ["file,label,split", *(f"{i}.png,{'ab'[i % 2]},{parts[i]}" for i in range(6))]
        source = open_dataset(self.write(tmp_path, rows))
        assert (
            len(source.train[1]) == 3
            and len(source.test[1]) == 2
            and said(source, "The validation part (1 samples) is not used")
        )

    def test_tables_in_both_parts(self, tmp_path):
        for part in ("train", "test"):
            self.write(tmp_path / part, ["file,label", *(f"{i}.png,{i % 2}" for i in range(6))])
        source = open_dataset(tmp_path)
        assert len(source.train[1]) == 6 and len(source.test[1]) == 6

    def test_a_target_is_chosen(self, tmp_path):
        rows = ["file,age,height", *(f"{i}.png,{i},{i / 2}" for i in range(6))]
        with pytest.raises(ag.InputError, match="choose with --target, one of age, height"):
            open_dataset(self.write(tmp_path, rows))
        source = open_dataset(tmp_path, target="height")
        assert (
            source.task == "regression"
            and sorted(torch.cat([source.train[1], source.test[1]]).flatten().tolist())[1] == 0.5
        )
        with pytest.raises(ag.InputError, match="no column 'weight'"):
            open_dataset(tmp_path, target="weight")
        with pytest.raises(ag.InputError, match="--target file names the column of files"):
            open_dataset(tmp_path, target="file")

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ([""], "is empty"),
            (["file,label"], "no rows"),
            (["a,b", "c,d"], "needs a column of files"),
            (["file", "0.png"], "no column of targets"),
            (["file,label", "0.png"], "Row 2 of .* must have 2 cells"),
            (
                ["file,label", "0.png,1", "1.png, "],
                "Row 3 of .* has no label: fill it in, or remove the row",
            ),
            (["file,label", "0.png,1", "9.png,2"], "lists missing files: 9.png"),
            (["file,label", "0.png,1", "0.png,2"], "some have more: 0.png"),
            (
                ["file,label,split", "0.png,1,maybe"],
                "must be train, validation or test, but has: maybe",
            ),
        ],
    )
    def test_tables_that_cannot_be_used(self, tmp_path, rows, message):
        with pytest.raises(ag.InputError, match=message):
            open_dataset(self.write(tmp_path, rows))

    def test_a_table_of_bytes(self, tmp_path):
        self.write(tmp_path, [])
        (tmp_path / "labels.csv").write_bytes(b"file,label\n0.png,\xff\xfe\n")
        with pytest.raises(ag.InputError, match="not a readable table"):
            open_dataset(tmp_path)


def test_the_fingerprint_follows_the_contents(tmp_path, monkeypatch):
    from augerino.data import opening

    class_folder(tmp_path / "a")
    class_folder(tmp_path / "b")
    first, same = open_dataset(tmp_path / "a").fingerprint, open_dataset(tmp_path / "b").fingerprint
    assert first == same and first.startswith("sha256:")
    save(picture(77), tmp_path / "b" / "cat" / "0.png")
    assert open_dataset(tmp_path / "b").fingerprint != first
    monkeypatch.setattr(opening, "FULLY_HASHED", 100)
    monkeypatch.setattr(opening, "HASHED_FILES", 3)
    assert said(
        open_dataset(tmp_path / "a"), "names and sizes of all 10 files and the contents of 4"
    )


def test_invalid_fractions_and_seeds_are_rejected(tmp_path):
    class_folder(tmp_path)
    for fraction in (0, 1, -1, float("nan")):
        with pytest.raises(ag.InputError, match="between 0 and 1"):
            open_dataset(tmp_path, test_fraction=fraction)
    with pytest.raises(ag.InputError, match="seed must be"):
        open_dataset(tmp_path, seed=-1)
    with pytest.raises(ag.InputError, match="The task must be"):
        open_dataset(tmp_path, task="sorting")
    with pytest.raises(ag.InputError, match="The kind must be"):
        open_dataset(tmp_path, kind="songs")
    with pytest.raises(ag.InputError, match="contains images, which cannot be read as signals"):
        open_dataset(tmp_path, kind="signals")
