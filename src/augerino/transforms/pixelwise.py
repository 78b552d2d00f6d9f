"""Operations on the pixels of images as plain functions, in plain torch.

Images x are (B, C, H, W), float32 or float64 in [0, 1]. A strength t is (B, 1) and 0 is the
identity; the transforms of the same names document the formulas. A copy of this module is part of
the files that are exported for torchvision and kornia.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from augerino.transforms.hashing import key, normal, uniform, words

LUMA = (0.299, 0.587, 0.114)  # weights of ITU-R BT.601, as in PIL
# The derivative of a rotation in the plane of I and Q of YIQ, as a map of RGB. Its sign is such
# that red turns to yellow.
HUE_GENERATOR = (
    (-0.1677397136, -0.3293095223, 0.4970492359),
    (0.3281131290, -0.0354669869, -0.2926461420),
    (-1.2495458979, 1.0463391974, 0.2032067005),
)
GAMMA_LIMIT = math.log(3)
DARKEST = 1e-6  # intensity below which a gamma curve is a straight line, so that slopes are finite
LEVELS = 256  # number of intensities with 8 bits
BITS_LOST = 6  # bits that posterize removes at its limit


def blend(x: Tensor, target: Tensor, weight: Tensor) -> Tensor:
    """x + weight (target - x), clipped to [0, 1].   weight: (B, 1)"""
    return (x + weight.reshape(-1, 1, 1, 1) * (target - x)).clamp(0, 1)


def luma(x: Tensor) -> Tensor:
    """Grey values.   x: (B, 3, H, W)   returns (B, 1, H, W)"""
    red, green, blue = x.split(1, dim=1)
    return LUMA[0] * red + LUMA[1] * green + LUMA[2] * blue


def saturate(x: Tensor, t: Tensor) -> Tensor:
    """Scales the distance of colours from grey by 1 + t; grey images are unchanged."""
    return x if x.shape[1] == 1 else blend(x, luma(x), -t)


def to_gray(x: Tensor, t: Tensor) -> Tensor:
    """Removes the colour where t is 1; grey images are unchanged."""
    if x.shape[1] == 1:
        return x
    weight = t.reshape(-1, 1, 1, 1).to(x.dtype)
    return (1 - weight) * x + weight * luma(x)  # exact at 0 and 1


def rotate_hue(x: Tensor, t: Tensor) -> Tensor:
    """Rotates the hue by t radians at constant luma; grey images are unchanged."""
    if x.shape[1] == 1:
        return x
    generator = torch.tensor(HUE_GENERATOR, dtype=x.dtype, device=x.device)
    weights = torch.tensor(LUMA, dtype=x.dtype, device=x.device)
    chroma = torch.eye(3, dtype=x.dtype, device=x.device) - weights
    angle = t.reshape(-1, 1, 1).to(x.dtype)
    change = (angle.cos() - 1) * chroma + angle.sin() * generator  # exactly 0 at t = 0
    return (x + torch.matmul(change, x.flatten(2)).view(x.shape)).clamp(0, 1)


def gamma(x: Tensor, t: Tensor) -> Tensor:
    """Raises intensities to the power exp(t)."""
    excess = torch.expm1(t.clamp(-GAMMA_LIMIT, GAMMA_LIMIT)).reshape(-1, 1, 1, 1)
    # c c^(e^t - 1), which is exactly c at t = 0
    return (x * (excess * x.clamp_min(DARKEST).log()).exp()).clamp(0, 1)


def sharpen(x: Tensor, t: Tensor) -> Tensor:
    """Scales the difference from a smoothed image by 1 + t, except at the outermost pixels."""
    if min(x.shape[-2:]) < 3:
        return x
    rows = x[..., :-2, :] + x[..., 1:-1, :] + x[..., 2:, :]
    box = rows[..., :-2] + rows[..., 1:-1] + rows[..., 2:]
    detail = (9 * x[..., 1:-1, 1:-1] - box) / 13  # c - s with PIL's 3x3 kernel SMOOTH
    return (x + t.reshape(-1, 1, 1, 1) * F.pad(detail, (1, 1, 1, 1))).clamp(0, 1)


def stretched(x: Tensor) -> Tensor:
    """Channels stretched to [0, 1]; ranges below half a level of 8 bits are unchanged."""
    low = x.amin(dim=(-2, -1), keepdim=True)
    span = x.amax(dim=(-2, -1), keepdim=True) - low
    is_flat = span < 0.5 / (LEVELS - 1)
    stretch = (x - low) / torch.where(is_flat, 1.0, span)
    return torch.where(is_flat, x, stretch)


def equalized(x: Tensor) -> Tensor:
    """Channels with an equalised histogram, as in PIL."""
    channels = x.detach().reshape(-1, x.shape[-2] * x.shape[-1])
    level = (channels * (LEVELS - 1)).round().clamp(0, LEVELS - 1).long()
    counts = torch.zeros(level.shape[0], LEVELS, dtype=torch.float32, device=x.device)
    counts = counts.scatter_add(1, level, torch.ones_like(level, dtype=torch.float32))
    brightest = counts.gather(1, level.amax(dim=1, keepdim=True))
    step = ((level.shape[1] - brightest) / (LEVELS - 1)).floor()
    below = counts.cumsum(dim=1) - counts
    curve = ((below + (step / 2).floor()) / step.clamp_min(1)).floor().clamp(max=LEVELS - 1)
    equal = curve.gather(1, level).to(x.dtype) / (LEVELS - 1)
    return torch.where(step > 0, equal, channels).view(x.shape)


def solarize(x: Tensor, t: Tensor) -> Tensor:
    """Inverts intensities above 1 - |t|."""
    threshold = 1 - t.abs().reshape(-1, 1, 1, 1)
    return torch.where(x > threshold, 1 - x, x).clamp(0, 1)


def posterize(x: Tensor, t: Tensor) -> Tensor:
    """Rounds 8-bit intensities down to multiples of 2^(6 |t|)."""
    step = torch.exp2(BITS_LOST * t.abs().clamp(max=1)).round().reshape(-1, 1, 1, 1)
    level = (x * (LEVELS - 1)).round()
    return ((level / step).floor() * step / (LEVELS - 1)).clamp(0, 1)


def erase(x: Tensor, t: Tensor) -> Tensor:
    """Fills a square of side |t| min(H, W) with the mean; its position is a hash of x and t."""
    height, width = x.shape[-2:]
    side = (t.abs().clamp(max=1) * min(height, width)).round()  # (B, 1)
    u = uniform(words(key(x, t), n=2)).to(side.dtype)
    top = (u[:, :1] * (height - side + 1)).floor()
    left = (u[:, 1:] * (width - side + 1)).floor()
    row = torch.arange(height, device=x.device)
    column = torch.arange(width, device=x.device)
    in_rows = (row >= top) & (row < top + side)  # (B, H)
    in_columns = (column >= left) & (column < left + side)  # (B, W)
    is_erased = in_rows[:, None, :, None] & in_columns[:, None, None, :]
    return torch.where(is_erased, x.mean(dim=(-2, -1), keepdim=True), x)


def add_noise(x: Tensor, t: Tensor) -> Tensor:
    """Adds Gaussian noise of standard deviation |t|, a hash of x and t."""
    noise = normal(key(x, t), n=x.shape[1:].numel()).view(x.shape)
    return (x + t.abs().reshape(-1, 1, 1, 1) * noise.to(x.dtype)).clamp(0, 1)


def shift(x: Tensor, right: Tensor, down: Tensor, padding: str) -> Tensor:
    """Shifts images by whole pixels.

    Args:
        x: (B, C, H, W).
        right: whole numbers of pixels, (B,).
        down: whole numbers of pixels, (B,).
        padding: values outside the image: "zeros", "border" or "reflection".
    """
    height, width = x.shape[-2:]
    row = torch.arange(height, device=x.device) - down.long()[:, None]  # (B, H)
    column = torch.arange(width, device=x.device) - right.long()[:, None]  # (B, W)
    source_row = inside(row, height, padding)
    source_column = inside(column, width, padding)
    source = source_row[:, :, None] * width + source_column[:, None, :]  # (B, H, W)
    pixels = x.flatten(2)
    index = source.flatten(1)[:, None].expand_as(pixels)
    moved = pixels.gather(2, index).view(x.shape)
    if padding != "zeros":
        return moved
    is_inside = (row == source_row)[:, :, None] & (column == source_column)[:, None, :]
    return moved * is_inside[:, None]


def inside(index: Tensor, size: int, padding: str) -> Tensor:
    """Maps positions into the image by the padding rule.   index: (B, n)   returns (B, n)"""
    if padding == "reflection":
        period = index.remainder(2 * size)
        return torch.minimum(period, 2 * size - 1 - period)
    return index.clamp(0, size - 1)
