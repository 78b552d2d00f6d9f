"""The base class of actions: a transform's coordinates, acting on another kind of data."""

from typing import Any

from torch import Tensor

from augerino.errors import InputError
from augerino.transforms.base import Transform


class Action(Transform):
    """The action of a transform's group elements on another kind of data.

    Subclasses must implement `forward` and `inverse`.

    Args:
        transform: the transform of the inputs; the action has its coordinates.
    """

    def __init__(self, transform: Transform) -> None:
        super().__init__()
        self.transform = transform
        self.coordinates = transform.coordinates

    def settings(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {"transform": self.transform}

    def need(self, fits: bool, x: Tensor, what: str, advice: str) -> None:
        """Raises `InputError` unless `fits`.

        Args:
            fits: whether x has the expected shape and dtype.
            x: the data, named in the message by shape and dtype.
            what: description of the expected data.
            advice: how to fix the error.
        """
        if not fits:
            raise InputError(
                f"{type(self).__name__} needs {what}, "
                f"but got {tuple(x.shape)} of {x.dtype}: {advice}."
            )
