"""The constants of a probe are validated, saved and used."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

import augerino as ag
from augerino.data.synthetic.sprites import sprites


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shell": 0.9}, "probe.shell must lie between 1.001 and 100, but got 0.9"),
        ({"shell": "wide"}, "probe.shell must be a number, but got 'wide'"),
        ({"shell": True}, "probe.shell must be a number, but got True"),
        ({"shell": float("nan")}, "probe.shell must lie between"),
        ({"rounds": 1.5}, "probe.rounds must be a whole number, but got 1.5"),
        ({"wait": 0.9}, "probe.wait must be below probe.stop, but got 0.9 and 0.8"),
        ({"unsolved_score": 0.95}, "probe.unsolved_score must be below probe.solved_score"),
        ({"shel": 1.5}, "probe has no 'shel': there are: shell, centre"),
    ],
)
def test_wrong_settings_are_rejected(changes, message):
    with pytest.raises(ag.InputError, match=message):
        ag.Recipe(probe=changes)


def test_anything_else_is_not_a_setting():
    with pytest.raises(ag.InputError, match=r"probe must be an ag\.ProbeSettings or a dict"):
        ag.Recipe(probe=1.5)


def test_numbers_of_numpy_become_python_numbers():
    settings = ag.ProbeSettings(shell=np.float32(1.5), rounds=np.int64(30))
    assert (type(settings.shell), type(settings.rounds)) == (float, int)


def test_a_recipe_survives_being_written_and_read():
    recipe = ag.Recipe(probe=ag.ProbeSettings(shell=1.5, rounds=30))
    assert (
        ag.Recipe(**dataclasses.asdict(recipe))
        == recipe
        == ag.Recipe(probe={"shell": 1.5, "rounds": 30})
    )
    assert recipe.to_flat()["probe.shell"] == 1.5 and "probe" not in recipe.to_flat()


def test_every_setting_reaches_the_probe_and_the_checkpoint(tmp_path):
    images = sprites(100)
    path = tmp_path / "checkpoint.safetensors"

    def learn(resume=False, **probe):
        return ag.learn(
            None,
            (images.x, images.y),
            coordinates="rotate",
            epochs=2,
            width=2,
            checkpoint=path,
            resume=resume,
            probe=probe,
        )

    learn(rounds=30)
    with pytest.raises(
        ag.InputError, match=r"made with probe\.rounds=30, but is resumed with probe\.rounds=40"
    ):
        learn(resume=True, rounds=40)


def test_settings_are_there_without_torch():
    code = "import sys, augerino.learning.probe_settings; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
