"""Trains on the sprites for hundreds of epochs in a row, with a checkpoint after each, and measures whether memory stays flat.

    python -m benchmarks.soak [--epochs 500] [--method probe] [--out docs/results/faults/soak]

Records the resident memory after every epoch and writes OUT.json and OUT.png. Memory is flat if the mean over the last tenth of
the epochs is less than 2 % above the mean over the tenth that follows the warm-up (the first tenth, in which caches fill). The
exit code is 1 if it is not. About five minutes on one core.
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
    """The memory of this process that is in use now, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def soak(epochs: int, method: str) -> list[float]:
    """Trains once for so many epochs and returns the memory after each."""
    data, found = sprites(ITEMS), []

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
    """By what share the last tenth lies above the tenth behind the warm-up."""
    tenth = max(len(memory) // 10, 1)
    early, late = statistics.mean(memory[tenth : 2 * tenth]), statistics.mean(memory[-tenth:])
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
        raise SystemExit("The memory in use is read from /proc, which this system does not have.")
    if arguments.epochs < 3:
        raise SystemExit("Three epochs are the fewest that have a warm-up, a beginning and an end.")
    torch.set_num_threads(1)
    began = time.perf_counter()
    memory = soak(arguments.epochs, arguments.method)
    rise = growth(memory)
    flat = rise < LIMIT
    result = {
        **{
            "epochs": arguments.epochs,
            "items": ITEMS,
            "method": arguments.method,
            "seconds": round(time.perf_counter() - began),
        },
        **{"growth": round(rise, 5), "limit": LIMIT, "flat": flat, "torch": torch.__version__},
        "resident_mb": [round(value, 1) for value in memory],
    }
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.with_suffix(".json").write_text(json.dumps(result) + "\n")
    draw(memory, arguments.out.with_suffix(".png"))
    print(
        f"{arguments.epochs} epochs: memory {'stayed flat' if flat else 'GREW'}, {rise:+.2%} after the warm-up"
    )
    sys.exit(0 if flat else 1)


if __name__ == "__main__":
    main()
