"""CamVid (Brostow, Fauqueur, Cipolla 2009), street scenes with a class a pixel, and the paper's rotCamVid."""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from augerino.data import downloads as cache
from augerino.data.arrays import IGNORE
from augerino.data.readers import archives
from augerino.data.readers.folders import images_below
from augerino.data.readers.naming import shown, some
from augerino.data.readers.pictures import Form, decode, read_header, read_mask
from augerino.data.readers.streams import open_file
from augerino.errors import InputError
from augerino.transforms import Affine2d
from augerino.transforms.functional import warp

COLORS = {  # the usual ones of CamVid
    "sky": (128, 128, 128),
    "building": (128, 0, 0),
    "pole": (192, 192, 128),
    "road": (128, 64, 128),
    "pavement": (60, 40, 222),
    "tree": (128, 128, 0),
    "sign_symbol": (192, 128, 128),
    "fence": (64, 64, 128),
    "car": (64, 0, 128),
    "pedestrian": (64, 64, 0),
    "bicyclist": (0, 128, 192),
}
CLASSES = tuple(COLORS)
VOID = len(
    CLASSES
)  # what the release calls a pixel of which nothing is known; here it becomes IGNORE
PARTS = ("train", "val", "test")
SMALL = "camvid_small.npz"


class Streets(NamedTuple):
    """Images (N, 3, H, W) and label maps (N, H, W), bytes both: labels are 0 to 10, and 255 where nothing is to be learned."""

    x_train: Tensor
    y_train: Tensor
    x_val: Tensor
    y_val: Tensor
    x_test: Tensor
    y_test: Tensor


def camvid(folder: str | Path | None = None) -> Streets:
    """The 367 + 101 + 233 scenes in 11 classes, from the folders of the SegNet release or from `camvid_small.npz`.

    The release (Badrinarayanan, Kendall, Cipolla 2017; 360×480) is the folder with train, trainannot, val, valannot, test and
    testannot, or one that has it as CamVid. `camvid_small.npz` holds the same scenes at 120×160: arrays x_train (N, H, W, 3)
    and y_train (N, H, W) of bytes, and so on. Nothing is downloaded.
    """
    root = _release(Path(folder)) if folder is not None else None
    if root is not None:
        return Streets(*(array for part in PARTS for array in _read_part(root, part)))
    found = cache.find(SMALL, folder)
    if found is None:
        raise InputError(
            f"CamVid is not {'in ' + shown(folder) if folder is not None else 'there'}: name the folder that holds the SegNet "
            f"release (train, trainannot, val, ...) or {SMALL} with --data DIR."
        )
    return _read_small(found)


def _release(folder: Path) -> Path | None:
    """The folder of the release, if this is it or has it."""
    return next(
        (place for place in (folder, folder / "CamVid") if (place / "train").is_dir()), None
    )


def _read_part(root: Path, part: str) -> tuple[Tensor, Tensor]:
    """One part of the release: its images in the order of their names, and their masks."""
    for name in (part, f"{part}annot"):
        if not (root / name).is_dir():
            raise InputError(
                f"CamVid in {shown(root)} lacks the folder {name}: it should have {_folders()}."
            )
    names = [Path(name).name for name in images_below(root / part, root)]
    lonely = [name for name in names if not (root / f"{part}annot" / name).is_file()]
    if lonely or not names:
        what = f"these have none: {some(lonely)}" if lonely else "there are no images"
        raise InputError(
            f"Every image in {shown(root / part)} needs a mask of its name in {part}annot, but {what}."
        )
    form: Form | None = None
    images, masks = [], []
    for name in names:
        image_name, mask_name = f"{part}/{name}", f"{part}annot/{name}"
        with open_file(root / image_name, image_name) as file:
            if form is None:
                header = read_header(file, image_name, resize=False)
                form = Form(3, header.height, header.width, resize=False, fine=False)
                file.seek(0)
            images.append(decode(file, image_name, form))
        with open_file(root / mask_name, mask_name) as file:
            mask = read_mask(file, mask_name)
        if mask.shape != (form.height, form.width):
            raise InputError(
                f"A mask must have the size of its image, but {shown(mask_name)} has {mask.shape[0]}×{mask.shape[1]} and "
                f"{shown(image_name)} {form.height}×{form.width} pixels."
            )
        masks.append(_labels(mask, mask_name))
    return torch.stack(images), torch.stack(masks)


