"""Cells: sizes, seeds, and that choices never touch the test part."""

import math

import pytest
import torch

from augerino import tree
from augerino.augmentation import Augmentation
from augerino.benchmark.payoff import catalogue, image_cells
from augerino.benchmark.payoff.cell import choose
from augerino.benchmark.payoff.standard import flip_and_crop, shift_and_rotate
from augerino.benchmark.payoff.trained import make_net
from augerino.data.arrays import to_float
from augerino.errors import InputError
from tests.benchmark.payoff.made import write_files
from tests.data.published.test_real import SHARED, real

CELLS = {cell.name: cell for cell in catalogue.all_cells()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("data")
    write_files(path)
    return str(path)


@pytest.fixture(autouse=True)
def _offline(tmp_path, monkeypatch):
    monkeypatch.setenv("AUGERINO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("augerino.data.published.time_series._aeon_folders", list)


def rows(pair):
    """The bytes of each input."""
    x = pair[0]["positions"] if isinstance(pair[0], dict) else pair[0]
    return [item.numpy().tobytes() for item in x]


@pytest.mark.parametrize("seed", [0, 3, 100])
@pytest.mark.parametrize("name", [name for name in CELLS if "layer13" not in name])
def test_a_cell_has_disjoint_parts_that_its_network_takes(name, seed, folder):
    cell = CELLS[name]
    split = cell.load(seed, folder)
    assert not set(rows(split.train)) & set(rows(split.test))
    net = make_net(cell, split, seed).eval()
    x = tree.map(to_float, tree.take(split.train[0], torch.arange(2)))
    assert net(x).shape == (2, split.n_outputs)
    for made in (cell.standard, cell.oracle, cell.learned):
        if made is not None:
            augmentation = made()
            assert isinstance(augmentation, Augmentation)
            moved = augmentation(x)
            pairs = zip(tree.leaves(moved), tree.leaves(x), strict=True)
            assert all(after.shape == before.shape for after, before in pairs)


@pytest.mark.parametrize("name", ["mnist-300", "cifar10-1000", "stl10-3000", "olivetti", "osuleaf"])
def test_development_seeds_score_training_items_only(name, folder):
    cell = CELLS[name]
    final = cell.load(0, folder)
    other = cell.load(1, folder)
    chosen = cell.load(101, folder)
    assert rows(final.test) == rows(other.test)
    pool = set(rows(final.train))
    assert set(rows(chosen.train)) <= pool and set(rows(chosen.test)) <= pool


def test_molecules_for_choices_are_those_for_validation(folder):
    cell = CELLS["qm9-homo-t3"]
    final, chosen = cell.load(0, folder), cell.load(100, folder)
    assert not set(rows(final.test)) & set(rows(chosen.test))
    assert len(final.train[1]) == 2000 and set(rows(final.train)) != set(rows(chosen.train))


class TestChoice:
    pool = (torch.arange(30.0), torch.arange(30))
    test = (torch.arange(100.0, 110), torch.arange(10))

    def choose(self, seed, n_train=10, n_test=5):
        return choose(self.pool, self.test, seed=seed, n_train=n_train, n_test=n_test)

    def test_the_seed_chooses_the_training_items(self):
        assert not torch.equal(self.choose(0)[0][0], self.choose(1)[0][0])
        assert torch.equal(self.choose(0)[1][0], self.choose(1)[1][0])

    @pytest.mark.parametrize("seed", [0, 100])
    def test_a_larger_set_starts_with_a_smaller_one(self, seed):
        assert torch.equal(self.choose(seed, 15)[0][0][:10], self.choose(seed, 10)[0][0])

    def test_a_third_of_a_pool_that_is_used_up_is_left_for_choices(self):
        train, test = self.choose(100, n_train=30, n_test=100)
        assert len(train[1]) == 20 and len(test[1]) == 10
        assert set(train[1].tolist()) | set(test[1].tolist()) == set(range(30))


def test_missing_files_are_named(tmp_path):
    for name, file in {
        "mnist-300": "mnist.npz",
        "cifar10-1000": "cifar10.npz",
        "stl10-3000": "stl10_48.npz",
        "olivetti": "olivetti.npz",
        "qm9-homo-t3": "qm9_small.npz",
        "gunpoint": "GunPoint_TRAIN.ts",
    }.items():
        image_cells._mnist.cache_clear()
        with pytest.raises(InputError, match=f"{file}.*--data DIR"):
            CELLS[name].load(0, str(tmp_path))


def test_cells_are_found_by_name_and_prefix():
    def names(*words):
        return [cell.name for cell in catalogue.find(words)]

    assert names("cifar10-1000") == ["cifar10-1000"]
    assert names("cifar10") == ["cifar10-1000", "cifar10-5000", "cifar10-10000"]
    assert len(names("layer13")) == 10 and names("olivetti-layer13") == ["olivetti-layer13"]
    with pytest.raises(InputError, match=r"prefix 'imagenet'. There are: mnist-300"):
        names("imagenet")
    everything = [cell.name for cell in catalogue.all_cells()]
    assert len(set(everything)) == len(everything)


def test_a_crop_moves_by_every_whole_pixel_equally_often():
    torch.manual_seed(0)
    x = torch.zeros(9000, 1, 32, 32)
    x[:, :, 16, 15] = 1.0
    moved = flip_and_crop(32)(x)
    assert set(moved.unique().tolist()) == {0.0, 1.0}
    row = moved[:, 0].sum(2).argmax(1) - 16
    counts = torch.bincount(row + 4, minlength=9)
    assert len(counts) == 9 and counts.min() > 800 and counts.max() < 1200


def test_digits_are_not_mirrored():
    augmentation = shift_and_rotate()
    assert augmentation.extent["rotate"] == pytest.approx(math.radians(15))
    assert not any(name.startswith("flip") for name in augmentation.names)


@real("cifar10.npz")
def test_a_real_cell_has_its_size():
    split = CELLS["cifar10-5000"].load(0, str(SHARED))
    assert len(split.train[1]) == 5000 == len(split.test[1])
    assert split.train[1].unique().tolist() == list(range(10))
