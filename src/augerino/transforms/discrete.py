"""Discrete symmetries, whose coordinates are 0 or 1."""

from typing import Any

import torch
from torch import Tensor

from augerino import lie
from augerino.coordinate import COPIES, Coordinate
from augerino.transforms.base import Size, Transform, choose

_AXES = {"flip_horizontal": -1, "flip_vertical": -2}
_SHORT = {"horizontal": "flip_horizontal", "vertical": "flip_vertical"}


class Flip(Transform):
    r"""Flips images: \(x' = (1 - t) x + t\, \mathrm{flip}(x)\) for \(t \in \{0, 1\}\).

    `flip_horizontal` swaps left and right, `flip_vertical` top and bottom; each has one coordinate
    and is its own inverse. The formula is linear in t, so that a gradient reaches the probability
    of a flip.

    Args:
        names: "horizontal", "vertical", or the full coordinate names; none means both.

    Example:
        >>> Flip("horizontal")(torch.tensor([[[[1.0, 2.0]]]]), torch.tensor([[1.0]]))
        tensor([[[[2., 1.]]]])
    """

    def __init__(self, *names: str) -> None:
        super().__init__()
        full = [_SHORT.get(name, name) for name in names]
        self.coordinates = tuple(
            Coordinate(name, limit=1.0, unit=COPIES, discrete=True)
            for name in choose(full, _AXES, "Flip")
        )

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        """Flips images.   x: (B, ..., H, W)   t: (B, k)   returns (B, ..., H, W)"""
        self.check(x, t)
        for name, coordinate in zip(self.names, t.unbind(-1), strict=True):
            weight = coordinate.to(x.dtype).reshape(-1, *[1] * (x.dim() - 1))
            x = (1 - weight) * x + weight * x.flip(_AXES[name])  # exact at 0 and 1
        return x

    def inverse(self, y: Tensor, t: Tensor) -> Tensor:
        """Applies the same flips again."""
        return self.forward(y, t)

    def point_map(self, t: Tensor, size: Size) -> Tensor:
        """Diagonal matrices with entries ±1.   t: (B, k)   returns (B, 3, 3)"""
        columns = (1 - 2 * lie.at_least_float32(t)).unbind(-1)
        signs = dict(zip(self.names, columns, strict=True))
        one = torch.ones_like(columns[0])
        x = signs.get("flip_horizontal", one)
        y = signs.get("flip_vertical", one)
        return torch.diag_embed(torch.stack([x, y, one], dim=-1))

    def settings(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {"names": list(self.names)}
