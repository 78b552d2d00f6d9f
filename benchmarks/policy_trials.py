"""Does the order of policies in short trials agree with their order in full trainings?

    python -m benchmarks.policy_trials --cells cifar10-1000 --out trials.jsonl --data DIR
    python -m benchmarks.policy_trials --table docs/results/policy-trials/rows.jsonl.gz

Trains image cells of the payoff suite with each of a fixed list of policies: with the full budget,
and as trials of the policy step of some lengths. With development seeds (from 100 on) the full
trainings are scored on training items that are not trained on. Each finished policy is appended to
the file, so the command can be interrupted. `--table` prints loss and accuracy of every policy.
"""

import argparse
import copy
import gzip
import json
import math
from pathlib import Path
from typing import Any

import torch

import augerino as ag
from augerino import tree
from augerino.augmentation import Augmentation, Chain
from augerino.benchmark.payoff import Cell, Split, find
from augerino.benchmark.payoff.cell import Pair, take
from augerino.benchmark.payoff.trained import make_net, train
from augerino.data.arrays import to_float
from augerino.data.batches import Batches, count_batches
from augerino.errors import InputError
from augerino.learning.averaging import averaged_model, evaluation_candidates
from augerino.learning.candidates import photometric_candidates, standard_candidates
from augerino.learning.defaults import no_augmentation
from augerino.learning.learn import learn
from augerino.learning.learned import Learned
from augerino.learning.pipeline import MAX_JUDGED, MIN_STEPS
from augerino.learning.race import calibrated_loss, count_parts, split_samples
from augerino.models import evaluation_mode

SINGLE = "a single view"
SMALL = {"rotate": math.radians(15), "scale": 0.15}
MODERATE = {"rotate": math.radians(30), "scale": 0.3, "squeeze": 0.2, "shear": 0.3}


def policies(cell: Cell, split: Split) -> dict[str, Augmentation]:
    """Policies by name; "base" is a shift for digits, and flip + shift for other images."""
    x = to_float(split.train[0][:64])
    flip_and_shift, shift = standard_candidates("images", x)
    tones, photometric = photometric_candidates("images", x)
    base = shift if cell.kind == "digits" else flip_and_shift
    additions = {
        "small affine in all samples": (_affine(SMALL),),
        "moderate affine in some samples": (_affine(MODERATE, rate=0.25),),
        "tones": tones.parts,
        "photometric": photometric.parts,
        "erase in half of the samples": (_fixed(ag.Erase(), [0.5], rate=0.5),),
        "small affine + tones": (_affine(SMALL), *tones.parts),
        "small affine + photometric": (_affine(SMALL), *photometric.parts),
    }
    found = {"none": no_augmentation()}
    found["shift"] = shift.augmentation
    found["flip + shift"] = flip_and_shift.augmentation
    for name, parts in additions.items():
        found[f"base + {name}"] = Chain(*base.parts, *parts)
    return found


def _affine(extent: dict[str, float], rate: float = 1.0) -> Augmentation:
    return _fixed(ag.Affine2d(*extent), list(extent.values()), rate=rate)


def _fixed(transform: ag.Transform, bounds: list[float], rate: float) -> Augmentation:
    return Augmentation(transform, ag.Uniform(bounds, rate=rate)).requires_grad_(False)


def run_trial(
    cell: Cell, split: Split, seed: int, *, augmentation: Augmentation, length: float
) -> dict[str, Any]:
    """Scores of a trial of the policy step with some length."""
    n = len(split.train[1])
    n_parts = count_parts(length, n)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        trained, judged = split_samples(split.train[1], n, n_parts)
        judged = judged[torch.randperm(len(judged))[:MAX_JUDGED]].sort().values
    recipe = cell.recipe(n, seed)
    n_batches = count_batches(n, cell.batch_size)
    n_full = recipe.epochs * n_batches
    n_steps = max(length * n_full, min(MIN_STEPS, n_full))
    recipe = recipe.but(epochs=max(1, round(n_steps * n_parts / n_batches)))
    net = make_net(cell, split, seed)
    learned = learn(net, take(split.train, trained), augmentation=augmentation, recipe=recipe)
    return judge(learned, take(split.train, judged), seed)


