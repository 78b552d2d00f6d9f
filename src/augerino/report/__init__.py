"""A run as one self-contained HTML page, made from the files of its folder alone: no torch, no network, no model."""

from augerino.report.page import render, write_report
from augerino.report.run import Run, read_run

__all__ = ["Run", "read_run", "render", "write_report"]
