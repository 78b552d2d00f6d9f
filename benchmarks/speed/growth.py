"""Time and peak memory of the layer by batch, side, copies and coordinates.

Each point is measured in its own process.
"""

import math
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path

from benchmarks import memory


@dataclass(frozen=True)
class Point:
    """One setting, and the cost of a forward and backward pass of layer and a small network."""

    batch: int = 64
    side: int = 64
    copies: int = 1
    coordinates: int = 6
    seconds: float = 0.0
    megabytes: float = 0.0


SERIES = {
    "batch": (32, 64, 128, 256, 512),
    "side": (32, 64, 128, 256),
    "copies": (1, 2, 4, 8),
    "coordinates": (1, 2, 4, 6),
}


def measure_point(point: Point, steps: int) -> Point:
    """Measures the median time of a pass, and its peak memory above the memory before."""
    import torch

    import augerino as ag
    from augerino import lie

    torch.set_num_threads(1)
    names = tuple(lie.AFFINE2D)[: point.coordinates]
    augmentation = ag.Augmentation(ag.Affine2d(*names), ag.Uniform([0.3] * len(names)))
    net = torch.nn.Conv2d(3, 4, 3, stride=4)
    model = ag.InvariantModel(net, augmentation, train_copies=point.copies)
    small = torch.rand(2, 3, point.side, point.side)
    model(small).sum().backward()  # loads what is loaded on first use
    x = torch.rand(point.batch, 3, point.side, point.side)
    before = memory.begin()
    taken = []
    for _ in range(steps):
        began = time.process_time()
        model(x).square().sum().backward()
        taken.append(time.process_time() - began)
    return replace(
        point,
        seconds=round(statistics.median(taken), 6),
        megabytes=round(memory.peak() - before, 2),
    )


def power(points: list[Point], by: str, of: str) -> float:
    """The exponent p of cost ~ setting^p between the two largest settings: 1 is linear."""
    a, b = points[-2:]
    cost = max(getattr(b, of), 1e-9) / max(getattr(a, of), 1e-9)
    size = getattr(b, by) / getattr(a, by)
    return math.log(cost) / math.log(size)


def draw(path: Path, series: dict[str, list[Point]]) -> None:
    """Time and memory against each setting, on logarithmic axes."""
    from augerino import plots

    with plots.style():
        fig, axes = plots.figure(2, len(series), 11, 5)
        for column, (by, points) in enumerate(series.items()):
            for row, (of, label) in enumerate(
                (("seconds", "CPU seconds"), ("megabytes", "peak memory, MB"))
            ):
                ax = axes[row * len(series) + column]
                values = (
                    [getattr(point, by) for point in points],
                    [getattr(point, of) for point in points],
                )
                ax.plot(
                    *values,
                    "o-",
                    ms=4,
                    color=plots.CLASSES[0],
                    label=f"power {power(points, by, of):.2f}",
                )
                ax.set_xscale("log", base=2)
                ax.set_yscale("log")
                ax.set_xlabel(by)
                ax.set_ylabel(label)
                ax.legend(fontsize=7.5)
        fig.savefig(path)


def measure(out: Path, steps: int = 7) -> dict:
    """Measures all points, computes their exponents, and draws them."""
    found: dict[str, list[Point]] = {}
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        for by, values in SERIES.items():
            found[by] = [
                pool.submit(measure_point, Point(**{by: value}), steps).result() for value in values
            ]
            powers = ", ".join(
                f"{of} as {by}^{power(found[by], by, of):.2f}" for of in ("seconds", "megabytes")
            )
            print(f"  {powers}", flush=True)
    draw(out / "growth.png", found)
    powers = {
        by: {of: round(power(points, by, of), 3) for of in ("seconds", "megabytes")}
        for by, points in found.items()
    }
    return {
        "points": {by: [asdict(point) for point in points] for by, points in found.items()},
        "powers": powers,
    }
