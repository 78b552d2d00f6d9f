"""Folders of images with a mask of class numbers each, for segmentation."""

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
from augerino.data.readers.pictures import Form, UnreadableImage, read_header, read_mask
from augerino.data.readers.raw import RawDataset, ReadOptions
from augerino.data.readers.sizes import crop_box
from augerino.data.readers.streams import Bad, Files, ImageStream, Pictures, skipping
from augerino.errors import InputError

IMAGE_FOLDERS = ("images", "imgs", "image")
MASK_FOLDERS = ("masks", "labels", "annotations", "mask")
HIGHEST = 65535  # the highest class number that a mask may hold before it is renumbered


class Masks:
    """Masks on disk by number, as (H, W) class numbers 0, ..., K - 1 in bytes, 255 where nothing is to be learned."""

    def __init__(
        self, pictures: Pictures, form: Form, table: np.ndarray, holds: np.ndarray
    ) -> None:
        self.pictures, self.form, self.table = pictures, form, table
        self.holds = holds  # which classes are in each, (files, K)

    def __getitem__(self, i: int) -> Tensor:
        with skipping({}, False, self.pictures.name(i)), self.pictures.open(i) as file:
            mask = _check_numbers(read_mask(file, self.pictures.name(i)), self.pictures.name(i))
        if self.form.resize:
            mask = nearest(mask, self.form)
        if mask.shape != (self.form.height, self.form.width):
            raise UnreadableImage(
                f"{shown(self.pictures.name(i))} has changed its size while it was in use."
            )
        return torch.from_numpy(self.table[mask])


def nearest(mask: np.ndarray, form: Form) -> np.ndarray:
    """Crops a mask as its image is cropped, and takes the nearest pixel."""
    left, top, right, bottom = crop_box(mask.shape[0], mask.shape[1], (form.height, form.width))
    rows = (top + (np.arange(form.height) + 0.5) * (bottom - top) / form.height).astype(int)
    columns = (left + (np.arange(form.width) + 0.5) * (right - left) / form.width).astype(int)
    return mask[rows.clip(0, mask.shape[0] - 1)][:, columns.clip(0, mask.shape[1] - 1)]


def find_pairs(root: Path) -> tuple[Path, Path] | None:
    """The folders of images and of masks in a folder; None if it does not have both."""
    names = {name.lower(): place for name, place in subfolders(root).items()}
    images = next((names[name] for name in IMAGE_FOLDERS if name in names), None)
    masks = next((names[name] for name in MASK_FOLDERS if name in names), None)
    return None if images is None or masks is None else (images, masks)


def read_pairs(root: Path, options: ReadOptions) -> RawDataset:
    """Reads images/ and masks/, themselves divided into train and test, or inside folders train and test, or undivided."""
    if options.task not in (None, "segmentation"):
        raise InputError(
            f"{shown(root)} holds images with masks, which is segmentation, not {options.task}."
        )
    notes: list[str] = []
    pairs: list[tuple[str, str]] = []
    tests: list[bool | None] = []
    for test, folders in _parts(root, notes):
        matched = _match(root, *folders, notes)
        pairs += matched
        tests += [test] * len(matched)
    if not pairs:
        raise InputError(
            f"The folders of images and masks in {shown(root)} hold no pairs of the same name."
        )
    bad: Bad = {}
    good, numbers = _scan(
        Files(root, [image for image, _ in pairs]),
        Files(root, [mask for _, mask in pairs]),
        options,
        bad,
    )
    if not good:
        raise InputError(f"None of the {len(pairs)} pairs can be read: {next(iter(bad.values()))}")
    table, class_names, more = number_classes(
        np.unique(np.concatenate(numbers)), _class_names(root), options.ignore
    )
    pairs = [pairs[i] for i in good]
    loaded = streams.load(Files(root, [image for image, _ in pairs]), options, beside=1)
    if bad:
        notes.append(f"{len(bad)} pairs with a bad file skipped: {some(list(bad))}.")
    holds = np.stack([_held(table[there], len(class_names)) for there in numbers])
    masks = Masks(Files(root, [mask for _, mask in pairs]), loaded.form, table, holds)
    kept = loaded.kept.tolist()
    marks = [tests[good[i]] for i in kept]
    in_memory = isinstance(loaded.images, Tensor)
    return RawDataset(
        kind="masks",
        inputs=loaded.images
        if in_memory
        else ImageStream(loaded.images.pictures, loaded.form, masks, loaded.kept),  # type: ignore[union-attr]
        targets=torch.stack([masks[i] for i in kept]) if in_memory else masks,
        shape=loaded.form.shape,
        test=None if None in marks or True not in marks else np.array(marks, dtype=bool),
        class_names=class_names,
        notes=[*notes, *more, *loaded.notes],
        root=root,
        files=[name for i in kept for name in pairs[i]],
    )


