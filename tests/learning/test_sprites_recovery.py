"""The default recipe recovers the true extent of the sprites, as the command runs it (slow)."""

import math

import pytest

import augerino as ag
from augerino.data.synthetic.sprites import sprites


@pytest.mark.slow
@pytest.mark.parametrize("seed", [100, 101])
def test_the_default_recipe_finds_the_true_extent(seed):
    data = sprites(2000, seed=2 * seed)
    learned = ag.learn(None, (data.x, data.y), seed=seed)
    assert len(set(learned.start.values())) == 1  # the start does not favour a coordinate
    assert learned.extent["rotate"] == pytest.approx(math.pi / 4, rel=0.1)
