"""Datasets: your own from a path or from arrays, and synthetic ones with known symmetries."""

from augerino.data import arrays
from augerino.data.arrays import Batches
from augerino.data.readers.source import Source, open_source
from augerino.data.synthetic.clouds import clouds
from augerino.data.synthetic.signals import signals
from augerino.data.synthetic.sprites import sprites

__all__ = ["Batches", "Source", "arrays", "clouds", "open_source", "signals", "sprites"]
