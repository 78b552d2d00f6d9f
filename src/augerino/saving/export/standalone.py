"""The learned augmentation as one Python file that needs the other library only.

The file is made of the very modules that `to_torchvision` and its siblings run, with the learned numbers written below:
there is one implementation for each library, and a test compares the two.
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

_HERE = Path(__file__).parent

_HEAD = '''"""A learned augmentation as a transform of {library}: this file needs {library} and nothing else.

{summary}

    from {module} import augmentation

Coordinates: translations in fractions of half the width and half the height, rotate in radians (positive turns clockwise
on the screen), scale, squeeze and shear as logarithms of a factor, brightness of images in [0, 1].
Learned and written by augerino (Benton, Finzi, Izmailov and Wilson 2020, "Learning Invariances in Neural Networks").
"""
'''


def standalone(
    policy: Policy | Augmentation,
    library: str,
    module: str = "learned",
    undecided: Collection[str] = (),
) -> str:
    """The text of a Python file that defines `augmentation`, the learned one as a transform of that library.

    Args:
        policy: what was learned.
        library: one of `LIBRARIES`.
        module: what the file will be called, for its own example.
        undecided: coordinates of which held-out data did not tell; the file says so.

    Example:
        >>> from augerino import Affine2d, Uniform
        >>> text = standalone(Augmentation(Affine2d("rotate"), Uniform([0.7854])), "torchvision")
        >>> text.splitlines()[2], "import augerino" in text
        ('rotate ±45.0°', False)
    """
    if library not in LIBRARIES:
        raise InputError(
            f"A Python file is written for one of {', '.join(LIBRARIES)}, but not for '{library}'."
        )
    learned = numbers(policy, library)
    augmentation = policy if isinstance(policy, Augmentation) else policy.augmentation()
    names = [
        "element.py",
        *(["tensors.py"] if library != "albumentations" else []),
        f"{LIBRARIES[library]}.py",
    ]
    sources = [(_HERE / name).read_text(encoding="utf-8") for name in names]
    bodies = [_below_imports(source).replace("tensors.apply(", "apply(") for source in sources]
    doubtful = dict.fromkeys(undecided, " (not decided: this is where training left it)")
    summary = "\n".join(
        f"{name} {extent}{doubtful.get(name, '')}"
        for name, extent in augmentation.describe().items()
    )
    head = _HEAD.format(library=library, summary=summary, module=module)
    tail = f"LEARNED = {_written(learned)}\n\naugmentation = LearnedAugmentation(LEARNED)\n"
    return "\n".join([head, *_imports(sources), "", "\n\n\n".join(bodies), "", "", tail])


def _written(learned: dict[str, list[dict[str, Any]]]) -> str:
    """The numbers as Python, one transform or distribution a line; JSON of strings, numbers and lists is Python."""
    groups = [
        f'    "{key}": [\n' + "".join(f"        {json.dumps(i)},\n" for i in items) + "    ],\n"
        for key, items in learned.items()
    ]
    return "{\n" + "".join(groups) + "}"


def _imports(sources: Sequence[str]) -> list[str]:
    """The import lines of several modules as one block, those of augerino left out, the standard library's first."""
    plain: set[str] = set()
    names: dict[str, set[str]] = {}
    for node in (node for source in sources for node in ast.parse(source).body):
        if isinstance(node, ast.Import):
            plain.add(ast.unparse(node))
        elif isinstance(node, ast.ImportFrom) and not str(node.module).startswith("augerino"):
            names.setdefault(str(node.module), set()).update(alias.name for alias in node.names)
    lines = [
        *sorted(plain),
        *(f"from {module} import {', '.join(sorted(names[module]))}" for module in sorted(names)),
    ]
    groups: tuple[list[str], list[str]] = ([], [])
    for line in lines:
        groups[line.split()[1].split(".")[0] not in sys.stdlib_module_names].append(line)
    return [*groups[0], "", *groups[1], ""]


def _below_imports(source: str) -> str:
    imports = [
        node for node in ast.parse(source).body if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    return "\n".join(source.splitlines()[max(node.end_lineno or 0 for node in imports) :]).strip(
        "\n"
    )
