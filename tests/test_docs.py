"""Examples in README, docs and docstrings run, links exist, and numbers have a source."""

import contextlib
import doctest
import importlib
import io
import json
import math
import pkgutil
import re
import warnings
from pathlib import Path

import pytest
import tyro

import augerino
from augerino.app import catalogue
from augerino.runtime.trials import settings_json
from tests.conftest import need

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
RESULTS = ROOT / "docs" / "results"
BLOCK = re.compile(r"(?:<!-- needs: ([\w, ]+) -->\n)?```(\w+)\n(.*?)```", re.DOTALL)
NUMBER = re.compile(r"\d+\.\d+")


def examples(page: Path, needing: bool = False) -> list[tuple[str, str | None, list[str]]]:
    """Python blocks, each with its expected output and the packages that a comment above it names.

    The expected output is the text block that follows.
    """
    blocks = BLOCK.findall(page.read_text())
    return [
        (
            code,
            blocks[i + 1][2] if i + 1 < len(blocks) and blocks[i + 1][1] == "text" else None,
            needs.split(", "),
        )
        for i, (needs, language, code) in enumerate(blocks)
        if language == "python" and bool(needs) == needing
    ]


def assert_alike(printed: str, promised: str) -> None:
    """Compares two texts; measured numbers may differ by a tenth."""
    assert NUMBER.sub("#", printed.strip()) == NUMBER.sub("#", promised.strip())
    for got, said in zip(NUMBER.findall(printed), NUMBER.findall(promised), strict=True):
        assert float(got) == pytest.approx(float(said), rel=0.1)


def run_examples(blocks, name: str, namespace: dict) -> None:
    for code, promised, _ in blocks:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, name, "exec"), namespace)
        if promised is not None:
            assert_alike(out.getvalue(), promised)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if examples(page)], ids=lambda page: page.name
)
def test_examples_run_and_print_what_they_say(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_examples(examples(page), page.name, {})


@pytest.mark.extras
@pytest.mark.parametrize(
    ("page", "example"),
    [
        pytest.param(page, example, id=f"{page.name} {' '.join(example[2])}")
        for page in PAGES
        for example in examples(page, needing=True)
    ],
)
def test_examples_that_need_an_extra_run_behind_those_that_do_not(
    page, example, tmp_path, monkeypatch
):
    need(*example[2])
    monkeypatch.chdir(tmp_path)
    namespace: dict = {"__name__": "example"}
    run_examples(examples(page), page.name, namespace)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # theirs
        run_examples([example], page.name, namespace)


def modules():
    found = pkgutil.walk_packages(augerino.__path__, "augerino.")
    return ["augerino", *(module.name for module in found if module.name != "augerino.__main__")]


@pytest.mark.parametrize("name", modules())
def test_docstring_examples(name):
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        if (error.name or "augerino").startswith("augerino"):
            raise
        pytest.skip(f"needs {error.name}")
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"], ids=lambda page: page.name
)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target.split("#")[0]).exists(), f"{page.name} links to {target}"


SOURCES = [
    path
    for folder in ("src", "benchmarks", "tests")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if "docs/" in path.read_text()
]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_named_in_the_source_exist(path):
    for page in re.findall(r"docs/[\w/-]+\.md", path.read_text()):
        assert (ROOT / page).exists(), f"{path.relative_to(ROOT)} names {page}"


def anchor(heading: str) -> str:
    """The fragment of a heading, as on the site and on GitHub."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def results_sections() -> dict[str, str]:
    """The sections of the results page by their anchors."""
    _, *sections = re.split(r"^## ", (ROOT / "docs" / "results.md").read_text(), flags=re.MULTILINE)
    return {anchor(section.split("\n")[0]): section for section in sections}


README_RESULTS = re.findall(
    r"^\|([^|]+)\|([^|]+)\| \[table\]\(docs/results\.md#([\w-]+)\) \|$",
    (ROOT / "README.md").read_text(),
    flags=re.MULTILINE,
)


def test_the_readme_has_a_table_of_results():
    assert len(README_RESULTS) >= 5


@pytest.mark.parametrize(("problem", "result", "section"), README_RESULTS, ids=lambda text: text)
def test_numbers_in_the_readme_are_in_the_linked_results(problem, result, section):
    numbers = set(re.findall(r"\d+\.\d+", results_sections()[section]))
    for number in re.findall(r"\d+\.\d+", result):
        assert number in numbers, f"{problem.strip()}: {number} is not under {section}"


def test_the_extensions_in_the_docs_are_short():
    for code, _, _ in examples(ROOT / "docs" / "extending.md"):
        lines = [
            line
            for line in code.splitlines()
            if line.strip() and not line.startswith(("import", "from", "ag.testing", "print"))
        ]
        assert len(lines) <= 15


def test_the_trainers_in_the_docs_are_short():
    page = ROOT / "docs" / "exporting.md"
    for code, _, _ in [*examples(page), *examples(page, needing=True)]:
        assert len(code.splitlines()) <= 40


def test_the_results_page_matches_the_files():
    from benchmarks import results_page

    assert results_page.PAGE.read_text() == results_page.page(), (
        "run python -m benchmarks.results_page"
    )


@pytest.mark.parametrize(
    "folder",
    [path.parent for path in sorted(RESULTS.glob("*/result.json"))],
    ids=lambda path: path.name,
)
def test_a_published_command_gives_the_settings_that_were_run(folder):
    from benchmarks import results_page

    result = json.loads((folder / "result.json").read_text())
    preset = catalogue.find(result["experiment"]).presets[result["preset"]]
    settings = settings_json(
        tyro.cli(type(preset), default=preset, args=results_page.changes(result))
    )
    # There may be settings that were added later.
    assert {key: settings[key] for key in result["settings"]} == result["settings"]


def test_the_table_of_transforms_is_that_of_the_package():
    from augerino.learning.defaults import GROUPS

    text = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    section = text.split("### Transforms of images")[1].split("\n### ")[0]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| ")][2:]
    documented = {}
    for group, transform, coordinates, _, _, limit, gradient in rows:
        for name in re.findall(r"`(\w+)`", coordinates):
            kind = re.findall(r"`(\w+)`", transform)[0]
            documented[name] = (group[2:], kind, limit, gradient.rstrip(" |"))
    limits = {math.pi: "π", math.log(3): "log 3"}
    known = {}
    for group, parts in GROUPS["images"].items():
        for part in parts:
            made = part.make()
            for c in made.coordinates:
                limit = limits.get(c.limit, f"{c.limit:g}")
                gradient = "yes" if made.has_gradient else "no"
                known[c.name] = (group, type(made).__name__, limit, gradient)
    assert documented == known
