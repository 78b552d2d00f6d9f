"""The dataset of a run, from the options of `learn`."""

from typing import Any

from augerino.app import console as screen
from augerino.data import Dataset, open_dataset

#: Options of `learn` that `open_dataset` takes by the same name.
READ_OPTIONS = ("size", "task", "kind", "target", "ignore", "test_fraction", "skip_bad")


def open_data(settings: dict[str, Any], seed: int) -> Dataset:
    """Opens the embedded dataset of that name, drawn with the seed, or the dataset at that path."""
    path = str(settings["data"])
    options = {name: settings[name] for name in READ_OPTIONS}
    with screen.reading(path) as progress:
        return open_dataset(path, seed=seed, standardize=True, on_progress=progress, **options)
