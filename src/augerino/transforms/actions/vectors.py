"""Vectors: what turns with the frame and stays when it shifts."""

import torch
from torch import Tensor

from augerino import lie
from augerino.transforms.actions.base import Action, precise
from augerino.transforms.base import LieTransform, Transform


class Vectors(Action):
    """Vectors, (B, N, m) or (B, m), such as forces, dipoles or directions, moved by the linear part of the transform.

    m is 3 for `Affine3d` and 2 for transforms of images. Under `scale` they grow as displacements do, which forces do not:
    learn rotations for these. Padding rows of zeros stay zeros.

    Args:
        transform: how the inputs move; for `On("positions", Affine3d(...))` the `Affine3d(...)` in it.

    Example:
        >>> from augerino import Affine3d
        >>> turn = Vectors(Affine3d("rotate_z", "translate_x"))
        >>> turn(torch.tensor([[1.0, 0.0, 0.0]]), torch.tensor([[torch.pi / 2, 5.0]])).round(decimals=3).abs()
        tensor([[0., 1., 0.]])
    """

    def __init__(self, transform: Transform) -> None:
        super().__init__(transform)
        self.dimension = self._there(torch.zeros(1, len(transform.names))).shape[-1]

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        self._check(x, t)
        return _product(x, self._there(precise(t, x)))

    def inverse(self, y: Tensor, t: Tensor) -> Tensor:
        self._check(y, t)
        t = precise(t, y)
        if isinstance(self.transform, LieTransform):
            return _product(y, self._there(-t))
        return _product(y, lie.inverse_affine2d(self.transform.point_map(t, (2, 2)))[:, :2, :2])

    def _there(self, t: Tensor) -> Tensor:
        whole = (
            self.transform.matrix(t)
            if isinstance(self.transform, LieTransform)
            else self.transform.point_map(t, (2, 2))
        )
        return whole[:, :-1, :-1]

    def _check(self, x: Tensor, t: Tensor) -> None:
        m = self.dimension
        fits = x.dim() in (2, 3) and x.shape[-1] == m and x.is_floating_point()
        self.need(
            fits,
            x,
            f"floating-point vectors (B, N, {m}) or (B, {m})",
            f"give {m} components for each vector",
        )
        self.check(x, t)


def _product(x: Tensor, matrix: Tensor) -> Tensor:
    """x: (B, N, m) or (B, m)   matrix: (B, m, m)"""
    with torch.autocast(x.device.type, enabled=False):
        vectors = lie.at_least_float32(x)
        rows = vectors if x.dim() == 3 else vectors[:, None]
        return (rows @ matrix.to(rows.dtype).mT).reshape(x.shape).to(x.dtype)
