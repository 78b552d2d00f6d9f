"""The default settings recover the true extents of synthetic signals and clouds (slow)."""

import pytest
import torch

import augerino as ag
from augerino.data.synthetic.clouds import clouds
from augerino.data.synthetic.signals import signals
from augerino.nets.points import SmallPointNet
from augerino.nets.signal import SmallSignalNet


def learned(data, net, transform, seed):
    start = ag.Recipe().start
    augmentation = ag.Augmentation(transform, ag.Uniform.named(transform.names, start=start))
    return ag.learn(net, (data.x, data.y), augmentation=augmentation, seed=seed).extent


@pytest.mark.slow
@pytest.mark.parametrize("seed", [100, 101])
def test_the_extent_of_time_shifts_is_found(seed):
    torch.manual_seed(seed)
    data = signals(2000, seed=seed)
    bounds = learned(data, SmallSignalNet(1, 4, width=8), ag.TimeShift(), seed)
    assert bounds["time_shift"] == pytest.approx(data.true["time_shift"], rel=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [100, 101])
def test_the_extent_of_a_rotation_in_space_is_found(seed):
    torch.manual_seed(seed)
    data = clouds(2000, seed=seed)
    bounds = learned(data, SmallPointNet(4), ag.Affine3d("rotate_z"), seed)
    assert bounds["rotate_z"] == pytest.approx(data.true["rotate_z"], rel=0.15)
