"""Do two processes learn what one does? `augerino learn sprites` over a few seeds with each number of processes.

    python -m benchmarks.processes [--out DIR] [--seeds 3] [--processes 1,2] [-- OPTIONS OF augerino learn]

Runs that are finished already are not run again, so it can be interrupted. Prints every coordinate's mean and spread over seeds
by number of processes, and whether the means lie within the spread, and writes summary.json into the folder.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path


def run_seed(folder: Path, seed: int, processes: int, options: list[str]) -> dict:
    """One run as a user would start it, one thread a process; what it learned, and the seconds of its training."""
    result = folder / "result.json"
    if not result.exists():
        words = ["learn", "--no-baseline", "--seed", str(seed), "--out", str(folder), *options]
        if (folder / "config.json").exists():
            words = ["learn", "--resume", str(folder)]
        several = (
            ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
            if processes > 1
            else []
        )
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        command = [sys.executable, *several, "-m", "augerino", *words]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    found = json.loads(result.read_text())
    accuracy = found["models"][-1]["accuracy"]
    return {
        "seed": seed,
        "bounds": found["bounds"],
        "accuracy": accuracy,
        "seconds": found["seconds"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("runs/processes"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--processes", default="1,2", help="numbers of processes, the first to compare with"
    )
    arguments, options = parser.parse_known_args()
    if arguments.seeds < 2:
        parser.error("one seed has no spread to compare with: give at least two")
    options = [word for word in options if word != "--"]
    numbers = [int(word) for word in arguments.processes.split(",")]
    arguments.out.mkdir(parents=True, exist_ok=True)
    rows: dict[int, list[dict]] = {number: [] for number in numbers}
    for seed in range(
        arguments.seeds
    ):  # interleaved, so that a change of the machine meets all alike
        for number in numbers:
            row = run_seed(arguments.out / f"{number}-processes-seed-{seed}", seed, number, options)
            rows[number].append(row)
            bounds = "  ".join(f"{name} {value:.3f}" for name, value in row["bounds"].items())
            print(
                f"seed {seed}, {number} processes: {row['seconds']:4.0f} s  accuracy {row['accuracy']:.3f}  {bounds}",
                flush=True,
            )
    comparison = compare(rows)
    for name, entry in comparison.items():
        told = "  ".join(
            f"{number}: {mean:.4f} ± {spread:.4f}" for number, mean, spread in entry["by_processes"]
        )
        print(
            f"{name:12}  {told}   {'the same within the spread' if entry['same'] else 'NOT THE SAME'}"
        )
    seconds = {
        number: statistics.median(row["seconds"] for row in runs) for number, runs in rows.items()
    }
    print(
        "training time, median:  "
        + "  ".join(f"{number}: {value:.0f} s" for number, value in seconds.items())
    )
    summary = {
        "command": " ".join(["python -m benchmarks.processes", *options]),
        "machine": {
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        },
        "runs": rows,
        "comparison": comparison,
        "median_seconds": seconds,
    }
    (arguments.out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")


def compare(rows: dict[int, list[dict]]) -> dict[str, dict]:
    """Mean and deviation of each bound over seeds, and whether all means are within two deviations of the first.

    The deviation is the larger of the two, and at least 1 % of the mean: a bound at its limit has none.
    """
    first = next(iter(rows))
    found = {}
    for name in rows[first][0]["bounds"]:
        numbers = []
        for number, runs in rows.items():
            values = [row["bounds"][name] for row in runs]
            numbers.append((number, statistics.mean(values), statistics.stdev(values)))
        _, mean, spread = numbers[0]
        same = all(
            abs(other - mean) <= 2 * max(spread, wide, 0.01 * abs(mean))
            for _, other, wide in numbers[1:]
        )
        found[name] = {"by_processes": numbers, "same": same}
    return found


if __name__ == "__main__":
    main()
