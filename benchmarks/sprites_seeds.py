"""Counts the seeds of `augerino learn sprites` that find the true extent.

    python -m benchmarks.sprites_seeds [--out DIR] [--seeds 10] [--jobs 1]
                                       [-- OPTIONS OF augerino learn]

Finished runs are not repeated, so the command can be interrupted. Writes summary.json into the
output folder.
"""

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def run_seed(folder: Path, seed: int, options: list[str], jobs: int) -> dict:
    """Runs one seed in its own process; returns its extents, accuracy and wall time."""
    result = folder / "result.json"
    wall = folder / "wall.json"
    if not result.exists():
        words = ["learn", "sprites", "--no-baseline", "--seed", str(seed)]
        words += ["--out", str(folder), *options]
        if (folder / "config.json").exists():
            words = ["learn", "--resume", str(folder)]
        began = time.perf_counter()
        environment = os.environ | ({"OMP_NUM_THREADS": "1"} if jobs > 1 else {})
        command = [sys.executable, "-m", "augerino", *words]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        wall.write_text(json.dumps(time.perf_counter() - began))
    found = json.loads(result.read_text())
    return {
        "seed": seed,
        "bounds": found["bounds"],
        "accuracy": found["models"][-1]["accuracy"],
        "wall_seconds": json.loads(wall.read_text()) if wall.exists() else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("runs/sprites-seeds"))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument(
        "--jobs", type=int, default=1, help="runs at the same time; one thread each if several"
    )
    parser.add_argument(
        "--tolerance", type=float, default=0.1, help="relative error that counts as found"
    )
    arguments, options = parser.parse_known_args()
    options = [word for word in options if word != "--"]
    arguments.out.mkdir(parents=True, exist_ok=True)

    true = math.pi / 4
    rows = []
    pool = ThreadPoolExecutor(arguments.jobs)
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    runs = pool.map(
        lambda seed: run_seed(arguments.out / f"seed-{seed}", seed, options, arguments.jobs), seeds
    )
    for seed, row in zip(seeds, runs, strict=True):
        row["relative_error"] = row["bounds"]["rotate"] / true - 1
        rows.append(row)
        others = "  ".join(
            f"{name} {value:.2f}" for name, value in row["bounds"].items() if name != "rotate"
        )
        wall = f"{row['wall_seconds']:4.0f} s" if row["wall_seconds"] else "   -"
        degrees = math.degrees(row["bounds"]["rotate"])
        print(
            f"seed {seed}  rotate ±{degrees:.1f}° ({row['relative_error']:+.1%})  "
            f"accuracy {row['accuracy']:.3f}  {wall}  {others}",
            flush=True,
        )
    rotations = [row["bounds"]["rotate"] for row in rows]
    found = sum(abs(row["relative_error"]) <= arguments.tolerance for row in rows)
    spread = statistics.stdev(rotations) if len(rotations) > 1 else 0.0
    print(
        f"\n{found} of {len(rows)} within {arguments.tolerance:.0%} of ±45°; "
        f"mean ±{math.degrees(statistics.mean(rotations)):.1f}°, sd {math.degrees(spread):.1f}°"
    )
    command = ["python -m benchmarks.sprites_seeds"]
    if arguments.first:
        command.append(f"--first {arguments.first}")
    summary = {
        "command": " ".join([*command, *options]),
        "machine": {
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "runs_at_once": arguments.jobs,
            "python": platform.python_version(),
        },
        "true_extent": true,
        "found": found,
        "runs": rows,
    }
    (arguments.out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")


if __name__ == "__main__":
    main()
