"""The exponential of 3-D affine maps by scaling and squaring."""

import torch
from torch import Tensor

from augerino.lie.bases import SATURATION, at_least_float32

SQUARINGS = 12  # exact for rotations by up to 2^12 / sqrt(2), about 2900 radians


def exp_affine3d(algebra: Tensor) -> Tensor:
    r"""Exponential of 3-D affine algebra elements.   algebra: (..., 4, 4)   returns (..., 4, 4)

    Scaling and squaring, \(e^A = (e^{A / 2^k})^{2^k}\), with k chosen for each element, because
    every squaring doubles the rounding error. The linear part is split into trace, symmetric
    traceless part and antisymmetric part, \(M = sI + S + W\). To prevent overflow, s is clamped to
    ±20 and the norm of S to 20. W is a pure rotation; its norm is clamped to 2^12.
    """
    algebra = at_least_float32(algebra)
    linear = algebra[..., :3, :3]
    shift = algebra[..., :3, 3:]
    eye = torch.eye(3, dtype=algebra.dtype, device=algebra.device)
    trace = linear.diagonal(dim1=-2, dim2=-1).sum(-1) / 3
    trace = trace[..., None, None]
    stretch = (linear + linear.mT) / 2 - trace * eye
    turn = (linear - linear.mT) / 2
    linear = (
        trace.clamp(-SATURATION, SATURATION) * eye
        + _clamp_norm(stretch, SATURATION)
        + _clamp_norm(turn, 2.0**SQUARINGS)
    )
    norm = linear.detach().square().sum((-2, -1), keepdim=True).sqrt()
    halvings = norm.clamp_min(1).log2().ceil().clamp_max(SQUARINGS)
    upper = torch.cat([linear, shift], dim=-1)
    lower = torch.zeros_like(algebra[..., :1, :])
    small = torch.cat([upper, lower], dim=-2) / 2**halvings
    return _square(_series(small), times=halvings)


def _clamp_norm(matrix: Tensor, norm: float) -> Tensor:
    """Scales matrices down to a Frobenius norm where theirs is larger."""
    square = matrix.square().sum((-2, -1), keepdim=True)
    over = square > norm**2
    factor = norm / torch.where(over, square, 1.0).sqrt()
    return matrix * torch.where(over, factor, 1.0)


def _series(small: Tensor) -> Tensor:
    """Exponential series by Horner's scheme, exact in float64 for matrices of norm up to 1."""
    eye = torch.eye(small.shape[-1], dtype=small.dtype, device=small.device)
    total = eye + small / 18
    for n in range(17, 0, -1):
        total = eye + small @ total / n
    return total


def _square(root: Tensor, times: Tensor) -> Tensor:
    """Squares each matrix its own number of times."""
    eye = torch.eye(root.shape[-1], dtype=root.dtype, device=root.device)
    for i in range(SQUARINGS):
        active = times > i
        # The unused branch of `where` also has a gradient, so a finished matrix must not overflow.
        base = torch.where(active, root, eye)
        root = torch.where(active, base @ base, root)
    return root
