"""What the parser says of a wrong command line, as one sentence instead of a box of several lines."""

import contextlib
import io
import re
from collections.abc import Iterator

from augerino.errors import InputError

_RULE = "─"
_WORDS = {"INT": "a whole number", "FLOAT": "a number"}  # for what the parser calls so


@contextlib.contextmanager
def in_a_sentence(command: str) -> Iterator[None]:
    """Turns the parser's way out, a box on the error stream and the exit code 2, into an `InputError`; help passes.

    Args:
        command: whose `--help` tells the options.
    """
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            yield
    except SystemExit as end:
        if end.code in (0, None):
            raise
        raise InputError(
            f"{sentence(said.getvalue())} `{command} --help` lists what there is."
        ) from end


def sentence(box: str) -> str:
    """The one thing that a box says.

    Example:
        >>> sentence("╭\\n│ Error parsing --seed: invalid literal for int() with base 10: 'x' │\\n│ ── │\\n│ --seed INT │")
        "--seed takes a whole number, but got 'x'."
    """
    rows = _rows(box)
    text = " ".join(" ".join(rows).split())
    first = text.partition(f" {_RULE}")[0]
    if found := re.match(r"Error parsing __tyro\S*: (.*)", first):  # raised by a nested dataclass
        return found[1]
    if found := re.match(r"Error parsing (--[\w.-]+): (.*)", first):
        option, reason = found.groups()
        got = re.search(r"'([^']*)'\]?\.?$", reason.partition(" Got errors")[0])
        kind = re.search(
            rf"{re.escape(option)} (\S*(INT|FLOAT)\S*)", text.partition(f" {_RULE}")[2]
        )
        if got and kind:
            several = ", or several" if "..." in text else ""
            return f"{option} takes {_WORDS[kind[2]]}{several}, but got '{got[1]}'."
        return f"{option} cannot be read: {reason.rstrip('.')}."
    if found := re.match(
        r"invalid choice '(.*)' for argument '(.*)'\. Expected one of \((.*)\)", first
    ):
        value, option, choices = found.groups()
        return f"{option} is one of {choices.replace(chr(39), '').rstrip(',')}, but got '{value}'."
    if found := re.match(r"Missing value for argument '(.*?)'", first):
        return f"{found[1]} needs a value."
    if found := re.match(r"Unrecognized options: (.*)", first):
        word = found[1].partition(",")[0]
        if there := re.search(r"Available subcommands: ([\w, -]*\w)", text):
            return f"There is no command '{word}'; there are: {there[1]}."
        near = re.search(r"Perhaps you meant: (--[\w.-]+)", text)
        what = (
            f"There is no option {word}"
            if word.startswith("-")
            else f"'{word}' is one word too many"
        )
        return f"{what}; did you mean {near[1]}?" if near else f"{what}."
    if first.startswith("Missing from"):
        above = rows[: rows.index(_RULE)] if _RULE in rows else rows
        names = [row.split()[0] for row in above if re.match(r" {4}\S", row)]
        return f"Something is missing: {' and '.join(names)}."
    return first or "The command line cannot be read."


def _rows(box: str) -> list[str]:
    """The lines inside a box without their margin, whichever signs it is drawn with; a rule between them becomes one sign."""
    inside = [
        line.strip("│").rstrip() for line in box.splitlines() if not line.startswith(("╭", "╰"))
    ]
    inside = [_RULE if set(line.strip()) <= {"─", "-"} else line for line in inside if line.strip()]
    if "╭" not in box and _RULE in inside[1:2]:  # without a frame, the first line is the title
        del inside[:2]
    margin = len(inside[0]) - len(inside[0].lstrip()) if inside else 0
    return [line if line == _RULE else line[margin:] for line in inside]
