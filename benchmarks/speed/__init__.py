"""How fast it is, against peers and against doing nothing: `python -m benchmarks.speed`."""
