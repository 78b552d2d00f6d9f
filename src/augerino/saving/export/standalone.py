"""The learned augmentation as one Python file that needs only the other library.

The file is assembled from the modules that `to_torchvision`, `to_kornia` and `to_albumentations`
use, followed by the learned numbers. So there is one implementation for each library.
"""

import ast
import json
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from augerino.augmentation import Augmentation
from augerino.errors import InputError
from augerino.saving.export.learned import numbers
from augerino.saving.export.libraries import LIBRARIES
from augerino.saving.policy import Policy

_HEAD = '''"""A learned augmentation for {library}: this file needs {library} and nothing else.

{summary}

    from {module} import augmentation

Coordinates: translations in fractions of half the width and half the height, rotate in radians
(positive is clockwise on the screen), scale, squeeze and shear as logarithms of a factor,
intensities of images in [0, 1].
Learned and written by augerino (Benton, Finzi, Izmailov and Wilson 2020, "Learning Invariances in
Neural Networks").
"""
'''


def standalone(
    policy: Policy | Augmentation,
    library: str,
    module: str = "learned",
    undecided: Collection[str] = (),
) -> str:
    """Returns the text of a Python file that defines `augmentation`, a transform of a library.

    Args:
        policy: the learned augmentation.
        library: one of `LIBRARIES`.
        module: name of the file, for its own usage example.
        undecided: coordinates with an undecided verdict, marked as such in the file.

    Example:
        >>> from augerino import Affine2d, Uniform
        >>> text = standalone(Augmentation(Affine2d("rotate"), Uniform([0.7854])), "torchvision")
        >>> text.splitlines()[2], "import augerino" in text
        ('rotate ±45.0°', False)
    """
    if library not in LIBRARIES:
        raise InputError(f"library must be one of {', '.join(LIBRARIES)}, but got '{library}'.")
    learned = numbers(policy, library)
    augmentation = policy if isinstance(policy, Augmentation) else policy.augmentation()
    sources = _sources(library)
    bodies = [_below_imports(source).replace("tensors.apply(", "apply(") for source in sources]
    head = _HEAD.format(library=library, summary=_summary(augmentation, undecided), module=module)
    tail = f"LEARNED = {_python_literal(learned)}\n\naugmentation = LearnedAugmentation(LEARNED)\n"
    return "\n".join([head, *_imports(sources), "", "\n\n\n".join(bodies), "", "", tail])


def _sources(library: str) -> list[str]:
    """The source of the modules that the file is assembled from."""
    export = Path(__file__).parent
    transforms = export.parents[1] / "transforms"
    paths = [export / "element.py"]
    if library == "albumentations":
        paths.append(export / "arrays.py")
    else:
        paths += [transforms / "hashing.py", transforms / "pixelwise.py", export / "tensors.py"]
    paths.append(export / f"{LIBRARIES[library]}.py")
    return [path.read_text(encoding="utf-8") for path in paths]


def _summary(augmentation: Augmentation, undecided: Collection[str]) -> str:
    lines = []
    for name, extent in augmentation.describe().items():
        line = f"{name} {extent}"
        if name in undecided:
            line += " (undecided: the range at the end of training)"
        lines.append(line)
    return "\n".join(lines)


def _python_literal(learned: dict[str, list[dict[str, Any]]]) -> str:
    """The numbers as Python, one transform or distribution per line.

    JSON of strings, numbers and lists is valid Python.
    """
    lines = ["{"]
    for key, items in learned.items():
        lines.append(f'    "{key}": [')
        lines += [f"        {json.dumps(item)}," for item in items]
        lines.append("    ],")
    lines.append("}")
    return "\n".join(lines)


def _imports(sources: Sequence[str]) -> list[str]:
    """The imports of several modules as one block: standard library, blank line, others.

    Imports of augerino are left out.
    """
    plain: set[str] = set()
    names: dict[str, set[str]] = {}
    for source in sources:
        for node in ast.parse(source).body:
            if isinstance(node, ast.Import):
                plain.add(ast.unparse(node))
            elif isinstance(node, ast.ImportFrom) and not str(node.module).startswith("augerino"):
                imported = names.setdefault(str(node.module), set())
                imported.update(alias.name for alias in node.names)
    lines = sorted(plain)
    for module in sorted(names):
        lines.append(f"from {module} import {', '.join(sorted(names[module]))}")
    standard = [line for line in lines if _is_standard_library(line)]
    others = [line for line in lines if not _is_standard_library(line)]
    return [*standard, "", *others, ""]


def _is_standard_library(line: str) -> bool:
    package = line.split()[1].split(".", maxsplit=1)[0]
    return package in sys.stdlib_module_names


def _below_imports(source: str) -> str:
    last = 0
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            last = node.end_lineno or last
    return "\n".join(source.splitlines()[last:]).strip("\n")
