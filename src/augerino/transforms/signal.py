"""Signals (B, C, T): moved and stretched in time, louder and softer, and noisier. T is the last dimension."""

import math
from typing import Any

import torch
from torch import Tensor

from augerino import lie
from augerino.coordinate import HALF_SIGNAL, LOG_FACTOR, NOISE, Coordinate
from augerino.errors import InputError
from augerino.transforms import functional
from augerino.transforms.base import Transform, per_item
from augerino.transforms.functional import SignalPadding


class _InTime(Transform):
    """A map of time. Must write: `offset(t, samples)`, how far from each sample the one lies that is seen there, (B, T).

    Args:
        padding: what lies outside the signal: "zeros", "border" (the outermost samples go on) or "circular" (it repeats).
    """

    def __init__(self, padding: SignalPadding = "zeros") -> None:
        super().__init__()
        if padding not in functional.SIGNAL_PADDINGS:
            known = ", ".join(functional.SIGNAL_PADDINGS)
            raise InputError(
                f"{type(self).__name__} knows the paddings {known}, but got '{padding}'."
            )
        self.padding: SignalPadding = padding
        self.mixes_with_padding = padding == "zeros"

    def offset(self, t: Tensor, samples: int) -> Tensor:
        raise TypeError(f"Write {type(self).__name__}.offset(t, samples), in samples.")

    def _move(self, x: Tensor, t: Tensor, padding: SignalPadding) -> Tensor:
        t = t.double() if x.dtype == torch.float64 else lie.at_least_float32(t)
        with torch.autocast(x.device.type, enabled=False):
            return functional.resample(x, self.offset(t, x.shape[-1]), padding)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        self.check(x, t)
        return self._move(x, t, self.padding)

    def inverse(self, y: Tensor, t: Tensor) -> Tensor:
        return self.forward(y, -t)

    def coverage(self, y: Tensor, t: Tensor) -> Tensor | None:
        return self._move(self._move(torch.ones_like(y[:, :1]), t, "zeros"), -t, "zeros")

    def settings(self) -> dict[str, Any]:
        return {"padding": self.padding}


class TimeShift(_InTime):
    """Moves signals in time; t is a fraction of half the signal, as `translate_x` is of half the image.

    Positive t moves the signal later, to the right. The inverse is the shift by -t; with circular padding nothing is lost.

    Args:
        padding: what comes in from outside: "zeros", "border" or "circular".

    Example:
        >>> TimeShift()(torch.tensor([[[1.0, 2.0, 3.0, 4.0]]]), torch.tensor([[0.5]]))
        tensor([[[0., 1., 2., 3.]]])
    """

    coordinates = (Coordinate("time_shift", limit=1.0, unit=HALF_SIGNAL),)

    def offset(self, t: Tensor, samples: int) -> Tensor:
        return (-t * samples / 2).expand(-1, samples)

    def coverage(self, y: Tensor, t: Tensor) -> Tensor | None:
        return None if self.padding == "circular" else super().coverage(y, t)


class TimeScale(_InTime):
    """Stretches signals about their middle by the factor e^t: positive t is slower, negative t faster.

    The pitch changes with the tempo. Past e^20 either way the factor stays as it is.

    Args:
        padding: what comes in from outside when a signal is shortened: "zeros", "border" or "circular".

    Example:
        >>> TimeScale()(torch.tensor([[[0.0, 1.0, 1.0, 0.0]]]), torch.tensor([[math.log(2)]]))
        tensor([[[0.7500, 1.0000, 1.0000, 0.7500]]])
    """

    coordinates = (Coordinate("time_scale", limit=1.0, unit=LOG_FACTOR),)

    def offset(self, t: Tensor, samples: int) -> Tensor:
        from_middle = torch.arange(samples, dtype=t.dtype, device=t.device) - (samples - 1) / 2
        return torch.expm1(-t.clamp(-lie.SATURATION, lie.SATURATION)) * from_middle


