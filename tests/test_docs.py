"""The examples in README, docs and docstrings do what they say, and links lead somewhere."""

import contextlib
import doctest
import importlib
import io
import json
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
    """Python blocks, each with the text block behind it as what it prints, and the packages that a comment above it names."""
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
    """The same words; measured numbers may differ by a tenth."""
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


def test_the_results_page_says_what_the_files_say():
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
    assert {key: settings[key] for key in result["settings"]} == result[
        "settings"
    ]  # there may be settings that came later
