"""Memory and time of LieConv by batch size, atoms and neighbours.

    python -m benchmarks.lieconv_growth [--steps 5] [--out DIR]

Writes docs/results/qm9/growth.json and growth.png. Every point is measured in its own process,
because the peak memory of a process never decreases. Seconds are the median CPU time of a training
step, megabytes the peak above the memory before the first step.
"""

import argparse
import json
import math
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path

from augerino import plots
from benchmarks import memory

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "results" / "qm9"
MOLECULES = 4_000  # of an epoch
BATCHES = (32, 64, 128, 256, 512)
ATOMS = (16, 32, 64, 128, 256)
NEIGHBOURS = 16


@dataclass(frozen=True)
class Point:
    """One setting, and the cost of a training step."""

    batch: int
    atoms: int
    neighbours: int | None  # None for all atoms
    seconds: float = 0.0
    megabytes: float = 0.0

    @property
    def epoch(self) -> float:
        """Seconds of an epoch."""
        return self.seconds * MOLECULES / self.batch


def measure(point: Point, steps: int) -> Point:
    """Runs a few training steps with the nine generators on random clouds."""
    import torch

    import augerino as ag
    from augerino.nets.lieconv import LieResNet

    torch.set_num_threads(1)
    net = LieResNet(1, group="T3", width=64, layers=3, neighbours=point.neighbours)
    augmentation = ag.Augmentation(
        ag.On("positions", ag.Affine3d(), where="mask"), ag.Uniform([0.3] * 9)
    )
    model = ag.InvariantModel(net, augmentation)
    optimizer = torch.optim.Adam(model.parameters())
    x = {
        "positions": torch.randn(point.batch, point.atoms, 3) * point.atoms ** (1 / 3),
        "charges": torch.full((point.batch, point.atoms), 6),
        "mask": torch.ones(point.batch, point.atoms, dtype=torch.bool),
    }
    before = memory.begin()
    times = []
    for _ in range(steps):
        began = time.process_time()
        optimizer.zero_grad()
        model(x).abs().mean().backward()
        optimizer.step()
        times.append(time.process_time() - began)
    seconds = statistics.median(times[1:] or times)
    return replace(point, seconds=round(seconds, 5), megabytes=round(memory.peak() - before, 2))


def exponent(points: list[Point], by: str, of: str) -> float:
    """The exponent p of cost ~ setting^p between the two largest settings: 1 is linear."""
    a, b = points[-2:]
    cost = getattr(b, of) / getattr(a, of)
    size = getattr(b, by) / getattr(a, by)
    return math.log(cost) / math.log(size)


def draw(path: Path, series: dict[str, list[Point]]) -> None:
    """Time and memory, against batch size and against atoms, on logarithmic axes."""
    with plots.style():
        fig, axes = plots.figure(2, 2, 7.5, 5.6)
        for row, (of, label) in enumerate(
            (("epoch", f"CPU seconds, {MOLECULES} clouds"), ("megabytes", "peak memory, MB"))
        ):
            for column, by in enumerate(("batch", "atoms")):
                ax = axes[2 * row + column]
                for i, (name, points) in enumerate(
                    (n, p) for n, p in series.items() if n.startswith(by)
                ):
                    values = (
                        [getattr(point, by) for point in points],
                        [getattr(point, of) for point in points],
                    )
                    power = exponent(points, by, of)
                    ax.plot(
                        *values,
                        "o-",
                        ms=4,
                        color=plots.CLASSES[i],
                        label=f"{name.split(', ')[1]}: power {power:.1f}",
                    )
                ax.set_xscale("log", base=2)
                ax.set_yscale("log")
                ax.set_xlabel(
                    {
                        "batch": "items in a batch (16 atoms each)",
                        "atoms": "atoms in a cloud (batch of 16)",
                    }[by]
                )
                ax.set_ylabel(label)
                ax.legend(fontsize=7.5)
        fig.savefig(path)


def main() -> None:
    """Measures, writes, and prints the exponents."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=5, help="training steps at each setting")
    parser.add_argument("--out", type=Path, default=FOLDER)
    options = parser.parse_args()
    series = {
        "batch, all atoms": [Point(batch, 16, None) for batch in BATCHES],
        "atoms, all atoms": [Point(16, atoms, None) for atoms in ATOMS],
        f"atoms, {NEIGHBOURS} neighbours": [Point(16, atoms, NEIGHBOURS) for atoms in ATOMS],
    }
    found: dict[str, list[Point]] = {}
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        for name, points in series.items():
            found[name] = [pool.submit(measure, point, options.steps).result() for point in points]
            by = name.split(", ")[0]
            powers = ", ".join(
                f"{of} as {by}^{exponent(found[name], by, of):.2f}"
                for of in ("seconds", "megabytes")
            )
            print(f"{name}: {powers}", flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    text = {
        name: [{**asdict(point), "epoch": round(point.epoch, 2)} for point in points]
        for name, points in found.items()
    }
    (options.out / "growth.json").write_text(json.dumps(text, indent=1) + "\n")
    draw(options.out / "growth.png", found)


if __name__ == "__main__":
    main()