def _parts(root: Path, notes: list[str]) -> Iterator[tuple[bool | None, tuple[Path, Path]]]:
    pair = find_pairs(root)
    if pair is None:
        for test, place in part_folders(root, notes):
            inside = find_pairs(place)
            if inside is None:
                raise InputError(
                    f"{shown(place)} must hold the folders images and masks, as the other part does."
                )
            yield test, inside
        return
    inner = [
        {PARTS.get(name.lower(), name): place for name, place in subfolders(folder).items()}
        for folder in pair
    ]
    if "train" not in inner[0] or "train" not in inner[1]:
        yield None, pair
        return
    test_part, unused = choose_parts(
        [part for part in inner[0] if part in inner[1] and part in PARTS.values()]
    )
    if unused:
        notes.append("The validation part is not used.")
    yield False, (inner[0]["train"], inner[1]["train"])
    if test_part is not None:
        yield True, (inner[0][test_part], inner[1][test_part])


def _match(root: Path, images: Path, masks: Path, notes: list[str]) -> list[tuple[str, str]]:
    """Names below root of images and their masks, matched by their names without ending."""
    by_stem = []
    for folder in (images, masks):
        stems: dict[str, str] = {}
        for name in images_below(folder, root):
            stem = os.path.splitext(os.path.relpath(root / name, folder))[0]
            if stem in stems:
                raise InputError(
                    f"{shown(stems[stem])} and {shown(name)} have the same name up to the ending: keep one."
                )
            stems[stem] = name
        by_stem.append(stems)
    lonely = [name for stem, name in by_stem[0].items() if stem not in by_stem[1]]
    if lonely:
        raise InputError(
            f"Every image needs a mask of the same name in {shown(masks)}, but these have none: {some(lonely)}."
        )
    unused = [name for stem, name in by_stem[1].items() if stem not in by_stem[0]]
    if unused:
        notes.append(f"{len(unused)} masks without an image are not used: {some(unused)}.")
    return [(name, by_stem[1][stem]) for stem, name in by_stem[0].items()]


def _scan(
    images: Files, masks: Files, options: ReadOptions, bad: Bad
) -> tuple[list[int], list[np.ndarray]]:
    """The readable pairs, and which class numbers are in the mask of each; every mask is decoded once for it."""
    good, numbers = list[int](), list[np.ndarray]()
    for i in range(len(images)):
        header = mask = None
        with skipping(bad, options.skip_bad, images.name(i)), images.open(i) as file:
            header = read_header(file, images.name(i), resize=options.size is not None)
        with skipping(bad, options.skip_bad, masks.name(i)), masks.open(i) as file:
            mask = _check_numbers(read_mask(file, masks.name(i)), masks.name(i))
        if header is not None and mask is not None:
            if mask.shape != (header.height, header.width):
                raise InputError(
                    f"A mask must have the size of its image, but {shown(masks.name(i))} has {mask.shape[0]}×{mask.shape[1]} and "
                    f"{shown(images.name(i))} {header.height}×{header.width} pixels."
                )
            numbers.append(np.unique(mask))
            good.append(i)
        streams.report(options.on_progress, i + 1, len(images))
    return good, numbers


