"""The operations of published policies, on PIL images in mode RGB or L.

Each takes an image and a value in the unit of the operation, and returns an image of the same size.
Pixels from outside are black. Geometric operations use the nearest pixel, as in the authors' code.
"""

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

Operation = Callable[["Image", float], "Image"]
_CUTOUT_COLOR = (125, 123, 114)  # as in Fast AutoAugment


def _warp(image: "Image", x: tuple[float, ...], y: tuple[float, ...]) -> "Image":
    """The image at x' = a x + b y + c and y' = d x + e y + f, for x = (a, b, c), y = (d, e, f)."""
    from PIL import Image as pil

    matrix = (*x, *y)
    return image.transform(image.size, pil.Transform.AFFINE, matrix, pil.Resampling.NEAREST)


def shear_x(image: "Image", value: float) -> "Image":
    """Shears rows against each other; `value` is the slope."""
    return _warp(image, (1, value, 0), (0, 1, 0))


def shear_y(image: "Image", value: float) -> "Image":
    """Shears columns against each other; `value` is the slope."""
    return _warp(image, (1, 0, 0), (value, 1, 0))


def translate_x(image: "Image", value: float) -> "Image":
    """Moves the image right by `value` times its width, in whole pixels."""
    return _warp(image, (1, 0, -int(value * image.width)), (0, 1, 0))


def translate_y(image: "Image", value: float) -> "Image":
    """Moves the image down by `value` times its height, in whole pixels."""
    return _warp(image, (1, 0, 0), (0, 1, -int(value * image.height)))


def rotate(image: "Image", value: float) -> "Image":
    """Rotates counterclockwise by `value` degrees."""
    return image.rotate(value)


def brightness(image: "Image", value: float) -> "Image":
    """Blends with black; 1 is the image itself, more is brighter."""
    from PIL import ImageEnhance

    return ImageEnhance.Brightness(image).enhance(value)


def color(image: "Image", value: float) -> "Image":
    """Blends with the grey image; 1 is the image itself, more is more saturated."""
    from PIL import ImageEnhance

    return ImageEnhance.Color(image).enhance(value)


def contrast(image: "Image", value: float) -> "Image":
    """Blends with the mean grey; 1 is the image itself."""
    from PIL import ImageEnhance

    return ImageEnhance.Contrast(image).enhance(value)


def sharpness(image: "Image", value: float) -> "Image":
    """Blends with a smoothed image; 1 is the image itself, more is sharper."""
    from PIL import ImageEnhance

    return ImageEnhance.Sharpness(image).enhance(value)


def posterize(image: "Image", value: float) -> "Image":
    """Keeps the `value` highest bits of every intensity."""
    from PIL import ImageOps

    return ImageOps.posterize(image, int(value))


def solarize(image: "Image", value: float) -> "Image":
    """Inverts intensities of at least `value`, in 0 to 256."""
    from PIL import ImageOps

    return ImageOps.solarize(image, value)  # type: ignore[arg-type]  # fractions are right too


def auto_contrast(image: "Image", _value: float) -> "Image":
    """Stretches every channel to the whole range."""
    from PIL import ImageOps

    return ImageOps.autocontrast(image)


def equalize(image: "Image", _value: float) -> "Image":
    """Flattens the histogram of every channel."""
    from PIL import ImageOps

    return ImageOps.equalize(image)


def invert(image: "Image", _value: float) -> "Image":
    """The negative."""
    from PIL import ImageOps

    return ImageOps.invert(image)


def identity(image: "Image", _value: float) -> "Image":
    """The image itself."""
    return image


def cutout_at(image: "Image", side: float, center: tuple[float, float]) -> "Image":
    """Covers a square with grey; it may extend beyond the edge. Lengths are in pixels."""
    from PIL import ImageDraw

    left = max(center[0] - side / 2, 0)
    top = max(center[1] - side / 2, 0)
    right = min(left + side, image.width)
    bottom = min(top + side, image.height)
    if side <= 0 or right < left or bottom < top:
        return image
    covered = image.copy()
    fill = _CUTOUT_COLOR if image.mode == "RGB" else _CUTOUT_COLOR[1]
    ImageDraw.Draw(covered).rectangle((left, top, right, bottom), fill=fill)
    return covered


#: All operations except the cutout, which also needs a position.
OPERATIONS: dict[str, Operation] = {
    "Identity": identity,
    "ShearX": shear_x,
    "ShearY": shear_y,
    "TranslateX": translate_x,
    "TranslateY": translate_y,
    "Rotate": rotate,
    "Brightness": brightness,
    "Color": color,
    "Contrast": contrast,
    "Sharpness": sharpness,
    "Posterize": posterize,
    "Solarize": solarize,
    "AutoContrast": auto_contrast,
    "Equalize": equalize,
    "Invert": invert,
}


def apply(name: str, image: "Image", value: float, rng: random.Random) -> "Image":
    """Applies an operation by name. A cutout has side `value` × width and a random centre."""
    if name == "Cutout":
        center = (rng.uniform(0, image.width), rng.uniform(0, image.height))
        return cutout_at(image, value * image.width, center)
    return OPERATIONS[name](image, value)
