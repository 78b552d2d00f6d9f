"""Where a curve that is even at first begins to rise."""

import torch
from torch import Tensor

STEPS = 20  # onsets that are tried, a twentieth apart


def onset(levels: Tensor, values: Tensor) -> tuple[float, float]:
    """Fits a curve that is even up to its onset and rises from there as a parabola, by least squares.

    Args:
        levels: (n,) between 0 and 1.
        values: (n,) of the curve at those.

    Returns:
        the onset, 1 if nothing rises; and how far the fitted curve rises from there to level 1.

    Example:
        >>> levels = torch.linspace(0, 1, 21)
        >>> at, rise = onset(levels, 0.3 + 4 * (levels - 0.5).clamp_min(0) ** 2)
        >>> round(at, 2), round(rise, 2)
        (0.5, 1.0)
    """
    tried = torch.arange(STEPS, dtype=torch.float64) / STEPS
    shapes = (levels.double() - tried[:, None]).clamp_min(0).square()
    shapes, curve = shapes - shapes.mean(dim=1, keepdim=True), values.double() - values.double().mean()
    squares = shapes.square().sum(dim=1).clamp_min(1e-12)  # 0 where an onset lies beyond the last level
    slopes = (shapes @ curve / squares).clamp_min(0)
    left = (curve - slopes[:, None] * shapes).square().sum(dim=1)
    best = int(left.argmin())
    at, slope = float(tried[best]), float(slopes[best])
    return (at, slope * (1 - at) ** 2) if slope > 0 else (1.0, 0.0)
