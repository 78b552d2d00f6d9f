"""Generators as data, their weighted sums, and what all exponentials share."""

import torch
from torch import Tensor

# The paper's G1 ... G6 (Benton et al. 2020, appendix B), acting on homogeneous points (x, y, 1).
AFFINE2D: dict[str, tuple[tuple[int, int, int], ...]] = {
    "translate_x": ((0, 0, 1), (0, 0, 0), (0, 0, 0)),
    "translate_y": ((0, 0, 0), (0, 0, 1), (0, 0, 0)),
    "rotate": ((0, -1, 0), (1, 0, 0), (0, 0, 0)),
    "scale": ((1, 0, 0), (0, 1, 0), (0, 0, 0)),
    "squeeze": ((1, 0, 0), (0, -1, 0), (0, 0, 0)),
    "shear": ((0, 1, 0), (1, 0, 0), (0, 0, 0)),
}

# The same in 3-D, acting on (x, y, z, 1): the paper's nine (its appendix on QM9), then the three shears, which it leaves out.
AFFINE3D: dict[str, tuple[tuple[int, int, int, int], ...]] = {
    "translate_x": ((0, 0, 0, 1), (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0)),
    "translate_y": ((0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 0, 0), (0, 0, 0, 0)),
    "translate_z": ((0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 0, 0)),
    "rotate_x": ((0, 0, 0, 0), (0, 0, -1, 0), (0, 1, 0, 0), (0, 0, 0, 0)),
    "rotate_y": ((0, 0, 1, 0), (0, 0, 0, 0), (-1, 0, 0, 0), (0, 0, 0, 0)),
    "rotate_z": ((0, -1, 0, 0), (1, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0)),
    "scale": ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 0)),
    "squeeze_xy": ((1, 0, 0, 0), (0, -1, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0)),
    "squeeze_yz": ((0, 0, 0, 0), (0, 1, 0, 0), (0, 0, -1, 0), (0, 0, 0, 0)),
    "shear_xy": ((0, 1, 0, 0), (1, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0)),
    "shear_yz": ((0, 0, 0, 0), (0, 0, 1, 0), (0, 1, 0, 0), (0, 0, 0, 0)),
    "shear_xz": ((0, 0, 1, 0), (0, 0, 0, 0), (1, 0, 0, 0), (0, 0, 0, 0)),
}

# Past e^(2 * 20) a magnification means nothing and float32 nears its end: the exponentials saturate there.
SATURATION = 20.0


def at_least_float32(x: Tensor) -> Tensor:
    """Lifts half precisions to float32 and leaves float32 and float64 alone."""
    return x if x.dtype in (torch.float32, torch.float64) else x.float()


def combine(t: Tensor, generators: Tensor) -> Tensor:
    """Sums generators by their coordinates.   t: (B, k)   generators: (k, m, m)   returns (B, m, m)"""
    k, m, _ = generators.shape
    return (t @ generators.to(t).reshape(k, m * m)).reshape(*t.shape[:-1], m, m)


def exp(algebra: Tensor) -> Tensor:
    """Exponential of any square matrix, the general path.   algebra: (..., m, m)"""
    return torch.linalg.matrix_exp(at_least_float32(algebra))
