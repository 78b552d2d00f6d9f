"""A training as TensorBoard shows it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from augerino.errors import InputError
from augerino.training.state import Epoch


def tensorboard(folder: str | Path) -> Callable[[Epoch], None]:
    """A function for `on_epoch` that writes every record for TensorBoard: loss, penalty, total, learning rate and extents.

    The curve of an extent is named after its coordinate, in the coordinate's own unit: `extent/rotate` in radians. A resumed
    training, which tells its earlier epochs again, replaces their points.

    Args:
        folder: where event files are written, one a training; show them with `tensorboard --logdir FOLDER`.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise InputError(
            'Logging to TensorBoard needs its package: pip install "augerino[tensorboard]"'
        ) from error
    writer: Any = None

    def write(record: Epoch) -> None:
        nonlocal writer
        try:
            if writer is None:
                writer = SummaryWriter(str(folder), purge_step=record.epoch)
            values = {
                "loss": record.loss,
                "penalty": record.penalty,
                "total": record.total,
                "learning rate": record.lr,
            }
            extents = {f"extent/{name}": value for name, value in record.extent.items()}
            for name, value in {**values, **extents}.items():
                writer.add_scalar(name, value, record.epoch)
            writer.flush()
        except OSError as error:
            raise InputError(
                f"Cannot write events into {folder}: {error.strerror or error}."
            ) from error

    return write
