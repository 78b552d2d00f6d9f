"""CamVid from folders and from one file, rotated; invalid files are rejected."""

import math

import numpy as np
import pytest
import torch
from PIL import Image

import augerino as ag
from augerino.data.arrays import IGNORE
from augerino.data.published.camvid import CLASSES, PARTS, camvid, downscale_scenes, rotated
from augerino.learning.defaults import masked_nll
from tests.data.published.test_real import SHARED, real

COUNTS = {"train": 3, "val": 1, "test": 2}


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("AUGERINO_CACHE", str(tmp_path / "cache"))


def scenes(height=6, width=8):
    rng = np.random.default_rng(0)
    return {
        part: (
            rng.integers(0, 256, (n, height, width, 3), dtype=np.uint8),
            rng.integers(0, 12, (n, height, width), dtype=np.uint8),
        )
        for part, n in COUNTS.items()
    }


def write_folder(root, made):
    for part, (x, y) in made.items():
        for folder, arrays in ((part, x), (f"{part}annot", y)):
            (root / folder).mkdir(parents=True, exist_ok=True)
            for i, array in enumerate(arrays):
                Image.fromarray(array).save(root / folder / f"{i}.png")
    return root


def write_small(root, made, **changes):
    arrays = {
        f"{key}_{part}": array for part in made for key, array in zip("xy", made[part], strict=True)
    }
    np.savez(root / "camvid_small.npz", **{**arrays, **changes})
    return root


def test_folders_and_file_give_the_same(tmp_path):
    made = scenes()
    found = [camvid(write_small(tmp_path, made)), camvid(write_folder(tmp_path / "CamVid", made))]
    found.append(camvid(tmp_path))  # which now holds both
    for a, b, c in zip(*found, strict=True):
        assert torch.equal(a, b) and torch.equal(a, c) and a.dtype == torch.uint8
    for part, x, y in zip(PARTS, found[0][::2], found[0][1::2], strict=True):
        assert x.shape == (COUNTS[part], 3, 6, 8) and y.shape == (COUNTS[part], 6, 8)
        assert np.array_equal(x.permute(0, 2, 3, 1).numpy(), made[part][0])
        assert np.array_equal(y.numpy() == IGNORE, made[part][1] == 11) and not (y == 11).any()


def _drop_folder(root):
    for path in (root / "valannot").iterdir():
        path.unlink()
    (root / "valannot").rmdir()


def _cut(path):
    path.write_bytes(path.read_bytes()[:60])


def _fill(path, value, *shape):
    Image.fromarray(np.full(shape, value, np.uint8)).save(path)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_drop_folder, "lacks the folder valannot: it should have train, trainannot, val"),
        (
            lambda root: _fill(root / "trainannot" / "1.png", 0, 5, 8),
            "trainannot/1.png has 5×8 and train/1.png 6×8",
        ),
        (
            lambda root: _fill(root / "testannot" / "0.png", 12, 6, 8),
            "0 to 10, and 11 for void, but testannot/0.png",
        ),
        (
            lambda root: _fill(root / "train" / "2.png", 0, 6, 9, 3),
            "train/2.png has 6×9 pixels and not 6×8",
        ),
        (lambda root: _cut(root / "train" / "1.png"), "train/1.png is not a readable image"),
        (lambda root: _cut(root / "valannot" / "0.png"), "valannot/0.png is not a readable image"),
        (lambda root: (root / "trainannot" / "0.png").unlink(), "these have none: 0.png"),
        (lambda root: [path.unlink() for path in (root / "test").iterdir()], "there are no images"),
    ],
)  # fmt: skip
def test_a_damaged_release_is_a_one_line_error(tmp_path, spoil, message):
    root = write_folder(tmp_path, scenes())
    spoil(root)
    with pytest.raises(ag.InputError) as error:
        camvid(root)
    assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y_val": np.zeros((1, 6, 7), np.uint8)}, "size of their images"),
        ({"y_test": np.full((2, 6, 8), 200, np.uint8)}, "11 for void, but y_test in"),
        ({"y_test": np.zeros((2, 6, 8), np.float32)}, "11 for void, but y_test in"),
        ({"x_train": np.zeros((3, 6, 8, 3), np.float32)}, "images as bytes"),
        ({"x_train": np.zeros((3, 6, 8), np.uint8)}, "should have shape (any, any, any, 3)"),
    ],
)
def test_a_damaged_file_is_a_one_line_error(tmp_path, changes, message):
    with pytest.raises(ag.InputError) as error:
        camvid(write_small(tmp_path, scenes(), **changes))
    assert message in str(error.value) and "\n" not in str(error.value)


def test_truncated_and_missing_files_are_reported(tmp_path):
    with pytest.raises(ag.InputError, match=r"CamVid was not found in .*--data DIR"):
        camvid(tmp_path)
    with pytest.raises(ag.InputError, match=r"CamVid was not found: .*--data DIR"):
        camvid()
    path = write_small(tmp_path, scenes()) / "camvid_small.npz"
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ag.InputError, match=r"not a readable \.npz archive"):
        camvid(tmp_path)


