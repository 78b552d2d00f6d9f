"""Where a training stands: the records of its epochs, and everything that a checkpoint holds to go on from there."""

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from torch import nn

from augerino.augmentation import Augmentation
from augerino.errors import InputError, NonFiniteLoss
from augerino.nets.weights import gap_between
from augerino.runtime import distributed, rng
from augerino.training import checkpoint as checkpoints
from augerino.training import validation


@dataclass(frozen=True)
class Epoch:
    """What one pass over the data came to: means over its items, and where it left the extents."""

    epoch: int  # counted from 1
    loss: float
    penalty: float
    total: float
    extent: dict[str, float]
    lr: float
    seconds: float


@dataclass
class History:
    """The records of a whole training."""

    epochs: list[Epoch] = field(default_factory=list)

    def curve(self, name: str) -> list[float]:
        """One number per epoch: 'loss', 'penalty', 'total', 'lr', 'seconds', or a coordinate's extent by its name."""
        return [
            record.extent[name] if name in record.extent else getattr(record, name)
            for record in self.epochs
        ]

    def to_json(self) -> list[dict[str, Any]]:
        return [asdict(record) for record in self.epochs]

    @classmethod
    def from_json(cls, records: Iterable[dict[str, Any]]) -> "History":
        return cls([Epoch(**record) for record in records])


class Tuner(Protocol):
    """Moves theta between training steps by other means than its gradient; what it remembers goes into the checkpoint."""

    def step(self) -> None: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any]) -> None: ...


