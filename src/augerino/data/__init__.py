"""Data: the embedded sprites, signals and clouds, arrays of the user, and whatever else a path may hold."""

from augerino.data import arrays, clouds, signals, sprites
from augerino.data.arrays import Batches
from augerino.data.source import Source, open_source

__all__ = ["Batches", "Source", "arrays", "clouds", "open_source", "signals", "sprites"]
