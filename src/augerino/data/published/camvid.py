"""CamVid (Brostow, Fauqueur, Cipolla 2009): labeled street scenes; and the paper's rotCamVid."""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from augerino.data import downloads
from augerino.data.arrays import IGNORE
from augerino.data.readers import archives
from augerino.data.readers.folders import images_below
from augerino.data.readers.naming import shown, some
from augerino.data.readers.pictures import Form, decode, read_header, read_mask
from augerino.data.readers.streams import open_file
from augerino.errors import InputError
from augerino.transforms import Affine2d
from augerino.transforms.functional import warp

COLORS = {  # the standard colors of CamVid
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
VOID = len(CLASSES)  # label of unlabeled pixels in the release; converted to IGNORE
PARTS = ("train", "val", "test")
SMALL = "camvid_small.npz"


class Streets(NamedTuple):
    """Images (N, 3, H, W) and label maps (N, H, W), both bytes; labels 0 to 10, 255 = ignore."""

    x_train: Tensor
    y_train: Tensor
    x_val: Tensor
    y_val: Tensor
    x_test: Tensor
    y_test: Tensor


def camvid(folder: str | Path | None = None) -> Streets:
    """The 367 + 101 + 233 scenes in 11 classes, from the SegNet release or `camvid_small.npz`.

    The release (Badrinarayanan, Kendall, Cipolla 2017; 360×480) is a folder with train, trainannot,
    val, valannot, test and testannot, or a folder that contains it as CamVid. `camvid_small.npz`
    holds the same scenes at 120×160: arrays x_train (N, H, W, 3) and y_train (N, H, W) of bytes,
    and so on. Nothing is downloaded.
    """
    where = ""
    if folder is not None:
        where = f" in {shown(folder)}"
        root = _release(Path(folder))
        if root is not None:
            arrays = [array for part in PARTS for array in _read_part(root, part)]
            return Streets(*arrays)
    found = downloads.find(SMALL, folder)
    if found is None:
        raise InputError(
            f"CamVid was not found{where}: give the folder that contains the SegNet release "
            f"(train, trainannot, val, ...) or {SMALL} with --data DIR."
        )
    return _read_small(found)


def _release(folder: Path) -> Path | None:
    """The folder of the release, `folder` or its subfolder CamVid; None if it is neither."""
    for root in (folder, folder / "CamVid"):
        if (root / "train").is_dir():
            return root
    return None


def _read_part(root: Path, part: str) -> tuple[Tensor, Tensor]:
    """Images and label maps of one part of the release, in the order of their names."""
    for name in (part, f"{part}annot"):
        if not (root / name).is_dir():
            raise InputError(
                f"CamVid in {shown(root)} lacks the folder {name}: it should have {_folders()}."
            )
    names = [Path(name).name for name in images_below(root / part, root)]
    without_mask = [name for name in names if not (root / f"{part}annot" / name).is_file()]
    if without_mask or not names:
        fault = "there are no images"
        if names:
            fault = f"these have none: {some(without_mask)}"
        raise InputError(
            f"Every image in {shown(root / part)} needs a mask of the same name in {part}annot, "
            f"but {fault}."
        )
    form: Form | None = None
    images = []
    masks = []
    for name in names:
        image_name = f"{part}/{name}"
        mask_name = f"{part}annot/{name}"
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
                f"A mask must have the size of its image, but {shown(mask_name)} has "
                f"{mask.shape[0]}×{mask.shape[1]} and {shown(image_name)} "
                f"{form.height}×{form.width} pixels."
            )
        masks.append(_labels(mask, mask_name))
    return torch.stack(images), torch.stack(masks)


def _folders() -> str:
    return ", ".join(f"{part}, {part}annot" for part in PARTS)


def _read_small(path: Path) -> Streets:
    wanted: dict[str, tuple[int | None, ...]] = {}
    for part in PARTS:
        wanted[f"x_{part}"] = (None, None, None, 3)
        wanted[f"y_{part}"] = (None, None, None)
    arrays = archives.read_npz(path, wanted)
    found = []
    for part in PARTS:
        x = arrays[f"x_{part}"]
        y = arrays[f"y_{part}"]
        if x.shape[:3] != y.shape:
            raise InputError(
                f"Masks must have the size of their images, but {shown(path)} has "
                f"x_{part} {x.shape} and y_{part} {y.shape}."
            )
        if x.dtype != np.uint8 or not x.size:
            raise InputError(
                f"The array 'x_{part}' in {shown(path)} should hold images as bytes, "
                f"but is {x.shape} of {x.dtype}."
            )
        found.append(torch.from_numpy(x).permute(0, 3, 1, 2).contiguous())
        found.append(_labels(y, f"y_{part} in {path}"))
    return Streets(*found)


def _labels(mask: np.ndarray, name: str) -> Tensor:
    """CamVid's labels as bytes, with VOID converted to IGNORE."""
    if mask.dtype.kind not in "ui" or int(mask.min()) < 0 or int(mask.max()) > VOID:
        raise InputError(
            f"CamVid's labels are 0 to {VOID - 1}, and {VOID} for void, "
            f"but {shown(name)} holds {mask.min()} to {mask.max()}."
        )
    return torch.from_numpy(np.where(mask == VOID, IGNORE, mask).astype(np.uint8))


def downscale_scenes(images: Tensor, masks: Tensor, factor: int) -> tuple[Tensor, Tensor]:
    """Downscales scenes: the mean of each block of an image, and the label at its center.

    images: (N, C, H, W) bytes   masks: (N, H, W)   returns both with sides H//factor, W//factor
    """
    pooled = [F.avg_pool2d(part.float(), factor) for part in images.split(100)]
    small = torch.cat([part.round().to(torch.uint8) for part in pooled])
    height, width = small.shape[-2:]
    center = slice(factor // 2, None, factor)
    return small, masks[:, center, center][:, :height, :width].contiguous()


def rotated(images: Tensor, masks: Tensor, seed: int = 0) -> tuple[Tensor, Tensor]:
    """rotCamVid: each scene rotated once about its center, by a random angle in the full circle.

    Images are sampled bilinearly, labels from the nearest pixel. Pixels that come wholly or partly
    from outside the image are black with label 255, so that neither loss nor scores count them.

    Reference: Benton, Finzi, Izmailov, Wilson (2020), appendix on semantic segmentation.

    Args:
        images: (N, C, H, W), bytes.
        masks: (N, H, W), bytes.
        seed: seed of the angles.
    """
    if len(images) != len(masks) or images.shape[-2:] != masks.shape[-2:]:
        raise InputError(
            "Masks must have the size of their images, "
            f"but images are {tuple(images.shape)} and masks {tuple(masks.shape)}."
        )
    generator = torch.Generator().manual_seed(seed)
    angles = (2 * torch.rand(len(images), 1, generator=generator) - 1) * math.pi
    height, width = images.shape[-2:]
    # The warp maps output pixels to input pixels, hence the inverse rotation.
    matrices = Affine2d("rotate").matrix(-angles, (height, width))
    new_images = []
    new_masks = []
    for x, y, matrix in zip(images.split(100), masks.split(100), matrices.split(100), strict=True):
        covered = warp(torch.ones(len(x), 1, height, width), matrix) > 0.999
        labels = warp(y[:, None].float(), matrix, sampling="nearest").to(torch.uint8)
        new_images.append((warp(x.float(), matrix) * covered).round().to(torch.uint8))
        new_masks.append(torch.where(covered, labels, IGNORE)[:, 0])
    return torch.cat(new_images), torch.cat(new_masks)
