"""Embedded signals with a known answer: a pulse early or late, as loud as it likes.

A pulse of one of two shapes stands around one of two places, `place` before or after the middle of the signal (in halves of
the signal, the unit of `TimeShift`), off by a random amount within ±extent. The label says which shape and which place. So, each
coordinate taken alone:

- **time_shift**: moving a signal further by up to place - extent keeps every label right, and not a sample more: the
  pulses of one place would reach the middle and meet those of the other. This extent is exact.
- **gain**: loudness varies by a factor of two either way, and no label depends on it: free, up to the limit of `Gain`.
- **time_scale**: stretching moves a pulse away from the middle and never across it, so no label is ever contradicted; what
  ends it is that pulses leave the frame or melt to less than a sample. No exact extent.
- **noise**: how much the shapes bear has no exact answer.

There is silence around a pulse and no noise: zeros that come in behind moving noise would tell how far a signal was moved, and a
network that reads this tells the places apart at any shift. For the same reason add `NoiseLevel` after `TimeShift`, not before.

Shift and stretch share the room up to the end of the signal: learned together, their bounds describe a joint set, about
(place + extent + shift) e^stretch = 1, and the shift ends below its own extent. With three or four
coordinates learned at once it ended lower still; `true` speaks of the shift alone.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from augerino.errors import InputError
from augerino.transforms import Gain

SHAPES = ("bump", "wave")
CLASS_NAMES = tuple(f"{shape} {place}" for shape in SHAPES for place in ("early", "late"))

LOUDNESS = math.log(2)  # loudness varies within this log-factor
_WIDTH = 0.04  # one standard deviation of a pulse, in halves of the signal


@dataclass(frozen=True)
class Signals:
    """Signals (N, 1, samples), labels (N,) of 4 classes, where each pulse stands, and the extents that are known exactly."""

    x: Tensor
    y: Tensor
    centers: Tensor
    class_names: tuple[str, ...]
    true: dict[str, float]


def pulses(shape: Tensor, time: Tensor) -> Tensor:
    """The two shapes, 0 a bump and 1 a wave, both at most 1 high, at times from the middle of the pulse."""
    u = time / _WIDTH
    bell = torch.exp(-u.square() / 2)
    return torch.where(shape == 0, bell, -u * bell * math.exp(0.5))


def signals(
    n: int = 2000, *, seed: int = 0, place: float = 0.45, extent: float = 0.05, samples: int = 128
) -> Signals:
    """Draws n signals, the four classes in equal parts up to rounding and in random order.

    Args:
        n: how many.
        seed: of this draw alone; the global random state is neither used nor changed.
        place: how far from the middle the two places lie, in halves of the signal; below 1.
        extent: pulses stand within ±extent of their place; between 0 and `place`. The true extent of further shifts is
            place - extent.
        samples: length of a signal.

    Example:
        >>> data = signals(8, seed=1)
        >>> tuple(data.x.shape), round(data.true["time_shift"], 4), data.class_names[3]
        ((8, 1, 128), 0.4, 'wave late')
    """
    if n < 1 or samples < 32 or not 0 < extent < place < 1:
        raise InputError(
            f"signals needs n >= 1, samples >= 32 and 0 < extent < place < 1, "
            f"but got n={n}, samples={samples}, extent={extent:.4g}, place={place:.4g}."
        )
    generator = torch.Generator().manual_seed(seed)
    y = torch.randperm(n, generator=generator) % len(CLASS_NAMES)
    centers = (2 * torch.rand(n, generator=generator) - 1) * extent + place * (2.0 * (y % 2) - 1)
    gain = ((2 * torch.rand(n, 1, generator=generator) - 1) * LOUDNESS).exp()
    time = (torch.arange(samples) * 2 + 1) / samples - 1
    x = gain * pulses((y // 2)[:, None], time - centers[:, None])
    return Signals(
        x[:, None],
        y,
        centers,
        CLASS_NAMES,
        {"time_shift": place - extent, "gain": Gain.coordinates[0].limit},
    )
