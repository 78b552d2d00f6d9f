"""Affine maps of point clouds."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from augerino import lie
from augerino.coordinate import LOG_FACTOR, PLAIN, RADIAN, Coordinate
from augerino.errors import InputError
from augerino.transforms.base import LieTransform, choose, precise

#: The nine coordinates of the paper, which has no shears.
PAPER = tuple(name for name in lie.AFFINE3D if not name.startswith("shear"))

_KINDS = {  # limit and unit, by the first word of a name
    "translate": (math.inf, PLAIN),
    "rotate": (math.pi, RADIAN),
    "scale": (1.0, LOG_FACTOR),
    "squeeze": (1.0, LOG_FACTOR),
    "shear": (1.0, LOG_FACTOR),
}


class Affine3d(LieTransform):
    r"""Affine maps of point clouds (B, N, 3), \(p \mapsto \exp(\sum_i t_i G_i)\, p\).

    The maps act about the origin of the data; centre the point clouds first if they should rotate
    about their own centres. For positive values,

    - `translate_x`, `translate_y`, `translate_z` (units of the data, without a limit) move along
      an axis
    - `rotate_x`, `rotate_y`, `rotate_z` (radians) turn about an axis by the right-hand rule;
      `rotate_z` takes x to y
    - `scale` (log-factor) enlarges
    - `squeeze_xy` and `squeeze_yz` (log-factors) stretch the first axis and shrink the second; with
      `scale` they generate every stretch along the axes
    - `shear_xy`, `shear_yz`, `shear_xz` (log-factors, by name only) stretch along a diagonal and
      shrink across it

    For padded point clouds, `On("positions", Affine3d(), where="mask")` leaves the padding
    unchanged.

    Reference: Benton et al. (2020), appendix on training details for QM9: "3 for translation, 3 for
    rotation, 2 for squeezing and 1 for scaling". The released code has the shears too, and the same
    two squeezes.

    Args:
        names: coordinates to use, in this order; none means the paper's nine.

    Example:
        >>> turn = Affine3d("rotate_z")
        >>> y = turn(torch.tensor([[[1.0, 0.0, 2.0]]]), torch.tensor([[math.pi / 2]]))
        >>> y.round(decimals=3).abs()
        tensor([[[0., 1., 2.]]])
    """

    def __init__(self, *names: str) -> None:
        chosen: Sequence[str] = PAPER
        if names:
            chosen = choose(names, lie.AFFINE3D, "Affine3d")
        super().__init__(
            [_coordinate(name) for name in chosen],
            torch.tensor([lie.AFFINE3D[name] for name in chosen], dtype=torch.float32),
        )

    def exp(self, algebra: Tensor) -> Tensor:
        """Exponential of algebra elements.   algebra: (B, 4, 4)   returns (B, 4, 4)"""
        return lie.exp_affine3d(algebra)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        """Moves points.   x: (B, N, 3)   t: (B, k)   returns (B, N, 3)"""
        if x.dim() != 3 or x.shape[-1] != 3:
            raise InputError(
                f"Affine3d needs positions (B, N, 3), but got {tuple(x.shape)}. "
                'If they are one entry of a dict, use On("positions", Affine3d(...)).'
            )
        self.check(x, t)
        matrix = self.matrix(precise(t, x))
        with torch.autocast(x.device.type, enabled=False):
            points = lie.at_least_float32(x)
            matrix = matrix.to(points.dtype)
            linear = matrix[:, :3, :3]
            shift = matrix[:, None, :3, 3]
            return (points @ linear.mT + shift).to(x.dtype)

    def settings(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {"names": list(self.names)}


def _coordinate(name: str) -> Coordinate:
    limit, unit = _KINDS[name.partition("_")[0]]
    return Coordinate(name, limit, unit)
