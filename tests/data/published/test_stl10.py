"""STL-10 in every published form, on small files made here, and the real subset if present."""

import numpy as np
import pytest
import torch

import augerino as ag
from augerino.data.published import stl10
from tests.data.published.test_cifar10 import _offline, write_tar  # noqa: F401
from tests.data.published.test_real import SHARED, real

IMAGES = np.random.default_rng(0).integers(0, 256, (5, 3, 96, 96), dtype=np.uint8)
LABELS = np.array([0, 9, 3, 4, 5])


def contents():
    """As published: each channel column by column, labels from 1."""
    columns, numbers = IMAGES.transpose(0, 1, 3, 2), (LABELS + 1).astype(np.uint8)
    return {
        "class_names.txt": b"airplane\n",
        "test_X.bin": columns[3:].tobytes(),
        "test_y.bin": numbers[3:].tobytes(),
        "train_X.bin": columns[:3].tobytes(),
        "train_y.bin": numbers[:3].tobytes(),
        "unlabeled_X.bin": b"never read",
    }


@pytest.mark.parametrize("form", ["npz", "archive", "folder", "files"])
def test_every_form_gives_the_same(form, tmp_path):
    if form == "npz":
        x = IMAGES.transpose(0, 2, 3, 1)
        np.savez(
            tmp_path / "stl10.npz",
            x_train=x[:3],
            y_train=LABELS[:3],
            x_test=x[3:],
            y_test=LABELS[3:],
        )
    elif form == "archive":
        write_tar(tmp_path / "stl10_binary.tar.gz", contents(), "stl10_binary")
    else:
        root = tmp_path / "stl10_binary" if form == "folder" else tmp_path
        root.mkdir(exist_ok=True)
        for name, content in contents().items():
            (root / name).write_bytes(content)
    found = stl10.stl10(tmp_path)
    assert torch.equal(torch.cat([found.x_train, found.x_test]), torch.from_numpy(IMAGES))
    assert found.y_train.tolist() == [0, 9, 3] and found.y_test.tolist() == [4, 5]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "train_X.bin",
            b"abc",
            "train_X.bin of STL-10 should have 27648 bytes per image, but has 3 in all",
        ),
        ("test_y.bin", b"\x00\x01", "test_y.bin of STL-10, counted from 0, holds 2 of -1 to 0"),
        ("test_y.bin", b"\x01", "for each of 2 images, but .* holds 1"),
        ("train_y.bin", b"a" * 5001, "train_y.bin is not a file of STL-10: it has 5001 bytes"),
    ],
)
def test_bad_files_are_one_line_errors(name, content, message, tmp_path):
    for file, good in contents().items():
        (tmp_path / file).write_bytes(content if file == name else good)
    with pytest.raises(ag.InputError, match=message) as caught:
        stl10.stl10(tmp_path)
    assert "\n" not in str(caught.value)


def test_offline_without_data_the_error_explains_what_to_do(tmp_path):
    with pytest.raises(ag.InputError, match=r"Could not download stl10_binary.*--data DIR"):
        stl10.stl10(tmp_path)


def test_smaller_images_are_means_of_blocks():
    x = torch.tensor([[10, 20, 0, 0], [30, 40, 0, 4]], dtype=torch.uint8).expand(300, 3, 2, 4)
    small = stl10.downscale_images(x, 2)
    assert (
        small.shape == (300, 3, 1, 2)
        and small[299, 2].tolist() == [[25, 1]]
        and stl10.downscale_images(x, 1) is x
    )


@real("stl10.npz")
def test_the_real_images():
    found = stl10.stl10(SHARED)
    assert (
        found.x_train.shape == (1000, 3, 96, 96) and found.y_train.bincount().tolist() == [100] * 10
    )
    assert found.x_test.shape == (500, 3, 96, 96)
