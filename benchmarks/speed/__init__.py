"""Speed compared with other libraries and with no augmentation: `python -m benchmarks.speed`."""
