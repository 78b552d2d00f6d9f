"""Synthetic signals with known symmetries: an early or a late pulse of random amplitude.

A pulse of one of two shapes is centred at ∓`place` (in halves of the signal, the unit of
`TimeShift`) plus a random offset within ±extent. The label is the pair (shape, early or late). The
extent of each coordinate taken alone:

- **time_shift**: place - extent, exactly; beyond it early and late pulses overlap at the middle.
- **gain**: the limit of `Gain`; amplitudes vary by a factor of two either way, and no label
  depends on them.
- **time_scale**: no exact extent. Stretching never moves a pulse across the middle; it only pushes
  pulses out of the frame or compresses them below one sample.
- **noise**: no exact extent.

The signals are zero outside the pulse, without noise. Shifting a noisy signal pads it with zeros;
a network could infer the shift from them and recognise the label at any shift. For the same
reason, apply `NoiseLevel` after `TimeShift`.

Shift and stretch interact when they are learned together, since both move pulses out of the frame.
Their joint limit is about (place + extent + shift) · exp(stretch) = 1, so the learned shift is
smaller than the extent of the shift alone, and even smaller with three or four coordinates. `true`
is the extent of the shift alone.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from augerino.errors import InputError
from augerino.transforms import Gain

SHAPES = ("bump", "wave")
CLASS_NAMES = tuple(f"{shape} {place}" for shape in SHAPES for place in ("early", "late"))

LOUDNESS = math.log(2)  # half-range of the log-amplitude
_WIDTH = 0.04  # standard deviation of a pulse, in halves of the signal


@dataclass(frozen=True)
class Signals:
    """Labelled signals and the exact extents of their symmetries."""

    x: Tensor  # (N, 1, samples)
    y: Tensor  # (N,), 4 classes
    centers: Tensor  # (N,), centre of each pulse
    class_names: tuple[str, ...]
    true: dict[str, float]  # extent by coordinate


def pulses(shape: Tensor, time: Tensor) -> Tensor:
    """Pulses of unit height at `time` from their centre: a bump for shape 0, a wave for shape 1."""
    u = time / _WIDTH
    bell = torch.exp(-u.square() / 2)
    return torch.where(shape == 0, bell, -u * bell * math.exp(0.5))


def signals(
    n: int = 2000, *, seed: int = 0, place: float = 0.45, extent: float = 0.05, samples: int = 128
) -> Signals:
    """Draws n signals from four balanced classes, in random order.

    Args:
        n: number of signals.
        seed: seed of a private generator; the global random state is neither used nor changed.
        place: distance of the pulses from the middle, in halves of the signal; below 1.
        extent: pulses are centred within ±extent of their place; between 0 and `place`. The true
            extent of `time_shift` is place - extent.
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
        x=x[:, None],
        y=y,
        centers=centers,
        class_names=CLASS_NAMES,
        true={"time_shift": place - extent, "gain": Gain.coordinates[0].limit},
    )
