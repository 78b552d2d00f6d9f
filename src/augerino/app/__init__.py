"""The command line. Only `cli` and `options` are imported for every command; they need no torch."""
