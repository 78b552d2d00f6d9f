"""The files that augerino writes, for `benchmarks.fuzz_readers`: valid ones, readers and damage."""

import copy
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

import augerino as ag
from augerino.app import experiment, learn
from augerino.app.options import LearnOptions
from augerino.app.run_folder import RunFolder
from augerino.learning.probe import Probe
from augerino.nets.small import SmallCNN
from augerino.training.state import TrainingState

# Values that replace others.
ODD = [
    *(None, True, False, 0, 1, -1, 2, 0.5, 1.0, -0.0, 1e308, 1e-320, 10**12, 10**400),
    *(float("nan"), float("inf")),
    *("", "x", "rotate", "Uniform", "__class__", "../../x", "\x00"),
    *([], [[]], {}, {"kind": "Uniform"}, {"tensor": "t0"}, {"list": [1]}, [0.5] * 3),
]


class Good(NamedTuple):
    """A valid file, its reader, and a function that damages its content."""

    path: Path
    file: Path
    read: Callable[[Path], None]
    harm: Callable[[bytes, np.random.Generator], bytes]


def make_good(root: Path) -> dict[str, Good]:
    """Writes a policy, a checkpoint, a saved model and the configurations of two runs."""
    root.mkdir()
    parts = [
        ag.Augmentation(ag.Affine2d("rotate", "scale"), ag.Uniform([0.3, 0.2])),
        ag.Augmentation(ag.Flip("horizontal"), ag.Bernoulli([0.3])),
        ag.Augmentation(ag.Brightness(), ag.Gaussian([0.0], [0.1])),
    ]
    ag.Policy.of(ag.Chain(*parts)).save(root / "policy.json")
    train(root / "checkpoint.safetensors", epochs=1, resume=False)
    ag.save_pretrained(ag.InvariantModel(SmallCNN(1, 2, 2), parts[0]), root / "model")
    (root / "run").mkdir()
    recipe, settings = learn._settings(LearnOptions())
    (root / "run" / "config.json").write_text(
        json.dumps({"recipe": dataclasses.asdict(recipe), "settings": settings, "fingerprint": "0"})
    )
    (root / "trials").mkdir()
    values = experiment.settings_json(experiment.catalogue.find("mario").presets["quick"])
    config = {
        "experiment": "mario",
        "preset": "quick",
        "changed": {},
        "settings": values,
        "data": None,
    }
    (root / "trials" / "config.json").write_text(json.dumps(config))
    names = ("policy.json", "checkpoint.safetensors", "model", "run", "trials")
    policy, checkpoint, model, run, trials = (root / name for name in names)
    return {
        "policy": Good(policy, policy, read_policy, harm_json),
        "checkpoint": Good(
            checkpoint,
            checkpoint,
            lambda path: train(path, epochs=2, resume=True),
            harm_safetensors,
        ),
        "saved model": Good(model, model / "config.json", ag.from_pretrained, harm_json),
        "run configuration": Good(run, run / "config.json", read_run, harm_json),
        "experiment": Good(trials, trials / "config.json", read_trials, harm_json),
    }


def read_policy(path: Path) -> None:
    augmentation = ag.Policy.load(path).augmentation()
    augmentation.describe()


def read_run(path: Path) -> None:
    learn._reopen(LearnOptions(resume=str(path)), ["learn", "--resume", str(path)])


def read_trials(path: Path) -> None:
    found, settings, _ = experiment.read_settings(RunFolder.open(path))
    found.rows(settings)


def train(path: Path, *, epochs: int, resume: bool) -> None:
    """A minimal training with everything that a checkpoint can hold.

    With `resume` it loads the checkpoint and trains for one epoch, so that the state is used.
    """
    torch.manual_seed(0)
    augmentation = ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([0.3]))
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 2))
    model = ag.InvariantModel(net, augmentation, average=ag.mean_log_prob)
    x = torch.rand(8, 1, 4, 4)
    y = torch.arange(8) % 2
    probe = Probe(model, x, y, steps=4)
    optimizer = torch.optim.Adam(ag.param_groups(model), lr=0.01)
    scheduler = ag.training.cosine_schedule(optimizer, 4)
    loader = ag.data.Batches(x, y, 4, generator=torch.Generator().manual_seed(1))
    objective = ag.Objective(F.nll_loss, augmentation)
    options: dict[str, Any] = {
        "scheduler": scheduler,
        "tuner": probe,
        "settings": {"seed": 0},
    }
    if resume:  # without writing: the damaged file must stay as it is
        state = TrainingState(
            model,
            optimizer,
            scheduler=scheduler,
            loader=loader,
            settings={"seed": 0},
            tuner=probe,
        )
        state.load(path)
        ag.fit(model, objective, loader, optimizer, epochs=1, **options)
    else:
        ag.fit(model, objective, loader, optimizer, epochs=epochs, checkpoint=path, **options)


def harm_json(data: bytes, random: np.random.Generator) -> bytes:
    """Replaces, removes, adds or moves values somewhere in a JSON file."""
    return json.dumps(harm(json.loads(data), random)).encode()


def harm_safetensors(data: bytes, random: np.random.Generator) -> bytes:
    """The same in a checkpoint: in the state in its header or in the header itself."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    tensors = data[8 + length :]
    if random.random() < 0.7:
        metadata = header["__metadata__"]
        metadata["state"] = json.dumps(harm(json.loads(metadata["state"]), random))
    else:
        header = harm(header, random)
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + tensors


def harm(value: Any, random: np.random.Generator) -> Any:
    """Changes a few random entries of nested dicts and lists."""
    for _ in range(int(random.geometric(0.7))):
        if not (place := _place(value, random)):
            break
        holder, key = place
        match int(random.integers(4)):
            case 0 | 1:
                holder[key] = copy.deepcopy(ODD[int(random.integers(len(ODD)))])
            case 2:
                del holder[key]
            case 3 if isinstance(holder, dict):
                holder[str(random.choice(["extra", "kind", "settings", "tensor", "0"]))] = (
                    copy.deepcopy(holder[key])
                )
            case 3:
                holder.insert(key, copy.deepcopy(holder[key]))
    return value


def _place(value: Any, random: np.random.Generator) -> tuple[Any, Any] | None:
    """A random container and a key in it, by a walk from the top: long lists are not preferred."""
    found = None
    while isinstance(value, dict | list) and value and (found is None or random.random() < 0.8):
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = keys[int(random.integers(len(keys)))]
        found = (value, key)
        value = value[key]
    return found
