"""`Dataset`: the type of all datasets, from the reader to the report."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from augerino.data.arrays import Kind, Task


@dataclass(frozen=True, eq=False)
class Dataset:
    """A training part and a test part, with their metadata.

    A part in memory is a pair (x, y) of tensors:

    - images x (N, C, H, W), uint8, or floats in [0, 1] for files of more than 8 bits per value;
    - signals x (N, C, T), point clouds x (N, P, 3) and values x (N, F), floats;
    - padded point clouds x, a dict of positions, mask and, for molecules, charges;
    - class labels y (N,), int64; masks y (N, H, W), uint8, 255 where a pixel is ignored;
      regression targets y (N, n_outputs), float32.

    A part that is too large for memory is a map-style `torch.utils.data.Dataset` of single pairs,
    read from disk.

    Args:
        name: short name, used for the run folder.
        kind: kind of the inputs.
        task: classification, regression or segmentation.
        train: training part.
        test: held-out part; None if there is none.
        class_names: one per class; empty for regression.
        n_outputs: number of network outputs: one per class, or per regression target.
        shape: shape of one input, channels first.
        path: source path, or the name of an embedded dataset.
        fingerprint: digest of its files or its seed; equal for equal data.
        notes: detected properties and applied conversions, one sentence each.
        true_extent: the known extent of each symmetry, for synthetic data.
    """

    name: str
    kind: Kind
    task: Task
    train: Any = field(repr=False)
    test: Any = field(repr=False)
    class_names: tuple[str, ...]
    n_outputs: int
    shape: tuple[int, ...]
    path: str = ""
    fingerprint: str = ""
    notes: tuple[str, ...] = field(default=(), repr=False)
    true_extent: Mapping[str, float] = field(default_factory=dict)

    @property
    def in_memory(self) -> bool:
        """Whether the training part is a pair of tensors."""
        return isinstance(self.train, list | tuple)

    @property
    def n_train(self) -> int:
        """Number of training samples."""
        return _count(self.train)

    @property
    def n_test(self) -> int:
        """Number of held-out samples; 0 if there is no test part."""
        if self.test is None:
            return 0
        return _count(self.test)

    def __str__(self) -> str:
        shape = "×".join(map(str, self.shape))
        description = f"{self.kind} {shape}, {self.task}"
        if self.class_names:
            description += f", {len(self.class_names)} classes"
        return description


def _count(part: Any) -> int:
    """Number of samples in a pair of arrays, in a dataset, or in the dataset of a loader."""
    if isinstance(part, list | tuple):
        return len(part[1])
    return len(getattr(part, "dataset", part))
