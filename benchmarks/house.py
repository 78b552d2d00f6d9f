"""Measures the shape of a Python package and prints ours beside four others as one Markdown table.

python -m benchmarks.house                 # the other packages from house_anchors.json
python -m benchmarks.house --trace         # also record the files that `augerino learn` enters
python -m benchmarks.house --anchors DIR   # measure the other packages from the wheels in DIR
python -m benchmarks.house --download      # from the package index; rewrites house_anchors.json

A line of code is neither blank nor a comment nor part of a docstring; other rates refer to all
lines. Layers are the longest chain of imports between the entries at the top level of a package,
where a ring of entries that import each other is one link. TYPE_CHECKING imports do not count.
"""

import argparse
import ast
import json
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.house_trace import trace_learn

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "augerino"
ANCHORS = Path(__file__).with_name("house_anchors.json")
BEFORE = ROOT / "docs" / "results" / "house" / "before.json"
VERSIONS = {"zuko": "1.6.0", "gpytorch": "1.15.2", "torchsde": "0.2.6", "e3nn": "0.6.0"}
LONG_LINE = 100
MANY_ARGUMENTS = 6
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

# key in the figures: (row of the table, format)
ROWS = {
    "entries": ("entries at the top level", "d"),
    "loose_modules": ("– loose modules", "d"),
    "packages": ("– packages", "d"),
    "layers": ("layers (longest chain of imports)", "d"),
    "layers_tested": ("– asserted by tests/test_layers.py", "d"),
    "largest_ring": ("entries in the largest import ring", "d"),
    "files": ("files", "d"),
    "code_lines": ("lines of code", ",d"),
    "nodes_per_line": ("AST nodes per line of code", ".1f"),
    "conditionals": ("conditional expressions per 1,000 lines", ".1f"),
    "nested_conditionals": ("– nested", "d"),
    "tuple_assignments": ("`a, b = c, d`, % of assignments", ".1f"),
    "long_calls": ("calls with six or more positional arguments", "d"),
    "long_lines": ("lines over 100 columns, %", ".1f"),
    "tracked_files": ("tracked files", ",d"),
    "trace_files": ("files entered from `augerino learn FOLDER` to report.html", "d"),
    "trace_files_without_policy": ("– without the policy step (`--trial-length 0`)", "d"),
    "trace_folder_changes": ("– changes of folder on the way", "d"),
    "trace_entry_changes": ("– changes of top-level entry on the way", "d"),
}
Figures = dict[str, float]


