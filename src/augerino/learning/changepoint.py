"""Estimates where a curve that is constant at first begins to rise."""

import torch
from torch import Tensor

STEPS = 20  # candidate changepoints 0, 1/20, ..., 19/20


def changepoint(levels: Tensor, values: Tensor) -> float:
    r"""Fits \(b + s \max(0, x - a)^2\) with slope \(s \ge 0\) by least squares.

    The changepoint a is chosen from a grid of 20 candidates in [0, 1).

    Args:
        levels: x, (n,), between 0 and 1.
        values: values of the curve at x, (n,).

    Returns:
        the changepoint a; 1 if the curve does not rise.

    Example:
        >>> levels = torch.linspace(0, 1, 21)
        >>> changepoint(levels, 0.3 + 4 * (levels - 0.5).clamp_min(0) ** 2)
        0.5
    """
    candidates = torch.arange(STEPS, dtype=torch.float64) / STEPS
    shapes = (levels.double() - candidates[:, None]).clamp_min(0).square()
    shapes = shapes - shapes.mean(dim=1, keepdim=True)  # centred, which eliminates b
    curve = values.double() - values.double().mean()
    # The sum is 0 for a candidate beyond the last level.
    slopes = (shapes @ curve / shapes.square().sum(dim=1).clamp_min(1e-12)).clamp_min(0)
    squared_errors = (curve - slopes[:, None] * shapes).square().sum(dim=1)
    best = int(squared_errors.argmin())
    if slopes[best] <= 0:
        return 1.0
    return float(candidates[best])
