"""Images with masks: matched by name, numbered without gaps, of the size of their image."""

import numpy as np
import pytest
import torch
from PIL import Image

import augerino as ag
from augerino.data import open_dataset
from augerino.data.readers import streams
from augerino.data.readers.masks import number_classes
from tests.data.made import everything, mask_folder, pair_folder, picture, save


def said(source, words):
    return any(words in note for note in source.notes)


def test_pairs_make_a_segmentation(tmp_path):
    source = open_dataset(pair_folder(tmp_path))
    assert (source.kind, source.task, source.class_names) == (
        "masks",
        "segmentation",
        ("0", "1", "2"),
    )
    x, y = source.train
    assert (
        x.shape == (5, 3, 8, 8)
        and y.shape == (5, 8, 8)
        and y.dtype == torch.uint8
        and len(source.test[1]) == 1
    )


@pytest.mark.parametrize("form", ["outside", "inside"])
def test_parts(tmp_path, form):
    for part, n in (("train", 4), ("test", 2)):
        pair_folder(tmp_path / part, n=n)
        if form == "inside":
            for what in ("images", "masks"):
                (tmp_path / what).mkdir(exist_ok=True)
                (tmp_path / part / what).rename(tmp_path / what / part)
            (tmp_path / part).rmdir()
    source = open_dataset(tmp_path)
    assert len(source.train[1]) == 4 and len(source.test[1]) == 2


def test_a_stream_yields_the_same_samples_as_memory(tmp_path, monkeypatch):
    held = open_dataset(pair_folder(tmp_path, height=10, width=14), size=6)
    monkeypatch.setattr(streams, "MEMORY", 100)
    source = open_dataset(tmp_path, size=6)
    for part, other in ((source.train, held.train), (source.test, held.test)):
        assert torch.equal(torch.stack([x for x, _ in everything(part)]), other[0])
        assert torch.equal(torch.stack([y for _, y in everything(part)]), other[1])
    assert held.shape == (3, 6, 6) and held.train[1].shape == (5, 6, 6)


def test_masks_follow_their_image_through_resizing(tmp_path):
    for i in range(4):
        side = np.zeros((12, 20), dtype=np.uint8)
        side[:, 10:] = 1
        save(Image.fromarray(side * 200), tmp_path / "images" / f"{i}.png")
        save(Image.fromarray(side), tmp_path / "masks" / f"{i}.png")
    x, y = open_dataset(tmp_path, size=6).train
    assert torch.equal((x[:, 0] > 100), y == 1)
    np.savez(tmp_path / "a.npz", x=np.stack([side * 200] * 4), y=np.stack([side] * 4))
    x, y = open_dataset(tmp_path / "a.npz", size=6).train
    assert torch.equal((x[:, 0] > 100), y == 1)


def test_ignored_numbers_black_and_white_and_gaps():
    table, names, notes = number_classes(np.array([0, 1, 255]))
    assert (
        table[[0, 1, 255]].tolist() == [0, 1, 255]
        and names == ("0", "1")
        and "number 255 are ignored" in notes[0]
    )
    table, names, _ = number_classes(np.array([0, 255]))
    assert table[[0, 255]].tolist() == [0, 1] and names == ("0", "255")
    table, names, notes = number_classes(np.array([0, 3, 7]), ignore=3)
    assert table[[0, 3, 7]].tolist() == [0, 255, 1] and "renumbered" in notes[0]
    table, names, _ = number_classes(np.array([0, 1, 2]), ("sky", "void", "road"), ignore=1)
    assert table[[0, 1, 2]].tolist() == [0, 255, 1] and names == ("sky", "road")
    with pytest.raises(ag.InputError, match="masks contain the number 5: name it, or --ignore it"):
        number_classes(np.array([0, 5]), ("a", "b"))
    with pytest.raises(ag.InputError, match="2 to 255 classes, but have 1"):
        number_classes(np.array([4, 255]))


def test_class_names_from_a_file(tmp_path):
    pair_folder(tmp_path)
    (tmp_path / "classes.txt").write_text("sky\nroad\n\ncar\n")
    assert open_dataset(tmp_path).class_names == ("sky", "road", "car")


