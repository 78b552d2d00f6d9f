"""One image file to one array: the formats, pixel kinds and damages that files of strangers come with."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
import torch
from torch import Tensor

from augerino.data.readers.naming import shown
from augerino.data.readers.sizes import crop_box
from augerino.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image

EXTENSIONS = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp", ".gif", ".ppm", ".pgm")
FORMATS = (
    "PNG",
    "JPEG",
    "WEBP",
    "TIFF",
    "BMP",
    "GIF",
    "PPM",
)  # nothing that starts other programs, as EPS would
LARGEST_WHOLE = 4096 * 4096  # pixels of an image that is kept at its size
LARGEST_SHRUNK = 100_000_000  # pixels of an image that is read to be made smaller
_ORIENTATION = 0x0112


class UnreadableImage(InputError):
    """A file that should be an image and cannot be read as one.

    A DataLoader brings an error from its worker as the same type around the worker's whole traceback, in whose last line the
    sentence stands; only that is kept.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message.rpartition("UnreadableImage: ")[2].strip())


class Header(NamedTuple):
    """What a file says of itself before its pixels are decoded; the size is as seen, after turning it upright."""

    height: int
    width: int
    grey: bool
    fine: bool  # more than 8 bits a value
    clear: bool  # has transparent pixels


@dataclass(frozen=True)
class Form:
    """What every image of a dataset is brought to."""

    channels: int
    height: int
    width: int
    resize: bool
    fine: bool

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.channels, self.height, self.width

    @property
    def dtype(self) -> torch.dtype:
        """Bytes hold 8 bits a value; more need floats, in [0, 1]."""
        return torch.float32 if self.fine else torch.uint8

    @property
    def size_in_bytes(self) -> int:
        return self.channels * self.height * self.width * (4 if self.fine else 1)


def read_header(file: BinaryIO, name: str, *, resize: bool) -> Header:
    """Size and kind of an image, without decoding it; refuses one with too many pixels."""
    with _reading(name):
        image = _open(file, name, resize)
        width, height = image.size
        if _turned(image):
            width, height = height, width
        grey = image.mode in ("1", "L", "LA", "La", "I", "F") or image.mode.startswith("I;16")
        fine = image.mode in ("I", "F") or image.mode.startswith("I;16")
        return Header(height, width, grey, fine, _has_alpha(image))


def decode(file: BinaryIO, name: str, form: Form) -> Tensor:
    """The pixels of an image in the form wished for, (C, H, W): bytes, or floats in [0, 1] where the form is fine.

    Orientation tags are honoured, palettes and CMYK become RGB, transparent pixels are laid over black (what a warp fills in as
    well), of several frames the first counts. 16-bit values are divided by 65535.
    """
    with _reading(name):
        image = _open(file, name, form.resize)
        if form.resize:
            image.draft(
                None, (2 * max(form.height, form.width),) * 2
            )  # lets JPEG decode at a fraction of its size
        image = _upright(image)
        pixels = _fine_pixels(image, form) if _is_fine(image) else _byte_pixels(image, form)
        if pixels.shape[:2] != (form.height, form.width):
            raise UnreadableImage(
                f"{shown(name)} has {pixels.shape[0]}×{pixels.shape[1]} pixels and not {form.height}×{form.width} as expected."
            )
        pixels = (
            np.repeat(pixels, form.channels, axis=2) if pixels.shape[2] < form.channels else pixels
        )
        if form.fine and pixels.dtype == np.uint8:
            pixels = pixels.astype(np.float32) / 255
        return torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1)))


def read_mask(file: BinaryIO, name: str) -> np.ndarray:
    """The class numbers of a mask, (H, W): its grey values or, where it has a palette, the places in it."""
    with _reading(name):
        image = _open(file, name, resize=False)
        if image.format in ("JPEG", "MPO"):
            raise UnreadableImage(
                f"{shown(name)} is a JPEG, which blurs class numbers: save masks as PNG."
            )
        if image.mode not in ("1", "L", "P", "I") and not image.mode.startswith("I;16"):
            raise UnreadableImage(
                f"{shown(name)} must hold one class number a pixel, in grey or a palette, but is {image.mode}: save numbers."
            )
        image.load()
        return np.asarray(image).astype(np.int64)


