"""`augerino report`: writes the report of a run from its files. Does not import torch."""

from rich.console import Console

from augerino.app.options import ReportOptions
from augerino.errors import InputError
from augerino.report import write_report
from augerino.runtime.printable import printable


def run(options: ReportOptions) -> int:
    """Writes the page and returns the exit code."""
    if not options.runs:
        raise InputError("Missing run folder, as in `augerino report runs/NAME`.")
    written = write_report(options.runs, options.out)
    Console(highlight=False, markup=False).print(printable(f"Report: {written}"), soft_wrap=True)
    return 0