def which_classes(y: Tensor | Masks, n_classes: int, kept: np.ndarray) -> np.ndarray:
    """Which classes are in the mask of each item.   y: (N, H, W), or those kept of masks on disk   returns (N, K) bool"""
    return (
        y.holds[kept]
        if isinstance(y, Masks)
        else np.stack([_held(np.unique(mask), n_classes) for mask in y.numpy()])
    )


def _held(labels: np.ndarray, n_classes: int) -> np.ndarray:
    held = np.zeros(IGNORE + 1, dtype=bool)
    held[labels] = True
    return held[:n_classes]


def _check_numbers(mask: np.ndarray, name: str) -> np.ndarray:
    if mask.min() < 0 or mask.max() > HIGHEST:
        raise UnreadableImage(
            f"Class numbers must be 0 to {HIGHEST}, but {shown(name)} has {mask.min()} to {mask.max()}."
        )
    return mask


def number_classes(
    present: np.ndarray, names: Sequence[str] = (), ignore: int = IGNORE
) -> tuple[np.ndarray, tuple[str, ...], list[str]]:
    """A table from the numbers in masks to 0, ..., K - 1, or 255 where they are to be ignored; class names; what was done.

    With names there are as many classes as names; without, those that occur. Masks of 0 and 255 alone are black and white: two
    classes, nothing ignored.

    Example:
        >>> table, names, notes = number_classes(np.array([0, 2, 255]))
        >>> table[[0, 2, 255]].tolist(), names
        ([0, 1, 255], ('0', '2'))
    """
    numbers = [int(number) for number in present]
    notes = []
    if numbers == [0, 255] and ignore == IGNORE and len(names) in (0, 2):
        table = np.full(HIGHEST + 1, IGNORE, dtype=np.uint8)
        table[[0, 255]] = 0, 1
        return (
            table,
            tuple(names) or ("0", "255"),
            ["Masks are black and white: 0 and 255 are two classes."],
        )
    ids = list(range(len(names))) if names else numbers
    strange = [number for number in numbers if number not in ids and number != ignore]
    if strange:
        raise InputError(
            f"There are {len(names)} class names, but masks hold the number {strange[0]}: name it, or --ignore it."
        )
    ids = [number for number in ids if number != ignore]
    if numbers == [ignore]:
        raise InputError(
            f"Every pixel of every mask has the number {ignore}, which is ignored: nothing is left to learn."
        )
    if len(ids) < 2 or len(ids) > IGNORE:
        raise InputError(f"Masks must tell 2 to {IGNORE} classes apart, but hold {len(ids)}.")
    table = np.full(HIGHEST + 1, IGNORE, dtype=np.uint8)
    table[ids] = np.arange(len(ids), dtype=np.uint8)
    if ids != list(range(len(ids))):
        notes.append(
            f"Class numbers {some([str(number) for number in ids])} are renumbered 0 to {len(ids) - 1}."
        )
    if ignore in numbers:
        notes.append(f"Pixels with the number {ignore} are ignored.")
    return table, tuple(names[number] if names else str(number) for number in ids), notes


def number_array(
    y: np.ndarray, names: Sequence[str], ignore: int
) -> tuple[Tensor, tuple[str, ...], list[str]]:
    """The same for masks in memory.   y: (N, H, W)   returns (N, H, W) uint8"""
    y = y.astype(np.int64) if y.dtype.kind != "u" or y.itemsize > 2 else y
    low, high = int(y.min()), int(y.max())
    notes = []
    if low == -1:
        ignore = ignore if ignore >= 0 else IGNORE
        y, low = np.where(y == -1, ignore, y), 0
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
    """One name a line from classes.txt, if there is one."""
    try:
        text = (root / "classes.txt").read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeError) as error:
        raise InputError(
            f"{shown(root / 'classes.txt')} is not a readable list of class names: {error}."
        ) from error
    return tuple(shown(line.strip()) for line in text.splitlines() if line.strip())
