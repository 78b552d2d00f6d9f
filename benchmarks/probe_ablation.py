"""Ablation of the probe's constants: which of them change the recovered extents?

    python -m benchmarks.probe_ablation --seeds 100 101 --out trials.jsonl [--data DIR]
    python -m benchmarks.probe_ablation --table docs/results/probe-ablation/ablation.jsonl.gz

Trains problems of the recovery benchmark with one field of `ProbeSettings` changed at a time, and
with all changes of `joint` together. Each finished training is appended to the file, so the command
can be interrupted. `--table` prints the mean overlap of every variant and its difference from the
default, paired by problem and seed.
"""

import argparse
import gzip
import json
import math
import statistics
from pathlib import Path
from typing import Any

import torch

from augerino.benchmark import Problem, embedded
from augerino.benchmark.experiment import Recovery
from augerino.benchmark.natural import hard
from augerino.benchmark.scoring import compare
from augerino.learning.learn import learn

JOINT = {
    "centre": 1.0,
    "gain": 1.0,
    "improvement_discount": 1e9,
    "shrink_from": 0.0,
    "average_from": 0.78,  # only the last of 60 rounds
}
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "null": {},  # other initial weights and draws: the size of a difference without a cause
    "centre-whole": {"centre": 1.0},
    "centre-zero": {"centre": 0.0},
    "train-as-probed": {"widening": 1.0, "margin": 0.0},
    "no-margin": {"margin": 0.0},
    "margin-only": {"widening": 1.0},
    "no-slack": {"centre_slack": 0.0},
    "slack-unbounded": {"centre_slack_cap": 1e9},
    "improvement-ignored": {"improvement_discount": 1e9},
    "improvement-as-rise": {"improvement_discount": 1.0},
    "never-share": {"unsolved_score": 0.0, "solved_score": 1e-6},
    "always-share": {"unsolved_score": 1.0, "solved_score": 2.0},
    "gain-one": {"gain": 1.0},
    "no-slowing": {"min_pace": 1.0},
    "no-wait": {"wait": 0.0},
    "shrink-never": {"shrink_from": 1.0},
    "shrink-at-once": {"shrink_from": 0.0},
    "last-round": {"average_from": 0.78},
    "score-zero": {"min_score": 0.0},
    "levels-8": {"levels": 8},
    "joint": JOINT,
}
# Problems, and the extent that every coordinate starts from.
CASES = {
    "soft-rotate_x-noisy": 0.3,
    "pair-time_shift-gain_target-clean": 0.3,
    "pair-rotate-mirror-letters-clean": 0.3,
    "none-time_shift-few": 0.3,
    "soft-rotate-letters-few": 0.3,
    "soft-rotate_two-digits-hard": 0.3,
    "soft-rotate_two-vehicles-hard": 0.3,
    "none-rotate_y-noisy": 3.0,  # nothing can be learned from this start
}
Trial = dict[str, Any]


def train(problem: Problem, variant: str, seed: int, settings: Recovery) -> Trial:
    """Trains a problem once and compares the learned extents with the true ones."""
    start = CASES.get(problem.name, 0.3)
    recipe = settings.recipe(problem).but(method="probe", start=start, probe=VARIANTS[variant])
    learned = learn(
        None,
        problem.draw(problem.n_items, seed),
        augmentation=problem.augmentation(start),
        recipe=recipe,
        n_outputs=problem.n_outputs,
        seed=seed + 1000 * (variant == "null"),
    )
    outcome = compare(problem, seed, problem.extents(learned.augmentation))
    key = {"problem": problem.name, "seed": seed, "variant": variant}
    return {**key, "overlap": outcome.overlap, "learned": outcome.learned}


def read(path: Path) -> list[Trial]:
    """The trials of a file, which may be compressed or missing."""
    if not path.exists():
        return []
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    return [json.loads(line) for line in text.splitlines()]


def table(trials: list[Trial]) -> str:
    """One row per variant; "unchanged" counts the trainings with the extents of the default."""
    defaults = {(t["problem"], t["seed"]): t for t in trials if t["variant"] == "default"}
    lines = ["| variant | trials (unchanged) | mean overlap | from default |"]
    lines.append("| --- | ---: | ---: | ---: |")
    for variant in dict.fromkeys(trial["variant"] for trial in trials):
        own = [
            t for t in trials if t["variant"] == variant and (t["problem"], t["seed"]) in defaults
        ]
        pairs = [(trial, defaults[trial["problem"], trial["seed"]]) for trial in own]
        if not pairs:
            continue
        changes = [trial["overlap"] - default["overlap"] for trial, default in pairs]
        unchanged = sum(trial["learned"] == default["learned"] for trial, default in pairs)
        error = (
            statistics.stdev(changes) / math.sqrt(len(changes)) if len(changes) > 1 else math.nan
        )
        mean = statistics.mean(trial["overlap"] for trial in own)
        change = f"{statistics.mean(changes):+.3f} ± {error:.3f}"
        lines.append(f"| {variant} | {len(own)} ({unchanged}) | {mean:.3f} | {change} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--table", type=Path, metavar="FILE", help="only print the table of trials")
    parser.add_argument("--out", type=Path, default=Path("trials.jsonl"), help="file of the trials")
    parser.add_argument("--seeds", type=int, nargs="+", default=[100, 101])
    parser.add_argument("--problems", nargs="+", default=list(CASES), metavar="NAME")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--steps", type=int, default=Recovery.steps, help="of each training")
    parser.add_argument("--data", help="folder with mnist.npz and cifar10.npz")
    options = parser.parse_args()
    if options.table is None:
        torch.set_num_threads(1)
        settings = Recovery(steps=options.steps)
        problems = {problem.name: problem for problem in (*embedded(), *hard(options.data))}
        done = {(t["problem"], t["seed"], t["variant"]) for t in read(options.out)}
        for seed in options.seeds:
            for name in options.problems:
                for variant in options.variants:
                    if name in problems and (name, seed, variant) not in done:
                        trial = train(problems[name], variant, seed, settings)
                        with options.out.open("a") as file:
                            file.write(json.dumps(trial) + "\n")
    trials = read(options.table or options.out)
    for part in dict.fromkeys(trial.get("part", "trials") for trial in trials):
        print(f"{part}\n\n{table([t for t in trials if t.get('part', 'trials') == part])}\n")


if __name__ == "__main__":
    main()
