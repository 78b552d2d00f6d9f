"""The script of each process in test_distributed.py: FOLDER. Writes FOLDER/RANK.pt."""

import contextlib
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import augerino as ag
from augerino.data import open_dataset
from augerino.data.batches import Batches, CheckedBatches
from augerino.data.process_slices import ProcessSlices
from augerino.data.readers import streams
from augerino.data.readers.streams import StreamLoader
from augerino.data.synthetic.sprites import sprites
from augerino.learning.defaults import masked_nll
from augerino.runtime import distributed


class Fixed(nn.Module):
    """A model whose noise comes with its inputs: bounds times noise are the coordinates."""

    def __init__(self, maps):
        super().__init__()
        torch.manual_seed(0)
        net = (
            nn.Conv2d(1, 3, 3, padding=1) if maps else nn.Sequential(nn.Flatten(), nn.Linear(64, 3))
        )
        augmentation = ag.Augmentation(ag.Affine2d("rotate", "scale"), ag.Uniform([0.3, 0.2]))
        self.model = ag.InvariantModel(net, augmentation, average=ag.mean_log_prob)

    def forward(self, x):
        augmentation = self.model.augmentation
        t = x["noise"] * augmentation.distribution.bound
        return self.model.average_over(x["x"], ag.Element(augmentation.transform, t))


def fixed_batch(maps, items=7):
    g = torch.Generator().manual_seed(1)
    x = {
        "x": torch.rand(items, 1, 8, 8, generator=g),
        "noise": 2 * torch.rand(items, 2, generator=g) - 1,
    }
    y = torch.randint(3, (items, 8, 8) if maps else (items,), generator=g)
    if maps:
        y[torch.rand(y.shape, generator=g) < 0.4] = 255
        y[0] = 255  # nothing counts in this one
    return x, y


def gradients(maps):
    """One step on this process's part of seven items; returns the gradients and the record."""
    model = Fixed(maps)
    objective = ag.Objective(
        masked_nll if maps else F.nll_loss, model.model.augmentation, reg_weight=0.1
    )
    batches = Batches(*fixed_batch(maps), 7, shuffle=False, shared=True)
    (record,) = ag.iter_epochs(
        model, objective, batches, torch.optim.SGD(ag.param_groups(model), lr=0.0), epochs=1
    )
    return {name: p.grad for name, p in model.named_parameters()}, record.loss, record.total


def rested():
    """Two steps, theta with a gradient in the first alone; where they lead."""
    model = Fixed(maps=False)
    objective = ag.Objective(F.nll_loss, model.model.augmentation, reg_weight=0.1)
    batches = Batches(*fixed_batch(False, items=14), 7, shuffle=False, shared=True)
    ag.fit(
        model,
        objective,
        batches,
        torch.optim.SGD(ag.param_groups(model), lr=0.3),
        epochs=1,
        theta_every=2,
    )
    return model.state_dict()


def learned(method, **options):
    data = sprites(96, seed=0)
    found = ag.learn(
        None,
        (data.x, data.y),
        coordinates=("rotate", "flip_horizontal"),
        method=method,
        batch_size=16,
        precision="float32",
        width=2,
        **{"epochs": 4, **options},
    )
    return found.extent, found.model.state_dict(), [record.loss for record in found.history.epochs]


class Idle(nn.Module):
    """A network with weights that it does not use."""

    def __init__(self):
        super().__init__()
        self.used, self.unused = nn.Linear(3 * 32 * 32, 4), nn.Linear(2, 2)

    def forward(self, x):
        return self.used(x.flatten(1))


class Crash(Exception):
    """Stands for the end of the process."""


def looped(path, epochs=3, crash_at=None, resume=False):
    """A training that may be interrupted in mid-epoch, one checkpoint every two steps."""
    torch.manual_seed(3)
    net = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Dropout(0.2), nn.Linear(72, 3)
    )
    augmentation = ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([0.3]))
    model = ag.InvariantModel(net, augmentation, average=ag.mean_log_prob)
    x, y = torch.rand(40, 1, 8, 8, generator=torch.Generator().manual_seed(0)), torch.arange(40) % 3
    drawn = []

    def on_step(epoch, step, loss):
        drawn.append(torch.get_rng_state().sum().item())
        if (epoch, step) == crash_at:
            raise Crash

    batches = Batches(x, y, 8, shared=True)
    with contextlib.suppress(Crash):
        ag.fit(
            model,
            ag.Objective(F.nll_loss, augmentation),
            batches if distributed.world() == 1 else ProcessSlices(batches),
            torch.optim.Adam(ag.param_groups(model), lr=0.01),
            epochs=epochs,
            checkpoint=path,
            save_every=2,
            resume=resume,
            on_step=on_step,
        )
    return {name: value.clone() for name, value in model.state_dict().items()}, drawn


def passes():
    """The items of two passes over nineteen, by each kind of loader, batch by batch."""
    items = torch.arange(19)
    data = TensorDataset(items[:, None].float(), items)
    torch.manual_seed(
        distributed.rank()
    )  # the states of the processes differ, as they do after noise of their own
    found = {}
    for name, batches in {
        "memory": Batches(items[:, None].float(), items, 8, shared=True),
        "disk": StreamLoader(data, 8, shuffle=True, shared=True),
        "foreign": DataLoader(data, 8, shuffle=True),
        "checked": CheckedBatches(Batches(items[:, None].float(), items, 8, shared=True)),
    }.items():
        found[name] = [[y.tolist() for _, y in ProcessSlices(batches)] for _ in range(2)]
        found[f"{name} noise"] = [torch.rand(4).tolist() for _ in ProcessSlices(batches)]
    return found


def sharded(folder):
    """The items of a pass over shards that are read from disk, and what is learned from them."""
    streams.MEMORY = 0
    pictures = open_dataset(folder).train
    train = streams.ImageStream(
        pictures.pictures, pictures.form, torch.arange(len(pictures.pictures)), np.arange(80)
    )
    items = [
        y.tolist() for _, y in ProcessSlices(StreamLoader(train, 8, shuffle=True, shared=True))
    ]
    learned = ag.learn(
        None, pictures, n_outputs=2, epochs=2, batch_size=16, width=2, coordinates=("rotate",)
    )
    return items, learned.extent, learned.n_probe_items


def main(folder):
    torch.set_num_threads(1)
    distributed.join()
    rank = distributed.rank()
    found = {
        "gradients": {maps: gradients(maps) for maps in (False, True)},
        "rested": rested(),
        "learned": {method: learned(method) for method in ("probe", "gradient")},
        "passes": passes(),
        "whole": looped(folder / "whole.safetensors"),
        "sharded": sharded(folder / "shards"),
        "agreed": distributed.from_first(lambda: f"said by {rank}"),
    }
    looped(folder / "broken.safetensors", crash_at=(2, 4))
    found["resumed"] = looped(folder / "broken.safetensors", resume=True)
    found["from one"] = looped(folder / "one.safetensors", resume=True)
    looped(folder / "two.safetensors", crash_at=(2, 4))
    try:
        distributed.from_first(lambda: (_ for _ in ()).throw(ag.InputError("only the first knows")))
    except ag.InputError as error:
        found["error"] = str(error)
    try:
        data = sprites(32, seed=0)
        ag.learn(Idle(), (data.x, data.y), epochs=1)
    except ag.InputError as error:
        found["idle"] = str(error)
    torch.save(found, folder / f"{rank}.pt")
    distributed.leave()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
