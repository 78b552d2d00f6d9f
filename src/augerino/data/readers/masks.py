"""Folders of images and masks of class numbers, for segmentation."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from augerino.data.arrays import IGNORE
from augerino.data.readers import streams
from augerino.data.readers.folders import images_below, part_folders, subfolders
from augerino.data.readers.naming import PARTS, choose_parts, shown, some
from augerino.data.readers.pictures import Form, UnreadableImage, crop_box, read_header, read_mask
from augerino.data.readers.raw import RawDataset, ReadOptions
from augerino.data.readers.streams import Bad, Files, ImageStream, Pictures, skipping
from augerino.errors import InputError
from augerino.runtime.files import read_bytes

IMAGE_FOLDERS = ("images", "imgs", "image")
MASK_FOLDERS = ("masks", "labels", "annotations", "mask")
_LARGEST_NAMES = 2**20  # bytes of classes.txt
HIGHEST = 65535  # highest class number in a mask, before classes are renumbered


class Masks:
    """Masks on disk by index, each (H, W) uint8: classes 0, ..., K - 1, or 255 for ignored pixels.

    Args:
        pictures: the encoded masks.
        form: size of the decoded masks.
        table: class number in a file -> class, (HIGHEST + 1,) uint8.
        holds: whether each mask contains each class, (n, K) bool.
    """

    def __init__(
        self, pictures: Pictures, form: Form, table: np.ndarray, holds: np.ndarray
    ) -> None:
        self.pictures = pictures
        self.form = form
        self.table = table
        self.holds = holds

    def __getitem__(self, i: int) -> Tensor:
        with skipping({}, False, self.pictures.name(i)), self.pictures.open(i) as file:
            mask = _check_numbers(read_mask(file, self.pictures.name(i)), self.pictures.name(i))
        if self.form.resize:
            mask = nearest(mask, self.form)
        if mask.shape != (self.form.height, self.form.width):
            raise UnreadableImage(
                f"{shown(self.pictures.name(i))} has changed its size since the dataset was opened."
            )
        return torch.from_numpy(self.table[mask])


def nearest(mask: np.ndarray, form: Form) -> np.ndarray:
    """Crops a mask like its image and resizes it by nearest-neighbour interpolation."""
    height, width = mask.shape
    left, top, right, bottom = crop_box(height, width, (form.height, form.width))
    rows = (top + (np.arange(form.height) + 0.5) * (bottom - top) / form.height).astype(int)
    columns = (left + (np.arange(form.width) + 0.5) * (right - left) / form.width).astype(int)
    return mask[rows.clip(0, height - 1)][:, columns.clip(0, width - 1)]


def find_pairs(root: Path) -> tuple[Path, Path] | None:
    """The folders of images and of masks in a folder; None unless it has both."""
    names = {name.lower(): place for name, place in subfolders(root).items()}
    images = next((names[name] for name in IMAGE_FOLDERS if name in names), None)
    masks = next((names[name] for name in MASK_FOLDERS if name in names), None)
    if images is None or masks is None:
        return None
    return images, masks


def read_pairs(root: Path, options: ReadOptions) -> RawDataset:
    """Reads images/ and masks/, with train and test folders inside, around them, or without."""
    if options.task not in (None, "segmentation"):
        raise InputError(
            f"{shown(root)} contains images with masks, which is segmentation, not {options.task}."
        )
    notes: list[str] = []
    pairs: list[tuple[str, str]] = []
    tests: list[bool | None] = []
    for is_test, folders in _parts(root, notes):
        matched = _match(root, *folders, notes)
        pairs += matched
        tests += [is_test] * len(matched)
    if not pairs:
        raise InputError(
            f"The folders of images and masks in {shown(root)} have no pairs of the same name."
        )
    bad: Bad = {}
    good, numbers = _scan(
        Files(root, [image for image, _ in pairs]),
        Files(root, [mask for _, mask in pairs]),
        options=options,
        bad=bad,
    )
    if not good:
        raise InputError(f"None of the {len(pairs)} pairs can be read: {next(iter(bad.values()))}")
    table, class_names, more = number_classes(
        np.unique(np.concatenate(numbers)), _class_names(root), options.ignore
    )
    pairs = [pairs[i] for i in good]
    loaded = streams.load(Files(root, [image for image, _ in pairs]), options, beside=1)
    if bad:
        notes.append(f"{len(bad)} pairs with an unreadable file skipped: {some(list(bad))}.")
    masks = Masks(
        Files(root, [mask for _, mask in pairs]),
        form=loaded.form,
        table=table,
        holds=np.stack([_held(table[present], len(class_names)) for present in numbers]),
    )
    kept = loaded.kept.tolist()
    inputs = loaded.images
    targets: Tensor | Masks = masks
    if isinstance(inputs, ImageStream):
        inputs = ImageStream(inputs.pictures, form=loaded.form, targets=masks, order=loaded.kept)
    else:
        targets = torch.stack([masks[i] for i in kept])
    marks = [tests[good[i]] for i in kept]
    test = None
    if None not in marks and True in marks:
        test = np.array(marks, dtype=bool)
    return RawDataset(
        kind="masks",
        inputs=inputs,
        targets=targets,
        shape=loaded.form.shape,
        test=test,
        class_names=class_names,
        notes=[*notes, *more, *loaded.notes],
        root=root,
        files=[name for i in kept for name in pairs[i]],
    )


def _parts(root: Path, notes: list[str]) -> Iterator[tuple[bool | None, tuple[Path, Path]]]:
    """Yields (is_test, (folder of images, folder of masks)) for every part; is_test may be None."""
    pair = find_pairs(root)
    if pair is None:
        for test, place in part_folders(root, notes):
            inside = find_pairs(place)
            if inside is None:
                raise InputError(
                    f"{shown(place)} must contain the folders images and masks, "
                    "as the other part does."
                )
            yield test, inside
        return
    images, masks = (
        {PARTS.get(name.lower(), name): place for name, place in subfolders(folder).items()}
        for folder in pair
    )
    if "train" not in images or "train" not in masks:
        yield None, pair
        return
    common = [part for part in images if part in masks and part in PARTS.values()]
    test_part, unused = choose_parts(common)
    if unused:
        notes.append("The validation part is not used.")
    yield False, (images["train"], masks["train"])
    if test_part is not None:
        yield True, (images[test_part], masks[test_part])


def _match(root: Path, images: Path, masks: Path, notes: list[str]) -> list[tuple[str, str]]:
    """Pairs (image, mask) of paths relative to root, matched by name without extension."""
    image_names = _by_stem(root, images)
    mask_names = _by_stem(root, masks)
    unmatched = [name for stem, name in image_names.items() if stem not in mask_names]
    if unmatched:
        raise InputError(
            f"Every image needs a mask of the same name in {shown(masks)}, "
            f"but these have none: {some(unmatched)}."
        )
    unused = [name for stem, name in mask_names.items() if stem not in image_names]
    if unused:
        notes.append(f"{len(unused)} masks without an image are not used: {some(unused)}.")
    return [(name, mask_names[stem]) for stem, name in image_names.items()]


def _by_stem(root: Path, folder: Path) -> dict[str, str]:
    """Path below the folder without extension -> path relative to root, for all images."""
    names: dict[str, str] = {}
    for name in images_below(folder, root):
        stem = os.path.splitext(os.path.relpath(root / name, folder))[0]
        if stem in names:
            raise InputError(
                f"{shown(names[stem])} and {shown(name)} have the same name "
                "up to the extension: keep one."
            )
        names[stem] = name
    return names


def _scan(
    images: Files, masks: Files, options: ReadOptions, bad: Bad
) -> tuple[list[int], list[np.ndarray]]:
    """Decodes every mask once; returns the indices of readable pairs and their class numbers."""
    good: list[int] = []
    numbers: list[np.ndarray] = []
    for i in range(len(images)):
        header = mask = None
        with skipping(bad, options.skip_bad, images.name(i)), images.open(i) as file:
            header = read_header(file, images.name(i), resize=options.size is not None)
        with skipping(bad, options.skip_bad, masks.name(i)), masks.open(i) as file:
            mask = _check_numbers(read_mask(file, masks.name(i)), masks.name(i))
        if header is not None and mask is not None:
            if mask.shape != (header.height, header.width):
                raise InputError(
                    "A mask must have the size of its image, "
                    f"but {shown(masks.name(i))} has {mask.shape[0]}×{mask.shape[1]} and "
                    f"{shown(images.name(i))} {header.height}×{header.width} pixels."
                )
            numbers.append(np.unique(mask))
            good.append(i)
        streams.report(options.on_progress, i + 1, len(images))
    return good, numbers


def which_classes(y: Tensor | Masks, n_classes: int, kept: np.ndarray) -> np.ndarray:
    """Which classes each mask contains.

    y: (N, H, W), or masks on disk   kept: (N,), indices of the masks on disk
    returns (N, n_classes) bool
    """
    if isinstance(y, Masks):
        return y.holds[kept]
    return np.stack([_held(np.unique(mask), n_classes) for mask in y.numpy()])


def _held(labels: np.ndarray, n_classes: int) -> np.ndarray:
    held = np.zeros(IGNORE + 1, dtype=bool)
    held[labels] = True
    return held[:n_classes]


def _check_numbers(mask: np.ndarray, name: str) -> np.ndarray:
    if mask.min() < 0 or mask.max() > HIGHEST:
        raise UnreadableImage(
            f"Class numbers must be 0 to {HIGHEST}, "
            f"but {shown(name)} has {mask.min()} to {mask.max()}."
        )
    return mask


def number_classes(
    present: np.ndarray, names: Sequence[str] = (), ignore: int = IGNORE
) -> tuple[np.ndarray, tuple[str, ...], list[str]]:
    """Numbers the classes of masks 0, ..., K - 1, and 255 for ignored pixels.

    The classes are those with a name or, without names, those that occur. Masks with only 0 and 255
    are black and white: two classes, nothing ignored.

    Args:
        present: class numbers that occur, sorted, (n,).
        names: class names, by class number.
        ignore: class number to ignore.

    Returns:
        A table number -> class, (HIGHEST + 1,) uint8; the class names; notes.

    Example:
        >>> table, names, notes = number_classes(np.array([0, 2, 255]))
        >>> table[[0, 2, 255]].tolist(), names
        ([0, 1, 255], ('0', '2'))
    """
    numbers = [int(number) for number in present]
    notes = []
    if numbers == [0, 255] and ignore == IGNORE and len(names) in (0, 2):
        table = np.full(HIGHEST + 1, IGNORE, dtype=np.uint8)
        table[0] = 0
        table[255] = 1
        notes.append("Masks are black and white: 0 and 255 are two classes.")
        return table, tuple(names) or ("0", "255"), notes
    ids = numbers
    if names:
        ids = list(range(len(names)))
    unnamed = [number for number in numbers if number not in ids and number != ignore]
    if unnamed:
        raise InputError(
            f"There are {len(names)} class names, but masks contain the number {unnamed[0]}: "
            "name it, or --ignore it."
        )
    ids = [number for number in ids if number != ignore]
    if numbers == [ignore]:
        raise InputError(
            f"Every pixel of every mask has the number {ignore}, which is ignored: "
            "nothing is left to learn."
        )
    if len(ids) < 2 or len(ids) > IGNORE:
        raise InputError(f"Masks must have 2 to {IGNORE} classes, but have {len(ids)}.")
    table = np.full(HIGHEST + 1, IGNORE, dtype=np.uint8)
    table[ids] = np.arange(len(ids), dtype=np.uint8)
    if ids != list(range(len(ids))):
        before = some([str(number) for number in ids])
        notes.append(f"Class numbers {before} are renumbered 0 to {len(ids) - 1}.")
    if ignore in numbers:
        notes.append(f"Pixels with the number {ignore} are ignored.")
    class_names = tuple(str(number) for number in ids)
    if names:
        class_names = tuple(names[number] for number in ids)
    return table, class_names, notes


def number_array(
    y: np.ndarray, names: Sequence[str], ignore: int
) -> tuple[Tensor, tuple[str, ...], list[str]]:
    """`number_classes` for masks in memory; returns masks, class names and notes.

    y: (N, H, W)   returned masks: (N, H, W) uint8
    """
    if y.dtype.kind != "u" or y.itemsize > 2:
        y = y.astype(np.int64)
    low = int(y.min())
    high = int(y.max())
    notes = []
    if low == -1:
        if ignore < 0:
            ignore = IGNORE
        y = np.where(y == -1, ignore, y)
        low = 0
        notes.append("Pixels with the number -1 are ignored.")
    if low < 0 or high > HIGHEST:
        raise InputError(
            f"Class numbers of masks must be 0 to {HIGHEST}, but go from {low} to {high}."
        )
    present = np.zeros(HIGHEST + 1, dtype=bool)
    for mask in y:
        present[np.unique(mask)] = True
    table, class_names, more = number_classes(np.flatnonzero(present), names, ignore)
    return torch.from_numpy(table[y]), class_names, notes + more


def _class_names(root: Path) -> tuple[str, ...]:
    """Class names from classes.txt, one per line; empty without that file."""
    try:
        text = read_bytes(root / "classes.txt", _LARGEST_NAMES).decode("utf-8-sig")
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeError) as error:
        raise InputError(
            f"{shown(root / 'classes.txt')} is not a readable list of class names: {error}."
        ) from error
    return tuple(shown(line.strip()) for line in text.splitlines() if line.strip())
