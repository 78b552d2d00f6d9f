"""Times start-up and a training step of two versions of the package, in turns.

    python -m benchmarks.before_after OTHER/src

Both versions run in processes of their own with one thread. Each round runs every measure once in
either version; the ratios of a round are paired.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parents[1] / "src"

IMPORT = "import augerino as ag; ag.learn, ag.InvariantModel, ag.data, ag.diagnostics, ag.Policy"
STEPS = """
import time
import torch, torch.nn.functional as F
import augerino as ag
from augerino.nets.small import SmallCNN
torch.set_num_threads(1)
torch.manual_seed(0)
augmentation = ag.Augmentation(ag.Affine2d(), ag.Uniform([0.3] * 6))
model = ag.InvariantModel(SmallCNN(3, 10), augmentation, average=ag.mean_log_prob)
objective = ag.Objective(F.nll_loss, augmentation)
optimizer = torch.optim.Adam(ag.param_groups(model), lr=1e-4)
x, y = torch.rand(128, 3, 32, 32), torch.randint(10, (128,))
def step():
    optimizer.zero_grad()
    objective(model(x), y).total.backward()
    optimizer.step()
for _ in range(10):
    step()
began = time.process_time()
for _ in range(60):
    step()
print((time.process_time() - began) / 60)
"""


def run(source: Path, *arguments: str) -> str:
    """Runs Python with the package of `source` and returns what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return done.stdout


def seconds_of(source: Path, *arguments: str) -> float:
    """Wall-clock seconds of one process."""
    began = time.perf_counter()
    run(source, *arguments)
    return time.perf_counter() - began


def measure(source: Path) -> dict[str, float]:
    """Seconds of each measure, once."""
    return {
        "augerino --help": seconds_of(source, "-m", "augerino", "--help"),
        "import augerino, ag.learn": seconds_of(source, "-c", IMPORT),
        "training step": float(run(source, "-c", STEPS)),
    }


def main() -> None:
    """Prints the median seconds of both versions and the median of the paired ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path, help="src folder of the version to compare with")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    rounds = []
    for i in range(options.rounds + 1):
        pair = {}
        for source in (HERE, options.other) if i % 2 else (options.other, HERE):
            pair[source == HERE] = measure(source)
        rounds.append(pair)
    rounds = rounds[1:]  # the first one fills the caches
    summary = {}
    for name in rounds[0][True]:
        here = [pair[True][name] for pair in rounds]
        other = [pair[False][name] for pair in rounds]
        ratios = [a / b for a, b in zip(here, other, strict=True)]
        summary[name] = {
            "here": round(statistics.median(here), 4),
            "other": round(statistics.median(other), 4),
            "ratio": round(statistics.median(ratios), 3),
        }
    print(json.dumps(summary, indent=1))


if __name__ == "__main__":
    main()
