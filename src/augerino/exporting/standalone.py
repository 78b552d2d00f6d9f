"""The learned augmentation as one Python file that needs the other library only.

The file is made of the very modules that `to_torchvision` and its siblings run, with the learned numbers written below:
there is one implementation for each library, and a test compares the two.
"""

import ast
import pprint
from pathlib import Path

from augerino.augmentation import Augmentation
from augerino.errors import InputError
from augerino.exporting.learned import numbers
from augerino.exporting.libraries import LIBRARIES
from augerino.policy import Policy

_HERE = Path(__file__).parent

_HEAD = '''"""A learned augmentation as a transform of {library}: this file needs {library} and nothing else.

{summary}

    from {module} import augmentation

Coordinates: translations in fractions of half the width and half the height, rotate in radians (positive turns clockwise
on the screen), scale, squeeze and shear as logarithms of a factor, brightness of images in [0, 1].
Learned and written by augerino (Benton, Finzi, Izmailov and Wilson 2020, "Learning Invariances in Neural Networks").
"""
'''


def standalone(policy: Policy | Augmentation, library: str, module: str = "learned") -> str:
    """The text of a Python file that defines `augmentation`, the learned one as a transform of that library.

    Example:
        >>> from augerino import Affine2d, Uniform
        >>> text = standalone(Augmentation(Affine2d("rotate"), Uniform([0.7854])), "torchvision")
        >>> text.splitlines()[2], "import augerino" in text
        ('rotate ±45.0°', False)
    """
    if library not in LIBRARIES:
        raise InputError(f"A Python file is written for one of {', '.join(LIBRARIES)}, but not for '{library}'.")
    learned = numbers(policy, library)
    augmentation = policy if isinstance(policy, Augmentation) else policy.augmentation()
    files = ["element.py", *(["tensors.py"] if library != "albumentations" else []), f"{LIBRARIES[library]}.py"]
    imports: set[str] = set()
    bodies = []
    for name in files:
        found, body = _take_apart((_HERE / name).read_text(encoding="utf-8"))
        imports |= found
        bodies.append(body.replace("tensors.apply(", "apply("))
    summary = "\n".join(f"{name} {extent}" for name, extent in augmentation.describe().items())
    head = _HEAD.format(library=library, summary=summary, module=module)
    order = sorted(imports, key=lambda line: (line.startswith("from "), line))
    numbers_text = pprint.pformat(learned, width=120, sort_dicts=False)
    tail = f"LEARNED = {numbers_text}\n\naugmentation = LearnedAugmentation(LEARNED)\n"
    return "\n".join([head, *order, "", "", "\n\n\n".join(bodies), "", "", tail])


def _take_apart(source: str) -> tuple[set[str], str]:
    """The import lines of a module that are not of augerino, and what comes below its imports."""
    tree = ast.parse(source)
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    lines = source.splitlines()
    ours = [node for node in imports if isinstance(node, ast.ImportFrom) and str(node.module).startswith("augerino")]
    kept = {ast.get_source_segment(source, node) or "" for node in imports if node not in ours}
    return kept, "\n".join(lines[max(node.end_lineno or 0 for node in imports) :]).strip("\n")