def docstring_lines(tree: ast.Module) -> set[int]:
    """Numbers of the lines that belong to docstrings."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False):
            text = node.body[0]
            lines.update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return lines


def count(source: str) -> Counter[str]:
    """Counts lines, nodes and the constructs of ROWS in one file."""
    tree = ast.parse(source)
    in_docstring = docstring_lines(tree)
    counts: Counter[str] = Counter(files=1)
    for number, line in enumerate(source.splitlines(), start=1):
        counts["lines"] += 1
        counts["long_lines"] += len(line) > LONG_LINE
        is_blank_or_comment = line.strip() == "" or line.lstrip().startswith("#")
        counts["code_lines"] += not (is_blank_or_comment or number in in_docstring)
    for node in ast.walk(tree):
        counts["nodes"] += 1
        if isinstance(node, ast.IfExp):
            counts["conditionals"] += 1
            operands = (node.test, node.body, node.orelse)
            counts["nested_conditionals"] += any(isinstance(child, ast.IfExp) for child in operands)
        elif isinstance(node, ast.Assign):
            to_tuple = any(isinstance(target, ast.Tuple) for target in node.targets)
            counts["assignments"] += 1
            counts["tuple_assignments"] += to_tuple and isinstance(node.value, ast.Tuple)
        elif isinstance(node, ast.Call):
            positional = sum(not isinstance(argument, ast.Starred) for argument in node.args)
            counts["long_calls"] += positional >= MANY_ARGUMENTS
    return counts


def runtime_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yields all nodes except those under `if TYPE_CHECKING:`."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)):
            yield from runtime_nodes(child)


def imported_modules(path: Path, package: Path) -> Iterator[str]:
    """Yields the absolute names of everything that a file imports; `from a import b` yields a.b."""
    inside = [package.name, *path.relative_to(package).parts[:-1]]
    for node in runtime_nodes(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = inside[: len(inside) - node.level + 1] if node.level else []
            start = [*base, node.module] if node.module else base
            yield from (".".join([*start, alias.name]) for alias in node.names)


def import_graph(package: Path) -> dict[str, set[str]]:
    """The entries at the top level of a package, each with the other entries that it imports."""
    modules = {path.stem for path in package.glob("*.py")} - {"__init__"}
    packages = {path.parent.name for path in package.glob("*/__init__.py")}
    graph: dict[str, set[str]] = {name: set() for name in modules | packages}
    for path in package.rglob("*.py"):
        entry = path.relative_to(package).with_suffix("").parts[0]
        for name in imported_modules(path, package):
            root, _, rest = name.partition(".")
            other = rest.split(".")[0]
            if root == package.name and other != entry and {entry, other} <= graph.keys():
                graph[entry].add(other)
    return graph


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    """The entry itself and everything that it imports, directly or through others."""
    found = {start}
    waiting = [start]
    while waiting:
        new = graph[waiting.pop()] - found
        found |= new
        waiting.extend(new)
    return found


def layers_and_ring(graph: dict[str, set[str]]) -> tuple[int, int]:
    """Length of the longest chain of imports, and size of the largest ring (0 without a ring)."""
    below = {name: reachable(graph, name) for name in graph}
    rings = {name: {other for other in below[name] if name in below[other]} for name in graph}
    depth: dict[str, int] = {}
    for name in sorted(graph, key=lambda name: len(below[name])):  # imported entries come first
        depth[name] = 1 + max((depth[other] for other in below[name] - rings[name]), default=0)
    largest_ring = max((len(ring) for ring in rings.values() if len(ring) > 1), default=0)
    return max(depth.values(), default=0), largest_ring


def measure(package: Path) -> Figures:
    """The figures of ROWS that can be read from the source of a package."""
    counts: Counter[str] = Counter()
    for path in package.rglob("*.py"):
        counts.update(count(path.read_text(encoding="utf-8")))
    graph = import_graph(package)
    loose = sum((package / f"{name}.py").exists() for name in graph)
    layers, ring = layers_and_ring(graph)
    return {
        "entries": len(graph),
        "loose_modules": loose,
        "packages": len(graph) - loose,
        "layers": layers,
        "largest_ring": ring,
        "nodes_per_line": counts["nodes"] / counts["code_lines"],
        "conditionals": 1000 * counts["conditionals"] / counts["lines"],
        "tuple_assignments": 100 * counts["tuple_assignments"] / max(1, counts["assignments"]),
        "long_lines": 100 * counts["long_lines"] / counts["lines"],
        "files": counts["files"],
        "code_lines": counts["code_lines"],
        "nested_conditionals": counts["nested_conditionals"],
        "long_calls": counts["long_calls"],
    }


def measure_checkout() -> Figures:
    """The figures of this checkout: the package, the tested layers and the tracked files."""
    from tests.test_layers import LAYERS

    tracked = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    return measure(PACKAGE) | {
        "layers_tested": len(LAYERS),
        "tracked_files": len(tracked),
    }


def measure_anchors(folder: Path) -> dict[str, Figures]:
    """Figures of the other packages, from the wheels in a folder."""
    anchors = {}
    for name, version in VERSIONS.items():
        (wheel,) = folder.glob(f"{name}-{version}-*.whl")
        with tempfile.TemporaryDirectory() as unpacked:
            zipfile.ZipFile(wheel).extractall(unpacked)
            anchors[f"{name} {version}"] = measure(Path(unpacked, name))
    return anchors


def download_anchors() -> dict[str, Figures]:
    """Figures of the other packages, from the package index."""
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:"]
    with tempfile.TemporaryDirectory() as folder:
        names = [f"{name}=={version}" for name, version in VERSIONS.items()]
        subprocess.run([*pip, "--dest", folder, *names], check=True)
        return measure_anchors(Path(folder))


def table(columns: dict[str, Figures]) -> str:
    """The Markdown table: a row for every measure, a column for every package."""
    lines = [f"| | {' | '.join(columns)} |", f"| --- |{' ---: |' * len(columns)}"]
    for key, (label, form) in ROWS.items():
        values = [format(column[key], form) if key in column else "" for column in columns.values()]
        lines.append(f"| {label} | {' | '.join(values)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trace", action="store_true", help="run and trace `augerino learn`")
    parser.add_argument("--anchors", type=Path, metavar="DIR", help="wheels of the other packages")
    parser.add_argument("--download", action="store_true", help="download these wheels and save")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write our figures as JSON")
    options = parser.parse_args()
    if options.download:
        ANCHORS.write_text(json.dumps(download_anchors(), indent=1) + "\n")
    ours = measure_checkout()
    if options.trace:
        ours |= trace_learn(PACKAGE)
        without = trace_learn(PACKAGE, "--trial-length", "0")
        ours["trace_files_without_policy"] = without["trace_files"]
    if options.save:
        options.save.write_text(json.dumps(ours, indent=1) + "\n")
    columns = {"augerino": ours, "before": json.loads(BEFORE.read_text())}
    if options.anchors:
        columns |= measure_anchors(options.anchors)
    else:
        columns |= json.loads(ANCHORS.read_text())
    print(table(columns))


if __name__ == "__main__":
    main()
