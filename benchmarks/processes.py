"""Compares `augerino learn sprites` with different numbers of processes, over several seeds.

    python -m benchmarks.processes [--out DIR] [--seeds 3] [--processes 1,2]
                                   [-- OPTIONS OF augerino learn]

Finished runs are not repeated, so the command can be interrupted. Prints the mean and standard
deviation of every coordinate by number of processes, and whether the means agree, and writes
summary.json into the output folder.
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
    """Runs one seed with one thread per process; returns its extents, accuracy and seconds."""
    result = folder / "result.json"
    if not result.exists():
        words = ["learn", "sprites", "--no-baseline", "--seed", str(seed)]
        words += ["--out", str(folder), *options]
        if (folder / "config.json").exists():
            words = ["learn", "--resume", str(folder)]
        launcher = []
        if processes > 1:
            launcher = ["-m", "torch.distributed.run", "--standalone"]
            launcher += ["--nproc-per-node", str(processes)]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        command = [sys.executable, *launcher, "-m", "augerino", *words]
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
        "--processes", default="1,2", help="numbers of processes; the first is the reference"
    )
    arguments, options = parser.parse_known_args()
    if arguments.seeds < 2:
        parser.error("one seed has no standard deviation: give at least two")
    options = [word for word in options if word != "--"]
    numbers = [int(word) for word in arguments.processes.split(",")]
    arguments.out.mkdir(parents=True, exist_ok=True)
    rows: dict[int, list[dict]] = {number: [] for number in numbers}
    for seed in range(arguments.seeds):  # interleaved, so that a slower machine affects all
        for number in numbers:
            row = run_seed(arguments.out / f"{number}-processes-seed-{seed}", seed, number, options)
            rows[number].append(row)
            bounds = "  ".join(f"{name} {value:.3f}" for name, value in row["bounds"].items())
            print(
                f"seed {seed}, {number} processes: {row['seconds']:4.0f} s  "
                f"accuracy {row['accuracy']:.3f}  {bounds}",
                flush=True,
            )
    comparison = compare(rows)
    for name, entry in comparison.items():
        values = "  ".join(
            f"{number}: {mean:.4f} ± {deviation:.4f}"
            for number, mean, deviation in entry["by_processes"]
        )
        print(f"{name:12}  {values}   {'agree' if entry['same'] else 'DISAGREE'}")
    seconds = {
        number: statistics.median(row["seconds"] for row in runs) for number, runs in rows.items()
    }
    times = "  ".join(f"{number}: {value:.0f} s" for number, value in seconds.items())
    print(f"training time, median:  {times}")
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
    """Mean and standard deviation of each bound over seeds, and whether the means agree.

    They agree if all are within two deviations of the first. The deviation is the larger of the
    two, and at least 1 % of the mean, because a bound at its limit has none.
    """
    first = next(iter(rows))
    found = {}
    for name in rows[first][0]["bounds"]:
        numbers = []
        for number, runs in rows.items():
            values = [row["bounds"][name] for row in runs]
            numbers.append((number, statistics.mean(values), statistics.stdev(values)))
        _, mean, deviation = numbers[0]
        same = True
        for _, other_mean, other_deviation in numbers[1:]:
            tolerance = 2 * max(deviation, other_deviation, 0.01 * abs(mean))
            same = same and abs(other_mean - mean) <= tolerance
        found[name] = {"by_processes": numbers, "same": same}
    return found


if __name__ == "__main__":
    main()