class Gain(Transform):
    """Multiplies signals by e^t: positive t is louder. Nothing is clipped, so the inverse is exact.

    The limit is a factor of ten either way (±20 dB): a wider range than recordings of one thing usually span, so a bound that
    gets there says that loudness does not matter, and the penalty need not push further. Past e^20 the factor stays as it is.

    Example:
        >>> Gain()(torch.tensor([[[1.0, -3.0]]]), torch.tensor([[math.log(2)]]))
        tensor([[[ 2., -6.]]])
    """

    coordinates = (Coordinate("gain", limit=math.log(10), unit=LOG_FACTOR),)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        self.check(x, t)
        with torch.autocast(x.device.type, enabled=False):
            return (x * per_item(t, x).clamp(-lie.SATURATION, lie.SATURATION).exp()).to(x.dtype)

    def inverse(self, y: Tensor, t: Tensor) -> Tensor:
        return self.forward(y, -t)


class NoiseLevel(Transform):
    r"""Adds white Gaussian noise, t times as strong as the signal itself: \(x' = x + t\, \sigma(x)\, n(x, t)\).

    A transform holds no randomness, so the noise is a fixed function of what is given: a hash of the bits of t and of the item
    (both as float32) seeds it. The same pair always gets the same noise; another t or another item gets other noise, however
    near. So values jump from one t to the next, and only how strong the noise is varies smoothly; the gradient along t is
    that of the strength, \(\sigma(x)\, n\) with n held fixed, which is what a reparametrised draw gives. Finite
    differences say otherwise (`smooth = False`). There is no inverse.

    \(\sigma(x)\) is the standard deviation over all channels and samples of one item; the limit, 1, is noise as strong as
    the signal. The sign of t means nothing.

    Example:
        >>> x, t = torch.randn(1, 1, 1000), torch.tensor([[0.1]])
        >>> noise = NoiseLevel()(x, t) - x
        >>> round(float(noise.std() / x.std()), 1)
        0.1
    """

    coordinates = (Coordinate("noise", limit=1.0, unit=NOISE),)
    smooth = False

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        self.check(x, t)
        with torch.autocast(x.device.type, enabled=False):
            signals = lie.at_least_float32(x)
            variance = (
                signals.flatten(1)
                .var(dim=1, correction=0)
                .clamp_min(torch.finfo(signals.dtype).tiny)
            )
            strength = per_item(t, x) * per_item(variance.sqrt(), x)
            return (signals + strength * white_noise(x, t).to(signals.dtype)).to(x.dtype)


_WORD = 0xFFFFFFFF


def white_noise(x: Tensor, t: Tensor) -> Tensor:
    """Standard normal numbers of the shape of x that depend on each item and its coordinates alone, float32.

    Counter-based: every number hashes its place in the item together with the item's key, on any device the same up to the
    rounding of log and cos.
    """
    place = torch.arange(x[0].numel(), device=x.device)
    item = _hash(_bits(x) ^ _hash(place)).sum(dim=1, keepdim=True)
    key = _hash(item ^ (item >> 32)) ^ _hash(_bits(t)).sum(dim=1, keepdim=True)
    first = _hash(_hash(place) ^ _hash(key))
    radius, angle = _open_unit(first), _open_unit(_hash(first ^ 0x9E3779B9))
    return ((-2 * radius.log()).sqrt() * (2 * math.pi * angle).cos()).reshape(x.shape)


def _bits(value: Tensor) -> Tensor:
    """The bits of numbers as float32, one row an item, as whole numbers in 0 .. 2^32 - 1."""
    return value.detach().float().flatten(1).contiguous().view(torch.int32).long() & _WORD


def _hash(word: Tensor) -> Tensor:
    """Mixes 32-bit words held in int64: two rounds of shift, xor and multiply. The factor is small: nothing overflows."""
    for _ in range(2):
        word = ((((word >> 16) ^ word) & _WORD) * 0x45D9F3B) & _WORD
    return (word >> 16) ^ word


def _open_unit(word: Tensor) -> Tensor:
    """Uniform numbers strictly between 0 and 1 from 32-bit words, by their upper 23 bits: float32 holds each exactly."""
    return ((word >> 9).float() + 0.5) / 2**23
