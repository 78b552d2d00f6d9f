"""Start and penalty of the paper's released code, converted from its full widths to our bounds."""

import math

import torch
from torch import Tensor

from augerino.augmentation import Augmentation

# The released code starts the full width of the rotation at softplus(1) and all others at
# softplus(-5). A bound is half a full width.
WIDE = math.log1p(math.e) / 2
NEAR_ZERO = math.log1p(math.exp(-5.0)) / 2
TRANSLATION_SCALE = 0.1  # the released code multiplies translations by this factor


class ReleasedPenalty:
    """The penalty of the released code: -‖w‖ if max(w) < 10, else 0.

    w holds the full widths 2θ / unit, where `unit` is 0.1 for translations and 1 otherwise.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def __call__(self, augmentation: Augmentation) -> Tensor:
        extent = augmentation.distribution.extent
        # The extent of a flip is twice its probability, so its unit cancels.
        units = [1.0 if name.startswith("flip") else unit(name) for name in self.names]
        width = 2 * extent / torch.tensor(units).to(extent)
        return -width.norm() * (width.max() < 10)


def informed_start(limits: dict[str, float], symmetries: set[str]) -> dict[str, float]:
    """Start bounds of the released code if the true symmetries are known.

    Symmetries start at `WIDE`, all other coordinates at `NEAR_ZERO`, times `unit` and at most
    their limit. For a flip the value is its probability.

    Args:
        limits: the limit of every coordinate.
        symmetries: names of the coordinates that are symmetries.
    """
    starts = {}
    for name, limit in limits.items():
        start = WIDE if name in symmetries else NEAR_ZERO
        starts[name] = min(start * unit(name), limit)
    return starts


def unit(name: str) -> float:
    """The size of one unit of the released code in our units."""
    if name.startswith("flip"):
        return 0.5
    if name.startswith("translate") or name == "time_shift":
        return TRANSLATION_SCALE
    return 1.0
