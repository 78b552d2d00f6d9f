"""Synthetic datasets whose symmetries are known exactly."""