def judge(learned: Learned, data: Pair, seed: int) -> dict[str, Any]:
    """Calibrated loss and accuracy of a single view, and of test copies, by their description."""
    found = {}
    for copies in evaluation_candidates(learned.augmentation, learned.recipe.test_copies):
        model = averaged_model(learned.model.net, copies, task=learned.task, recipe=learned.recipe)
        outputs = []
        with torch.random.fork_rng(), evaluation_mode(model):
            torch.manual_seed(seed)
            for x, _ in Batches(*data, 250, shuffle=False):
                outputs.append(model(tree.map(to_float, x)))
        log_prob = torch.cat(outputs)
        right = (log_prob.argmax(dim=1) == data[1]).double()
        loss = calibrated_loss(log_prob, data[1])
        found[copies.text] = {"loss": float(loss.mean()), "accuracy": 100 * float(right.mean())}
    return found


def run(cell: Cell, seed: int, *, out: Path, lengths: list[float], data: str | None) -> None:
    """Trains with every policy that is not in the file yet."""
    if cell.kind not in ("photographs", "digits", "faces"):
        raise InputError(f"The policies are for images, but '{cell.name}' has {cell.kind}.")
    done = {(row["cell"], row["seed"], row["policy"]) for row in read(out)}
    split = cell.load(seed, data)
    for name, augmentation in policies(cell, split).items():
        if (cell.name, seed, name) in done:
            continue
        row: dict[str, Any] = {"cell": cell.name, "seed": seed, "policy": name}
        for length in lengths:
            row[f"{length:.3f}"] = run_trial(
                cell, split, seed, augmentation=copy.deepcopy(augmentation), length=length
            )
        learned = train(cell, split, seed, augmentation=augmentation)
        row["full"] = judge(learned, split.test, seed)
        with out.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(f"{cell.name}, seed {seed}, {name}: {_text(row['full'])}", flush=True)


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, which may be compressed; none if it does not exist."""
    if not path.exists():
        return []
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    return [json.loads(line) for line in content.decode().splitlines()]


def _text(scores: dict[str, Any]) -> str:
    best = min(scores, key=lambda name: scores[name]["loss"])
    return f"{scores[best]['loss']:.3f}, {scores[best]['accuracy']:.1f} %"


def table(rows: list[dict[str, Any]]) -> str:
    """A Markdown table: loss of trials (a single view), and loss and accuracy of full trainings."""
    lengths = sorted({key for row in rows for key in row if key.startswith("0.")})
    heads = [f"trial, {float(length):.2f} of the steps: loss" for length in lengths]
    lines = [
        "| " + " | ".join(["cell", "policy", *heads, "full training: loss, accuracy"]) + " |",
        "| --- | --- |" + " ---: |" * (len(heads) + 1),
    ]
    for row in rows:
        losses = [f"{row[key][SINGLE]['loss']:.3f}" if key in row else "" for key in lengths]
        cells = [row["cell"], row["policy"], *losses, _text(row["full"])]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", nargs="+", default=["cifar10-1000", "mnist-1000"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[100])
    parser.add_argument("--lengths", nargs="+", type=float, default=[1 / 12, 1 / 6])
    parser.add_argument("--out", type=Path, help="file to append to")
    parser.add_argument("--data", help="folder of data files")
    parser.add_argument("--table", type=Path, help="print the table of a file")
    arguments = parser.parse_args()
    if arguments.table is not None:
        print(table(read(arguments.table)))
        return
    if arguments.out is None:
        parser.error("expected --out FILE or --table FILE")
    torch.set_num_threads(1)
    for cell in find(arguments.cells):
        for seed in arguments.seeds:
            run(cell, seed, out=arguments.out, lengths=arguments.lengths, data=arguments.data)


if __name__ == "__main__":
    main()
