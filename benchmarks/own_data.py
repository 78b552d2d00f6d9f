"""`augerino learn` on data of every kind: verdicts, time and scores.

    python -m benchmarks.own_data --data DIR [--out runs/own-data] [--only NAME ...]
                                  [-- OPTIONS OF augerino learn]

DIR holds mnist.npz, cifar10.npz, olivetti.npz and qm9_small.npz; missing files are skipped. The
faces are first written as a folder of PNG files. Finished runs are not repeated. Writes
summary.json into the output folder.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np


def embedded(name: str) -> Callable[[Path, Path], list[str] | None]:
    return lambda data, made: [name]


def archive(name: str, *options: str) -> Callable[[Path, Path], list[str] | None]:
    return lambda data, made: [str(data / name), *options] if (data / name).exists() else None


def cifar_part(data: Path, made: Path) -> list[str] | None:
    """The first 5,000 training images, and the test images."""
    source = data / "cifar10.npz"
    path = made / "cifar10-5000.npz"
    if not source.exists():
        return None
    if not path.exists():
        with np.load(source) as whole:
            arrays = {
                name: whole[name]
                for name in ("x_train", "y_train", "x_test", "y_test", "class_names")
            }
        arrays["x_train"] = arrays["x_train"][:5000]
        arrays["y_train"] = arrays["y_train"][:5000]
        np.savez(path, **arrays)
    return [str(path)]


def faces_folder(data: Path, made: Path) -> list[str] | None:
    """Writes ten PNG files for each of forty people."""
    from PIL import Image

    source = data / "olivetti.npz"
    folder = made / "olivetti"
    if not source.exists():
        return None
    with np.load(source) as faces:
        for i, (image, person) in enumerate(zip(faces["images"], faces["target"], strict=True)):
            path = folder / f"person-{person:02d}" / f"{i % 10}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                Image.fromarray(image).save(path)
    return [str(folder)]


DATA = {
    "signals": embedded("signals"),
    "clouds": embedded("clouds"),
    "faces": faces_folder,
    "cifar10": cifar_part,
    "mnist": archive("mnist.npz"),
    "molecules": archive("qm9_small.npz", "--target", "homo", "--epochs", "10"),
}


def run(folder: Path, words: list[str]) -> dict:
    """Runs the command in its own process, unless it has finished before; returns its result."""
    wall = folder / "wall.json"
    if not (folder / "result.json").exists():
        arguments = [*words, "--out", str(folder)]
        if (folder / "config.json").exists():
            arguments = ["--resume", str(folder)]
        command = [sys.executable, "-m", "augerino", "learn", *arguments]
        began = time.perf_counter()
        with (folder.parent / f"{folder.name}.log").open("a") as log:
            subprocess.run(command, check=True, stdout=log, stderr=log)
        wall.write_text(json.dumps(round(time.perf_counter() - began, 1)))
    found = json.loads((folder / "result.json").read_text())
    shown = [Path(words[0]).name, *words[1:]] if os.sep in words[0] else words
    return {
        "command": " ".join(["augerino learn", *shown]),
        "wall_seconds": json.loads(wall.read_text()) if wall.exists() else None,
        "verdicts": [coordinate["sentence"] for coordinate in found["coordinates"]],
        "bounds": found["bounds"],
        "models": found["models"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("runs/own-data"))
    parser.add_argument("--only", nargs="+", choices=list(DATA), default=list(DATA))
    arguments, options = parser.parse_known_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    rows = {}
    for name in arguments.only:
        words = DATA[name](arguments.data, arguments.out)
        if words is None:
            print(f"{name}: skipped, its file is not in {arguments.data}", flush=True)
            continue
        rows[name] = run(
            arguments.out / name, [*words, *[word for word in options if word != "--"]]
        )
        print(f"\n{rows[name]['command']}  ({rows[name]['wall_seconds']} s)", flush=True)
        for sentence in rows[name]["verdicts"]:
            print(f"  {sentence}", flush=True)
    machine = {
        "processor": platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
    }
    part = [] if arguments.only == list(DATA) else ["--only", *arguments.only]
    words = ["python -m benchmarks.own_data --data DIR", *part, *options]
    summary = {"command": " ".join(words), "machine": machine, "runs": rows}
    (arguments.out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")


if __name__ == "__main__":
    main()
