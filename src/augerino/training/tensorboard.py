"""Training curves for TensorBoard."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from augerino.errors import InputError
from augerino.training.state import Epoch


def tensorboard(folder: str | Path) -> Callable[[Epoch], None]:
    """Returns a function for `on_epoch` that logs every epoch to TensorBoard.

    Logs loss, penalty, total, learning rate and extents. The curve of an extent is named after its
    coordinate and in the coordinate's own unit: `extent/rotate` in radians. A resumed training,
    which yields its earlier epochs again, replaces their points.

    Args:
        folder: where event files are written, one per training; show them with
            `tensorboard --logdir FOLDER`.
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
        values = {
            "loss": record.loss,
            "penalty": record.penalty,
            "total": record.total,
            "learning rate": record.lr,
        }
        for name, extent in record.extent.items():
            values[f"extent/{name}"] = extent
        try:
            if writer is None:
                writer = SummaryWriter(str(folder), purge_step=record.epoch)
            for name, value in values.items():
                writer.add_scalar(name, value, record.epoch)
            writer.flush()
        except OSError as error:
            raise InputError(
                f"Cannot write events into {folder}: {error.strerror or error}."
            ) from error

    return write
