"""Data for a run: two parts, what they are, and what is known about them."""

from dataclasses import dataclass, field
from typing import Any

from augerino.data.arrays import Kind, Task


@dataclass(frozen=True)
class Given:
    """Data for a run: two parts, what they are, and what is known about them."""

    name: str
    kind: Kind
    task: Task
    train: Any
    test: Any
    class_names: tuple[str, ...]
    outputs: int
    shape: tuple[int, ...]
    path: str
    fingerprint: str
    notes: tuple[str, ...] = ()
    true: dict[str, float] = field(default_factory=dict)

    @property
    def streamed(self) -> bool:
        return not isinstance(self.train, tuple)

    @property
    def train_items(self) -> int:
        return _count(self.train)

    @property
    def test_items(self) -> int:
        return _count(self.test)


def _count(part: Any) -> int:
    return len(part[1]) if isinstance(part, tuple) else len(part)
