"""The interface of the readers: the options passed to each, and the raw dataset it returns."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from augerino.data.arrays import IGNORE, Kind, Task
from augerino.data.readers.pictures import Size

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class ReadOptions:
    """Options of `open_dataset`; None selects automatic detection."""

    size: Size | None = None
    task: Task | None = None
    kind: Kind | None = None
    target: str | None = None
    ignore: int = IGNORE
    skip_bad: bool = False
    on_progress: Progress | None = None


@dataclass
class RawDataset:
    """All samples of a dataset, before targets are interpreted and parts are split."""

    kind: Kind
    inputs: Any  # a tensor, a dict of tensors, or an ImageStream
    targets: Any  # a numpy array with one row per sample, or Masks; tensors once interpreted
    shape: tuple[int, ...]  # shape of one input
    task: Task | None = None  # None until the targets are interpreted
    test: np.ndarray | None = None  # (N,) bool, True for test samples; None without a test part
    class_names: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
    root: Path = Path()
    files: list[str] = field(default_factory=list)  # relative to root; input of the fingerprint
