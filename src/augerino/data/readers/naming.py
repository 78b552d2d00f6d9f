"""Usual names of parts, arrays and columns in datasets on disk, and printing of names."""

import re

from augerino.runtime.printable import printable

PARTS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("test", "testing"), "test"),
    **dict.fromkeys(("val", "valid", "validation"), "validation"),
}
_PART = re.compile(rf"(?:^|[/\\_.-])({'|'.join(PARTS)})(?=[/\\_.-])")
INPUT_NAMES = (
    "x",
    "images",
    "image",
    "data",
    "inputs",
    "input",
    "signals",
    "signal",
    "points",
    "positions",
    "features",
)
TARGET_NAMES = ("y", "labels", "label", "targets", "target", "classes", "class")
TABLES = ("labels.csv", "metadata.csv")
FILE_NAMES = ("file", "filename", "file_name", "image", "path")


def shown(name: object) -> str:
    """Makes a name from disk printable: escapes line breaks, control and invalid characters."""
    text = str(name).encode("utf-8", "backslashreplace").decode()
    return printable(text).replace("\n", "\\n")


def some(names: list[str], most: int = 5) -> str:
    """Joins the first few names of a list, with the number of the others.

    Example:
        >>> some(["a", "b", "c"], most=2)
        'a, b and 1 more'
    """
    listed = ", ".join(shown(name) for name in names[:most])
    if len(names) > most:
        listed += f" and {len(names) - most} more"
    return listed


def parts_by_name(files: list[str]) -> dict[str, list[str]]:
    """Groups the files of a sharded dataset by part, found in their names or folder names.

    Example:
        >>> parts_by_name(["shard-train-0.tar", "shard-train-1.tar", "val/0.tar"])
        {'train': ['shard-train-0.tar', 'shard-train-1.tar'], 'validation': ['val/0.tar']}
    """
    found: dict[str, list[str]] = {}
    for name in files:
        match = _PART.search(name.lower())
        part = PARTS[match[1]] if match else "train"
        found.setdefault(part, []).append(name)
    return found


def choose_parts(parts: list[str]) -> tuple[str | None, list[str]]:
    """Chooses the test part, test before validation; returns it and the unused parts."""
    test = next((part for part in ("test", "validation") if part in parts), None)
    return test, [part for part in parts if part not in ("train", test)]