def test_masks_in_an_archive(tmp_path):
    x = np.random.default_rng(0).integers(0, 256, (10, 6, 8, 3), dtype=np.uint8)
    y = np.random.default_rng(1).integers(0, 3, (10, 6, 8))
    y[0, 0, 0] = -1
    for masks in (y, y[..., None], y[:, None], y.astype(float)):
        np.savez(tmp_path / "a.npz", x=x, y=masks, class_names=["a", "b", "c"])
        source = open_dataset(tmp_path / "a.npz")
        assert (
            source.kind == "masks"
            and source.class_names == ("a", "b", "c")
            and said(source, "-1 are ignored")
        )
        assert source.train[1].dtype == torch.uint8
    for masks, message in (
        (y[:, :5], "size of their images"),
        (y + 0.5, "with fractions"),
        (y - 7, "0 to 65535"),
        (y * 1e300, "Masks must contain"),
    ):
        np.savez(tmp_path / "a.npz", x=x, y=masks)
        with pytest.raises(ag.InputError, match=message):
            open_dataset(tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", x=x, y=y)
    assert open_dataset(tmp_path / "a.npz", ignore=-1).class_names == ("0", "1", "2")
    with pytest.raises(ag.InputError, match="segmentation, not classification"):
        open_dataset(tmp_path / "a.npz", task="classification")


@pytest.mark.parametrize("memory", [10**9, 100])
def test_a_rare_class_stays_where_it_can_be_learned(tmp_path, monkeypatch, memory):
    monkeypatch.setattr(streams, "MEMORY", memory)
    mask_folder(tmp_path, [[0, 1]] * 9 + [[0, 1, 2], [255, 255], [0, 7]])
    for seed in range(8):
        source = open_dataset(tmp_path, seed=seed, test_fraction=0.4)
        held = [
            {int(n) for _, y in everything(part) for n in y.unique()}
            for part in (source.train, source.test)
        ]
        assert held[0] == {0, 1, 2, 3, 255} and held[1] == {0, 1}
        assert said(source, "every class left in training") and said(
            source, "The test part lacks classes: 2, 7"
        )
    assert said(source, "1 of 12 masks contain only ignored pixels: they do not affect the loss")


def test_palette_indices_are_class_numbers_for_any_colours(tmp_path):
    mask_folder(tmp_path, [[0, 1, 2]] * 4)
    for i, file in enumerate(sorted((tmp_path / "masks").iterdir())):
        numbers = Image.fromarray(np.asarray(Image.open(file)), "L")
        if i % 2:
            numbers = Image.fromarray(np.asarray(numbers)).convert("P")
            numbers.putpalette([0, 0, 0, 128, 0, 0, 0, 128, 0])
        numbers.save(file)
    _, y = open_dataset(tmp_path).train
    assert (y == y[:1]).all() and y.unique().tolist() == [0, 1, 2]


class TestBad:
    @pytest.mark.parametrize("memory", [10**9, 100])
    @pytest.mark.parametrize(
        ("train", "test", "message"),
        [
            (
                [[0, 1]] * 3,
                [[0, 2]],
                "classes that the training part lacks, so they cannot be learned: 2",
            ),
            ([[0, 1]] * 3, [[255]], "Every pixel of the test masks is ignored"),
            ([[255]] * 3, [[0, 1]], "training part lacks, so they cannot be learned: 0, 1"),
            (
                [[255]] * 3,
                [[255]],
                "Every pixel of every mask has the number 255, which is ignored",
            ),
            ([[0]] * 3, [[0]], "2 to 255 classes, but have 1"),
        ],
    )
    def test_parts_that_cannot_be_trained_or_evaluated_on(
        self, tmp_path, monkeypatch, memory, train, test, message
    ):
        monkeypatch.setattr(streams, "MEMORY", memory)
        mask_folder(tmp_path / "train", train)
        mask_folder(tmp_path / "test", test)
        with pytest.raises(ag.InputError, match=message):
            open_dataset(tmp_path)

    @pytest.mark.parametrize(
        ("numbers", "message"),
        [
            ([[1]] * 6, "contain only the class 'road'"),
            ([[0, 1, 9]] * 6, "masks contain the number 9: name it, or --ignore it"),
        ],
    )
    def test_numbers_that_do_not_fit_the_names(self, tmp_path, numbers, message):
        mask_folder(tmp_path, numbers)
        (tmp_path / "classes.txt").write_text("sky\nroad\n")
        with pytest.raises(ag.InputError, match=message):
            open_dataset(tmp_path)

    def test_no_sample_can_be_split_off(self, tmp_path):
        mask_folder(tmp_path, [[0], [1], [2], [3]])
        with pytest.raises(ag.InputError, match="each one contains a class that no other has"):
            open_dataset(tmp_path)

    def test_images_without_masks_are_named(self, tmp_path):
        pair_folder(tmp_path)
        (tmp_path / "masks" / "3.png").unlink()
        with pytest.raises(ag.InputError, match=r"these have none: images/3\.png"):
            open_dataset(tmp_path)
        (tmp_path / "images" / "3.png").unlink()
        (tmp_path / "images" / "4.png").unlink()
        assert said(open_dataset(tmp_path), "1 masks without an image are not used: masks/4.png")

    def test_sizes_must_match(self, tmp_path):
        pair_folder(tmp_path)
        save(picture(channels=1, height=4), tmp_path / "masks" / "2.png")
        with pytest.raises(ag.InputError, match=r"masks/2\.png has 4×8 and images/2\.png 8×8"):
            open_dataset(tmp_path)

    def test_colours_and_damage(self, tmp_path):
        pair_folder(tmp_path)
        save(picture(), tmp_path / "masks" / "2.png")
        with pytest.raises(
            ag.InputError, match=r"masks/2\.png must have one class number per pixel"
        ):
            open_dataset(tmp_path)
        (tmp_path / "images" / "4.png").write_bytes(b"")
        source = open_dataset(tmp_path, skip_bad=True)
        assert (
            said(source, "2 pairs with an unreadable file skipped: masks/2.png, images/4.png")
            and len(source.train[1]) == 3
        )

    def test_two_images_of_one_name(self, tmp_path):
        pair_folder(tmp_path)
        save(picture(), tmp_path / "images" / "2.jpg")
        with pytest.raises(ag.InputError, match="same name up to the extension"):
            open_dataset(tmp_path)

    def test_another_task(self, tmp_path):
        with pytest.raises(ag.InputError, match="segmentation, not regression"):
            open_dataset(pair_folder(tmp_path), task="regression")

    def test_pairs_without_common_names_are_rejected(self, tmp_path):
        (tmp_path / "images").mkdir()
        (tmp_path / "masks").mkdir()
        with pytest.raises(ag.InputError, match="no pairs of the same name"):
            open_dataset(tmp_path)
