"""Transforms of signals (B, C, T): shift and stretch in time, gain, and noise."""

import math
from typing import Any

import torch
from torch import Tensor

from augerino import lie
from augerino.coordinate import HALF_SIGNAL, LOG_FACTOR, NOISE, Coordinate
from augerino.errors import InputError
from augerino.transforms import functional
from augerino.transforms.base import Transform, per_item, precise
from augerino.transforms.functional import SignalPadding


class _InTime(Transform):
    """A map of the time axis. Subclasses must implement `offset(t, samples)`.

    Args:
        padding: values outside the signal: "zeros", "border" (the first and the last sample
            continue) or "circular" (the signal repeats).
    """

    def __init__(self, padding: SignalPadding = "zeros") -> None:
        super().__init__()
        if padding not in functional.SIGNAL_PADDINGS:
            raise InputError(
                f"{type(self).__name__} needs a padding of "
                f"{', '.join(functional.SIGNAL_PADDINGS)}, but got '{padding}'."
            )
        self.padding: SignalPadding = padding
        self.mixes_with_padding = padding == "zeros"

    def offset(self, t: Tensor, samples: int) -> Tensor:
        """Source position minus output position, in samples.   t: (B, 1)   returns (B, T)"""
        name = type(self).__name__
        raise TypeError(f"{name} has no offset: implement {name}.offset(t, samples), in samples.")

    def _move(self, x: Tensor, t: Tensor, padding: SignalPadding) -> Tensor:
        t = lie.at_least_float32(precise(t, x))
        with torch.autocast(x.device.type, enabled=False):
            return functional.resample(x, self.offset(t, x.shape[-1]), padding)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        """Resamples signals.   x: (B, C, T)   t: (B, 1)   returns (B, C, T)"""
        self.check(x, t)
        return self._move(x, t, self.padding)

    def inverse(self, y: Tensor, t: Tensor) -> Tensor:
        """Applies the transform at -t."""
        return self.forward(y, -t)

    def coverage(self, y: Tensor, t: Tensor) -> Tensor | None:
        """Fraction of each sample that survives g and its inverse, (B, 1, T)."""
        ones = torch.ones_like(y[:, :1])
        there = self._move(ones, t, "zeros")
        return self._move(there, -t, "zeros")

    def settings(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {"padding": self.padding}


class TimeShift(_InTime):
    """Shifts signals in time by t times half their length; positive t shifts to the right (later).

    The inverse is the shift by -t, which is lossless for whole samples with circular padding.

    Args:
        padding: values outside the signal: "zeros", "border" or "circular".

    Example:
        >>> TimeShift()(torch.tensor([[[1.0, 2.0, 3.0, 4.0]]]), torch.tensor([[0.5]]))
        tensor([[[0., 1., 2., 3.]]])
    """

    coordinates = (Coordinate("time_shift", limit=1.0, unit=HALF_SIGNAL),)

    def offset(self, t: Tensor, samples: int) -> Tensor:
        """-t T / 2 for every sample.   t: (B, 1)   returns (B, T)"""
        return (-t * samples / 2).expand(-1, samples)

    def coverage(self, y: Tensor, t: Tensor) -> Tensor | None:
        """Fraction of each sample that survives, (B, 1, T); None with circular padding."""
        if self.padding == "circular":
            return None
        return super().coverage(y, t)


class TimeScale(_InTime):
    r"""Stretches signals about their centre by the factor \(e^t\): positive t is slower.

    The pitch changes with the tempo. t is clamped to ±20.

    Args:
        padding: values outside the signal, visible if it shrinks: "zeros", "border" or "circular".

    Example:
        >>> TimeScale()(torch.tensor([[[0.0, 1.0, 1.0, 0.0]]]), torch.tensor([[math.log(2)]]))
        tensor([[[0.7500, 1.0000, 1.0000, 0.7500]]])
    """

    coordinates = (Coordinate("time_scale", limit=1.0, unit=LOG_FACTOR),)

    def offset(self, t: Tensor, samples: int) -> Tensor:
        """(e^-t - 1) times the distance from the centre.   t: (B, 1)   returns (B, T)"""
        position = torch.arange(samples, dtype=t.dtype, device=t.device)
        from_centre = position - (samples - 1) / 2
        clamped = t.clamp(-lie.SATURATION, lie.SATURATION)
        return torch.expm1(-clamped) * from_centre


class Gain(Transform):
    r"""Multiplies signals by \(e^t\): positive t is louder.

    Nothing is clipped, so the inverse is exact. The limit is a factor of ten in either direction
    (±20 dB), more than recordings of one source usually span. A bound that reaches it means that
    loudness is irrelevant. t is clamped to ±20.

    Example:
        >>> Gain()(torch.tensor([[[1.0, -3.0]]]), torch.tensor([[math.log(2)]]))
        tensor([[[ 2., -6.]]])
    """

    coordinates = (Coordinate("gain", limit=math.log(10), unit=LOG_FACTOR),)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        """Scales signals.   x: (B, ...)   t: (B, 1)   returns (B, ...)"""
        self.check(x, t)
        with torch.autocast(x.device.type, enabled=False):
            factor = per_item(t, x).clamp(-lie.SATURATION, lie.SATURATION).exp()
            return (x * factor).to(x.dtype)

    def inverse(self, y: Tensor, t: Tensor) -> Tensor:
        """Applies the gain at -t."""
        return self.forward(y, -t)


class NoiseLevel(Transform):
    r"""Adds white Gaussian noise relative to the signal: \(x' = x + t\, \sigma(x)\, n(x, t)\).

    \(\sigma(x)\) is the standard deviation over all channels and samples of one input. At the
    limit, t = 1, the noise is as strong as the signal. The sign of t is irrelevant.

    A transform has no random state, so \(n(x, t)\) is a deterministic function: a hash of the bits
    of x and t (as float32) seeds the noise of each input. Equal pairs get equal noise, and
    different pairs get independent noise. Values therefore jump between neighbouring t. The
    gradient along t is \(\sigma(x)\, n\) with n held fixed, as for a reparametrised sample; finite
    differences disagree with it (`smooth = False`). There is no inverse.

    Example:
        >>> x, t = torch.randn(1, 1, 1000), torch.tensor([[0.1]])
        >>> noise = NoiseLevel()(x, t) - x
        >>> round(float(noise.std() / x.std()), 1)
        0.1
    """

    coordinates = (Coordinate("noise", limit=1.0, unit=NOISE),)
    smooth = False

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        """Adds noise to signals.   x: (B, ...)   t: (B, 1)   returns (B, ...)"""
        self.check(x, t)
        with torch.autocast(x.device.type, enabled=False):
            signals = lie.at_least_float32(x)
            variance = signals.flatten(1).var(dim=1, correction=0)
            # A positive variance keeps the gradient of the square root finite.
            variance = variance.clamp_min(torch.finfo(signals.dtype).tiny)
            strength = per_item(t, x) * per_item(variance.sqrt(), x)
            noise = white_noise(x, t).to(signals.dtype)
            return (signals + strength * noise).to(x.dtype)


_WORD = 0xFFFFFFFF


def white_noise(x: Tensor, t: Tensor) -> Tensor:
    """Standard normal float32 numbers of the shape of x, a function of each input and its t alone.

    A counter-based generator: each number is a hash of its position and of a key made from the
    input and t. It is the same on every device up to the rounding of log and cos.
    """
    position = torch.arange(x[0].numel(), device=x.device)
    item = _hash(_bits(x) ^ _hash(position)).sum(dim=1, keepdim=True)
    level = _hash(_bits(t)).sum(dim=1, keepdim=True)
    key = _hash(item ^ (item >> 32)) ^ level
    first = _hash(_hash(position) ^ _hash(key))
    second = _hash(first ^ 0x9E3779B9)
    # Box-Muller
    radius = (-2 * _open_unit(first).log()).sqrt()
    angle = 2 * math.pi * _open_unit(second)
    return (radius * angle.cos()).reshape(x.shape)


def _bits(value: Tensor) -> Tensor:
    """Bits of float32 numbers as integers in 0 .. 2^32 - 1.   value: (B, ...)   returns (B, n)"""
    numbers = value.detach().float().flatten(1).contiguous()
    return numbers.view(torch.int32).long() & _WORD


def _hash(word: Tensor) -> Tensor:
    """Mixes 32-bit words stored in int64 by two rounds of shift, xor and multiply.

    The multiplier is small enough that int64 does not overflow.
    """
    for _ in range(2):
        word = ((((word >> 16) ^ word) & _WORD) * 0x45D9F3B) & _WORD
    return (word >> 16) ^ word


def _open_unit(word: Tensor) -> Tensor:
    """Uniform numbers in (0, 1) from the upper 23 bits of 32-bit words, exact in float32."""
    return ((word >> 9).float() + 0.5) / 2**23
