"""Affine maps of points in space."""

import math
from typing import Any

import torch
from torch import Tensor

from augerino import lie
from augerino.coordinate import LOG_FACTOR, PLAIN, RADIAN, Coordinate
from augerino.errors import InputError
from augerino.transforms.base import LieTransform, choose

#: The paper's nine; the shears are there by name.
PAPER = tuple(name for name in lie.AFFINE3D if not name.startswith("shear"))

_KINDS = {  # limit and unit, by the first word of a name
    "translate": (math.inf, PLAIN),
    "rotate": (math.pi, RADIAN),
    "scale": (1.0, LOG_FACTOR),
    "squeeze": (1.0, LOG_FACTOR),
    "shear": (1.0, LOG_FACTOR),
}


class Affine3d(LieTransform):
    r"""Affine maps of point clouds (B, N, 3), \(g_t = \exp(\sum_i t_i G_i)\) with the paper's nine generators, or any by name.

    Points themselves move, \(p \mapsto g p\), about the origin of the data: centre the clouds first if they should turn about
    their middles. `rotate_x`, `rotate_y`, `rotate_z` (radians) turn about an axis by the right-hand rule, so positive
    `rotate_z` takes x to y. `translate_x`, `translate_y`, `translate_z` are in the data's own unit, without a limit.
    Positive `scale` (log-factor) enlarges, `squeeze_xy` stretches x and shrinks y, `squeeze_yz` y and z; together
    with `scale` they reach every stretch along the axes. `shear_xy`, `shear_yz` and `shear_xz`, by name only, stretch along a
    diagonal and shrink across it.

    Padded clouds come with a mask, and `On("positions", Affine3d(), where="mask")` leaves the padding where it is.

    Reference: Benton et al. (2020), appendix on training details for QM9: "3 for translation, 3 for rotation, 2 for squeezing
    and 1 for scaling". The released code has the shears too, and the same two squeezes.

    Args:
        names: coordinates to keep, in this order; none means the paper's nine.

    Example:
        >>> turn = Affine3d("rotate_z")
        >>> turn(torch.tensor([[[1.0, 0.0, 2.0]]]), torch.tensor([[math.pi / 2]])).round(decimals=3).abs()
        tensor([[[0., 1., 2.]]])
    """

    def __init__(self, *names: str) -> None:
        chosen = choose(names, lie.AFFINE3D, "Affine3d") if names else PAPER
        super().__init__(
            [_coordinate(name) for name in chosen],
            torch.tensor([lie.AFFINE3D[name] for name in chosen], dtype=torch.float32),
        )

    def exp(self, algebra: Tensor) -> Tensor:
        return lie.exp_affine3d(algebra)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        if x.dim() != 3 or x.shape[-1] != 3:
            raise InputError(
                f"Affine3d needs positions (B, N, 3), but got {tuple(x.shape)}. "
                'If they are one entry of a dict, use On("positions", Affine3d(...)).'
            )
        self.check(x, t)
        matrix = self.matrix(t.double() if x.dtype == torch.float64 else t)
        with torch.autocast(x.device.type, enabled=False):
            points = lie.at_least_float32(x)
            matrix = matrix.to(points.dtype)
            return (points @ matrix[:, :3, :3].mT + matrix[:, None, :3, 3]).to(x.dtype)

    def settings(self) -> dict[str, Any]:
        return {"names": list(self.names)}


def _coordinate(name: str) -> Coordinate:
    limit, unit = _KINDS[name.partition("_")[0]]
    return Coordinate(name, limit, unit)
