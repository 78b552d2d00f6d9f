"""Generators of the affine groups, their linear combinations, and the general exponential."""

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

# In 3-D, acting on (x, y, z, 1): the paper's nine (its appendix on QM9), then the three shears,
# which the paper leaves out.
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

# The exponentials saturate at a magnification of e^(2 * 20), before float32 overflows.
SATURATION = 20.0


def at_least_float32(x: Tensor) -> Tensor:
    """Converts bfloat16 and float16 to float32; returns float32 and float64 unchanged."""
    if x.dtype in (torch.float32, torch.float64):
        return x
    return x.float()


def combine(t: Tensor, generators: Tensor) -> Tensor:
    r"""Linear combination of generators, \(\sum_i t_i G_i\).

    Args:
        t: coordinates, (B, k).
        generators: (k, m, m).

    Returns:
        Elements of the algebra, (B, m, m).
    """
    k, m, _ = generators.shape
    flat = generators.to(t).reshape(k, m * m)
    return (t @ flat).reshape(*t.shape[:-1], m, m)


def exp(algebra: Tensor) -> Tensor:
    """Exponential of square matrices of any size.   algebra: (..., m, m)   returns (..., m, m)"""
    return torch.linalg.matrix_exp(at_least_float32(algebra))
