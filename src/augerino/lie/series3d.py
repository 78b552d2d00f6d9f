"""The exponential of 3-D affine maps by a series, squared up."""

import torch
from torch import Tensor

from augerino.lie.bases import SATURATION, at_least_float32

SQUARINGS = 12  # so that rotations by up to 2^12 / sqrt 2, about 2900 radians, are exact


def exp_affine3d(algebra: Tensor) -> Tensor:
    r"""Exponential of 3-D affine algebra elements.   algebra: (..., 4, 4)   returns (..., 4, 4)

    By its series, once halved often enough, and squared up again: \(e^A = (e^{A / 2^k})^{2^k}\). The linear part is
    \(M = sI + S + W\), trace, symmetric and antisymmetric: s is held within ±20 and S within a norm of 20, so that nothing
    overflows; W turns, and does not stretch. Each element is squared as often as *it* needs and no more, since every
    squaring doubles the rounding error.
    """
    algebra = at_least_float32(algebra)
    linear, shift = algebra[..., :3, :3], algebra[..., :3, 3:]
    eye = torch.eye(3, dtype=algebra.dtype, device=algebra.device)
    trace = linear.diagonal(dim1=-2, dim2=-1).sum(-1)[..., None, None] / 3
    stretch = (linear + linear.mT) / 2 - trace * eye
    turn = (linear - linear.mT) / 2
    linear = (
        trace.clamp(-SATURATION, SATURATION) * eye
        + _held(stretch, SATURATION)
        + _held(turn, 2.0**SQUARINGS)
    )
    halvings = (
        linear.detach()
        .square()
        .sum((-2, -1), keepdim=True)
        .sqrt()
        .clamp_min(1)
        .log2()
        .ceil()
        .clamp_max(SQUARINGS)
    )
    small = (
        torch.cat(
            [torch.cat([linear, shift], dim=-1), torch.zeros_like(algebra[..., :1, :])], dim=-2
        )
        / 2**halvings
    )
    return _square_up(_series(small), halvings)


def _held(matrix: Tensor, norm: float) -> Tensor:
    """A matrix shrunk to a norm where it has a larger one."""
    square = matrix.square().sum((-2, -1), keepdim=True)
    over = square > norm**2
    return matrix * torch.where(over, norm / torch.where(over, square, 1.0).sqrt(), 1.0)


def _series(small: Tensor) -> Tensor:
    """The exponential series by Horner's scheme, to the last bit of float64 for matrices of norm up to 1."""
    eye = torch.eye(small.shape[-1], dtype=small.dtype, device=small.device)
    total = eye + small / 18
    for n in range(17, 0, -1):
        total = eye + small @ total / n
    return total


def _square_up(root: Tensor, times: Tensor) -> Tensor:
    """Squares each matrix its own number of times."""
    eye = torch.eye(root.shape[-1], dtype=root.dtype, device=root.device)
    for i in range(SQUARINGS):
        waiting = times > i
        base = torch.where(
            waiting, root, eye
        )  # one that is done must not grow further, seen or unseen
        root = torch.where(waiting, base @ base, root)
    return root
