"""Datasets: your own from a path or from arrays, and synthetic ones with known symmetries."""

from augerino.data import arrays
from augerino.data.batches import Batches
from augerino.data.dataset import Dataset
from augerino.data.opening import open_dataset
from augerino.data.synthetic.clouds import clouds
from augerino.data.synthetic.letters import letters
from augerino.data.synthetic.signals import signals
from augerino.data.synthetic.sprites import sprites

__all__ = [
    "Batches",
    "Dataset",
    "arrays",
    "clouds",
    "letters",
    "open_dataset",
    "signals",
    "sprites",
]
