"""Data: the embedded sprites, signals and clouds, and arrays of the user."""

from augerino.data import arrays, clouds, signals, sprites
from augerino.data.arrays import Batches

__all__ = ["Batches", "arrays", "clouds", "signals", "sprites"]
