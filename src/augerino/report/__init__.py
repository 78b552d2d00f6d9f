"""The report of a run: one self-contained HTML page, made from its files without torch."""

from augerino.report.page import render, write_report
from augerino.report.run import Run, read_run

__all__ = ["Run", "read_run", "render", "write_report"]
