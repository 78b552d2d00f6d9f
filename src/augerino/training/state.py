"""The state of a training: the records of its epochs, and everything a checkpoint holds."""

import textwrap
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from torch import nn

from augerino.augmentation import Augmentation
from augerino.errors import InputError, NonFiniteLoss
from augerino.nets.weights import first_mismatch
from augerino.runtime import distributed, rng
from augerino.training import checkpoint as checkpoints
from augerino.training import validation

SAVE_TIME = 0.05  # largest fraction of the time that checkpoints take, if there are several


@dataclass(frozen=True)
class Epoch:
    """Means over the items of one epoch, and the extents at its end."""

    epoch: int  # counted from 1
    loss: float
    penalty: float
    total: float
    extent: dict[str, float]
    lr: float
    seconds: float


@dataclass
class History:
    """The records of all epochs of a training."""

    epochs: list[Epoch] = field(default_factory=list)

    def curve(self, name: str) -> list[float]:
        """One number per epoch.

        Args:
            name: 'loss', 'penalty', 'total', 'lr', 'seconds', or a coordinate, for its extent.
        """
        values = []
        for record in self.epochs:
            values.append(record.extent[name] if name in record.extent else getattr(record, name))
        return values

    def to_json(self) -> list[dict[str, Any]]:
        """The records as JSON."""
        return [asdict(record) for record in self.epochs]

    @classmethod
    def from_json(cls, records: Iterable[dict[str, Any]]) -> "History":
        """Creates a history from the result of `to_json`."""
        return cls([Epoch(**record) for record in records])


class Tuner(Protocol):
    """Moves theta between training steps without its gradient; checkpoints hold its state."""

    def step(self) -> None:
        """Called after every step of the optimizer."""

    def state_dict(self) -> dict[str, Any]:
        """The state for a checkpoint."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores the state of a checkpoint."""