class TrainingState:
    """Everything that a checkpoint holds: enough to go on, bit for bit, from any step."""

    def __init__(
        self,
        model: nn.Module,
        optimizer: Any,
        scheduler: Any,
        loader: Any,
        settings: dict[str, Any] | None,
        tuner: Tuner | None,
    ) -> None:
        self.model, self.optimizer, self.scheduler, self.loader, self.tuner = (
            model,
            optimizer,
            scheduler,
            loader,
            tuner,
        )
        self.settings = settings or {}
        self.records: list[Epoch] = []
        self.step, self.items, self.loss, self.penalty, self.seconds = 0, 0, 0.0, 0.0, 0.0
        self.order: dict[str, Any] | None = (
            None  # the random state that this epoch's data order was drawn from
        )
        self.now: dict[str, Any] | None = (
            None  # the random state to go on with, after a resume within an epoch
        )

    def begin_epoch(self) -> None:
        if self.order is None:
            self.order = rng.get_state(self.loader)

    def batches(self) -> Iterator[Any]:
        """This epoch's batches, those already seen skipped: the order is drawn anew from the state it was drawn from."""
        if self.now is None or self.order is None:
            yield from self.loader
            return
        rng.set_state(self.order, self.loader)
        batches = iter(self.loader)
        for _ in range(self.step):
            if next(batches, None) is None:
                raise InputError(
                    f"The checkpoint was made after {self.step} batches of an epoch, but the loader has fewer."
                )
        rng.set_state(self.now, self.loader)
        self.now = None
        yield from batches

    def add(self, items: int, loss: float, penalty: float) -> None:
        self.step, self.items = self.step + 1, self.items + items
        self.loss, self.penalty = self.loss + items * loss, self.penalty + items * penalty

    def end_epoch(self, epoch: int, augmentation: Augmentation, seconds: float) -> Epoch:
        if self.items == 0:
            raise InputError(
                "The loader yielded no batch: it is empty, or an iterator that was used up by an earlier epoch."
            )
        loss, penalty = self.loss / self.items, self.penalty / self.items
        rate = float(self.optimizer.param_groups[0]["lr"])
        record = Epoch(
            epoch, loss, penalty, loss + penalty, augmentation.extent, rate, round(seconds, 3)
        )
        self.records.append(record)
        self.step, self.items, self.loss, self.penalty, self.seconds = 0, 0, 0.0, 0.0, 0.0
        self.order = self.now = None
        return record

    def check_weights(self, epoch: int, augmentation: Augmentation, path: Path | None) -> None:
        """Stops before weights that are no numbers are saved or trained on; what batch norms count is among them."""
        counted = (
            (name, value)
            for name, value in self.model.named_buffers()
            if name.endswith(("running_mean", "running_var"))
        )
        for name, value in (*self.model.named_parameters(), *counted):
            if not bool(value.isfinite().all()):
                message = f"the weights '{name}' stopped being numbers"
                raise NonFiniteLoss(non_finite(message, epoch, self.step, augmentation, path))

    def save(self, path: Path) -> None:
        if not distributed.is_first():
            return
        checkpoints.save(
            path,
            {
                "settings": self.settings,
                "model": dict(self.model.state_dict()),
                "optimizer": self.optimizer.state_dict(),
                "scheduler": None
                if self.scheduler is None
                else _plain(self.scheduler.state_dict()),
                "tuner": None if self.tuner is None else self.tuner.state_dict(),
                "records": [asdict(record) for record in self.records],
                "sums": {name: getattr(self, name) for name in validation.SUMS},
                "order": self.order,
                "rng": rng.get_state(self.loader),
            },
        )

    def load(self, path: Path) -> None:
        saved = distributed.from_first(lambda: checkpoints.load(path))
        kept = saved.get("settings")
        if not isinstance(kept, dict) or not all(isinstance(name, str) for name in kept):
            raise InputError(f"{path} is not the checkpoint of a training: it holds no settings.")
        for name in sorted({**self.settings, **kept}):
            now, then = self.settings.get(name), kept.get(name)
            if not _same(now, then):
                was = textwrap.shorten(repr(then), 80)
                raise InputError(
                    f"{path} was made with {name}={was}, but is resumed with {name}={now!r}: keep the settings."
                )
        if (saved.get("tuner") is None) != (self.tuner is None):
            raise InputError(
                f"{path} was made {'without' if self.tuner else 'with'} a tuner: resume it the same way."
            )
        if (saved.get("scheduler") is None) != (self.scheduler is None):
            raise InputError(
                f"{path} was made {'without' if self.scheduler else 'with'} a scheduler: resume it the same way."
            )
        try:
            validation.check(
                saved,
                self.optimizer,
                None if self.scheduler is None else _plain(self.scheduler.state_dict()),
                self.loader,
            )
            if (gap := gap_between(self.model.state_dict(), saved["model"])) is not None:
                raise ValueError(gap)
            self.model.load_state_dict(saved["model"])
            self.optimizer.load_state_dict(saved["optimizer"])
            if self.scheduler is not None:
                self.scheduler.load_state_dict(saved["scheduler"])
            if self.tuner is not None:
                self.tuner.load_state_dict(saved["tuner"])
            self.records = History.from_json(saved["records"]).epochs
            self.step, self.items, self.loss, self.penalty, self.seconds = (
                saved["sums"][name] for name in validation.SUMS
            )
            self.order = saved["order"]
            self.now = saved["rng"] if self.order is not None else None
            rng.set_state(saved["rng"], self.loader)
        except Exception as error:  # what is not as torch expects it leads to whatever it may
            reason = (str(error) or type(error).__name__).splitlines()[0][:300]
            raise InputError(
                f"{path} does not fit this model, optimizer and loader: {reason.rstrip('.')}."
            ) from error


def _same(now: Any, then: Any) -> bool:
    """Whether two settings are the same. A file may hold anything, such as tensors, which have no single answer to that."""
    try:
        return bool(now == then)
    except (RuntimeError, TypeError, ValueError):
        return False


def _plain(state: dict[str, Any]) -> dict[str, Any]:
    """A scheduler's state without the functions that some keep in it."""
    return {key: value for key, value in state.items() if not callable(value)}


def non_finite(
    what: str, epoch: int, step: int, augmentation: Augmentation, path: Path | None
) -> str:
    """What to say when a number stops being one."""
    bounds = ", ".join(f"{name} {value:.4g}" for name, value in augmentation.extent.items())
    kept = f" The last good checkpoint is {path}." if path is not None and path.exists() else ""
    return (
        f"Training stopped at epoch {epoch}, step {step}: {what} (bounds: {bounds}).{kept} "
        "Look for NaN or huge values in the data, or lower the learning rate."
    )
