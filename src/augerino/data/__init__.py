"""Data: the embedded sprites, and arrays of the user."""

from augerino.data import arrays, sprites
from augerino.data.arrays import Batches

__all__ = ["Batches", "arrays", "sprites"]
