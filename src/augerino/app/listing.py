"""`augerino list`: the experiments. No torch."""

from rich.console import Console
from rich.table import Table

from augerino.app.catalogue import ENTRIES


def run() -> int:
    """Prints the table and returns the exit code."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("name", "section", "what", "data", "the paper", "quick", "cpu"):
        table.add_column(heading, no_wrap=heading in ("name", "section", "quick", "cpu"))
    for entry in ENTRIES:
        table.add_row(
            entry.name, entry.section, entry.title, entry.data, entry.paper, entry.quick, entry.cpu
        )
    console = Console(markup=False, highlight=False)
    console.print(table)
    console.print("\nRun one with:  augerino run NAME --preset quick")
    return 0
