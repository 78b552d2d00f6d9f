"""`ag.benchmark.payoff`: a user's method and data against the suite."""

import pytest
import torch

import augerino as ag
from augerino.benchmark.payoff import Contestant, cell_of
from augerino.errors import InputError
from tests.benchmark.payoff.made import tiny_cell
from tests.benchmark.payoff.test_contestants import Bright


def bright(make_net, data, seed):
    return Bright()


def test_a_method_is_ranked_against_others_on_own_cells():
    cells = [tiny_cell("a"), tiny_cell("b")]
    board = ag.benchmark.payoff(bright, cells, against=("none",), seeds=[0, 4])
    first = board.ranks[0]
    assert first.contestant == "bright" and first.points == 0 and len(first.entries) == 2
    assert {entry.n_seeds for entry in board.entries} == {2}
    assert all(entry.over_none is not None for entry in board.entries)
    assert isinstance(board, ag.benchmark.Leaderboard)


def test_embedded_cells_are_the_default():
    board = ag.benchmark.payoff(ag.Recipe(method="gradient"), against=(), seeds=1, steps=1)
    assert {entry.cell for entry in board.entries} == {"sprites-120", "signals-120", "clouds-120"}
    assert [rank.contestant for rank in board.ranks] == ["recipe"]


def dataset(kind="images", task="classification", test=True):
    x = torch.rand(40, 3, 8, 8) if kind == "images" else torch.rand(40, 2, 30)
    part = (x, torch.arange(40) % 2)
    return ag.data.Dataset(
        name="own",
        kind=kind,
        task=task,
        train=part,
        test=part if test else None,
        class_names=("0", "1"),
        n_outputs=2,
        shape=tuple(x.shape[1:]),
    )


@pytest.mark.parametrize("kind", ["images", "signals"])
def test_own_data_become_a_cell(kind):
    board = ag.benchmark.payoff(
        lambda make_net, data, seed: make_net(), [dataset(kind)], seeds=1, steps=1
    )
    assert {entry.contestant for entry in board.of("own")} == {"none", "standard", "<lambda>"}


def test_own_digits_are_not_mirrored():
    cell = cell_of(dataset(), kind="digits")
    assert "flip_horizontal" not in cell.standard().names


def test_what_cannot_be_run_is_rejected():
    with pytest.raises(InputError, match="data in memory with a test part"):
        ag.benchmark.payoff(bright, [dataset(test=False)])
    with pytest.raises(InputError, match="but the data are images for regression"):
        ag.benchmark.payoff(bright, [dataset(task="regression")])
    with pytest.raises(InputError, match="cells of distinct names"):
        ag.benchmark.payoff(bright, [tiny_cell("a"), tiny_cell("a")])
    with pytest.raises(InputError, match="Two contestants have the name 'none'"):
        ag.benchmark.payoff(Contestant("none", lambda *_: Bright()), [tiny_cell()])
