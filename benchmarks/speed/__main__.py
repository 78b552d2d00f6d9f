"""Ratios of times from interleaved rounds: medians and quartiles, with the machine.

    python -m benchmarks.speed [layer] [step] [precision] [data] [growth] [--out DIR]
                               [--seconds S] [--threads 1 2] [--again]

Writes each part to DIR (docs/results/speed) as JSON when it ends, then speed.md with all tables,
and figures. Existing parts are kept unless --again is given, so an interrupted run can be
continued. Other libraries are timed if they are installed: pip install "augerino[benchmark]". All
parts take about a quarter of an hour on two idle cores.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

from benchmarks.speed import tables
from benchmarks.speed.timing import machine

FOLDER = Path(__file__).resolve().parent.parent.parent / "docs" / "results" / "speed"


def parts(seconds: float, threads: tuple[int, ...], out: Path) -> dict[str, Callable[[], object]]:
    """The functions that measure each part; `seconds` is the time for one row of a table."""
    from benchmarks.speed import data, growth, layer, precision, step

    return {
        "layer": lambda: layer.measure(seconds, threads),
        "step": lambda: step.measure(4 * seconds, threads),
        "precision": lambda: precision.measure(4 * seconds),
        "data": data.measure,
        "growth": lambda: growth.measure(out),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help="layer, step, precision, data, growth; all by default",
    )
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument(
        "--seconds", type=float, default=8.0, help="for the rounds of one row of the first table"
    )
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--again", action="store_true", help="measure existing parts again")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    known = parts(arguments.seconds, tuple(arguments.threads), arguments.out)
    wrong = [name for name in arguments.parts if name not in known]
    if wrong:
        parser.error(f"there is no part '{wrong[0]}': choose from {', '.join(known)}")
    for name in arguments.parts or known:
        file = arguments.out / f"{name}.json"
        if file.exists() and not arguments.again:
            print(f"{name}: exists already")
            continue
        print(f"{name}:", flush=True)
        began = machine()
        saved = {"machine": began, "seconds": arguments.seconds, "found": known[name]()}
        file.write_text(json.dumps(saved, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        if name == "layer":
            tables.draw_layer(arguments.out / "layer.png", saved["found"])
    (arguments.out / "speed.md").write_text(tables.tables(arguments.out) + "\n", encoding="utf-8")
    print(f"Tables: {arguments.out / 'speed.md'}")


if __name__ == "__main__":
    main()
