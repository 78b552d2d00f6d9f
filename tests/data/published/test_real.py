"""Loaders of real datasets: on small files made here, and on the real ones where there are any."""

import gzip
import math
import os
import struct
from pathlib import Path

import numpy as np
import pytest
import torch

import augerino as ag
from augerino.data import open_dataset
from augerino.data.published import mario, mnist, olivetti

SHARED = Path(os.environ.get("AUGERINO_TEST_DATA", Path(__file__).parents[4] / "shared" / "data"))


def real(name):
    return pytest.mark.skipif(
        not (SHARED / name).is_file(),
        reason=f"{name} is not in {SHARED.name}: set AUGERINO_TEST_DATA",
    )


@pytest.fixture(autouse=True)
def _offline(tmp_path, monkeypatch):
    monkeypatch.setenv("AUGERINO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(
        "augerino.data.downloads._download", lambda *_: (_ for _ in ()).throw(OSError("offline"))
    )


DIGITS = np.random.default_rng(0).integers(0, 256, (6, 28, 28), dtype=np.uint8)
LABELS = np.array([0, 1, 2, 3, 4, 5], dtype=np.uint8)


def write_idx(path, array):
    header = struct.pack(">HBB", 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    path.write_bytes(gzip.compress(header + array.tobytes()))


class TestMnist:
    def test_npz_and_idx_give_the_same(self, tmp_path):
        (tmp_path / "a").mkdir()
        np.savez(
            tmp_path / "a" / "mnist.npz",
            x_train=DIGITS,
            y_train=LABELS,
            x_test=DIGITS[:2],
            y_test=LABELS[:2],
        )
        (tmp_path / "b").mkdir()
        parts = {
            "train-images-idx3": DIGITS,
            "train-labels-idx1": LABELS,
            "t10k-images-idx3": DIGITS[:2],
            "t10k-labels-idx1": LABELS[:2],
        }
        for name, array in parts.items():
            write_idx(tmp_path / "b" / f"{name}-ubyte.gz", array)
        a, b = mnist.mnist(tmp_path / "a"), mnist.mnist(tmp_path / "b")
        assert all(torch.equal(x, y) for x, y in zip(a, b, strict=True))
        assert (
            a.x_train.shape == (6, 1, 28, 28)
            and a.x_train.max() <= 1
            and a.y_train.tolist() == LABELS.tolist()
        )

    def test_every_image_is_turned_once_and_repeatably(self, tmp_path):
        np.savez(
            tmp_path / "mnist.npz",
            x_train=DIGITS,
            y_train=LABELS,
            x_test=DIGITS[:2],
            y_test=LABELS[:2],
        )
        a, b = (
            mnist.rotated_mnist(tmp_path, seed=1, train=4),
            mnist.rotated_mnist(tmp_path, seed=1, train=4),
        )
        assert a.x_train.shape == (4, 1, 28, 28) and torch.equal(a.x_train, b.x_train)
        assert not torch.equal(a.x_train, mnist.rotated_mnist(tmp_path, seed=2, train=4).x_train)
        _, angles = mnist.rotate_once(torch.rand(2000, 1, 4, 4), seed=0, extent=math.pi)
        assert angles.abs().max() <= math.pi and angles.abs().mean() == pytest.approx(
            math.pi / 2, rel=0.05
        )

    def test_the_canonical_files(self, tmp_path):
        assert mnist.canonical_rotated_mnist(tmp_path) is None
        image = DIGITS[0].astype(float) / 256
        for part in ("train_valid", "test"):
            row = " ".join(f"{v:.6f}" for v in image.T.flatten()) + " 7.0\n"
            (tmp_path / f"mnist_all_rotation_normalized_float_{part}.amat").write_text(row * 3)
        digits = mnist.canonical_rotated_mnist(tmp_path)
        assert digits.y_train.tolist() == [7, 7, 7]
        assert torch.allclose(digits.x_test[0, 0], torch.from_numpy(image).float(), atol=1e-5)

    def test_damaged_files_are_one_line_errors(self, tmp_path):
        (tmp_path / "mnist.npz").write_bytes(b"PK\x03\x04 rubbish")
        with pytest.raises(ag.InputError, match=r"not a readable \.npz archive"):
            mnist.mnist(tmp_path)
        np.savez(tmp_path / "mnist.npz", x_train=DIGITS)
        with pytest.raises(ag.InputError, match="has no array 'x_test'"):
            mnist.mnist(tmp_path)
        np.savez(
            tmp_path / "mnist.npz",
            x_train=DIGITS[:, :5],
            y_train=LABELS,
            x_test=DIGITS,
            y_test=LABELS,
        )
        with pytest.raises(
            ag.InputError,
            match=r"'x_train' .* should have shape \(any, 28, 28\), but has \(6, 5, 28\)",
        ):
            mnist.mnist(tmp_path)
        np.savez(
            tmp_path / "mnist.npz",
            x_train=np.array([object()]),
            y_train=LABELS,
            x_test=DIGITS,
            y_test=LABELS,
        )
        with pytest.raises(ag.InputError, match=r"not a readable \.npz archive"):
            mnist.mnist(tmp_path)
        (tmp_path / "x.amat").write_text("1 2 3\n")
        with pytest.raises(ag.InputError, match="3 numbers instead of 785"):
            mnist.read_amat(tmp_path / "x.amat")
        (tmp_path / "x.gz").write_bytes(gzip.compress(b"abc"))
        with pytest.raises(ag.InputError, match="not a readable IDX file"):
            mnist.read_idx(tmp_path / "x.gz")

    def test_offline_without_data_the_error_explains_what_to_do(self, tmp_path):
        with pytest.raises(ag.InputError, match=r"Could not download train-images.*--data DIR"):
            mnist.mnist(tmp_path)

    @real("mnist.npz")
    def test_the_real_digits(self):
        digits = mnist.mnist(SHARED)
        assert digits.x_train.shape == (
            60000,
            1,
            28,
            28,
        ) and digits.x_train.mean().item() == pytest.approx(0.1307, abs=1e-4)


class TestOlivetti:
    def test_the_papers_construction(self, tmp_path):
        images = np.random.default_rng(0).integers(0, 256, (400, 64, 64), dtype=np.uint8)
        np.savez(tmp_path / "olivetti.npz", images=images)
        faces = olivetti.rotated_olivetti(tmp_path, copies=2)
        assert faces.x_train.shape == (600, 1, 45, 45) and faces.x_test.shape == (200, 1, 45, 45)
        assert faces.angle_train.shape == (600, 1) and faces.angle_train.abs().max() <= math.pi / 2
        assert (faces.x_train >= 0).all() and (faces.x_train <= 1).all()

    def test_the_target_is_the_angle_the_face_was_turned_by(self, tmp_path):
        images = np.zeros((400, 64, 64), dtype=np.uint8)
        images[:, 8:32, 30:34] = 255  # a bar upwards from the centre
        np.savez(tmp_path / "olivetti.npz", images=images)
        faces = olivetti.rotated_olivetti(tmp_path, copies=1)
        side = torch.linspace(-1, 1, 45)
        x, y = (
            (faces.x_train[:, 0].sum(1) * side).sum(1),
            (faces.x_train[:, 0].sum(2) * side).sum(1),
        )
        assert torch.allclose(
            torch.atan2(x, -y), faces.angle_train[:, 0], atol=0.1
        )  # clockwise from twelve o'clock

    def test_no_person_is_in_both_parts(self, tmp_path):
        images = np.repeat((np.arange(400) // 10).astype(np.uint8), 64 * 64).reshape(400, 64, 64)
        np.savez(tmp_path / "olivetti.npz", images=images)
        faces = olivetti.rotated_olivetti(tmp_path, copies=1)
        seen = [
            set((255 * part[:, 0, 22, 22]).round().long().tolist())
            for part in (faces.x_train, faces.x_test)
        ]
        assert len(seen[0]) == 30 and len(seen[1]) == 10 and not seen[0] & seen[1]

    @real("olivetti.npz")
    def test_the_real_faces(self):
        faces = olivetti.olivetti(SHARED)
        assert faces.shape == (40, 10, 64, 64) and 0.3 < faces.mean().item() < 0.7


class TestMario:
    def test_absent_is_none(self, tmp_path):
        assert mario.mario_and_iggy(tmp_path) is None

    @real("mario_iggy.npz")
    def test_the_real_sprites(self):
        figures = mario.mario_and_iggy(SHARED)
        assert (
            figures.shape == (2, 3, 32, 32)
            and figures.dtype == torch.float32
            and figures[:, :, 0, 0].abs().max() == 0
        )


class TestOwnData:
    """The same files, opened as a user's own dataset."""

    @real("qm9_small.npz")
    def test_molecules(self):
        with pytest.raises(ag.InputError, match="--target, one of homo, lumo, gap"):
            open_dataset(SHARED / "qm9_small.npz")
        source = open_dataset(SHARED / "qm9_small.npz", target="homo")
        assert (source.kind, source.task, source.shape) == ("points", "regression", (29, 3))
        assert len(source.train[1]) == 16000 and len(source.test[1]) == 2000
        mask, charges = source.train[0]["mask"], source.train[0]["charges"]
        assert torch.equal(charges > 0, mask)

    @real("camvid_small.npz")
    def test_streets(self):
        source = open_dataset(SHARED / "camvid_small.npz", ignore=11)
        assert (
            source.task == "segmentation"
            and source.shape == (3, 120, 160)
            and len(source.class_names) == 11
        )
        assert set(source.train[1].unique().tolist()) == {*range(11), 255}

    @real("olivetti.npz")
    def test_faces(self):
        source = open_dataset(SHARED / "olivetti.npz")
        assert source.shape == (1, 64, 64) and len(source.class_names) == 40
        assert source.test[1].bincount().tolist() == [2] * 40
