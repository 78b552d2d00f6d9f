"""Packs the trials of a run folder into one compressed file, and unpacks them into a run folder.

    python -m benchmarks.trials pack RUN docs/results/NAME
    python -m benchmarks.trials unpack docs/results/NAME RUN [--data DIR] [--seeds N]

`pack` writes `trials.jsonl.gz` (one trial per line, sorted by name) and copies `result.json`.
Figures are copied by hand.
`unpack` writes `trials/*.json` and `config.json`, for `augerino run --resume RUN`, which runs what
is missing, such as the further seeds of `--seeds`.
"""

import argparse
import gzip
import io
import json
import shlex
from collections.abc import Iterable
from pathlib import Path

from augerino.app.run_folder import RunFolder
from augerino.errors import InputError
from augerino.runtime import files
from augerino.runtime.trials import Trial, trial_name

PACKED = "trials.jsonl.gz"
CONFIG = ("experiment", "preset", "changed", "settings")  # what --resume needs of result.json


def pack(run: Path, results: Path) -> Path:
    """Writes the trials and the result of a finished run into `results`; returns the file."""
    paths = sorted((run / "trials").glob("*.json"))
    if not paths or not (run / "result.json").is_file():
        raise InputError(f"Expected trials/*.json and result.json in {run}: finish it first.")
    packed = to_bytes(files.read_json(path, "trial") for path in paths)
    result = (run / "result.json").read_bytes()
    results.mkdir(parents=True, exist_ok=True)
    files.write_atomically(results / PACKED, packed)
    files.write_atomically(results / "result.json", result)
    return results / PACKED


def unpack(results: Path, run: Path, *, data: str | None = None, seeds: int | None = None) -> Path:
    """Writes a run folder with the packed trials and the settings of the result; returns it.

    Args:
        results: folder with the packed trials.
        run: the new run folder.
        data: folder of the data, to resume the run.
        seeds: number of seeds of the resumed run; by default that of the result.
    """
    if run.exists() and (not run.is_dir() or any(run.iterdir())):
        raise InputError(f"{run} exists already and is not empty: choose another folder.")
    if not (results / PACKED).is_file():
        raise InputError(f"{results} has no {PACKED}: choose a folder that has one.")
    trials = from_bytes((results / PACKED).read_bytes())
    result = files.read_json(results / "result.json", "result")
    (run / "trials").mkdir(parents=True)
    for name, trial in trials.items():
        files.write_json(run / "trials" / f"{name}.json", trial)
    config = {key: result[key] for key in CONFIG}
    if seeds is not None:
        for key in ("changed", "settings"):
            config[key] = {**config[key], "seeds": seeds}
    # The configuration comes last: a folder that has it has all the trials.
    RunFolder(run).write_config({**config, "data": data})
    return run


def to_bytes(trials: Iterable[Trial]) -> bytes:
    """Compresses trials to one line of JSON each, sorted by name, to reproducible bytes."""
    lines: dict[str, str] = {}
    for trial in trials:
        name = trial_name(trial["row"], trial["seed"])
        if name in lines:
            raise InputError(f"Expected one trial '{name}', but got two: remove the wrong one.")
        lines[name] = json.dumps(trial, ensure_ascii=False, separators=(",", ":"))
    text = "".join(f"{lines[name]}\n" for name in sorted(lines))
    target = io.BytesIO()
    # Unlike gzip.compress, GzipFile writes the same header on every operating system.
    with gzip.GzipFile(filename="", mode="wb", fileobj=target, mtime=0) as file:
        file.write(text.encode())
    return target.getvalue()


def from_bytes(packed: bytes) -> dict[str, Trial]:
    """Returns the trials of a packed file by name."""
    trials = [json.loads(line) for line in gzip.decompress(packed).decode().split("\n") if line]
    return {trial_name(trial["row"], trial["seed"]): trial for trial in trials}


def main() -> None:
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack", help="from a run folder to a results folder")
    packing.add_argument("run", type=Path)
    packing.add_argument("results", type=Path)
    unpacking = commands.add_parser("unpack", help="from a results folder to a run folder")
    unpacking.add_argument("results", type=Path)
    unpacking.add_argument("run", type=Path)
    unpacking.add_argument("--data", help="folder of the data, to resume the run")
    unpacking.add_argument("--seeds", type=int, help="number of seeds of the resumed run")
    options = parser.parse_args()
    try:
        if options.command == "pack":
            print(pack(options.run, options.results))
        else:
            run = unpack(options.results, options.run, data=options.data, seeds=options.seeds)
            print(f"Resume with:  {shlex.join(['augerino', 'run', '--resume', str(run)])}")
    except InputError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
