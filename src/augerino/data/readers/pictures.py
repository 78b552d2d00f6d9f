"""Images: decoding of one file, for all formats and pixel types; cropping and resizing."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from augerino.data.readers.naming import shown
from augerino.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image


EXTENSIONS = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp", ".gif", ".ppm", ".pgm")
# Without formats such as EPS, for which Pillow starts other programs.
FORMATS = ("PNG", "JPEG", "WEBP", "TIFF", "BMP", "GIF", "PPM")
LARGEST_WHOLE = 4096 * 4096  # largest number of pixels of an image that is not resized
LARGEST_SHRUNK = 100_000_000  # largest number of pixels of an image that is resized
LARGEST_SIDE = 4096  # largest side of `size`, in pixels
_CHUNK = 256  # images resized at once, to avoid a float copy of the whole dataset
_ORIENTATION = 0x0112

Size = tuple[int, int]  # height, width


class UnreadableImage(InputError):
    """Raised for a file that cannot be read as an image.

    A DataLoader re-raises an error of its worker with the whole traceback as the message. The
    original message is in its last line; the rest is removed.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message.rpartition("UnreadableImage: ")[2].strip())


class Header(NamedTuple):
    """Metadata of an image, read without decoding it. The size is that of the upright image."""

    height: int
    width: int
    grey: bool
    fine: bool  # more than 8 bits per value
    clear: bool  # has transparent pixels


@dataclass(frozen=True)
class Form:
    """The common shape and type of all images of a dataset."""

    channels: int
    height: int
    width: int
    resize: bool  # whether images are cropped and resized to this size
    fine: bool  # more than 8 bits per value

    @property
    def shape(self) -> tuple[int, int, int]:
        """(C, H, W)"""
        return self.channels, self.height, self.width

    @property
    def dtype(self) -> torch.dtype:
        """uint8 for 8 bits per value; otherwise float32, in [0, 1]."""
        if self.fine:
            return torch.float32
        return torch.uint8

    @property
    def size_in_bytes(self) -> int:
        return self.channels * self.height * self.width * self.dtype.itemsize


def read_header(file: BinaryIO, name: str, *, resize: bool) -> Header:
    """Reads size and type of an image without decoding it; rejects too many pixels."""
    with _reading(name):
        image = _open(file, name, resize)
        width, height = image.size
        if _turned(image):
            height, width = image.size
        fine = _is_fine(image)
        return Header(
            height=height,
            width=width,
            grey=fine or image.mode in ("1", "L", "LA", "La"),
            fine=fine,
            clear=_has_alpha(image),
        )


def decode(file: BinaryIO, name: str, form: Form) -> Tensor:
    """Decodes an image, (C, H, W): uint8, or float32 in [0, 1] if `form.fine`.

    Orientation tags are applied. Palettes and CMYK become RGB, and transparent pixels are
    composited over black, the fill colour of a warp. Only the first of several frames is read.
    16-bit values are divided by 65535.
    """
    with _reading(name):
        image = _open(file, name, form.resize)
        if form.resize:
            side = 2 * max(form.height, form.width)
            image.draft(None, (side, side))  # lets JPEG decode at a fraction of its size
        image = _upright(image)
        pixels = _pixels(image, form)
        if pixels.shape[:2] != (form.height, form.width):
            raise UnreadableImage(
                f"{shown(name)} has {pixels.shape[0]}×{pixels.shape[1]} pixels "
                f"and not {form.height}×{form.width} as expected."
            )
        if pixels.shape[2] < form.channels:
            pixels = np.repeat(pixels, form.channels, axis=2)
        if form.fine and pixels.dtype == np.uint8:
            pixels = pixels.astype(np.float32) / 255
        return torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1)))


def read_mask(file: BinaryIO, name: str) -> np.ndarray:
    """Decodes the class numbers of a mask, (H, W) int64: grey values or palette indices."""
    with _reading(name):
        image = _open(file, name, resize=False)
        if image.format in ("JPEG", "MPO"):
            raise UnreadableImage(
                f"{shown(name)} is a JPEG, which blurs class numbers: save masks as PNG."
            )
        if image.mode not in ("1", "L", "P", "I") and not image.mode.startswith("I;16"):
            raise UnreadableImage(
                f"{shown(name)} must have one class number per pixel, as grey value or palette "
                f"index, but is {image.mode}: save class numbers."
            )
        image.load()
        return np.asarray(image).astype(np.int64)