class TrainingState:
    """Everything a checkpoint holds: enough to continue from any step, bit for bit.

    Attributes:
        records: of the finished epochs.
        step: batches of the current epoch so far.
        items: items of the current epoch so far.
        loss: sum of the losses of these items.
        penalty: sum of the penalties of these items.
        seconds: duration of the current epoch so far.
        order: random state from which the order of the current epoch was drawn.
        now: random state to continue with, after a resume within an epoch.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: Any,
        *,
        scheduler: Any,
        loader: Any,
        settings: dict[str, Any] | None,
        tuner: Tuner | None,
    ) -> None:
        self.model = model
        self.optimizer = optimizer
        self.scheduler = scheduler
        self.loader = loader
        self.tuner = tuner
        self.settings = settings or {}
        self.records: list[Epoch] = []
        self.next_save = 0.0
        self._start_epoch()

    def _start_epoch(self) -> None:
        self.step = 0
        self.items = 0
        self.loss = 0.0
        self.penalty = 0.0
        self.seconds = 0.0
        self.order: dict[str, Any] | None = None
        self.now: dict[str, Any] | None = None

    def begin_epoch(self) -> None:
        """Records the random state from which the order of the epoch is drawn."""
        if self.order is None:
            self.order = rng.get_state(self.loader)

    def batches(self) -> Iterator[Any]:
        """Yields the batches of this epoch that are left.

        After a resume, the order is drawn again from its random state, and the batches that were
        already used are skipped.
        """
        if self.now is None or self.order is None:
            yield from self.loader
            return
        rng.set_state(self.order, self.loader)
        batches = iter(self.loader)
        for _ in range(self.step):
            if next(batches, None) is None:
                raise InputError(
                    f"The checkpoint was made after {self.step} batches of an epoch, "
                    "but the loader has fewer."
                )
        rng.set_state(self.now, self.loader)
        self.now = None
        yield from batches

    def add(self, n_items: int, loss: float, penalty: float) -> None:
        """Adds a batch to the sums of the epoch."""
        self.step += 1
        self.items += n_items
        self.loss += n_items * loss
        self.penalty += n_items * penalty

    def end_epoch(self, epoch: int, augmentation: Augmentation, seconds: float) -> Epoch:
        """Creates the record of the epoch and resets the sums."""
        if self.items == 0:
            raise InputError(
                "The loader yielded no batch: it is empty, or an iterator that an earlier epoch "
                "has used up."
            )
        loss = self.loss / self.items
        penalty = self.penalty / self.items
        record = Epoch(
            epoch=epoch,
            loss=loss,
            penalty=penalty,
            total=loss + penalty,
            extent=augmentation.extent,
            lr=float(self.optimizer.param_groups[0]["lr"]),
            seconds=round(seconds, 3),
        )
        self.records.append(record)
        self._start_epoch()
        return record

    def require_finite_weights(
        self, epoch: int, augmentation: Augmentation, path: Path | None
    ) -> None:
        """Raises NonFiniteLoss for NaN or Inf in weights or in batch norm's running statistics."""
        tensors = dict(self.model.named_parameters())
        for name, buffer in self.model.named_buffers():
            if name.endswith(("running_mean", "running_var")):
                tensors[name] = buffer  # type: ignore[assignment]
        for name, value in tensors.items():
            if not bool(value.isfinite().all()):
                raise diverged(
                    f"the weights '{name}' are no longer finite",
                    epoch=epoch,
                    step=self.step,
                    augmentation=augmentation,
                    path=path,
                )

    def is_save_due(self) -> bool:
        """Whether a checkpoint now would keep the time spent on saving below `SAVE_TIME`."""
        return time.perf_counter() >= self.next_save

    def save(self, path: Path) -> None:
        """Writes a checkpoint, in the first process only."""
        if not distributed.is_first():
            return
        started = time.perf_counter()
        state = {
            "settings": self.settings,
            "model": dict(self.model.state_dict()),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self._scheduler_state(),
            "tuner": None if self.tuner is None else self.tuner.state_dict(),
            "records": [asdict(record) for record in self.records],
            "sums": {name: getattr(self, name) for name in validation.SUMS},
            "order": self.order,
            "rng": rng.get_state(self.loader),
        }
        checkpoints.save(path, state)
        ended = time.perf_counter()
        self.next_save = ended + (ended - started) / SAVE_TIME

    def load(self, path: Path) -> None:
        """Restores a checkpoint. Raises InputError where it does not fit this training."""
        saved = distributed.from_first(lambda: checkpoints.load(path))
        self._validate_settings(saved.get("settings"), path)
        for name, own in (("tuner", self.tuner), ("scheduler", self.scheduler)):
            if (saved.get(name) is None) != (own is None):
                how = "with" if own is None else "without"
                raise InputError(f"{path} was made {how} a {name}: resume it the same way.")
        try:
            self._restore(saved)
        except Exception as error:  # torch raises any error for a state it does not expect
            reason = (str(error) or type(error).__name__).splitlines()[0][:300]
            raise InputError(
                f"{path} does not fit this model, optimizer and loader: {reason.rstrip('.')}."
            ) from error

    def _validate_settings(self, saved: Any, path: Path) -> None:
        if not isinstance(saved, dict) or not all(isinstance(name, str) for name in saved):
            raise InputError(f"{path} is not the checkpoint of a training: it holds no settings.")
        for name in sorted({**self.settings, **saved}):
            now = self.settings.get(name)
            then = saved.get(name)
            if not _are_equal(now, then):
                raise InputError(
                    f"{path} was made with {name}={textwrap.shorten(repr(then), 80)}, "
                    f"but is resumed with {name}={now!r}: keep the settings."
                )

    def _restore(self, saved: dict[str, Any]) -> None:
        validation.validate_state(saved, self.optimizer, self._scheduler_state(), self.loader)
        mismatch = first_mismatch(self.model.state_dict(), saved["model"])
        if mismatch is not None:
            raise ValueError(mismatch)
        self.model.load_state_dict(saved["model"])
        self.optimizer.load_state_dict(saved["optimizer"])
        if self.scheduler is not None:
            self.scheduler.load_state_dict(saved["scheduler"])
        if self.tuner is not None:
            self.tuner.load_state_dict(saved["tuner"])
        self.records = History.from_json(saved["records"]).epochs
        for name in validation.SUMS:
            setattr(self, name, saved["sums"][name])
        self.order = saved["order"]
        self.now = saved["rng"] if self.order is not None else None
        rng.set_state(saved["rng"], self.loader)

    def _scheduler_state(self) -> dict[str, Any] | None:
        """The state of the scheduler, without the functions that some schedulers keep in it."""
        if self.scheduler is None:
            return None
        state: dict[str, Any] = self.scheduler.state_dict()
        return {key: value for key, value in state.items() if not callable(value)}


def _are_equal(now: Any, then: Any) -> bool:
    """Whether two settings are equal; False for values that cannot be compared, such as tensors."""
    try:
        return bool(now == then)
    except (RuntimeError, TypeError, ValueError):
        return False


def diverged(
    what: str, *, epoch: int, step: int, augmentation: Augmentation, path: Path | None
) -> NonFiniteLoss:
    """Creates the error for a number that is no longer finite.

    Args:
        what: a clause, such as "the loss became nan".
        epoch: counted from 1.
        step: counted from 1.
        augmentation: its bounds are part of the message.
        path: of the checkpoint, if any.
    """
    bounds = ", ".join(f"{name} {value:.4g}" for name, value in augmentation.extent.items())
    message = f"Training stopped at epoch {epoch}, step {step}: {what} (bounds: {bounds})."
    if path is not None and path.exists():
        message += f" The last good checkpoint is {path}."
    return NonFiniteLoss(
        f"{message} Look for NaN or huge values in the data, or lower the learning rate."
    )
