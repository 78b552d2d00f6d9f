"""Distance between the rotations that an augmentation draws and uniform rotations."""

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
    """Drawn rotations compared with uniform ones by the angle of the rotation.

    `kolmogorov` is the largest difference of the two distribution functions, in [0, 1].
    `wasserstein` is the Wasserstein-1 distance of the angles, in degrees. The angle does not depend
    on the axis; `mean_matrix` does: the norm of the mean rotation matrix divided by that of the
    identity, 0 for uniform rotations and 1 for none. `drawn` and `haar` are the distribution
    functions at each of `degrees`.
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
    """Compares the draws of `rotate_x`, `rotate_y`, `rotate_z` with uniform (Haar) rotations.

    A box in these three coordinates is never uniform on the group: a small one has no large angles,
    and one whose corners exceed pi covers some rotations several times.

    Args:
        augmentation: augmentation with these three coordinates; others are ignored.
        draws: number of quadrature points; the same for every call.
        points: number of points of the distribution functions.

    Example:
        >>> from augerino import Affine3d, Uniform
        >>> box = Augmentation(Affine3d("rotate_x", "rotate_y", "rotate_z"), Uniform([0.1] * 3))
        >>> haar_deviation(box).kolmogorov > 0.9
        True
    """
    missing = [name for name in ROTATIONS if name not in augmentation.names]
    if missing:
        raise InputError(
            f"A Haar deviation needs the coordinates {', '.join(ROTATIONS)}, "
            f"but the augmentation has no '{missing[0]}'."
        )
    columns = [augmentation.names.index(name) for name in ROTATIONS]
    t = augmentation.quadrature_element(draws).t.double().cpu()[:, columns]
    angle = rotation_angle(t).sort().values

    def drawn_cdf(at: Tensor) -> Tensor:
        return torch.searchsorted(angle, at, right=True).double() / draws

    expected = haar_angle_cdf(angle)
    steps = torch.arange(draws + 1, dtype=torch.float64) / draws
    kolmogorov = torch.maximum((steps[1:] - expected).abs(), (steps[:-1] - expected).abs()).max()
    fine = torch.linspace(0, math.pi, 20 * points, dtype=torch.float64)
    wasserstein = torch.trapezoid((drawn_cdf(fine) - haar_angle_cdf(fine)).abs(), fine)
    generators = torch.tensor([lie.AFFINE3D[name] for name in ROTATIONS])
    matrix = lie.exp_affine3d(lie.combine(t, generators))[:, :3, :3]
    grid = torch.linspace(0, math.pi, points, dtype=torch.float64)
    return HaarDeviation(
        kolmogorov=float(kolmogorov),
        wasserstein=math.degrees(float(wasserstein)),
        mean_matrix=float(matrix.mean(0).norm()) / math.sqrt(3),
        degrees=[round(math.degrees(value), 6) for value in grid.tolist()],
        drawn=drawn_cdf(grid).tolist(),
        haar=haar_angle_cdf(grid).tolist(),
    )


def rotation_angle(t: Tensor) -> Tensor:
    """The angle in [0, pi] of the rotation with rotation vector t.   (n, 3) -> (n,)"""
    wrapped = t.norm(dim=-1).remainder(2 * math.pi)
    return torch.minimum(wrapped, 2 * math.pi - wrapped)


def haar_angle_cdf(angle: Tensor) -> Tensor:
    r"""P(angle of a uniform rotation ≤ φ) = \((\varphi - \sin\varphi) / \pi\)."""
    return (angle - angle.sin()) / math.pi
