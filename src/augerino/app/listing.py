"""`augerino list`: the experiments. Does not import torch."""

from rich.console import Console
from rich.table import Table

from augerino.app.catalogue import ENTRIES, Entry


def run() -> int:
    """Prints the table and returns the exit code."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("name", no_wrap=True)
    table.add_column("section", no_wrap=True)
    table.add_column("experiment")
    table.add_column("quick", no_wrap=True)
    table.add_column("cpu", no_wrap=True)
    for entry in ENTRIES:
        table.add_row(entry.name, entry.section, _describe(entry), entry.quick, entry.cpu)
    console = Console(markup=False, highlight=False)
    console.print(table)
    console.print("\nTimes are approximate, for the presets quick and cpu on two cores.")
    console.print("Run an experiment with:  augerino run NAME --preset quick")
    return 0


def _describe(entry: Entry) -> str:
    paper = f"paper: {entry.paper}" if entry.paper else "not in the paper"
    return f"{entry.title}\n{paper}\ndata: {entry.data}"
