"""The action on vectors, which rotate with the frame and do not translate."""

import torch
from torch import Tensor

from augerino import lie
from augerino.transforms.actions.base import Action
from augerino.transforms.base import LieTransform, Transform, precise


class Vectors(Action):
    """Vectors (B, N, m) or (B, m), such as forces, multiplied by the linear part of a transform.

    m is 3 for `Affine3d` and 2 for transforms of images. Under `scale`, vectors grow like
    displacements, which is wrong for forces: learn rotations only for these. Padding rows of zeros
    remain zeros.

    Args:
        transform: the transform of the inputs; for `On("positions", Affine3d(...))`, the
            `Affine3d(...)` in it.

    Example:
        >>> from augerino import Affine3d
        >>> turn = Vectors(Affine3d("rotate_z", "translate_x"))
        >>> y = turn(torch.tensor([[1.0, 0.0, 0.0]]), torch.tensor([[torch.pi / 2, 5.0]]))
        >>> y.round(decimals=3).abs()
        tensor([[0., 1., 0.]])
    """

    def __init__(self, transform: Transform) -> None:
        super().__init__(transform)
        self.dimension = self._linear(torch.zeros(1, len(transform.names))).shape[-1]

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        """Multiplies vectors by the linear part.   x: (B, N, m) or (B, m)   t: (B, k)"""
        self._check(x, t)
        return _product(x, self._linear(precise(t, x)))

    def inverse(self, y: Tensor, t: Tensor) -> Tensor:
        """Multiplies vectors by the inverse linear part.   y: (B, N, m) or (B, m)   t: (B, k)"""
        self._check(y, t)
        t = precise(t, y)
        if isinstance(self.transform, LieTransform):
            return _product(y, self._linear(-t))
        back = lie.inverse_affine2d(self.transform.point_map(t, (2, 2)))
        return _product(y, back[:, :2, :2])

    def _linear(self, t: Tensor) -> Tensor:
        """Linear parts of the group elements.   t: (B, k)   returns (B, m, m)"""
        if isinstance(self.transform, LieTransform):
            whole = self.transform.matrix(t)
        else:
            whole = self.transform.point_map(t, (2, 2))
        return whole[:, :-1, :-1]

    def _check(self, x: Tensor, t: Tensor) -> None:
        m = self.dimension
        self.need(
            fits=x.dim() in (2, 3) and x.shape[-1] == m and x.is_floating_point(),
            x=x,
            what=f"floating-point vectors (B, N, {m}) or (B, {m})",
            advice=f"give {m} components for each vector",
        )
        self.check(x, t)


def _product(x: Tensor, matrix: Tensor) -> Tensor:
    """Matrix-vector products.   x: (B, N, m) or (B, m)   matrix: (B, m, m)   returns as x"""
    with torch.autocast(x.device.type, enabled=False):
        vectors = lie.at_least_float32(x)
        rows = vectors if x.dim() == 3 else vectors[:, None]
        return (rows @ matrix.to(rows.dtype).mT).reshape(x.shape).to(x.dtype)
