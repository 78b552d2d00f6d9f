"""Kills runs with SIGKILL and resumes them: each must end bit for bit like an uninterrupted run.

    python -m benchmarks.kill [--kills 20] [--seed 0] [--commands probe,gradient,experiment]
                              [--out FILE.json] [--quick]

Two of three kills come at a random moment of the run. Every third comes while a checkpoint (or a
trial of an experiment) is written: with half of its bytes in the file, before the rename, or right
after the rename. A resumed run is killed again with probability 0.3. Runs are forked after the
imports, so that no kill falls into the import of torch. Compares every file of the run except
report.html, without times and dates: weights, optimizer, bounds, records, policy, result, gallery
and figures.
"""

import argparse
import hashlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib.pyplot  # noqa: F401 (lazy imports of a run happen before the forks, too)
import safetensors.torch  # noqa: F401
import torch
import torch._dynamo

from augerino.app import cli, experiment, learn, outcome, run_lock  # noqa: F401
from augerino.data.synthetic import embedded
from augerino.learning import outcome as measuring
from augerino.learning import result
from augerino.runtime import files
from augerino.training import checkpoint

_LEARN = "learn sprites --epochs 8 --coordinates rotate,scale --width 4 --method"
_EXPERIMENT = "run mario --seeds 1 --epochs 2 --net small --width 4 --n-train 200"
COMMANDS = {
    "probe": f"{_LEARN} probe".split(),
    "gradient": f"{_LEARN} gradient".split(),
    "experiment": _EXPERIMENT.split(),
}
MOMENTS = ("half written", "before the rename", "after the rename")
# Keys that may differ. Checkpoints hold the states of Python's and numpy's generators for the
# loaders of users; the command itself neither seeds nor uses these generators.
DIFFERS = ("seconds", "date", "python", "numpy")


def make_small(quick: bool) -> None:
    """Reduces the data, so that the runs are short; with `quick` also skips the figures."""
    _replace(embedded, N_TRAIN=64 if quick else 192, N_TEST=24 if quick else 48)
    _replace(measuring, EVIDENCE_ITEMS=12 if quick else 24, ORBIT_NODES=4)
    if quick:
        for words in COMMANDS.values():
            words[words.index("--epochs") + 1] = "4"
        _replace(outcome, _write_figure=lambda *_: None)
        _replace(result, write_examples=lambda *_: None)


def _replace(module: ModuleType, **values: Any) -> None:
    """Sets attributes that the module has; a new name would have no effect."""
    for name, value in values.items():
        if not hasattr(module, name):
            raise AttributeError(f"{module.__name__} has no {name}")
        setattr(module, name, value)


