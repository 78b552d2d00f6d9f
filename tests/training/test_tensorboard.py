"""TensorBoard shows the values of the records."""

import sys

import pytest

import augerino as ag
from augerino.data.synthetic.sprites import sprites
from tests.conftest import need


@pytest.mark.extras
def test_every_record_becomes_points(tmp_path):
    need("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    data = sprites(64, seed=0)
    log = ag.tensorboard(tmp_path / "events")
    learned = ag.learn(
        None, (data.x, data.y), coordinates=("rotate", "scale"), epochs=3, on_epoch=log
    )
    events = EventAccumulator(str(tmp_path / "events")).Reload()
    for name in ("loss", "penalty", "total"):
        points = events.Scalars(name)
        assert [point.step for point in points] == [1, 2, 3]
        assert [point.value for point in points] == pytest.approx(learned.history.curve(name))
    assert [p.value for p in events.Scalars("extent/rotate")] == pytest.approx(
        learned.history.curve("rotate")
    )
    assert {"extent/scale", "learning rate"} <= set(events.Tags()["scalars"])


@pytest.mark.extras
def test_epochs_written_again_replace_their_points(tmp_path):
    need("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for count in (2, 3):  # interrupted after two epochs, and resumed
        log = ag.tensorboard(tmp_path)
        for epoch in range(1, count + 1):
            log(
                ag.Epoch(
                    epoch,
                    loss=float(count),
                    penalty=0.0,
                    total=1.0,
                    extent={"rotate": 0.1},
                    lr=0.1,
                    seconds=1.0,
                )
            )
    points = EventAccumulator(str(tmp_path)).Reload().Scalars("loss")
    assert [(point.step, point.value) for point in points] == [(1, 3.0), (2, 3.0), (3, 3.0)]


def test_a_missing_package_is_named_with_its_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(ag.InputError, match=r'pip install "augerino\[tensorboard\]"'):
        ag.tensorboard(tmp_path)
