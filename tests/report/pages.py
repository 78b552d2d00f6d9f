"""Pages of runs as elements and text, and values that a damaged file may have anywhere."""

import json
from html.parser import HTMLParser
from pathlib import Path

from augerino.report import read_run, render
from tests.report.runs import result

STRANGE = [
    None,
    True,
    -1,
    0,
    2,
    1e300,
    -1e-300,
    10**400,
    float("nan"),
    float("inf"),
    "",
    "x",
    [],
    {},
    [None],
    [[1]],
    {"x": 1},
]


class Page(HTMLParser):
    """The elements of a page in order, with their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def changed(run: Path, to: Path, **sections) -> Path:
    """The same run with other sections in its result, without its pictures."""
    to.mkdir(parents=True)
    for name in ("config.json", "history.json", "policy.json"):
        (to / name).write_bytes((run / name).read_bytes())
    (to / "result.json").write_text(json.dumps(result(**sections)))
    return to


def page_of(*runs: Path) -> Page:
    return Page(render([read_run(run) for run in runs]))
