"""Time series of the UCR and UEA archives, in the text format `.ts`.

The package aeon has some of them in its wheel; its files are read without importing it.
"""

import importlib.util
import math
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from augerino.data.published.lookup import read_bytes, search_folders
from augerino.data.readers.naming import shown
from augerino.errors import InputError

_LARGEST = 1 << 28  # bytes of one file
_PARTS = ("TRAIN", "TEST")


class Series(NamedTuple):
    """Signals (N, channels, T) and labels (N,), for training and testing, and the class names."""

    x_train: Tensor
    y_train: Tensor
    x_test: Tensor
    y_test: Tensor
    class_names: tuple[str, ...]


def time_series(name: str, folder: str | Path | None = None) -> Series:
    """A dataset by its name in the archive, such as "GunPoint".

    Searches the folder and the cache for `NAME_TRAIN.ts` and `NAME_TEST.ts`, also in a subfolder
    NAME, and then the data of an installed aeon. Shorter series are padded with zeros at the end.
    """
    places = [place for root in search_folders(folder) for place in (root, root / name)]
    places += [root / name for root in _aeon_folders()]
    for place in places:
        paths = [place / f"{name}_{part}.ts" for part in _PARTS]
        if all(path.is_file() for path in paths):
            return _join([read_ts(path) for path in paths], shown(place))
    raise InputError(
        f"The time series {name} need {name}_TRAIN.ts and {name}_TEST.ts: install aeon, which has "
        "some of the archive, or give their folder with --data DIR."
    )


def _aeon_folders() -> list[Path]:
    """The folder of an installed aeon's datasets, if there is one."""
    spec = importlib.util.find_spec("aeon")
    if spec is None:
        return []
    return [Path(root) / "datasets" / "data" for root in spec.submodule_search_locations or ()]


def read_ts(path: Path) -> tuple[list[Tensor], list[str]]:
    """Series of shape (channels, length), and their labels, of one file.

    After "@data", each line has channels separated by colons, and the label behind the last one.
    """
    try:
        text = read_bytes(path, _LARGEST, "the time series archive").decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{shown(path)} is not a text file of time series.") from error
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    header = [line.lower() for line in lines if line.startswith("@")]
    if "@data" not in header:
        raise InputError(f"{shown(path)} should have a line '@data', as .ts files do, but has not.")
    if any(line.split() == ["@timestamps", "true"] for line in header):
        raise InputError(f"{shown(path)} has time stamps: only evenly sampled series can be read.")
    series: list[Tensor] = []
    labels: list[str] = []
    for number, line in enumerate(line for line in lines if not line.startswith("@")):
        *channels, label = line.split(":")
        series.append(_values(channels, f"Series {number} in {shown(path)}"))
        labels.append(label.strip())
    if not series:
        raise InputError(f"{shown(path)} has no series behind '@data'.")
    return series, labels


def _values(channels: list[str], name: str) -> Tensor:
    try:
        rows = [[float(value) for value in channel.split(",")] for channel in channels]
        found = torch.tensor(rows)
    except ValueError as error:
        raise InputError(f"{name} should be channels of equally many numbers: {error}.") from error
    if not rows or not all(math.isfinite(value) for row in rows for value in row):
        raise InputError(f"{name} should be finite numbers and a label, but is not.")
    return found


def _join(parts: list[tuple[list[Tensor], list[str]]], name: str) -> Series:
    (train, train_labels), (test, test_labels) = parts
    if len({len(series) for series in (*train, *test)}) > 1:
        raise InputError(f"All series in {name} should have the same number of channels.")
    class_names = tuple(sorted(set(train_labels)))
    unknown = set(test_labels) - set(class_names)
    if unknown:
        raise InputError(
            f"The test part in {name} has the label '{min(unknown)}', "
            "which the training part lacks."
        )
    number = {label: i for i, label in enumerate(class_names)}
    length = max(series.shape[1] for series in (*train, *test))
    return Series(
        x_train=_padded(train, length),
        y_train=torch.tensor([number[label] for label in train_labels]),
        x_test=_padded(test, length),
        y_test=torch.tensor([number[label] for label in test_labels]),
        class_names=class_names,
    )


def _padded(series: list[Tensor], length: int) -> Tensor:
    """Stacks series, with zeros behind the shorter ones.   returns (N, channels, length)"""
    found = torch.zeros(len(series), len(series[0]), length)
    for i, values in enumerate(series):
        found[i, :, : values.shape[1]] = values
    return found
