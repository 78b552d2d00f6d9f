"""Rotations in space that are all equally likely: nothing to learn, a baseline to compare with."""

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributions as D
from torch import Tensor

from augerino.coordinate import Unit
from augerino.distributions.base import LearnedDistribution, Value, vector_of
from augerino.errors import InputError

SI_PI = 1.8519370519824662  # the sine integral at pi


class Haar(LearnedDistribution):
    r"""The uniform (Haar) distribution on SO(3), over the coordinates `rotate_x`, `rotate_y`, `rotate_z` of `Affine3d`.

    A random unit quaternion, as a rotation vector: an axis times an angle \(\varphi\) in \([0, \pi]\). The axis is uniform on
    the sphere and the angle has the density \((1 - \cos\varphi)/\pi\), so that most draws turn far. A box over the same three
    coordinates, as `Uniform` is, has another shape; `paper.diagnostics.haar_deviation` measures how far off it is.

    No parameter: there is one such distribution. Its extent is the half-range of each coordinate, pi, and cannot be set.

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
        self.register_buffer(
            "_half_turn", torch.full((3,), math.pi), persistent=False
        )  # knows the device and the dtype

    def forward(self) -> D.Distribution:
        return RotationVectors(self._half_turn)

    def icdf(self, u: Tensor) -> Tensor:
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
                f"Haar draws uniformly from all rotations: its extent is pi, but got {wanted.tolist()}. "
                "Use a Uniform to draw from some of them."
            )

    @property
    def support(self) -> tuple[Tensor, Tensor]:
        return -self._half_turn, self._half_turn

    def describe(self, units: Sequence[Unit]) -> list[str]:
        return ["uniform over all rotations"] * 3

    def settings(self) -> dict[str, Any]:
        return {}


def unit_quaternion(u: Tensor) -> Tensor:
    """Takes the unit cube to unit quaternions (w, x, y, z), equal volumes to equal volumes.   u: (n, 3)   returns (n, 4)"""
    first, second = (1 - u[:, 0]).sqrt(), u[:, 0].sqrt()
    a, b = 2 * math.pi * u[:, 1], 2 * math.pi * u[:, 2]
    return torch.stack(
        [first * a.sin(), first * a.cos(), second * b.sin(), second * b.cos()], dim=1
    )


def rotation_vector(quaternion: Tensor) -> Tensor:
    """Axis times angle, the angle in 0..pi, of unit quaternions.   (n, 4) -> (n, 3)"""
    quaternion = torch.where(
        quaternion[:, :1] < 0, -quaternion, quaternion
    )  # q and -q are the same rotation
    w, v = quaternion[:, :1], quaternion[:, 1:]
    size = v.norm(dim=1, keepdim=True)
    tiny = size < 1e-12
    return v * torch.where(tiny, 2.0, 2 * torch.atan2(size, w) / torch.where(tiny, 1.0, size))


class RotationVectors(D.Distribution):
    r"""Uniform rotations as rotation vectors: density \(\mathrm{sinc}^2(|t| / 2) / 8\pi^2\) in the ball \(|t| \le \pi\)."""

    arg_constraints = {}  # noqa: RUF012 (torch's own way to declare them)
    has_rsample = True

    def __init__(self, like: Tensor) -> None:
        self.like = like
        super().__init__(event_shape=torch.Size([3]), validate_args=False)

    @property
    def mean(self) -> Tensor:
        return torch.zeros_like(self.like)

    @property
    def variance(self) -> Tensor:
        return torch.full_like(
            self.like, (math.pi**2 / 3 + 2) / 3
        )  # a third of the angle's mean square

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = torch.Size(sample_shape)
        u = torch.rand(shape.numel(), 3, dtype=self.like.dtype, device=self.like.device)
        return rotation_vector(unit_quaternion(u)).reshape(*shape, 3)

    def log_prob(self, value: Tensor) -> Tensor:
        angle = value.norm(dim=-1)
        density = 2 * torch.sinc(angle / (2 * math.pi)).log() - math.log(8 * math.pi**2)
        return torch.where(angle <= math.pi * (1 + 1e-6), density, -torch.inf)

    def entropy(self) -> Tensor:
        return self.like.new_tensor(math.log(8 * math.pi**4) - 3 + 2 * SI_PI / math.pi)