def start(words: list[str], folder: Path, fault: Callable[[], None] | None = None) -> int:
    """Forks a process that runs the command in a folder; returns its process id."""
    process = os.fork()
    if process:
        return process
    code = 70
    try:
        os.chdir(folder)
        log = os.open("log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        torch.set_num_threads(1)
        if fault is not None:
            fault()
        code = cli.main(words)
    finally:
        os._exit(code)


def finish(process: int) -> int:
    """Waits for a process; returns its exit code, or minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def die_in_a_write(moment: str, which: int) -> Callable[[], None]:
    """A fault for `start`: the process kills itself in the nth write of a checkpoint or trial."""

    def is_state(path: Path) -> bool:
        is_checkpoint = ".safetensors" in path.name and path.parent.name == "run"
        return is_checkpoint or path.parent.name == "trials"

    def install() -> None:
        real_open = open
        real_replace = os.replace
        count = 0

        def open_(path: Any, mode: str) -> Any:
            nonlocal count
            file = real_open(path, mode)
            if is_state(path):
                count += 1
                if count == which and moment == "half written":
                    file = _Torn(file)
            return file

        def replace(source: Any, target: Any) -> None:
            hit = count == which and is_state(Path(target))
            if hit and moment == "before the rename":
                os.kill(os.getpid(), signal.SIGKILL)
            real_replace(source, target)
            if hit:
                os.kill(os.getpid(), signal.SIGKILL)

        files.open = open_  # type: ignore[attr-defined]
        os.replace = replace  # type: ignore[assignment]

    return install


class _Torn:
    """A file that kills the process after half of the bytes."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def __enter__(self) -> "_Torn":
        return self

    def __exit__(self, *_: object) -> None: ...

    def write(self, content: bytes) -> None:
        self.file.write(content[: len(content) // 2])
        self.file.flush()
        os.kill(os.getpid(), signal.SIGKILL)


def bits(run: Path) -> dict[str, str]:
    """A digest of every file of a run, without times, dates and the report that shows them."""
    found = {}
    for path in sorted(run.rglob("*")):
        if not path.is_file() or path.suffix == ".html" or _is_debris(path):
            continue
        if path.suffix == ".json":
            content = json.dumps(_lasting(json.loads(path.read_bytes()))).encode()
        elif path.suffix == ".safetensors" and path.parent == run:
            content = _state_bytes(_lasting(checkpoint.load(path)))
        else:
            content = path.read_bytes()
        found[str(path.relative_to(run))] = hashlib.sha256(content).hexdigest()
    return found


def _is_debris(path: Path) -> bool:
    return path.name in run_lock.NAMES or files.is_left_over(path)


def _lasting(value: Any) -> Any:
    """Nested values without the keys that may differ."""
    if isinstance(value, dict):
        return {key: _lasting(item) for key, item in value.items() if key not in DIFFERS}
    if isinstance(value, list | tuple):
        return [_lasting(item) for item in value]
    return value


def _state_bytes(value: Any) -> bytes:
    if isinstance(value, torch.Tensor):
        content = value.contiguous().flatten().view(torch.uint8).numpy().tobytes()
        return repr((value.dtype, value.shape)).encode() + content
    if isinstance(value, dict):
        return b"".join(repr(key).encode() + _state_bytes(item) for key, item in value.items())
    if isinstance(value, list):
        return b"".join(map(_state_bytes, value))
    return repr(value).encode()


def next_command(run: Path, begin: list[str]) -> list[str]:
    """The command after a kill: resumes the run, or starts it again if it had not begun."""
    if (run / "config.json").exists():
        return [begin[0], "--resume", "run"]
    return begin


def kill_one(
    begin: list[str], seconds: float, number: int, draw: random.Random, folder: Path
) -> tuple[list[str], list[str]]:
    """Kills and resumes one run until it ends. Returns the kills and the errors."""
    run = folder / "run"
    kills = []
    code = 0
    while not (run / "result.json").exists():
        command = next_command(run, begin)
        when = ""
        if not kills and number % 3 == 2:
            moment = draw.choice(MOMENTS)
            which = draw.randint(1, 4)
            code = finish(start(command, folder, die_in_a_write(moment, which)))
            when = f"{moment} (write {which})"
        elif not kills or draw.random() < 0.3:
            after = draw.uniform(0, seconds)
            process = start(command, folder)
            time.sleep(after)
            os.kill(process, signal.SIGKILL)
            code = finish(process)
            when = f"after {after:.2f} s"
        else:
            code = finish(start(command, folder))
        if code == -signal.SIGKILL:
            kills.append(when)
        elif code:
            log = (folder / "log.txt").read_text(errors="replace")
            return kills, [f"exit code {code}: {log[-400:]}"]
    left = [path.name for path in run.rglob("*") if _is_debris(path)]
    if left and code == 0:
        return kills, [f"it left {left} behind"]
    return kills, []


def try_command(name: str, kills: int, seed: int) -> dict[str, Any]:
    """Runs a command without kills, then with kills. Returns the kills and the differences."""
    begin = [*COMMANDS[name], "--out", "run"]
    draw = random.Random(f"{name} {seed}")
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        code = finish(start(begin, Path(folder)))
        if code:
            log = Path(folder, "log.txt").read_text()
            raise SystemExit(f"{name}: the run without kills ended with {code}: {log[-800:]}")
        seconds = time.perf_counter() - began
        want = bits(Path(folder, "run"))
    done: list[str] = []
    failures: list[dict[str, Any]] = []
    number = 2 if kills < 3 else 0  # with few kills, the first one is in a write
    while len(done) < kills:
        with tempfile.TemporaryDirectory() as folder:
            moments, wrong = kill_one(begin, seconds, number, draw, Path(folder))
            run = Path(folder, "run")
            have = bits(run) if not wrong else want
            for key in sorted(have | want):
                if have.get(key) != want.get(key):
                    wrong.append(f"{key} differs")
            if wrong:
                failures.append({"kills": moments, "wrong": wrong})
            done += moments
            number += 1
            print(f"  {name}: {len(done)} kills, {len(failures)} runs that differ", flush=True)
    return {
        "command": " ".join(["augerino", *COMMANDS[name]]),
        "seconds": round(seconds, 2),
        "kills": done,
        "failures": failures,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=20, help="of each command, at least")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--commands", default=",".join(COMMANDS))
    parser.add_argument("--out", type=Path, help="JSON file for the results")
    parser.add_argument("--quick", action="store_true", help="less data, no figures")
    arguments = parser.parse_args()
    make_small(arguments.quick)
    done = {
        name: try_command(name, arguments.kills, arguments.seed)
        for name in arguments.commands.split(",")
    }
    failed = sum(len(entry["failures"]) for entry in done.values())
    for name, entry in done.items():
        for failure in entry["failures"]:
            print(
                f"{name}, killed {', '.join(failure['kills'])}: {failure['wrong']}", file=sys.stderr
            )
    kills = sum(len(entry["kills"]) for entry in done.values())
    print(f"{kills} kills of {len(done)} commands, {failed} runs with differences")
    if arguments.out is not None:
        summary = {
            "seed": arguments.seed,
            "kills": kills,
            "failed": failed,
            "torch": torch.__version__,
            "commands": done,
        }
        arguments.out.write_text(json.dumps(summary, indent=2) + "\n")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
