"""The measures of benchmarks/house.py and house_trace.py, on a toy package."""

import json

import pytest
from benchmarks import house, house_trace

INNER = """from ..bottom import leaf


def here():
    leaf(1, 2, 3, *[4, 5], 6)
    return leaf(1, 2, 3, 4, 5, 6)
"""
FILES = {
    "__init__.py": "import toy.left\n",
    "__main__.py": "from toy.top import main\n\nmain()\n",
    "top.py": (
        '"""A docstring\n\nof three lines."""\n\nfrom . import middle\n\n\n'
        "def main():\n    # a comment\n    return middle.here()\n"
    ),
    "middle/__init__.py": "from .inner import here\n",
    "middle/inner.py": INNER,
    "bottom.py": (
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from toy.top import main\n\n\n"
        "def leaf(*x):\n    a, b = x[0], x[-1]\n    c = a\n    return 1 if a else 2 if b else c\n"
    ),
    "left.py": "import toy.right\n\ntoy.right.later()\n",
    "right.py": "def later():\n    import toy.left  # " + "x" * 100 + "\n",
}


@pytest.fixture
def toy(tmp_path, monkeypatch):
    for name, text in FILES.items():
        path = tmp_path / "toy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path / "toy"


def test_the_measures_of_a_toy_package(toy):
    figures = house.measure(toy)
    assert (figures["entries"], figures["loose_modules"], figures["packages"]) == (6, 5, 1)
    assert figures["layers"] == 4  # __main__, top, middle, bottom
    assert figures["largest_ring"] == 2  # left, right
    assert (figures["files"], figures["code_lines"]) == (8, 22)
    assert (figures["nested_conditionals"], figures["long_calls"]) == (1, 1)
    lines = sum(len(text.splitlines()) for text in FILES.values())
    assert figures["conditionals"] == pytest.approx(2000 / lines)
    assert figures["long_lines"] == pytest.approx(100 / lines)
    assert figures["tuple_assignments"] == 50


def test_docstrings_and_comments_are_no_code():
    counts = house.count('"""Two\nlines."""\n\n# comment\nx = """not a\ndocstring"""\n')
    assert (counts["lines"], counts["code_lines"]) == (6, 2)


def test_the_trace_lists_files_in_the_order_of_their_first_call(toy):
    files = [path.as_posix() for path in house_trace.files_entered(toy, "toy")]
    assert files == ["top.py", "middle/inner.py", "bottom.py"]  # right.py only during an import


def test_every_committed_figure_has_a_row():
    columns = json.loads(house.ANCHORS.read_text())
    columns["before"] = json.loads(house.BEFORE.read_text())
    assert all(figures.keys() <= house.ROWS.keys() for figures in columns.values())
    assert house.measure_checkout().keys() <= house.ROWS.keys()
    lines = house.table(columns).splitlines()
    assert len(lines) == 2 + len(house.ROWS) and len({line.count("|") for line in lines}) == 1
