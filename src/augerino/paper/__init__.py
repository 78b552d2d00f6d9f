"""Everything that reproduces the paper: its experiments, datasets and extra diagnostics."""

from augerino.paper import diagnostics

__all__ = ["diagnostics"]
