"""The whole page: one file that loads nothing, allowed to run only its own style and script."""

import base64
import hashlib
import re
from collections.abc import Sequence
from importlib.resources import files as resources
from pathlib import Path, PurePath

from augerino.errors import InputError
from augerino.report.compare import comparison
from augerino.report.markup import Markup, escape, join, named, short, tag
from augerino.report.run import Run, read_run
from augerino.report.sections import sections, summary
from augerino.report.values import entries, text
from augerino.runtime import files

_OURS = '<meta name="generator" content="augerino report">'


def write_report(runs: Sequence[str | Path], out: str | Path | None = None) -> Path:
    """Writes the page of one run, or of several side by side, and returns where it is.

    Args:
        runs: run folders.
        out: the file to write; by default report.html in the run's folder, comparison.html in the first of several.
            A file that is there is replaced only if it is a report of ours.
    """
    if not runs:
        raise InputError("A report needs a run folder.")
    paths = [Path(run) for run in runs]
    for i, path in enumerate(paths):
        if path.resolve() in [other.resolve() for other in paths[:i]]:
            raise InputError(f"{path} is given twice: name each run once.")
    read = [read_run(path, label) for path, label in zip(paths, _labels(paths), strict=True)]
    target = (
        Path(out)
        if out is not None
        else paths[0] / ("report.html" if len(paths) == 1 else "comparison.html")
    )
    _refuse_foreign(target)
    files.write_atomically(target, render(read).encode())
    return target


def render(runs: Sequence[Run]) -> str:
    """The page as text."""
    if len(runs) == 1:
        title = _title(runs[0])
        head = tag(
            "header",
            tag("p", "augerino report", class_="mark"),
            tag("h1", named(title)),
            tag("p", summary(runs[0]), class_="lead"),
        )
        body = join(head, tag("main", sections(runs[0])))
    else:
        title = f"{len(runs)} runs compared"
        head = tag("header", tag("p", "augerino report", class_="mark"), tag("h1", title))
        own = [
            tag(
                "article",
                tag("h2", named(run.label)),
                tag("p", summary(run), class_="lead"),
                sections(run, 3),
                id=f"run-{i + 1}",
            )
            for i, run in enumerate(runs)
        ]
        body = join(head, tag("main", comparison(runs), *own))
    style, script = _asset("page.css"), _asset("page.js")
    # Only the style and the script that hash to these run; everything else, and anything from elsewhere, is refused.
    allowed = f"img-src data:; style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    fields = {
        "policy": escape(policy),
        "generator": Markup(_OURS),
        "title": escape(short(title, 120)),
        "body": body,
    }
    fields |= {"style": Markup(style), "script": Markup(script)}
    # One pass over the template: a user's text that looks like a field of it is not looked at again.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: str(fields[match[1]]), _asset("page.html"))


def _title(run: Run) -> str:
    path = text(entries(run.result.get("data")).get("path")) or text(run.result.get("data"))
    name = PurePath(path.replace("\\", "/")).name if path else ""
    return f"Symmetries of {name or run.label}"


def _labels(paths: Sequence[Path]) -> list[str]:
    """Folder names, or whole paths where two folders have the same name."""
    names = [path.resolve().name for path in paths]
    return [
        str(path) if names.count(name) > 1 or not name else name
        for path, name in zip(paths, names, strict=True)
    ]


def _refuse_foreign(path: Path) -> None:
    try:
        if path.is_dir():
            raise InputError(
                f"{path} is a folder: name a file for --out, such as {path / 'report.html'}."
            )
        if not path.exists():
            return
        with path.open("rb") as file:
            ours = _OURS.encode() in file.read(4096)
    except OSError as error:
        raise InputError(
            f"Cannot write the report to {path}: {error.strerror or error}. Choose another --out."
        ) from error
    if not ours:
        raise InputError(
            f"{path} exists already and is not a report of ours, so it is not overwritten: choose another --out."
        )


def _asset(name: str) -> str:
    return (resources("augerino.report") / name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
