"""Images per second of the default network, from memory and from a folder of PNG files."""

import tempfile
import time
from pathlib import Path

import torch
import torch.nn.functional as F

import augerino as ag
from augerino.data import open_dataset
from augerino.data.batches import Batches, CheckedBatches
from augerino.data.readers import streams
from augerino.data.readers.streams import StreamLoader
from augerino.nets.small import SmallCNN
from benchmarks.speed.timing import spread
from benchmarks.streaming_memory import write_images

ROUNDS = 5


def epoch(loader: object, classes: int) -> float:
    """Images per second of one epoch, with gradients of theta."""
    torch.manual_seed(0)
    augmentation = ag.Augmentation(ag.Affine2d(), ag.Uniform([0.3] * 6))
    model = ag.InvariantModel(SmallCNN(3, classes, 8), augmentation, average=ag.mean_log_prob)
    objective = ag.Objective(F.nll_loss, augmentation)
    optimizer = torch.optim.Adam(ag.param_groups(model), lr=1e-3)
    images = sum(len(y) for _, y in loader)
    began = time.perf_counter()
    ag.fit(model, objective, loader, optimizer, epochs=1, precision="auto")
    return images / (time.perf_counter() - began)


def reading(loader: object) -> float:
    """Images per second of reading alone."""
    began = time.perf_counter()
    images = sum(len(y) for _, y in loader)
    return images / (time.perf_counter() - began)


def measure(images: int = 4000, side: int = 32) -> dict:
    """Training and reading from memory, from a folder, and from a folder with two workers."""
    torch.set_num_threads(1)
    kept = streams.MEMORY
    with tempfile.TemporaryDirectory() as folder:
        write_images(Path(folder), images, side)
        streams.MEMORY = 0  # a folder as large as this would be decoded into memory
        try:
            source = open_dataset(folder)
        finally:
            streams.MEMORY = kept
        pairs = [source.train[i] for i in range(len(source.train))]
        x = torch.stack([image for image, _ in pairs])
        y = torch.stack([label for _, label in pairs])
        loaders = {
            "memory": CheckedBatches(Batches(x, y, 128, shuffle=True), labels=y),
            "PNG folder": CheckedBatches(StreamLoader(source.train, 128, shuffle=True)),
            "PNG folder, 2 workers": CheckedBatches(
                StreamLoader(source.train, 128, shuffle=True, num_workers=2)
            ),
        }
        found: dict[str, list[float]] = {
            f"{what}, {name}": [] for name in loaders for what in ("training", "reading")
        }
        for _ in range(ROUNDS):
            for name, loader in loaders.items():
                found[f"training, {name}"].append(epoch(loader, 2))
                found[f"reading, {name}"].append(reading(loader))
    result = {name: vars(spread(values)) for name, values in found.items()}
    for name, value in result.items():
        print(f"  {name}: {value['median']:,.0f} images per second", flush=True)
    return {"images": len(y), "side": side, "images per second": result}
