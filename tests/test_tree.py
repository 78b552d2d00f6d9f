"""Structured batches."""

from typing import NamedTuple

import pytest
import torch

import augerino as ag
from augerino import tree


class Pair(NamedTuple):
    a: torch.Tensor
    b: object


def test_map_keeps_the_structure():
    batch = {
        "x": torch.ones(2),
        "rest": [torch.ones(2, 3), (torch.ones(2), "name")],
        "pair": Pair(torch.ones(2), None),
    }
    doubled = tree.map(lambda leaf: 2 * leaf, batch)
    assert doubled["rest"][1][1] == "name" and isinstance(doubled["rest"][1], tuple)
    assert isinstance(doubled["pair"], Pair) and doubled["pair"].b is None
    assert all((leaf == 2).all() for leaf in tree.leaves(doubled))


def test_repeat_stacks_copy_after_copy():
    assert tree.repeat({"x": torch.arange(3)}, 2)["x"].tolist() == [0, 1, 2, 0, 1, 2]


def test_batch_size_is_common_or_rejected():
    assert tree.batch_size((torch.ones(4, 2), {"y": torch.ones(4)})) == 4
    for bad in ((torch.ones(4), torch.ones(3)), "text", torch.tensor(1.0)):
        with pytest.raises(ag.InputError, match="must share their first dimension"):
            tree.batch_size(bad)


def test_to_and_take_act_on_every_tensor():
    batch = {"x": torch.arange(4), "rest": (torch.arange(4) * 2, "name")}
    chosen = tree.take(batch, torch.tensor([2, 0]))
    assert chosen["x"].tolist() == [2, 0] and chosen["rest"][0].tolist() == [4, 0]
    assert tree.take(batch, slice(1))["x"].tolist() == [0] and chosen["rest"][1] == "name"
    assert all(leaf.device.type == "meta" for leaf in tree.leaves(tree.to(batch, "meta")))
