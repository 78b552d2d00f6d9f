"""How far the rotations that an augmentation draws are from uniform ones."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from augerino import lie
from augerino.augmentation import Augmentation
from augerino.errors import InputError

ROTATIONS = ("rotate_x", "rotate_y", "rotate_z")


@dataclass(frozen=True)
class HaarDeviation:
    """Drawn rotations beside uniform ones, by their angle.

    `kolmogorov` is the largest difference of the two distribution functions, 0..1; `wasserstein` the mean way, in degrees, that
    angles would have to move. The angle does not see the axis; `mean_matrix` does, to first order: the norm of the mean rotation
    matrix as a share of that of the identity, 0 for uniform rotations and 1 for none. The curves are the distribution functions
    of both at each of `degrees`.
    """

    kolmogorov: float
    wasserstein: float
    mean_matrix: float
    degrees: list[float]
    drawn: list[float]
    haar: list[float]


def haar_deviation(
    augmentation: Augmentation, *, draws: int = 2**15, points: int = 181
) -> HaarDeviation:
    """Compares what an augmentation draws for `rotate_x`, `rotate_y`, `rotate_z` with uniform (Haar) rotations.

    A box in these three coordinates, however wide, is not uniform on the group: it leaves out large angles while it is small and
    counts rotations several times once its corners pass pi.

    Args:
        augmentation: with these three coordinates; the others do not matter.
        draws: how many elements, evenly spread and always the same (`LearnedDistribution.nodes`).
        points: of the curves.

    Example:
        >>> from augerino import Affine3d, Uniform
        >>> box = Augmentation(Affine3d("rotate_x", "rotate_y", "rotate_z"), Uniform([0.1] * 3))
        >>> haar_deviation(box).kolmogorov > 0.9
        True
    """
    missing = [name for name in ROTATIONS if name not in augmentation.names]
    if missing:
        raise InputError(
            f"Rotations in space are compared by {', '.join(ROTATIONS)}, but there is no coordinate '{missing[0]}'."
        )
    t = (
        augmentation.nodes(draws)
        .t.double()
        .cpu()[:, [augmentation.names.index(name) for name in ROTATIONS]]
    )
    angle = rotation_angle(t).sort().values
    expected = haar_angle_cdf(angle)
    steps = torch.arange(draws + 1, dtype=torch.float64) / draws
    kolmogorov = torch.maximum((steps[1:] - expected).abs(), (steps[:-1] - expected).abs()).max()
    grid = torch.linspace(0, math.pi, points, dtype=torch.float64)
    drawn, haar = torch.searchsorted(angle, grid, right=True).double() / draws, haar_angle_cdf(grid)
    fine = torch.linspace(0, math.pi, 20 * points, dtype=torch.float64)
    gap = (
        torch.searchsorted(angle, fine, right=True).double() / draws - haar_angle_cdf(fine)
    ).abs()
    matrix = lie.exp_affine3d(
        lie.combine(t, torch.tensor([lie.AFFINE3D[name] for name in ROTATIONS]))
    )[:, :3, :3]
    return HaarDeviation(
        float(kolmogorov),
        math.degrees(float(torch.trapezoid(gap, fine))),
        float(matrix.mean(0).norm()) / math.sqrt(3),
        [round(math.degrees(value), 6) for value in grid.tolist()],
        drawn.tolist(),
        haar.tolist(),
    )


def rotation_angle(t: Tensor) -> Tensor:
    """The angle in 0..pi of the rotation with a given rotation vector, however often that winds.   (n, 3) -> (n,)"""
    wound = t.norm(dim=-1).remainder(2 * math.pi)
    return torch.minimum(wound, 2 * math.pi - wound)


def haar_angle_cdf(angle: Tensor) -> Tensor:
    r"""The share of uniform rotations that turn by at most an angle: \((\varphi - \sin\varphi) / \pi\)."""
    return (angle - angle.sin()) / math.pi
