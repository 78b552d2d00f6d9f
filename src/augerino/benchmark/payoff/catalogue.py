"""All cells of the payoff suite by name."""

from collections.abc import Sequence

from augerino.benchmark.payoff import image_cells, other_cells
from augerino.benchmark.payoff.cell import Cell
from augerino.errors import InputError


def embedded() -> tuple[Cell, ...]:
    """Cells on embedded data, which need no files."""
    return (*image_cells.embedded(), *other_cells.embedded())


def usual() -> tuple[Cell, ...]:
    """The cells of the preset cpu: embedded and real data with small networks."""
    return (*image_cells.real(), *other_cells.real(), *embedded())


def all_cells() -> tuple[Cell, ...]:
    """The cells of the preset full: images also with the 13-layer network."""
    return (*usual(), *image_cells.real("layer13"))


def find(words: Sequence[str]) -> tuple[Cell, ...]:
    """Cells in the order of the table, by name or by the start of names.

    The start of a name selects cells with the small network, and "layer13" all with the other one.
    """
    known = all_cells()
    chosen: set[str] = set()
    for word in words:
        found = {cell.name for cell in known if _matches(cell.name, word)}
        if not found:
            names = ", ".join(cell.name for cell in known)
            raise InputError(f"No cell has the name or prefix '{word}'. There are: {names}.")
        chosen |= {word} if word in found else found
    return tuple(cell for cell in known if cell.name in chosen)


def _matches(name: str, word: str) -> bool:
    if name.endswith("-layer13"):
        return word in ("layer13", name)
    return name.startswith(word)
