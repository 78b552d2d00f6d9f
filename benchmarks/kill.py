"""Kills runs with SIGKILL and goes on with them: each must end in the same bits as a run that nothing happened to.

    python -m benchmarks.kill [--kills 20] [--seed 0] [--commands probe,gradient,experiment] [--out FILE.json] [--quick]

Two of three kills come at a random moment of the run. Every third comes while a checkpoint (of an experiment: a trial) is
written: with half of its bytes in the file, between the last byte and the rename, or right behind the rename. What goes on is
killed again three times in ten. Runs are processes forked after the imports, so that moments fall into the run and not into
importing torch. Compared are weights, optimizer, bounds, records, policy, result, gallery and figures: every file but
report.html, times and dates left out.
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
from typing import Any

import matplotlib.pyplot  # noqa: F401 (what a run imports as it goes is imported before the forks, too)
import safetensors.torch  # noqa: F401
import torch
import torch._dynamo

from augerino.app import cli, data, experiment, learn, outcome, run_lock  # noqa: F401
from augerino.runtime import files
from augerino.training import checkpoint

COMMANDS = {
    "probe": [
        "learn",
        "sprites",
        "--epochs",
        "8",
        "--coordinates",
        "rotate,scale",
        "--width",
        "4",
        "--method",
        "probe",
    ],
    "gradient": [
        "learn",
        "sprites",
        "--epochs",
        "8",
        "--coordinates",
        "rotate,scale",
        "--width",
        "4",
        "--method",
        "gradient",
    ],
    "experiment": [
        "run",
        "mario",
        "--seeds",
        "1",
        "--epochs",
        "2",
        "--net",
        "small",
        "--width",
        "4",
        "--n-train",
        "200",
    ],
}
MOMENTS = ("half written", "before the rename", "after the rename")
# Checkpoints keep Python's and numpy's generators for the loaders of users; the command seeds neither and draws from neither.
DIFFERS = ("seconds", "date", "python", "numpy")


def make_small(quick: bool) -> None:
    """Little data, so that the many runs are short; with `quick` also none of what is drawn at the end."""
    data.TRAIN_ITEMS, data.TEST_ITEMS, outcome.EVIDENCE_ITEMS = (
        (64, 24, 12) if quick else (192, 48, 24)
    )
    outcome.ORBIT_NODES = 4
    if quick:
        for words in COMMANDS.values():
            words[words.index("--epochs") + 1] = "4"
        outcome._draw = outcome.write_gallery = lambda *_: None


def start(words: list[str], folder: Path, fault: Callable[[], None] | None = None) -> int:
    """Runs the command in a process of its own, in a folder, and returns the number of the process."""
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
    """Waits for a process: its exit code, or minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def die_in_a_write(moment: str, which: int) -> Callable[[], None]:
    """A fault for `start`: the process kills itself while it writes a checkpoint, or a trial, for the nth time."""

    def is_state(path: Path) -> bool:
        return path.parent.name == "trials" or (
            ".safetensors" in path.name and path.parent.name == "run"
        )

    def install() -> None:
        real_open, real_replace, count = open, os.replace, 0

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
    """A file into which half of the bytes go, and then nothing ever again."""

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
    for path in sorted(
        path
        for path in run.rglob("*")
        if path.is_file() and path.suffix != ".html" and not _is_debris(path)
    ):
        if path.suffix == ".json":
            content = json.dumps(_lasting(json.loads(path.read_bytes()))).encode()
        elif path.suffix == ".safetensors" and path.parent == run:
            content = _state_bytes(_lasting(checkpoint.load(path)))
        else:
            content = path.read_bytes()
        found[str(path.relative_to(run))] = hashlib.sha256(content).hexdigest()
    return found


def _is_debris(path: Path) -> bool:
    return path.name == run_lock.NAME or files.is_left_over(path)


def _lasting(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lasting(item) for key, item in value.items() if key not in DIFFERS}
    return [_lasting(item) for item in value] if isinstance(value, list | tuple) else value


def _state_bytes(value: Any) -> bytes:
    if isinstance(value, torch.Tensor):
        return (
            repr((value.dtype, value.shape)).encode()
            + value.contiguous().flatten().view(torch.uint8).numpy().tobytes()
        )
    if isinstance(value, dict):
        return b"".join(repr(key).encode() + _state_bytes(item) for key, item in value.items())
    return b"".join(map(_state_bytes, value)) if isinstance(value, list) else repr(value).encode()


def go_on(run: Path, begin: list[str]) -> list[str]:
    """What a user does after a run was killed: resume it, or, where it had not begun, begin it again."""
    return [begin[0], "--resume", "run"] if (run / "config.json").exists() else begin


def kill_one(
    begin: list[str], seconds: float, number: int, draw: random.Random, folder: Path
) -> tuple[list[str], list[str]]:
    """Kills one run, now and then again while it goes on, and lets it end. Returns the kills, and what is wrong in the end."""
    run, kills, code = folder / "run", [], 0
    while not (run / "result.json").exists():
        if not kills and number % 3 == 2:
            moment, which = draw.choice(MOMENTS), draw.randint(1, 4)
            code = finish(start(go_on(run, begin), folder, die_in_a_write(moment, which)))
            when = f"{moment} (write {which})"
        elif not kills or draw.random() < 0.3:
            after = draw.uniform(0, seconds)
            process = start(go_on(run, begin), folder)
            time.sleep(after)
            os.kill(process, signal.SIGKILL)
            code, when = finish(process), f"after {after:.2f} s"
        else:
            code, when = finish(start(go_on(run, begin), folder)), ""
        if code == -signal.SIGKILL:
            kills.append(when)
        elif code:
            return kills, [
                f"exit code {code}: {(folder / 'log.txt').read_text(errors='replace')[-400:]}"
            ]
    left = [path.name for path in run.rglob("*") if _is_debris(path)]
    return kills, [f"it left {left} behind"] if left and code == 0 else []


def try_command(name: str, kills: int, seed: int) -> dict[str, Any]:
    """One run in peace, then so many kills. Returns what was done, and what differed."""
    begin, draw = [*COMMANDS[name], "--out", "run"], random.Random(f"{name} {seed}")
    with tempfile.TemporaryDirectory() as folder:
        peace = Path(folder)
        began = time.perf_counter()
        if code := finish(start(begin, peace)):
            raise SystemExit(
                f"{name}: the run without any kill ended with {code}: {(peace / 'log.txt').read_text()[-800:]}"
            )
        seconds = time.perf_counter() - began
        want = bits(peace / "run")
    done, failures = [], []
    number = 2 if kills < 3 else 0  # a few begin with one in a write
    while len(done) < kills:
        with tempfile.TemporaryDirectory() as folder:
            moments, wrong = kill_one(begin, seconds, number, draw, Path(folder))
            run = Path(folder, "run")
            have = bits(run) if not wrong else want
            wrong += [
                f"{key} differs" for key in sorted(have | want) if have.get(key) != want.get(key)
            ]
            failures += [{"kills": moments, "wrong": wrong}] if wrong else []
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
    parser.add_argument("--out", type=Path, help="a file for what was done, as JSON")
    parser.add_argument(
        "--quick", action="store_true", help="with less data, and nothing drawn at the end"
    )
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
    print(f"{kills} kills of {len(done)} commands, {failed} runs that did not end in the same bits")
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
