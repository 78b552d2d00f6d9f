"""The experiment flatness: which loss is curved, and the conclusions from its numbers."""

import sys

import pytest
import torch
import torch.nn.functional as F

import augerino as ag
from augerino.app import catalogue
from augerino.data.published.image_split import ImageSplit
from augerino.paper.experiments import flatness
from augerino.paper.experiments.cifar10 import make_augmentation
from augerino.paper.experiments.recognition import make_net, train_row

SETTINGS = flatness.Flatness(
    net="small",
    width=2,
    epochs=1,
    n_train_measured=6,
    n_test_measured=4,
    copies=3,
    z=10.0,
    reg_weights=(0.01, 0.1),
    seeds=2,
)


@pytest.fixture(scope="module")
def pictures():
    generator = torch.Generator().manual_seed(0)
    x, y = (
        torch.randint(0, 256, (30, 3, 8, 8), dtype=torch.uint8, generator=generator),
        torch.arange(30) % 10,
    )
    return ImageSplit(x, y, x[:10], y[:10])


def trained(row, pictures):
    net = make_net(SETTINGS, (0.5,) * 3, (0.25,) * 3)
    return train_row(
        SETTINGS,
        row,
        0,
        pictures.x_train,
        pictures.y_train,
        net=net,
        augmentation=make_augmentation(row),
    )


def test_the_papers_settings_are_the_papers():
    paper = catalogue.find("flatness").presets["paper"]
    assert (paper.net, paper.width, paper.epochs, paper.n_train, paper.n_train_measured) == (
        "layer13",
        128,
        200,
        50_000,
        50_000,
    )
    assert (paper.seeds, paper.n_eigenvalues) == (10, 50)
    assert catalogue.find("flatness").presets["cpu"].seeds >= 5


def test_rows_are_one_without_and_every_weight_and_the_probe():
    rows = flatness.rows(SETTINGS)
    assert [(row.kind, row.method, row.reg_weight) for row in rows] == [
        ("none", "gradient", 0.0),
        ("learned", "gradient", 0.01),
        ("learned", "gradient", 0.1),
        ("learned", "probe", 0.0),
    ]


def test_the_drawn_surface_is_the_released_one_and_more_draws_are_their_mean(pictures):
    """The released code transforms each training image once and takes the network's loss."""
    learned = trained(flatness.rows(SETTINGS)[1], pictures)
    surfaces = flatness.make_surfaces(SETTINGS, learned, pictures, seed=5)
    assert set(surfaces) == {*flatness.SURFACES, "test"} and len(surfaces["test"].y) == 4
    x, y, net = pictures.x_train[:6].float() / 255, pictures.y_train[:6], learned.model.net

    def loss(copies):
        torch.manual_seed(5)
        moved = learned.augmentation.sample(6 * copies)(x.repeat(copies, 1, 1, 1))
        return F.cross_entropy(net(moved), y.repeat(copies)).item()

    with torch.no_grad():
        assert surfaces["still"].mean() == pytest.approx(
            F.cross_entropy(net(x), y).item(), abs=1e-5
        )
        assert surfaces["drawn"].mean() == pytest.approx(loss(1), abs=1e-5)
        assert surfaces["averaged"].mean() == pytest.approx(loss(3), abs=1e-5)
    assert all(surface.size == surfaces["still"].size for surface in surfaces.values())


def test_where_nothing_is_drawn_there_is_one_surface(pictures):
    surfaces = flatness.make_surfaces(
        SETTINGS, trained(flatness.rows(SETTINGS)[0], pictures), pictures, seed=0
    )
    assert set(surfaces) == {"still", "test"}


def made(row, seed, top, slope):
    """A trial whose largest eigenvalue and whose rise along rays are given."""
    ray = [0.5, 0.5 + slope, 0.5 + 2 * slope]
    rays = {"lengths": [0.0, 1.0, 2.0], "train_loss": [ray, ray], "test_error": [ray, ray]}
    return {
        "row": row.name,
        "seed": seed,
        "accuracy": {"4": 0.5 + 0.01 * seed},
        "bounds": {} if row.kind == "none" else {"rotate": 0.1},
        "unfinished": [],
        "train_loss": dict.fromkeys(flatness.SURFACES, 0.3),
        "eigenvalues": {key: [top + 0.1 * seed, 1.0] for key in flatness.SURFACES},
        "rays": dict.fromkeys(flatness.RAYS, rays),
    }


def test_the_table_gives_the_sign_of_each_difference_from_none():
    """Less curvature is flatter, more is sharper, and an uncertain difference is undecided."""
    without, flatter, sharper, alike = flatness.rows(SETTINGS)
    tops = {
        without.name: (50, 50),
        flatter.name: (5, 5),
        sharper.name: (500, 500),
        alike.name: (40, 60),
    }
    trials = [
        made(row, seed, tops[row.name][seed], 0.01 * tops[row.name][seed])
        for row in (without, flatter, sharper, alike)
        for seed in (0, 1)
    ]
    lines = {line.row: line for line in flatness.table(SETTINGS, trials)}
    for row, word in ((flatter, "flatter"), (sharper, "sharper"), (alike, "undecided")):
        bent, walked = (
            lines[f"{row.name}: N_eff minus baseline"],
            lines[f"{row.name}: rise along rays minus baseline"],
        )
        assert bent.measured.count(f"({word})") == 3 and walked.measured.count(f"({word})") == 4
        assert "flatter" in bent.paper
    assert (
        "the smallest adds at most 0.09" in lines["no augmentation: effective dimension"].measured
    )  # 1 / (1 + 10)
    assert not any(
        line.row.startswith("no augmentation:") and "baseline" in line.row
        for line in lines.values()
    )


def test_one_seed_gives_no_verdict():
    assert flatness.difference([-3.0]) == "-3 (one seed: no verdict)"
    assert flatness.difference([-3.0, -3.1, -2.9]).endswith("(flatter)")
    assert flatness.difference([-3.0, 3.0]).endswith("(undecided)")


def test_a_rise_is_counted_from_the_solution():
    trial = {"rays": {"plain": {"train_loss": [[0.2, 0.3, 0.5], [0.2, 0.2, 0.2]]}}}
    assert flatness.rise(trial, "plain", "train_loss") == pytest.approx(0.1)


def test_a_missing_scipy_is_reported_before_data_are_read(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.sparse.linalg", None)
    with pytest.raises(
        ag.InputError, match=r'This experiment needs scipy: pip install "augerino\[flatness\]"'
    ):
        flatness.load(SETTINGS, 0, "nowhere")