def disc(size=41, radius=19.0):
    """True where a pixel lies well inside the disc that any turn keeps in the frame."""
    at = torch.arange(size) - (size - 1) / 2
    return at[:, None].square() + at.square() < radius**2


class TestRotated:
    def test_image_and_labels_turn_together(self):
        """Labels that can be read from an image can be read after a rotation, away from edges."""
        at = torch.arange(41)
        labels = ((at[:, None] // 14) * 3 + at // 14).to(torch.uint8).expand(20, -1, -1)
        images = (labels * 25).unsqueeze(1)
        x, y = rotated(images, labels, seed=3)
        far = torch.nn.functional.max_pool2d(
            y[:, None].float(), 5, 1, 2
        ) == -torch.nn.functional.max_pool2d(-y[:, None].float(), 5, 1, 2)
        inside = far & (y != IGNORE)[:, None]
        assert inside.float().mean() > 0.2 and torch.equal(x[inside], (y[:, None] * 25)[inside])
        assert torch.equal(
            y[:, disc()] == IGNORE, torch.zeros(20, int(disc().sum()), dtype=torch.bool)
        )

    def test_exactly_the_pixels_from_outside_are_black_and_ignored(self):
        x, y = rotated(
            torch.full((50, 3, 12, 20), 255, dtype=torch.uint8),
            torch.zeros(50, 12, 20, dtype=torch.uint8),
        )
        assert ((x == 0).all(dim=1) == (y == IGNORE)).all() and (
            (x == 255).all(dim=1) == (y == 0)
        ).all()
        assert 0.1 < (y == IGNORE).float().mean() < 0.6

    def test_void_stays_ignored_and_the_angles_are_the_seeds(self):
        images, masks = (
            torch.randint(256, (5, 3, 9, 9), dtype=torch.uint8),
            torch.full((5, 9, 9), IGNORE, dtype=torch.uint8),
        )
        assert (rotated(images, masks)[1] == IGNORE).all()
        assert torch.equal(rotated(images, masks, seed=1)[0], rotated(images, masks, seed=1)[0])
        assert not torch.equal(rotated(images, masks, seed=1)[0], rotated(images, masks, seed=2)[0])

    def test_angles_fill_the_circle(self):
        images = torch.zeros(400, 1, 21, 21, dtype=torch.uint8)
        images[:, :, 2:10, 9:12] = 255  # a bar upwards from the centre
        x = rotated(images, torch.zeros(400, 21, 21, dtype=torch.uint8))[0].float()[:, 0]
        side = torch.linspace(-1, 1, 21)
        angle = torch.atan2((x.sum(1) * side).sum(1), -(x.sum(2) * side).sum(1))
        assert (torch.histc(angle, 8, -math.pi, math.pi) > 25).all()

    def test_different_sizes_are_reported(self):
        with pytest.raises(ag.InputError, match="size of their images"):
            rotated(
                torch.zeros(2, 3, 5, 5, dtype=torch.uint8), torch.zeros(2, 5, 6, dtype=torch.uint8)
            )


def test_a_batch_of_ignored_pixels_has_a_finite_loss_and_gradient():
    images, masks = (
        torch.randint(256, (2, 3, 9, 9), dtype=torch.uint8),
        torch.full((2, 9, 9), IGNORE, dtype=torch.uint8),
    )
    x, y = rotated(images, masks)
    net = torch.nn.Conv2d(3, len(CLASSES), 1)
    loss = masked_nll(net(x.float() / 255).log_softmax(1), y.long())
    loss.backward()
    assert loss.item() == 0 and all(p.grad.isfinite().all() for p in net.parameters())


def test_reducing_takes_the_mean_of_a_block_and_the_label_in_its_middle():
    images, masks = (
        torch.arange(72, dtype=torch.uint8).reshape(1, 1, 6, 12),
        torch.arange(72, dtype=torch.uint8).reshape(1, 6, 12),
    )
    x, y = downscale_scenes(images, masks, 3)
    assert (
        x.shape == (1, 1, 2, 4) and torch.equal(x[:, 0], y) and y[0, 0].tolist() == [13, 16, 19, 22]
    )
    x, y = downscale_scenes(images[..., :5, :], masks[:, :5], 2)
    assert x.shape == (1, 1, 2, 6) and y.shape == (1, 2, 6)


@real("camvid_small.npz")
def test_the_real_scenes():
    streets = camvid(SHARED)
    assert [tuple(part.shape) for part in streets[::2]] == [
        (n, 3, 120, 160) for n in (367, 101, 233)
    ]
    counts = streets.y_train.flatten().long().bincount(minlength=256)
    assert (
        counts[: len(CLASSES)].min() > 0
        and counts[11:IGNORE].sum() == 0
        and 0.03 < counts[IGNORE] / counts.sum() < 0.05
    )
