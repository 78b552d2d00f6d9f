"""Readers: one module per format of data on disk."""
