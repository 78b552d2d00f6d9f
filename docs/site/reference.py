"""Adds the pages made from the source: API reference, command line, README and changelog.

Each name in `augerino.__all__` is placed by the part of the package that defines it. A public name
from a part that is missing in GROUPS stops the build.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCE = ROOT / "src"
TOP_LEVEL = 2  # of the headings of public names
Found = griffe.Object | griffe.Alias

# title of a page: the parts of the package whose public names it lists
GROUPS = {
    "Transforms": ("transforms", "coordinate", "lie"),
    "Distributions": ("distributions",),
    "Augmentation and models": ("augmentation", "models", "nets", "tree"),
    "Objective": ("objective",),
    "Training": ("training",),
    "Learning": ("learning",),
    "Diagnostics": ("diagnostics",),
    "Data": ("data",),
    "Saving and export": ("saving",),
    "Plots": ("plots",),
    "Testing and errors": ("testing", "errors"),
    "Benchmark": ("benchmark",),
    "Paper": ("paper",),
}
# page: the file of the checkout that it shows
FROM_CHECKOUT = {
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
}
COMMANDS = ("", "learn", "report", "export", "run", "list")


def page_of(title: str) -> str:
    return f"api/{title.lower().replace(' ', '-')}.md"


def public_names() -> list[str]:
    """`augerino.__all__`; importing augerino imports nothing else."""
    sys.path.insert(0, str(SOURCE))
    import augerino

    return list(augerino.__all__)


def final(found: Found) -> griffe.Object:
    """The definition behind any number of imports."""
    return found.final_target if isinstance(found, griffe.Alias) else found


def group_of(definition: griffe.Object) -> str:
    """The page on which a definition belongs."""
    part = definition.path.split(".")[1]
    for title, parts in GROUPS.items():
        if part in parts:
            return title
    raise PluginError(
        f"{definition.path} is public, but augerino.{part} is in no group of the API reference. "
        "Add it to GROUPS in docs/site/reference.py."
    )


def visible(found: Found) -> Found:
    """What a name stands for where `from .orbit import orbit` hides the module of the same name."""
    definition = final(found)
    if not (definition.is_module and definition.parent):
        return found
    inner = f"{definition.path}.{definition.name}"
    is_hidden = definition.parent.imports.get(definition.name) == inner
    return definition.members[definition.name] if is_hidden else found


def members(module: griffe.Module) -> Iterator[tuple[str, Found]]:
    """Public members: `__all__`, or what a module defines, or what a package imports from within.

    A package that imports nothing from within shows its modules.
    """
    names = [name for name in module.members if not name.startswith("_")]
    own = [name for name in names if not module.members[name].is_alias]
    if module.exports is not None:
        listed = [str(name) for name in module.exports]
    else:
        sources = module.imports
        listed = [name for name in names if sources.get(name, "").startswith(f"{module.path}.")]
        listed += [name for name in own if not module.members[name].is_module]
    for name in listed or sorted(own):
        yield name, visible(module.members[name])


def entries(name: str, found: Found, level: int, seen: set[str]) -> Iterator[str]:
    """The Markdown of a public name, and of the members of a module; each definition once."""
    definition = final(found)
    if definition.path in seen:
        return
    seen.add(definition.path)
    options = [f"heading: {name}", f"heading_level: {level}"]
    if definition.is_module:
        options.append("members: false")  # they follow
    indented = [f"      {option}" for option in options]
    yield "\n".join([f"::: {found.path}", "    options:", *indented])
    if isinstance(definition, griffe.Module):
        for member_name, member in members(definition):
            yield from entries(f"{name}.{member_name}", member, TOP_LEVEL + 1, seen)


def summary(found: Found) -> str:
    """The first sentence of a docstring."""
    docstring = final(found).docstring
    if docstring is None:
        return ""
    paragraph = docstring.value.split("\n\n")[0].replace("\n", " ").replace("|", r"\|")
    return re.split(r"(?<=\.) |   ", paragraph)[0]


def api_pages() -> dict[str, str]:
    """All pages of the API reference, by path."""
    package = griffe.load("augerino", search_paths=[SOURCE], resolve_aliases=True)
    names = public_names()
    missing = [name for name in names if name not in package.members]
    if missing:
        raise PluginError(f"augerino/__init__.py does not import for type checkers: {missing}.")
    groups: dict[str, list[str]] = {title: [] for title in GROUPS}
    for name in names:
        groups[group_of(final(package[name]))].append(name)
    seen: set[str] = set()
    overview = ["# API", "All public names: `import augerino as ag`, then `ag.Affine2d`."]
    pages = {}
    for title, listed in groups.items():
        listed.sort(key=lambda name: final(package[name]).is_module)  # modules behind the rest
        parts = [f"# {title}"]
        table = ["| name | |", "| --- | --- |"]
        for name in listed:
            parts += entries(name, package[name], TOP_LEVEL, seen)
            table.append(f"| [`{name}`][augerino.{name}] | {summary(package[name])} |")
        pages[page_of(title)] = "\n\n".join(parts) + "\n"
        overview += [f"## {title}", "\n".join(table)]
    return {"api/index.md": "\n\n".join(overview) + "\n", **pages}


def command_line_page() -> str:
    """The help of every command."""
    environment = os.environ | {"PYTHONPATH": str(SOURCE), "COLUMNS": "84", "NO_COLOR": "1"}
    parts = ["# Command line"]
    for command in COMMANDS:
        words = [sys.executable, "-m", "augerino", *command.split(), "--help"]
        done = subprocess.run(words, env=environment, check=True, capture_output=True, text=True)
        parts += [f"## augerino {command}".rstrip(), f"```text\n{done.stdout.strip()}\n```"]
    return "\n\n".join(parts) + "\n"


def from_checkout(name: str) -> str:
    """A file outside docs/, with its links as seen from there."""
    text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
    for page, source in FROM_CHECKOUT.items():
        text = text.replace(f"]({source}", f"]({page}")
    return text


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Puts the pages of the API into the navigation."""
    (reference,) = [section["Reference"] for section in config.nav if "Reference" in section]
    (api,) = [entry for entry in reference if "API" in entry]
    api["API"] = ["api/index.md", *({title: page_of(title)} for title in GROUPS)]
    return config


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Adds the generated pages to those of docs/."""
    pages = {page: from_checkout(source) for page, source in FROM_CHECKOUT.items()}
    pages |= api_pages()
    pages["command-line.md"] = command_line_page()
    for path, content in pages.items():
        files.append(File.generated(config, path, content=content))
    return files
