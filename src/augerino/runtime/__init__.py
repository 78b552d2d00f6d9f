"""Processes, random states, atomic files, precision, memory and parallel trials."""
