"""Discrete symmetries: coordinates that are 0 or 1."""

from typing import Any

import torch
from torch import Tensor

from augerino import lie
from augerino.coordinate import COPIES, Coordinate
from augerino.transforms.base import Size, Transform, choose

_AXES = {"flip_horizontal": -1, "flip_vertical": -2}


class Flip(Transform):
    r"""Mirror images: \(x' = (1 - t) x + t\, \mathrm{flip}(x)\) for t in {0, 1}, one coordinate per direction.

    `flip_horizontal` swaps left and right, `flip_vertical` top and bottom. Between 0 and 1 the formula is linear, which is what
    carries a gradient back to the probability of a flip. Each flip is its own inverse.

    Args:
        names: "horizontal", "vertical", or the full coordinate names; none means both.

    Example:
        >>> Flip("horizontal")(torch.tensor([[[[1.0, 2.0]]]]), torch.tensor([[1.0]]))
        tensor([[[[2., 1.]]]])
    """

    def __init__(self, *names: str) -> None:
        super().__init__()
        full = [f"flip_{name}" if f"flip_{name}" in _AXES else name for name in names]
        self.coordinates = tuple(
            Coordinate(name, limit=1.0, unit=COPIES, discrete=True)
            for name in choose(full, _AXES, "Flip")
        )

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        self.check(x, t)
        for name, coordinate in zip(self.names, t.unbind(-1), strict=True):
            weight = coordinate.to(x.dtype).reshape(-1, *[1] * (x.dim() - 1))
            x = (1 - weight) * x + weight * x.flip(_AXES[name])  # exact at 0 and 1
        return x

    def inverse(self, y: Tensor, t: Tensor) -> Tensor:
        return self.forward(y, t)

    def point_map(self, t: Tensor, size: Size) -> Tensor:
        signs = dict(zip(self.names, (1 - 2 * lie.at_least_float32(t)).unbind(-1), strict=True))
        one = torch.ones_like(next(iter(signs.values())))
        return torch.diag_embed(
            torch.stack(
                [signs.get("flip_horizontal", one), signs.get("flip_vertical", one), one], dim=-1
            )
        )

    def settings(self) -> dict[str, Any]:
        return {"names": list(self.names)}