def _folders() -> str:
    return ", ".join(f"{part}, {part}annot" for part in PARTS)


def _read_small(path: Path) -> Streets:
    wanted: dict[str, tuple[int | None, ...]] = {}
    for part in PARTS:
        wanted |= {f"x_{part}": (None, None, None, 3), f"y_{part}": (None, None, None)}
    arrays = archives.read_npz(path, wanted)
    found = []
    for part in PARTS:
        x, y = arrays[f"x_{part}"], arrays[f"y_{part}"]
        if x.shape[:3] != y.shape:
            raise InputError(
                f"Masks must have the size of their images, but {shown(path)} has x_{part} {x.shape} and y_{part} {y.shape}."
            )
        if x.dtype != np.uint8 or not x.size:
            raise InputError(
                f"The array 'x_{part}' in {shown(path)} should hold images as bytes, but is {x.shape} of {x.dtype}."
            )
        found += [
            torch.from_numpy(x).permute(0, 3, 1, 2).contiguous(),
            _labels(y, f"y_{part} in {path}"),
        ]
    return Streets(*found)


def _labels(mask: np.ndarray, name: str) -> Tensor:
    """CamVid's labels as bytes, void as IGNORE."""
    if mask.dtype.kind not in "ui" or int(mask.min()) < 0 or int(mask.max()) > VOID:
        raise InputError(
            f"CamVid's labels are 0 to {VOID - 1}, and {VOID} for void, but {shown(name)} holds {mask.min()} to {mask.max()}."
        )
    return torch.from_numpy(np.where(mask == VOID, IGNORE, mask).astype(np.uint8))


def reduced(images: Tensor, masks: Tensor, factor: int) -> tuple[Tensor, Tensor]:
    """Scenes made smaller by a whole factor: the mean of each block of an image, the label in its middle.

    images: (N, C, H, W) bytes   masks: (N, H, W)   returns both with sides H // factor, W // factor
    """
    small = [
        F.avg_pool2d(part.float(), factor).round().to(torch.uint8) for part in images.split(100)
    ]
    height, width = images.shape[-2] // factor, images.shape[-1] // factor
    middle = slice(factor // 2, None, factor)
    return torch.cat(small), masks[:, middle, middle][:, :height, :width].contiguous()


def rotated(images: Tensor, masks: Tensor, seed: int = 0) -> tuple[Tensor, Tensor]:
    """rotCamVid: every scene turned once about its centre, by an angle of its own anywhere in the full circle.

    Images are sampled bilinearly, labels from the nearest pixel. Where the turned frame shows something from outside the image,
    wholly or in part, the image is black and the label 255, so that neither loss nor scores count it.

    Reference: Benton, Finzi, Izmailov, Wilson (2020), appendix on semantic segmentation.

    Args:
        images: (N, C, H, W), bytes.
        masks: (N, H, W), bytes.
        seed: of the angles; the same one turns every scene the same way every time.
    """
    if len(images) != len(masks) or images.shape[-2:] != masks.shape[-2:]:
        raise InputError(
            f"Masks must have the size of their images, but images are {tuple(images.shape)} and masks {tuple(masks.shape)}."
        )
    angles = (
        2 * torch.rand(len(images), 1, generator=torch.Generator().manual_seed(seed)) - 1
    ) * math.pi
    height, width = images.shape[-2:]
    pulls = Affine2d("rotate").matrix(-angles, (height, width))
    turned: tuple[list[Tensor], list[Tensor]] = ([], [])
    for x, y, pull in zip(images.split(100), masks.split(100), pulls.split(100), strict=True):
        seen = warp(torch.ones(len(x), 1, height, width), pull) > 0.999
        labels = warp(y[:, None].float(), pull, sampling="nearest").to(torch.uint8)
        turned[0].append((warp(x.float(), pull) * seen).round().to(torch.uint8))
        turned[1].append(torch.where(seen, labels, IGNORE)[:, 0])
    return torch.cat(turned[0]), torch.cat(turned[1])
