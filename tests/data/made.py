"""Small datasets on disk, made for the tests of the readers."""

import io
import tarfile

import numpy as np
from PIL import Image


def picture(seed=0, height=8, width=8, channels=3):
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, channels), dtype=np.uint8)
    return Image.fromarray(pixels[:, :, 0] if channels == 1 else pixels)


def save(image, path, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path, **options)
    return path


def class_folder(root, classes=("cat", "dog"), each=5, **options):
    for k, name in enumerate(classes):
        for i in range(each):
            save(picture(100 * k + i, **options), root / name / f"{i}.png")
    return root


def pair_folder(root, n=6, height=8, width=8, classes=3):
    for i in range(n):
        save(picture(i, height, width), root / "images" / f"{i}.png")
        numbers = np.random.default_rng(i).integers(0, classes, (height, width), dtype=np.uint8)
        numbers[0, :classes] = np.arange(classes)
        save(Image.fromarray(numbers), root / "masks" / f"{i}.png")
    return root


def mask_folder(root, numbers, side=12):
    """One pair for each list of class numbers: stripes of them, from left to right."""
    for i, there in enumerate(numbers):
        save(picture(i, side, side), root / "images" / f"{i:02}.png")
        stripes = np.array(there)[np.arange(side) * len(there) // side]
        save(
            Image.fromarray(np.tile(stripes.astype(np.uint8), (side, 1))),
            root / "masks" / f"{i:02}.png",
        )
    return root


def encoded(image, form="PNG"):
    file = io.BytesIO()
    image.save(file, form)
    return file.getvalue()


def write_tar(path, members):
    """A tar file of (name, bytes) pairs, as webdataset's writer leaves it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as tar:
        for name, data in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return path


def shard_folder(root, shards=4, each=10, classes=2, first=0):
    """Shards of numbered pictures of alternating classes."""
    for k in range(shards):
        numbers = range(first + k * each, first + (k + 1) * each)
        pairs = [
            [(f"{i:05}.png", encoded(picture(i))), (f"{i:05}.cls", b"%d" % (i % classes))]
            for i in numbers
        ]
        write_tar(root / f"{k:04}.tar", [member for pair in pairs for member in pair])
    return root


def everything(part):
    """All samples of a part, in memory or read one by one."""
    if isinstance(part, tuple):
        return list(zip(*part, strict=True)) if not isinstance(part[0], dict) else [part]
    return [part[i] for i in range(len(part))]
