"""Synthetic datasets with exactly known symmetries."""