@contextmanager
def _reading(name: str) -> Iterator[None]:
    with warnings.catch_warnings():
        # Pillow warns of minor damage, and of image sizes, which `_open` checks.
        warnings.simplefilter("ignore")
        try:
            yield
        except InputError:
            raise
        except Exception as error:  # decoders may raise any exception for a damaged file
            raise UnreadableImage(
                f"{shown(name)} is not a readable image: {_reason(error)}."
            ) from error


def _pixels(image: "Image", form: Form) -> np.ndarray:
    if _is_fine(image):
        return _fine_pixels(image, form)
    return _byte_pixels(image, form)


def _reason(error: Exception) -> str:
    from PIL import Image, UnidentifiedImageError

    if isinstance(error, UnidentifiedImageError):
        return f"its format is none of {', '.join(FORMATS)}"
    if isinstance(error, Image.DecompressionBombError):
        return f"its header declares more than {LARGEST_SHRUNK // 10**6} million pixels"
    lines = (str(error) or type(error).__name__).splitlines()
    if not lines:
        return type(error).__name__
    return shown(lines[0]).rstrip(".")


def _open(file: BinaryIO, name: str, resize: bool) -> "Image":
    from PIL import Image

    if not file.read(1):
        raise UnreadableImage(f"{shown(name)} is an empty file.")
    file.seek(0)
    image: Image.Image = Image.open(file, formats=FORMATS)
    width, height = image.size
    largest = LARGEST_WHOLE
    if resize:
        largest = LARGEST_SHRUNK
    if width * height > largest:
        remedy = "resize all images, as in --size 64"
        if resize or width * height > LARGEST_SHRUNK:
            remedy = "shrink it first"
        raise UnreadableImage(
            f"{shown(name)} has {height}×{width} pixels, "
            f"more than the limit of {largest / 1e6:.0f} million: {remedy}."
        )
    if width < 1 or height < 1:
        raise UnreadableImage(f"{shown(name)} has no pixels.")
    return image


def _orientation(image: "Image") -> int:
    """The orientation tag, from 1 to 8.

    Only a tag before the pixels is used, so that `read_header` and `decode` agree.
    """
    from PIL import Image

    if image.format == "TIFF" or "exif" not in image.info:
        return 1  # Pillow applies the tag of a TIFF itself
    tags = Image.Exif()
    try:
        tags.load(image.info["exif"])
        found = tags.get(_ORIENTATION, 1)
    except Exception:  # the tags are damaged, but the pixels may be intact
        return 1
    if not isinstance(found, int) or not 1 <= found <= 8:
        return 1
    return found


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
    if turn is None:
        return image
    return image.transpose(turn)


def _has_alpha(image: "Image") -> bool:
    return image.mode in ("LA", "La", "PA", "RGBA", "RGBa") or "transparency" in image.info


def _is_fine(image: "Image") -> bool:
    return image.mode in ("I", "F") or image.mode.startswith("I;16")


def _fine_pixels(image: "Image", form: Form) -> np.ndarray:
    """Converts 16-bit or float grey values to float32 in [0, 1], (H, W, 1)."""
    from PIL import Image

    values: Any = np.asarray(image)
    highest = 1 if image.mode == "F" else 65535
    if not (values.min() >= 0 and values.max() <= highest):  # also rejects NaN
        raise ValueError("its values lie outside 0 to 65535 (or, as floats, outside 0 to 1)")
    if not form.fine:
        raise ValueError("its pixels are not of the type in its header")
    values = values.astype(np.float32) / np.float32(highest)
    if form.resize:
        values = np.asarray(_resized(Image.fromarray(values), form)).clip(0, 1)
    return values[:, :, None]


