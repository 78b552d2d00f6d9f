"""The paper's released recipe in our units: its start and its penalty, on full widths."""

import math

import torch
from torch import Tensor

from augerino.augmentation import Augmentation

# The released code starts five of six full widths at softplus(-5) and that of the rotation at softplus(1).
NEAR_ZERO, WIDE = math.log1p(math.exp(-5.0)) / 2, math.log1p(math.e) / 2
SHIFT = 0.1  # its translations are scaled by this


class ReleasedPenalty:
    """The released code's penalty: minus the norm of the full widths, for all coordinates or, past a width of 10, for none.

    Its translations are scaled by 0.1, so a width of 1 there is a bound of 0.05 here.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def __call__(self, augmentation: Augmentation) -> Tensor:
        scale = torch.tensor(
            [1.0 if name.startswith("flip") else unit(name) for name in self.names]
        )  # a flip's extent is whole
        width = 2 * augmentation.distribution.extent / scale.to(augmentation.distribution.extent)
        return -width.norm() * (width.max() < 10)


def informed_start(limits: dict[str, float], symmetries: set[str]) -> dict[str, float]:
    """The released start when told which coordinates are symmetries: those wide, the others next to nothing.

    In the released code's units: half a full width of softplus(1) or of softplus(-5), a tenth of that for shifts; for
    coordinates that it does not have, in their own unit, and for flips the probability of that extent.

    Args:
        limits: of every coordinate.
        symmetries: the ones told.
    """
    return {
        name: min((WIDE if name in symmetries else NEAR_ZERO) * unit(name), limit)
        for name, limit in limits.items()
    }


def unit(name: str) -> float:
    """What one of the released code's units is in ours."""
    if name.startswith("flip"):
        return 0.5
    return SHIFT if name.startswith("translate") or name == "time_shift" else 1.0
