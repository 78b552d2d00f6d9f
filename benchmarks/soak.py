"""Trains for hundreds of epochs with a checkpoint after each, and tests that memory stays flat.

    python -m benchmarks.soak [--epochs 500] [--method probe] [--out docs/results/faults/soak]

Records the resident memory after every epoch and writes OUT.json and OUT.png. Memory is flat if the
mean over the last tenth of the epochs is less than 2 % above the mean over the second tenth (caches
fill in the first). Otherwise the exit code is 1. Takes about five minutes on one core.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch

import augerino as ag
from augerino.data.synthetic.sprites import sprites

LIMIT = 0.02
ITEMS = 384
SETTINGS = {"batch_size": 64, "width": 4, "precision": "float32"}


def resident() -> float:
    """The resident memory of this process, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def soak(epochs: int, method: str) -> list[float]:
    """Trains and returns the resident memory after each epoch."""
    data = sprites(ITEMS)
    found = []

    def measure(record: ag.Epoch) -> None:
        found.append(resident())
        if record.epoch % 50 == 0:
            print(
                f"epoch {record.epoch}/{epochs}  loss {record.loss:.4f}  {found[-1]:.1f} MB",
                flush=True,
            )

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "checkpoint.safetensors")
        ag.learn(
            None,
            (data.x, data.y),
            epochs=epochs,
            method=method,
            checkpoint=path,
            on_epoch=measure,
            **SETTINGS,
        )
    return found


def growth(memory: list[float]) -> float:
    """The relative rise from the second tenth of the epochs to the last."""
    tenth = max(len(memory) // 10, 1)
    early = statistics.mean(memory[tenth : 2 * tenth])
    late = statistics.mean(memory[-tenth:])
    return late / early - 1


def draw(memory: list[float], path: Path) -> None:
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(figsize=(6, 2.6), layout="constrained")
    axes.plot(range(1, len(memory) + 1), memory)
    axes.set(xlabel="epoch", ylabel="resident memory (MB)", ylim=(0, 1.15 * max(memory)))
    fig.savefig(path, dpi=120)
    plt.close(fig)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epochs", type=int, default=500)
    parser.add_argument("--method", choices=("probe", "gradient"), default="probe")
    parser.add_argument("--out", type=Path, default=Path("docs/results/faults/soak"))
    arguments = parser.parse_args()
    if not Path("/proc/self/statm").exists():
        raise SystemExit("The resident memory is read from /proc, which this system lacks.")
    if arguments.epochs < 3:
        raise SystemExit("--epochs must be at least 3.")
    torch.set_num_threads(1)
    began = time.perf_counter()
    memory = soak(arguments.epochs, arguments.method)
    rise = growth(memory)
    flat = rise < LIMIT
    result = {
        "epochs": arguments.epochs,
        "items": ITEMS,
        "method": arguments.method,
        "seconds": round(time.perf_counter() - began),
        "growth": round(rise, 5),
        "limit": LIMIT,
        "flat": flat,
        "torch": torch.__version__,
        "resident_mb": [round(value, 1) for value in memory],
    }
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.with_suffix(".json").write_text(json.dumps(result) + "\n")
    draw(memory, arguments.out.with_suffix(".png"))
    verdict = "stayed flat" if flat else "GREW"
    print(f"{arguments.epochs} epochs: memory {verdict}, {rise:+.2%} after the first tenth")
    sys.exit(0 if flat else 1)


if __name__ == "__main__":
    main()
