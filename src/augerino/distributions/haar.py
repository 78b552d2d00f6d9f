"""The uniform distribution on the rotations in three dimensions, a baseline without parameters."""

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributions as D
from torch import Tensor

from augerino.coordinate import Unit
from augerino.distributions.base import LearnedDistribution, Value, vector_of
from augerino.errors import InputError

SI_PI = 1.8519370519824662  # the sine integral Si(pi)


class Haar(LearnedDistribution):
    r"""The uniform (Haar) distribution on SO(3), as rotation vectors, (n, 3).

    For the coordinates `rotate_x`, `rotate_y`, `rotate_z` of `Affine3d`. A sample is an axis,
    uniform on the sphere, times an angle \(\varphi \in [0, \pi]\) with density
    \((1 - \cos\varphi)/\pi\). A `Uniform` box over the same coordinates is another distribution;
    `paper.diagnostics.haar_deviation` measures the difference.

    There are no parameters. The extent is \(\pi\), the half-range of each coordinate, and cannot
    be changed.

    Reference: Shoemake (1992), "Uniform random rotations", Graphics Gems III.

    Example:
        >>> from augerino import Affine3d, Augmentation
        >>> turn = Augmentation(Affine3d("rotate_x", "rotate_y", "rotate_z"), Haar())
        >>> turn(torch.rand(4, 10, 3)).shape
        torch.Size([4, 10, 3])
    """

    _half_turn: Tensor

    def __init__(self) -> None:
        super().__init__()
        # A buffer, because it carries the device and the dtype.
        self.register_buffer("_half_turn", torch.full((3,), math.pi), persistent=False)

    def forward(self) -> D.Distribution:
        """Returns the `RotationVectors` distribution, event shape (3,)."""
        return RotationVectors(self._half_turn)

    def icdf(self, u: Tensor) -> Tensor:
        """Maps uniform samples to rotation vectors.   u: (n, 3)   returns (n, 3)"""
        return rotation_vector(unit_quaternion(u))

    @property
    def extent(self) -> Tensor:
        """The half-range pi of each coordinate, (3,)."""
        return self._half_turn

    @extent.setter
    def extent(self, value: Value) -> None:
        wanted = vector_of(value, "Haar's extent", self._half_turn)
        if ((wanted - math.pi).abs() > 1e-3).any():
            raise InputError(
                "Haar is uniform over all rotations: its extent is pi, "
                f"but got {wanted.tolist()}. Use a Uniform to learn a range of rotations."
            )

    @property
    def support(self) -> tuple[Tensor, Tensor]:
        """-pi and pi, (3,) each."""
        return -self._half_turn, self._half_turn

    def describe(self, units: Sequence[Unit]) -> list[str]:
        """Returns "uniform over all rotations" for each coordinate."""
        return ["uniform over all rotations"] * 3

    def settings(self) -> dict[str, Any]:
        """Returns an empty dictionary: there are no arguments."""
        return {}


def unit_quaternion(u: Tensor) -> Tensor:
    """Maps the unit cube to unit quaternions (w, x, y, z), preserving volume.

    u: (n, 3)   returns (n, 4)
    """
    first = (1 - u[:, 0]).sqrt()
    second = u[:, 0].sqrt()
    a = 2 * math.pi * u[:, 1]
    b = 2 * math.pi * u[:, 2]
    parts = [first * a.sin(), first * a.cos(), second * b.sin(), second * b.cos()]
    return torch.stack(parts, dim=1)


def rotation_vector(quaternion: Tensor) -> Tensor:
    """Converts unit quaternions to axis times angle, with angles in [0, pi].   (n, 4) -> (n, 3)"""
    # q and -q are the same rotation; the one with w >= 0 has the angle in [0, pi].
    quaternion = torch.where(quaternion[:, :1] < 0, -quaternion, quaternion)
    w = quaternion[:, :1]
    v = quaternion[:, 1:]
    size = v.norm(dim=1, keepdim=True)
    tiny = size < 1e-12
    return v * torch.where(tiny, 2.0, 2 * torch.atan2(size, w) / torch.where(tiny, 1.0, size))


class RotationVectors(D.Distribution):
    r"""Uniform rotations as rotation vectors t, event shape (3,).

    The density is \(\mathrm{sinc}^2(|t| / 2) / 8\pi^2\) in the ball \(|t| \le \pi\), with
    \(\mathrm{sinc}\, x = \sin x / x\).

    Args:
        like: a tensor (3,) with the dtype and device of the samples.
    """

    arg_constraints = {}  # noqa: RUF012 (declared as in torch.distributions)
    has_rsample = True

    def __init__(self, like: Tensor) -> None:
        self.like = like
        super().__init__(event_shape=torch.Size([3]), validate_args=False)

    @property
    def mean(self) -> Tensor:
        """Zero, (3,)."""
        return torch.zeros_like(self.like)

    @property
    def variance(self) -> Tensor:
        r"""A third of the mean squared angle, \((\pi^2 / 3 + 2) / 3\), (3,)."""
        return torch.full_like(self.like, (math.pi**2 / 3 + 2) / 3)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draws rotation vectors, (*sample_shape, 3)."""
        shape = torch.Size(sample_shape)
        u = torch.rand(shape.numel(), 3, dtype=self.like.dtype, device=self.like.device)
        return rotation_vector(unit_quaternion(u)).reshape(*shape, 3)

    def log_prob(self, value: Tensor) -> Tensor:
        """Computes the log-density, -inf outside of the ball.   value: (..., 3)   returns (...)"""
        angle = value.norm(dim=-1)
        density = 2 * torch.sinc(angle / (2 * math.pi)).log() - math.log(8 * math.pi**2)
        return torch.where(angle <= math.pi * (1 + 1e-6), density, -torch.inf)

    def entropy(self) -> Tensor:
        r"""Computes \(\log 8\pi^4 - 3 + 2\,\mathrm{Si}(\pi) / \pi\), in nats."""
        return self.like.new_tensor(math.log(8 * math.pi**4) - 3 + 2 * SI_PI / math.pi)