@contextmanager
def _reading(name: str) -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # Pillow warns of damage that it reads over, and of sizes that we judge ourselves
        try:
            yield
        except InputError:
            raise
        except Exception as error:  # a damaged file leads decoders to raise whatever they may
            raise UnreadableImage(
                f"{shown(name)} is not a readable image: {_reason(error)}."
            ) from error


def _reason(error: Exception) -> str:
    from PIL import Image, UnidentifiedImageError

    if isinstance(error, UnidentifiedImageError):
        return f"it is none of {', '.join(FORMATS)}"
    if isinstance(error, Image.DecompressionBombError):
        return f"it claims more than {LARGEST_SHRUNK // 10**6} million pixels"
    lines = (str(error) or type(error).__name__).splitlines()
    return shown(lines[0]).rstrip(".") if lines else type(error).__name__


def _open(file: BinaryIO, name: str, resize: bool) -> "Image":
    from PIL import Image

    if not file.read(1):
        raise UnreadableImage(f"{shown(name)} is an empty file.")
    file.seek(0)
    image: Image.Image = Image.open(file, formats=FORMATS)
    width, height = image.size
    largest = LARGEST_SHRUNK if resize else LARGEST_WHOLE
    if width * height > largest:
        todo = (
            "shrink it first"
            if resize or width * height > LARGEST_SHRUNK
            else "give a size to shrink it to, as in --size 64"
        )
        raise UnreadableImage(
            f"{shown(name)} has {height}×{width} pixels, more than the {largest / 1e6:.0f} million that are read: {todo}."
        )
    if width < 1 or height < 1:
        raise UnreadableImage(f"{shown(name)} has no pixels.")
    return image


def _orientation(image: "Image") -> int:
    """The orientation tag, from 1 to 8. Only one that stands before the pixels counts, so that header and pixels agree."""
    from PIL import Image

    if image.format == "TIFF" or "exif" not in image.info:
        return 1  # Pillow turns a TIFF itself
    tags = Image.Exif()
    try:
        tags.load(image.info["exif"])
        found = tags.get(_ORIENTATION, 1)
    except Exception:  # damaged tags; the pixels may be whole
        return 1
    return found if isinstance(found, int) and 1 <= found <= 8 else 1


def _turned(image: "Image") -> bool:
    return _orientation(image) >= 5


def _upright(image: "Image") -> "Image":
    from PIL import Image

    turns = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_270,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_90,
    }
    turn = turns.get(_orientation(image))
    image.load()
    return image if turn is None else image.transpose(turn)


def _has_alpha(image: "Image") -> bool:
    return image.mode in ("LA", "La", "PA", "RGBA", "RGBa") or "transparency" in image.info


def _is_fine(image: "Image") -> bool:
    return image.mode in ("I", "F") or image.mode.startswith("I;16")


def _fine_pixels(image: "Image", form: Form) -> np.ndarray:
    """Grey values of 16 bits or floats, as floats in [0, 1], (H, W, 1)."""
    from PIL import Image

    values: Any = np.asarray(image)
    highest = 1 if image.mode == "F" else 65535
    if not (values.min() >= 0 and values.max() <= highest):  # also where one is NaN
        raise ValueError("its values lie outside 0 to 65535 (or, as floats, outside 0 to 1)")
    if not form.fine:
        raise ValueError("its pixels are not of the kind its header said")
    values = values.astype(np.float32) / np.float32(highest)
    if form.resize:
        values = np.asarray(_resized(Image.fromarray(values), form)).clip(0, 1)
    return values[:, :, None]


def _byte_pixels(image: "Image", form: Form) -> np.ndarray:
    from PIL import Image

    if _has_alpha(image):
        over = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", over.size, (0, 0, 0, 255)), over)
    image = image.convert("L" if form.channels == 1 else "RGB")
    pixels: Any = np.asarray(_resized(image, form) if form.resize else image)
    return pixels[:, :, None] if pixels.ndim == 2 else pixels


def _resized(image: "Image", form: Form) -> "Image":
    from PIL import Image

    if image.size == (form.width, form.height):
        return image
    box = crop_box(image.height, image.width, (form.height, form.width))
    return image.resize((form.width, form.height), Image.Resampling.BILINEAR, box=box)
