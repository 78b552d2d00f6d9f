"""Imports point down the layers of docs/architecture.md only, and load no optional packages."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import augerino

PACKAGE = Path(augerino.__file__).parent
LAYERS = (
    ("errors",),
    ("coordinate", "lie", "nets", "runtime", "tree"),
    ("distributions", "transforms"),
    ("augmentation", "data"),
    ("models", "objective", "report"),
    ("diagnostics", "saving", "training"),
    ("learning", "plots", "testing"),
    ("benchmark", "paper"),
    ("__main__", "app"),
)
LAYER = {name: number for number, names in enumerate(LAYERS) for name in names}


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
            yield from (
                alias.name.split(".")[1]
                for alias in node.names
                if alias.name.startswith("augerino.")
            )


@pytest.mark.parametrize(
    ("name", "top", "path"),
    list(modules()),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_imports_point_down(name, top, path):
    assert top in LAYER, f"{top} has no layer: place it in docs/architecture.md and here"
    for other in imported(path):
        if other != top and (top, other) != ("__main__", "app"):
            assert LAYER[other] < LAYER[top], (
                f"{name} (layer {LAYER[top]}) imports {other} (layer {LAYER[other]})"
            )


def test_there_are_at_most_nine_layers():
    assert len(LAYERS) <= 9


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout


def test_the_help_needs_no_torch():
    code = (
        "import sys\nfrom augerino.app.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    )
    assert "learn" in run(code)


def test_the_library_needs_only_torch_and_numpy():
    code = (
        "import sys, augerino as ag\n"
        "[getattr(ag, name) for name in ag.__all__]\n"
        "optional = {'matplotlib', 'rich', 'tyro', 'PIL', 'safetensors', 'torchvision'}\n"
        "loaded = optional & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    run(code)


def test_importing_changes_no_global_state():
    code = (
        "import warnings, torch\n"
        "def state():\n"
        "    settings = torch.get_default_dtype(), torch.get_num_threads()\n"
        "    return list(warnings.filters), *settings, torch.get_rng_state().sum()\n"
        "before = state()\n"
        "import augerino as ag\n"
        "[getattr(ag, name) for name in ag.__all__]\n"
        "assert before == state()"
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
