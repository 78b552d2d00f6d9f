"""The learned transforms of intensities on arrays, in plain numpy, for albumentations.

Images are (H, W) or (H, W, C), floating-point in [0, 1]. The formulas and the hash are those of
`augerino.transforms`, so that the same coordinates give the same pixels. A copy of this module is
part of the files that are exported for albumentations.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from augerino.saving.export.element import check_channels, clamp, contrast_slope

LUMA = (0.299, 0.587, 0.114)
HUE_GENERATOR = (
    (-0.1677397136, -0.3293095223, 0.4970492359),
    (0.3281131290, -0.0354669869, -0.2926461420),
    (-1.2495458979, 1.0463391974, 0.2032067005),
)


def change_intensities(img: Any, kind: str, t: float) -> Any:
    """Applies an operation on intensities; t = 0 is the identity."""
    if t == 0:
        return img
    x = img
    if img.ndim == 2:
        x = img[..., None]
    if kind in ("Grayscale", "Hue", "Saturation"):
        check_channels(kind, x.shape[2])
        if x.shape[2] == 1:
            return img
    changed = np.clip(OPERATIONS[kind](x, t), 0, 1).astype(img.dtype)
    return changed.reshape(img.shape)


def brighten(x: Any, t: float) -> Any:
    """Adds t."""
    return x + x.dtype.type(t)


def change_contrast(x: Any, t: float) -> Any:
    """Scales intensities about mid-grey."""
    grey = x.dtype.type(128 / 255)
    return x.dtype.type(contrast_slope(t)) * (x - grey) + grey


def luma(x: Any) -> Any:
    """Grey values.   x: (H, W, 3)   returns (H, W, 1)"""
    return x @ np.array(LUMA, dtype=x.dtype)[:, None]


def saturate(x: Any, t: float) -> Any:
    """Scales the distance of colours from grey by 1 + t."""
    return x + x.dtype.type(t) * (x - luma(x))


def to_gray(x: Any, t: float) -> Any:
    """Removes the colour."""
    return np.broadcast_to(luma(x), x.shape)


def rotate_hue(x: Any, t: float) -> Any:
    """Rotates the hue by t radians at constant luma."""
    chroma = np.eye(3) - np.array(LUMA)
    change = (math.cos(t) - 1) * chroma + math.sin(t) * np.array(HUE_GENERATOR)
    return x + x @ change.T.astype(x.dtype)


def gamma(x: Any, t: float) -> Any:
    """Raises intensities to the power exp(t)."""
    excess = x.dtype.type(math.expm1(clamp(t, math.log(3))))
    return x * np.exp(excess * np.log(np.maximum(x, x.dtype.type(1e-6))))


def sharpen(x: Any, t: float) -> Any:
    """Scales the difference from a smoothed image by 1 + t, except at the outermost pixels."""
    if min(x.shape[:2]) < 3:
        return x
    rows = x[:-2] + x[1:-1] + x[2:]
    box = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]
    sharp = x.copy()
    sharp[1:-1, 1:-1] += x.dtype.type(t / 13) * (9 * x[1:-1, 1:-1] - box)
    return sharp


def stretch(x: Any, t: float) -> Any:
    """Blends each channel with its version stretched to [0, 1]."""
    low = x.min(axis=(0, 1), keepdims=True)
    span = x.max(axis=(0, 1), keepdims=True) - low
    is_flat = span < 0.5 / 255
    target = np.where(is_flat, x, (x - low) / np.where(is_flat, 1, span))
    return x + min(abs(t), 1.0) * (target - x)


def equalize(x: Any, t: float) -> Any:
    """Blends each channel with its histogram-equalised version."""
    out = x.copy()
    level = np.clip(np.rint(x * x.dtype.type(255)), 0, 255).astype(np.int64)
    for channel in range(x.shape[2]):
        values = level[..., channel]
        counts = np.bincount(values.ravel(), minlength=256)
        step = (values.size - counts[values.max()]) // 255
        if step > 0:
            below = np.cumsum(counts) - counts
            curve = np.minimum((below + step // 2) // step, 255) / 255
            out[..., channel] += min(abs(t), 1.0) * (curve[values] - x[..., channel])
    return out


def solarize(x: Any, t: float) -> Any:
    """Inverts intensities above 1 - |t|."""
    return np.where(x > x.dtype.type(1 - abs(t)), 1 - x, x)


def posterize(x: Any, t: float) -> Any:
    """Rounds 8-bit intensities down to multiples of 2^(6 |t|)."""
    step = round(2 ** (6 * min(abs(t), 1.0)))
    return np.rint(x * x.dtype.type(255)) // step * step / 255


def erase(x: Any, t: float) -> Any:
    """Fills a square of side |t| min(H, W) with the mean; its position is a hash of x and t."""
    height, width = x.shape[:2]
    side = round(min(abs(t), 1.0) * min(height, width))
    u = uniform(words(hash_key(x, t), 0, 2))
    top = int(u[0] * np.float32(height - side + 1))
    left = int(u[1] * np.float32(width - side + 1))
    out = x.copy()
    out[top : top + side, left : left + side] = x.mean(axis=(0, 1))
    return out


def add_noise(x: Any, t: float) -> Any:
    """Adds Gaussian noise of standard deviation |t|, a hash of x and t."""
    height, width, channels = x.shape
    half = (x.size + 1) // 2
    key = hash_key(x, t)
    radius = np.sqrt(-2 * np.log(uniform(words(key, 0, half))))
    angle = np.float32(2 * math.pi) * uniform(words(key, half, half))
    noise = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[: x.size]
    return x + abs(t) * noise.reshape(channels, height, width).transpose(1, 2, 0)


def hash_key(x: Any, t: float) -> Any:
    """One 32-bit word from all bits of x, channel by channel, and t, as float32."""
    return mix(digest(x.transpose(2, 0, 1)) ^ mix(digest(np.array([t]))))


def words(key: Any, start: int, n: int) -> Any:
    """n words of a key, from a position on."""
    return mix(mix(np.arange(start, start + n, dtype=np.uint32)) ^ key)


def uniform(words: Any) -> Any:
    """Numbers in (0, 1) from the upper 23 bits of words, exact in float32."""
    return ((words >> np.uint32(9)).astype(np.float32) + np.float32(0.5)) / np.float32(2**23)


def mix(word: Any) -> Any:
    """Mixes the bits of uint32 words: the finaliser "lowbias32" of Wellons (2018)."""
    word = word ^ (word >> np.uint32(16))
    word = word * np.uint32(0x7FEB352D)
    word = word ^ (word >> np.uint32(15))
    word = word * np.uint32(0x846CA68B)
    return word ^ (word >> np.uint32(16))


def digest(values: Any) -> Any:
    """Weighted sum of the bits of float32 numbers, with odd weights, as an array of one word."""
    bits = np.ascontiguousarray(values, dtype=np.float32).ravel().view(np.uint32)
    weights = mix(np.arange(1, bits.size + 1, dtype=np.uint32)) | np.uint32(1)
    return mix(np.sum(bits * weights, dtype=np.uint32, keepdims=True))


OPERATIONS: dict[str, Callable[[Any, float], Any]] = {
    "AutoContrast": stretch,
    "Brightness": brighten,
    "Contrast": change_contrast,
    "Equalize": equalize,
    "Erase": erase,
    "Gamma": gamma,
    "Grayscale": to_gray,
    "Hue": rotate_hue,
    "PixelNoise": add_noise,
    "Posterize": posterize,
    "Saturation": saturate,
    "Sharpness": sharpen,
    "Solarize": solarize,
}


def shift(img: Any, right: int, down: int, padding: str) -> Any:
    """Shifts an image by whole pixels."""
    row, row_inside = source(img.shape[0], down, padding)
    column, column_inside = source(img.shape[1], right, padding)
    moved = img[row][:, column]
    if padding == "zeros":
        moved[~row_inside] = 0
        moved[:, ~column_inside] = 0
    return moved


def source(size: int, by: int, padding: str) -> tuple[Any, Any]:
    """Source indices of the pixels of a shifted line, and a mask of those inside the image."""
    index = np.arange(size) - by
    if padding == "reflection":
        period = index % (2 * size)
        within = np.minimum(period, 2 * size - 1 - period)
    else:
        within = np.clip(index, 0, size - 1)
    return within, within == index
