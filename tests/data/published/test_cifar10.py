"""CIFAR-10 in every published form, on small files made here, and the real subset if present."""

import io
import pickle
import tarfile

import numpy as np
import pytest
import torch

import augerino as ag
from augerino.data.published import cifar10
from tests.data.published.test_real import SHARED, real

IMAGES = np.random.default_rng(0).integers(0, 256, (12, 3, 32, 32), dtype=np.uint8)
LABELS = np.arange(12) % 10
NAMES = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]


@pytest.fixture(autouse=True)
def _offline(tmp_path, monkeypatch):
    monkeypatch.setenv("AUGERINO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(
        "augerino.data.downloads._download", lambda *_: (_ for _ in ()).throw(OSError("offline"))
    )


def files(ending):
    """Two images a file, as the binary or the Python version has them."""
    found = {}
    for i, name in enumerate(NAMES):
        rows, numbers = IMAGES[2 * i : 2 * i + 2].reshape(2, -1), LABELS[2 * i : 2 * i + 2]
        if ending:
            found[name + ending] = b"".join(
                bytes([n]) + row.tobytes() for n, row in zip(numbers, rows, strict=True)
            )
        else:
            found[name] = pickle.dumps({"data": rows, "labels": numbers.tolist()}, 4)
    return found


def write_tar(path, contents, below):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in contents.items():
            info = tarfile.TarInfo(f"{below}/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def write(folder, form):
    if form == "npz":
        x = IMAGES.transpose(0, 2, 3, 1)
        np.savez(
            folder / "cifar10.npz",
            x_train=x[:10],
            y_train=LABELS[:10],
            x_test=x[10:],
            y_test=LABELS[10:],
        )
        return
    version, packing = form.split()
    ending, below = (
        (".bin", "cifar-10-batches-bin") if version == "binary" else ("", "cifar-10-batches-py")
    )
    contents = {**files(ending), "readme.html": b"hello"}
    if packing == "archive":
        write_tar(folder / f"cifar-10-{version}.tar.gz", contents, below)
        return
    root = folder / below if packing == "folder" else folder
    root.mkdir(exist_ok=True)
    for name, content in contents.items():
        (root / name).write_bytes(content)


@pytest.mark.parametrize(
    "form",
    ["npz", *(f"{v} {p}" for v in ("binary", "python") for p in ("archive", "folder", "files"))],
)
def test_every_form_gives_the_same(form, tmp_path):
    write(tmp_path, form)
    found = cifar10.cifar10(tmp_path)
    assert torch.equal(torch.cat([found.x_train, found.x_test]), torch.from_numpy(IMAGES))
    assert (
        found.y_train.tolist() == LABELS[:10].tolist()
        and found.y_test.tolist() == LABELS[10:].tolist()
    )
    assert found.x_train.dtype == torch.uint8 and found.y_train.dtype == torch.int64


def test_a_subset_is_another_for_every_seed_and_the_same_for_one(tmp_path):
    write(tmp_path, "npz")
    whole = cifar10.cifar10(tmp_path)
    a, b, c = whole.subset(5, 1, 0), whole.subset(5, 1, 0), whole.subset(5, 1, 1)
    assert (
        torch.equal(a.x_train, b.x_train)
        and not torch.equal(a.x_train, c.x_train)
        and len(a.y_test) == 1
    )
    with pytest.raises(
        ag.InputError, match="There are 10 images to train on, but 11 were requested"
    ):
        whole.subset(11, None, 0)


class TestBadFiles:
    def assert_rejected(self, folder, message):
        with pytest.raises(ag.InputError, match=message) as caught:
            cifar10.cifar10(folder)
        assert "\n" not in str(caught.value)

    def test_a_malicious_batch_is_not_executed(self, tmp_path):
        class Evil:
            def __reduce__(self):
                return (exec, (f"open({str(tmp_path / 'executed')!r}, 'w')",))

        write(tmp_path, "python folder")
        (tmp_path / "cifar-10-batches-py" / "data_batch_3").write_bytes(
            pickle.dumps({"data": Evil()})
        )
        self.assert_rejected(
            tmp_path,
            "data_batch_3 of CIFAR-10 is not a pickle of byte arrays: it imports builtins.exec",
        )
        assert not (tmp_path / "executed").exists()

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "test_batch of CIFAR-10 should have 3073 bytes per image, but has 0 in all"),
            (b"a" * 3074, "3073 bytes per image, but has 3074"),
            (
                b"\x0a" * 3073,
                "a label of 0 to 9 for each of 1 images, "
                "but test_batch of CIFAR-10 holds 1 of 10 to 10",
            ),
        ],
    )
    def test_the_binary_version(self, content, message, tmp_path):
        write(tmp_path, "binary files")
        (tmp_path / "test_batch.bin").write_bytes(content)
        self.assert_rejected(tmp_path, message)

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            ({}, "should hold data of 3072 bytes per image, but does not"),
            (
                {"data": np.zeros((2, 3), np.uint8), "labels": [1, 2]},
                "should hold data of 3072 bytes per image, but does not",
            ),
            ({"data": np.zeros((2, 3072), np.uint8)}, "should hold a list of labels, but does not"),
            (
                {"data": np.zeros((2, 3072), np.uint8), "labels": [1, 10**30]},
                "should hold a list of labels, but does not",
            ),
            (
                {"data": np.zeros((2, 3072), np.uint8), "labels": [1]},
                "for each of 2 images, but .* holds 1 of 1 to 1",
            ),
            ({"data": np.zeros((2, 3072), np.uint8), "labels": [1, -1]}, "holds 2 of -1 to 1"),
        ],
    )
    def test_the_python_version(self, value, message, tmp_path):
        write(tmp_path, "python files")
        (tmp_path / "data_batch_1").write_bytes(pickle.dumps(value, 4))
        self.assert_rejected(tmp_path, message)

    def test_a_file_that_is_missing_or_an_archive_that_is_cut(self, tmp_path):
        write(tmp_path, "binary folder")
        (tmp_path / "cifar-10-batches-bin" / "data_batch_4.bin").unlink()
        self.assert_rejected(tmp_path, r"data_batch_4\.bin cannot be read: No such file")
        for folder in ("cut", "less"):
            (tmp_path / folder).mkdir()
        write(tmp_path / "cut", "binary archive")
        path = tmp_path / "cut" / "cifar-10-binary.tar.gz"
        path.write_bytes(path.read_bytes()[:20000])
        self.assert_rejected(tmp_path / "cut", r"is not a complete archive: .*download it again")
        write_tar(tmp_path / "less" / "cifar-10-binary.tar.gz", {"data_batch_1.bin": b"a"}, "x")
        self.assert_rejected(tmp_path / "less", r"lacks data_batch_2\.bin")

    def test_arrays_of_another_kind(self, tmp_path):
        x = IMAGES.transpose(0, 2, 3, 1)
        np.savez(tmp_path / "cifar10.npz", x_train=x / 255, y_train=LABELS, x_test=x, y_test=LABELS)
        self.assert_rejected(
            tmp_path, "'x_train' .* should hold images as bytes, but is .* of float64"
        )
        np.savez(tmp_path / "cifar10.npz", x_train=x, y_train=LABELS / 2, x_test=x, y_test=LABELS)
        self.assert_rejected(tmp_path, "y_train in .* holds 12 of float64")

    def test_offline_without_data_the_error_explains_what_to_do(self, tmp_path):
        self.assert_rejected(tmp_path, r"Could not download cifar-10-binary.*--data DIR")


@real("cifar10.npz")
def test_the_real_images():
    found = cifar10.cifar10(SHARED)
    assert (
        found.x_train.shape == (10000, 3, 32, 32)
        and found.y_train.bincount().tolist() == [1000] * 10
    )
    x = found.x_train[:5000].float() / 255
    assert x.mean(dim=(0, 2, 3)).tolist() == pytest.approx(cifar10.MEAN, abs=0.01)
    assert x.std(dim=(0, 2, 3)).tolist() == pytest.approx(cifar10.STD, abs=0.01)