def _byte_pixels(image: "Image", form: Form) -> np.ndarray:
    """Converts to uint8, grey or RGB, (H, W, C)."""
    from PIL import Image

    if _has_alpha(image):
        over = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", over.size, (0, 0, 0, 255)), over)
    mode = "RGB"
    if form.channels == 1:
        mode = "L"
    image = image.convert(mode)
    if form.resize:
        image = _resized(image, form)
    pixels: Any = np.asarray(image)
    return pixels.reshape(*pixels.shape[:2], -1)


def _resized(image: "Image", form: Form) -> "Image":
    from PIL import Image

    if image.size == (form.width, form.height):
        return image
    box = crop_box(image.height, image.width, (form.height, form.width))
    return image.resize((form.width, form.height), Image.Resampling.BILINEAR, box=box)


def parse_size(value: int | str | Size | None) -> Size | None:
    """Parses height and width from N, (H, W), "N" or "HxW".

    Example:
        >>> parse_size("48x64"), parse_size(32)
        ((48, 64), (32, 32))
    """
    if value is None:
        return None
    try:
        if isinstance(value, str):
            sides = [int(word) for word in value.lower().replace("×", "x").split("x")]
        elif isinstance(value, int):
            sides = [value]
        else:
            sides = [int(side) for side in value]
    except (TypeError, ValueError):
        sides = []
    if len(sides) == 1:
        sides *= 2
    if len(sides) != 2 or not all(1 <= side <= LARGEST_SIDE for side in sides):
        raise InputError(
            f"A size is N or HxW in pixels, each from 1 to {LARGEST_SIDE}, as in --size 64, "
            f"but got {value!r}."
        )
    return sides[0], sides[1]


def crop_box(height: int, width: int, size: Size) -> tuple[float, float, float, float]:
    """The largest central box with the aspect ratio of `size`, as (left, top, right, bottom).

    Cropping preserves the aspect ratio. Squeezing each image by a different factor would distort
    the symmetries to be learned.

    Example:
        >>> crop_box(100, 300, (10, 10))
        (100.0, 0.0, 200.0, 100.0)
    """
    scale = min(height / size[0], width / size[1])
    box_height = size[0] * scale
    box_width = size[1] * scale
    left = (width - box_width) / 2
    top = (height - box_height) / 2
    return left, top, left + box_width, top + box_height


def describe_resizing(low: Size, high: Size, size: Size) -> str:
    """A note on the resizing of images between the sizes `low` and `high` to `size`."""
    before = f"{low[0]}×{low[1]}"
    if low != high:
        before += f" to {high[0]}×{high[1]}"
    resized = f"resized to {size[0]}×{size[1]}"
    keeps_ratio = low == high and low[0] * size[1] == low[1] * size[0]
    if not keeps_ratio:
        resized = f"cropped in the middle and {resized}"
    return f"Images of {before} pixels are {resized}."


def resize(x: Tensor, size: Size) -> Tensor:
    """Crops the centre of images in memory and resizes it with antialiasing.

    x: (N, C, H, W)   returns (N, C, *size)
    """
    left, top, right, bottom = (round(side) for side in crop_box(x.shape[2], x.shape[3], size))
    cropped = x[:, :, top : max(bottom, top + 1), left : max(right, left + 1)]
    out = torch.empty((len(x), x.shape[1], *size), dtype=x.dtype)
    for i in range(0, len(x), _CHUNK):
        chunk = F.interpolate(
            cropped[i : i + _CHUNK].float(), size, mode="bilinear", antialias=True
        )
        if x.dtype == torch.uint8:
            chunk = chunk.round().clamp(0, 255).to(x.dtype)
        out[i : i + _CHUNK] = chunk
    return out


def resize_masks(y: Tensor, size: Size) -> Tensor:
    """`resize` for masks, by nearest neighbours.   y: (N, H, W)   returns (N, *size)"""
    left, top, right, bottom = (round(side) for side in crop_box(y.shape[1], y.shape[2], size))
    cropped = y[:, top : max(bottom, top + 1), left : max(right, left + 1)]
    rows, columns = (
        ((torch.arange(wanted) + 0.5) * have / wanted).long().clamp(max=have - 1)
        for wanted, have in zip(size, cropped.shape[1:], strict=True)
    )
    return cropped[:, rows][:, :, columns]
