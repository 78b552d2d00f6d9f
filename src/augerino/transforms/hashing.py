"""Pseudo-random numbers that are a function of an input and its coordinates alone.

A transform has no random state. Its noise is therefore a hash: equal pairs (x, t) get equal
numbers, and different pairs get independent ones. All arithmetic wraps around in 32 bits, which
processors vectorise; results are the same on every device, up to the rounding of log and cos.
"""

import math

import torch
from torch import Tensor


def key(x: Tensor, t: Tensor) -> Tensor:
    """One word per input, from all bits of x and t as float32.   x: (B, ...)   returns (B, 1)"""
    return mix(_digest(x) ^ mix(_digest(t)))


def words(key: Tensor, n: int, stream: int = 0) -> Tensor:
    """n words per key; each stream has different words.   key: (B, 1)   returns (B, n)"""
    position = torch.arange(stream * n, (stream + 1) * n, dtype=torch.int32, device=key.device)
    return mix(mix(position) ^ key)


def uniform(words: Tensor) -> Tensor:
    """Numbers in (0, 1) from the upper 23 bits of words, exact in float32."""
    return (((words >> 9) & 0x7FFFFF).float() + 0.5) / 2**23


def normal(key: Tensor, n: int) -> Tensor:
    """n standard normal float32 numbers per key, by Box-Muller.   key: (B, 1)   returns (B, n)"""
    half = (n + 1) // 2
    radius = (-2 * uniform(words(key, half)).log()).sqrt()
    angle = 2 * math.pi * uniform(words(key, half, stream=1))
    return torch.cat([radius * angle.cos(), radius * angle.sin()], dim=1)[:, :n]


def mix(word: Tensor) -> Tensor:
    """Mixes the bits of int32 words: the finaliser "lowbias32" of Wellons (2018), a bijection."""
    word = ((word >> 16) & 0xFFFF) ^ word
    word = word * 0x7FEB352D
    word = ((word >> 15) & 0x1FFFF) ^ word
    word = word * (0x846CA68B - 2**32)
    return ((word >> 16) & 0xFFFF) ^ word


def _digest(value: Tensor) -> Tensor:
    """Weighted sum of the bits of float32 numbers, with odd weights.   returns (B, 1)"""
    numbers = value.detach().float().flatten(1).contiguous()
    bits = numbers.view(torch.int32)
    position = torch.arange(bits.shape[1], dtype=torch.int32, device=bits.device)
    weights = mix(position + 1) | 1
    return mix((bits * weights).sum(dim=1, keepdim=True, dtype=torch.int32))
