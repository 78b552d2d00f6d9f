"""What an action is: the coordinates of a transform, acting on something else."""

from typing import Any

import torch
from torch import Tensor

from augerino.errors import InputError
from augerino.transforms.base import Transform


class Action(Transform):
    """Another way for the elements of a transform to act; the coordinates are the transform's.

    Must write: `forward` and `inverse`.

    Args:
        transform: how the elements act on inputs.
    """

    def __init__(self, transform: Transform) -> None:
        super().__init__()
        self.transform = transform
        self.coordinates = transform.coordinates

    def settings(self) -> dict[str, Any]:
        return {"transform": self.transform}

    def need(self, fits: bool, x: Tensor, what: str, advice: str) -> None:
        """Refuses outputs of another kind than the action moves."""
        if not fits:
            raise InputError(
                f"{type(self).__name__} needs {what}, but got {tuple(x.shape)} of {x.dtype}: {advice}."
            )


def precise(t: Tensor, x: Tensor) -> Tensor:
    """Coordinates in double precision for data in double precision."""
    return t.double() if x.dtype == torch.float64 else t
