"""Imports point down the rows of docs/architecture.md, never up and never sideways; and importing stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import augerino

PACKAGE = Path(augerino.__file__).parent
ROWS = {
    **dict.fromkeys(("allocator", "bf16", "eager", "errors"), 0),
    **dict.fromkeys(("distributed", "files", "frames", "lie", "recipe", "rng", "run_lock", "tree", "units"), 1),
    **dict.fromkeys(("checkpoint", "distributions", "report", "transforms"), 2),
    **dict.fromkeys(("augmentation", "resuming"), 3),
    **dict.fromkeys(("policy", "progress", "regularizers"), 4),
    **dict.fromkeys(("objective", "pretrained"), 5),
    **dict.fromkeys(("models", "training"), 6),
    **dict.fromkeys(("diagnostics", "event_log", "run_folder"), 7),
    **dict.fromkeys(("defaults", "exporting", "gallery", "plots", "probing", "testing"), 8),
    "methods": 9,
    "learning": 10,
    "recovery": 11,
    "experiments": 12,
    "commands": 13,
    "cli": 14,
    "__main__": 15,
}
SHELVES = {"nets": -1, "data": 2}  # beside the rows: a shelf may import rows up to this one


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts != ("__init__",):
            yield ".".join(part for part in parts if part != "__init__"), parts[0], path


def imported(path):
    """The augerino modules that a file imports at run time."""
    tree = ast.parse(path.read_text())
    skipped = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and getattr(block.test, "id", "") == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.ImportFrom) and node.module == "augerino":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("augerino."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("augerino."))


@pytest.mark.parametrize(("name", "top", "path"), list(modules()), ids=lambda value: value if isinstance(value, str) else "")
def test_imports_point_down(name, top, path):
    assert top in ROWS or top in SHELVES, f"{top} has no row: place it in docs/architecture.md and here"
    for other in imported(path):
        if other == top:
            continue
        if top in SHELVES:
            assert ROWS.get(other, 99) <= SHELVES[top], f"{name} imports {other}, but a shelf sees rows up to {SHELVES[top]} only"
        elif other in SHELVES:
            assert ROWS[top] > SHELVES[other], f"{name} imports the shelf {other}, which is not below it"
        else:
            assert ROWS[other] < ROWS[top], f"{name} (row {ROWS[top]}) imports {other} (row {ROWS[other]})"


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_the_help_needs_no_torch():
    code = (
        "import sys\nfrom augerino.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    )
    assert "learn" in run(code)


def test_the_library_needs_only_torch_and_numpy():
    code = (
        "import sys, augerino as ag\n"
        "[getattr(ag, name) for name in ag.__all__]\n"
        "heavy = {'matplotlib', 'rich', 'tyro', 'PIL', 'safetensors', 'torchvision'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    run(code)


def test_importing_changes_no_global_state():
    code = (
        "import warnings, torch\n"
        "before = list(warnings.filters), torch.get_default_dtype(), torch.get_num_threads(), torch.get_rng_state().sum()\n"
        "import augerino as ag\n[getattr(ag, name) for name in ag.__all__]\n"
        "after = list(warnings.filters), torch.get_default_dtype(), torch.get_num_threads(), torch.get_rng_state().sum()\n"
        "assert before == after"
    )
    run(code)


def test_public_names_are_the_ones_type_checkers_see():
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.asname or alias.name for node in block.body for alias in node.names}
    assert seen == set(augerino.__all__)
    for name in augerino.__all__:
        assert getattr(augerino, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Afine2d'"):
        augerino.Afine2d
    assert set(augerino.__all__) <= set(dir(augerino))
