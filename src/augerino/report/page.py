"""The whole page: one file that loads nothing, and runs only its own style and script."""

import base64
import hashlib
import re
from collections.abc import Sequence
from importlib.resources import files as resources
from pathlib import Path, PurePath

from augerino.errors import InputError
from augerino.report import sections
from augerino.report.compare import comparison
from augerino.report.markup import Markup, escape, join, named, short, tag, unbroken
from augerino.report.payoff_section import payoff, payoff_summary
from augerino.report.result_reader import count, entries, text
from augerino.report.run import Run, read_run
from augerino.report.score_section import models
from augerino.runtime import files

_GENERATOR = '<meta name="generator" content="augerino report">'
_SUMMARY = {
    "symmetry": "with a limited range",
    "full": "with the full range",
    "none": "without a symmetry",
    "undecided": "undecided",
}


def write_report(runs: Sequence[str | Path], out: str | Path | None = None) -> Path:
    """Writes the report of one run, or a comparison of several, and returns its path.

    Args:
        runs: run folders.
        out: the file to write; by default report.html in the folder of the run, or
            comparison.html in the first of several. An existing file is replaced only if it is a
            report.
    """
    if not runs:
        raise InputError("A report needs at least one run folder.")
    paths = [Path(run) for run in runs]
    for i, path in enumerate(paths):
        if path.resolve() in [other.resolve() for other in paths[:i]]:
            raise InputError(f"{path} is given twice. Pass each run once.")
    read = [read_run(path, label) for path, label in zip(paths, _labels(paths), strict=True)]
    target = _target(paths, out)
    _check_replaceable(target)
    files.write_atomically(target, render(read).encode())
    return target


def _target(paths: Sequence[Path], out: str | Path | None) -> Path:
    if out is not None:
        return Path(out)
    if len(paths) == 1:
        return paths[0] / "report.html"
    return paths[0] / "comparison.html"


def render(runs: Sequence[Run]) -> str:
    """The page as text."""
    if len(runs) == 1:
        title = _title(runs[0])
        body = _single(runs[0], title)
    else:
        title = f"Comparison of {len(runs)} runs"
        body = _several(runs, title)
    style = _asset("page.css")
    script = _asset("page.js")
    # The browser runs only the style and the script with these hashes, and loads nothing.
    allowed = f"img-src data:; style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    fields = {
        "policy": escape(policy),
        "generator": Markup(_GENERATOR),
        "title": escape(short(title, 120)),
        "body": body,
        "style": Markup(style),
        "script": Markup(script),
    }
    # A single pass over the template, so that a field name within inserted text stays as it is.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: str(fields[match[1]]), _asset("page.html"))


def _single(run: Run, title: str) -> Markup:
    head = tag(
        "header",
        tag("p", "augerino report", class_="mark"),
        tag("h1", named(title)),
        tag("p", _summary(run), class_="lead"),
    )
    return join(head, tag("main", _sections(run)))


def _several(runs: Sequence[Run], title: str) -> Markup:
    head = tag("header", tag("p", "augerino report", class_="mark"), tag("h1", title))
    articles = [
        tag(
            "article",
            tag("h2", named(run.label)),
            tag("p", _summary(run), class_="lead"),
            _sections(run, 3),
            id=f"run-{i + 1}",
        )
        for i, run in enumerate(runs)
    ]
    return join(head, tag("main", comparison(runs), *articles))


def _sections(run: Run, level: int = 2) -> Markup:
    """All sections on one run; the headings start at `level`."""
    parts = (
        payoff,
        sections.verdicts,
        models,
        sections.examples,
        sections.evidence,
        sections.distributions,
        sections.training,
        sections.orbits,
        sections.classes,
        sections.seeds,
        sections.configuration,
    )
    return join(*(part(run, level) for part in parts))


def _summary(run: Run) -> str:
    """The payoff, the number of coordinates with each answer, and the numbers of samples."""
    counts = {kind: sum(c.answer == kind for c in run.coordinates) for kind in _SUMMARY}
    answers = [f"{counts[kind]} {words}" for kind, words in _SUMMARY.items() if counts[kind]]
    coordinates = f"{len(run.coordinates)} coordinates"
    if len(run.coordinates) == 1:
        coordinates = "1 coordinate"
    found = f"{coordinates}: {', '.join(answers)}."
    if not answers:
        found = f"{coordinates} learned."
    data = entries(run.result.get("data"))
    train = count(data.get("train_items"))
    test = count(data.get("test_items"))
    parts = [_interruption(run), payoff_summary(run.payoff), found]
    if train is not None and test is not None:
        trained = f"Trained on {_thousands(train)} samples"
        parts.append(f"{trained}, evaluated on {_thousands(test)} held-out samples.")
    return unbroken(" ".join(part for part in parts if part))


def _interruption(run: Run) -> str:
    """Says that a result is preliminary; empty for a complete one."""
    step = text(run.result.get("interrupted"))
    if not step:
        return ""
    return f"Preliminary: the time limit was reached while {short(step, 60)}."


def _thousands(n: int) -> str:
    return f"{n:,}".replace(",", "\u202f")


def _title(run: Run) -> str:
    path = text(entries(run.result.get("data")).get("path"))
    name = PurePath(path.replace("\\", "/")).name
    return f"Symmetries of {name or run.label}"


def _labels(paths: Sequence[Path]) -> list[str]:
    """The names of the folders, or their paths if two have the same name."""
    names = [path.resolve().name for path in paths]
    labels = []
    for path, name in zip(paths, names, strict=True):
        is_unique = names.count(name) == 1
        if name and is_unique:
            labels.append(name)
        else:
            labels.append(str(path))
    return labels


def _check_replaceable(path: Path) -> None:
    """Raises if the path is a folder, or a file that is not a report."""
    try:
        if path.is_dir():
            raise InputError(
                f"{path} is a folder. Pass a file to --out, such as {path / 'report.html'}."
            )
        if not path.exists():
            return
        with path.open("rb") as file:
            is_report = _GENERATOR.encode() in file.read(4096)
    except OSError as error:
        raise InputError(
            f"Cannot write the report to {path}: {error.strerror or error}. Choose another --out."
        ) from error
    if not is_report:
        raise InputError(
            f"{path} already exists and is not an augerino report. Choose another --out."
        )


def _asset(name: str) -> str:
    return (resources("augerino.report") / name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
