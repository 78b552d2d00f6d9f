"""Small datasets on disk, made for the tests of the readers."""

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
        save(Image.fromarray(np.tile(stripes.astype(np.uint8), (side, 1))), root / "masks" / f"{i:02}.png")
    return root


def everything(part):
    """All items of a part, in memory or read one by one."""
    if isinstance(part, tuple):
        return list(zip(*part, strict=True)) if not isinstance(part[0], dict) else [part]
    return [part[i] for i in range(len(part))]
