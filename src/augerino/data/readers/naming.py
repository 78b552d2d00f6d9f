"""Names that datasets on disk use: of their parts, arrays and columns; and how names are shown to the user."""

import re

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
    """A name from the user's disk as it can be printed: no line breaks, no control characters, always valid text."""
    text = str(name).encode("utf-8", "backslashreplace").decode()
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )


def some(names: list[str], most: int = 5) -> str:
    """The first few names of a list, and how many more there are.

    Example:
        >>> some(["a", "b", "c"], most=2)
        'a, b and 1 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(shown(name) for name in names[:most]) + more


def parts_by_name(files: list[str]) -> dict[str, list[str]]:
    """Files of a sharded dataset by the part that a word in their names, or in those of their folders, tells.

    Example:
        >>> parts_by_name(["shard-train-0.tar", "shard-train-1.tar", "val/0.tar"])
        {'train': ['shard-train-0.tar', 'shard-train-1.tar'], 'validation': ['val/0.tar']}
    """
    found: dict[str, list[str]] = {}
    for name in files:
        match = _PART.search(name.lower())
        found.setdefault(PARTS[match[1]] if match else "train", []).append(name)
    return found


def choose_parts(parts: list[str]) -> tuple[str | None, list[str]]:
    """Which of the parts found is the test part, and which are left unused: test before validation."""
    test = next((part for part in ("test", "validation") if part in parts), None)
    return test, [part for part in parts if part not in ("train", test)]
