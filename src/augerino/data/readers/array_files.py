"""Datasets stored as arrays: an `.npz` archive, or a pair of `.npy` files."""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from augerino.data.readers import archives, layouts, pictures
from augerino.data.readers.archives import ArrayHeader
from augerino.data.readers.naming import INPUT_NAMES, PARTS, TARGET_NAMES, choose_parts, shown, some
from augerino.data.readers.raw import RawDataset, ReadOptions
from augerino.errors import InputError

COUNTS = ("num_points", "num_atoms", "mask")
CHARGES = ("charges", "atomic_numbers", "z")
HEAVIEST = 118  # highest atomic number
NO_TARGETS = (
    "index",
    "idx",
    "id",
    "ids",
    "names",
    "name",
    "split",
    "class_names",
    *COUNTS,
    *CHARGES,
)
_PART = re.compile(rf"(?:({'|'.join(PARTS)})[_-])?(.+?)(?:[_-]({'|'.join(PARTS)}))?", re.IGNORECASE)
_SPLIT = {"0": "train", "1": "validation", "2": "test", **PARTS}

Load = Callable[[Iterable[str]], dict[str, np.ndarray]]
Places = dict[str, dict[str, str]]  # part ("" for the whole dataset) -> role -> name of the array


def read_npz(path: Path, options: ReadOptions) -> RawDataset:
    """Reads an archive of inputs and targets."""
    return read_arrays(
        shown(path),
        archives.npz_headers(path),
        load=lambda names: archives.load_npz(path, list(names)),
        options=options,
        raw=_empty(path.parent, [path.name]),
    )


def read_npy(path: Path, options: ReadOptions) -> RawDataset:
    """Reads `x.npy` and `y.npy`, given the folder or one file, or `foo_x.npy` and `foo_y.npy`."""
    inputs = path
    if path.is_dir():
        inputs = path / "x.npy"
    match = re.fullmatch(r"(.*?)(x|y)(\.npy)", inputs.name, re.IGNORECASE)
    if match is None:
        raise InputError(
            "A .npy file of inputs is called x.npy or NAME_x.npy, beside y.npy or NAME_y.npy, "
            f"but got {shown(inputs)}."
        )
    stem, letter, end = match.groups()
    pair = {}
    for role in ("x", "y"):
        name = f"{stem}{role}{end}"
        if letter.isupper():
            name = f"{stem}{role.upper()}{end}"
        pair[role] = inputs.with_name(name)
    for other in pair.values():
        if not other.is_file():
            raise InputError(
                f"{shown(inputs)} needs a file beside it, but there is no {shown(other)}."
            )
    return read_arrays(
        shown(path),
        headers={role: archives.npy_header(file) for role, file in pair.items()},
        load=lambda names: {name: archives.load_npy(pair[name]) for name in names},
        options=options,
        raw=_empty(inputs.parent, [file.name for file in pair.values()]),
    )


def _empty(root: Path, files: list[str]) -> RawDataset:
    return RawDataset(kind="values", inputs=None, targets=None, shape=(), root=root, files=files)


def read_arrays(
    path: str,
    headers: Mapping[str, ArrayHeader],
    *,
    load: Load,
    options: ReadOptions,
    raw: RawDataset,
) -> RawDataset:
    """Assigns roles to named arrays, loads and converts them.

    Args:
        path: printable path of the dataset, for error messages.
        headers: shape and type of each array.
        load: loads arrays by name.
        options: options of the reader.
        raw: dataset to complete, in place.
    """
    places = _assign(path, headers, options)
    parts = _parts(places, raw)
    arrays: dict[str, dict[str, np.ndarray]] = {}
    for part in parts:
        names = places[part]
        loaded = load(dict.fromkeys(names.values()))
        arrays[part] = {role: loaded[name] for role, name in names.items()}
        _check_lengths(path, names, arrays[part])
    if "class_names" in headers:
        names_array = load(["class_names"])["class_names"]
        raw.class_names = tuple(shown(_text(name)) for name in names_array.ravel())
    joined = _join(path, [arrays[part] for part in parts])
    if len(parts) > 1:
        raw.test = np.arange(len(joined["x"])) >= len(arrays[parts[0]]["x"])
    elif "split" in joined:
        joined = _apply_split(path, joined, raw)
    arrays.clear()
    return _convert(joined, options, raw)


def _assign(path: str, headers: Mapping[str, ArrayHeader], options: ReadOptions) -> Places:
    """Assigns arrays to parts and roles, by their names."""
    if set(headers) == {"arr_0", "arr_1"}:  # np.savez(file, x, y)
        return {"": {"x": "arr_0", "y": "arr_1"}}
    by_part: dict[str, dict[str, str]] = {}
    for name in headers:
        match = _PART.fullmatch(name)
        assert match is not None  # the middle group matches any name
        word = match[1] or match[3]
        part = ""
        if word:
            part = PARTS[word.lower()]
        by_part.setdefault(part, {})[match[2].lower()] = name
    places: Places = {}
    for part, names in by_part.items():
        x = next((alias for alias in INPUT_NAMES if alias in names), None)
        if x is None:
            continue
        roles = {"x": names[x]}
        if x == "positions":
            for role, aliases in (("count", COUNTS), ("charges", CHARGES)):
                alias = next((alias for alias in aliases if alias in names), None)
                if alias is not None:
                    roles[role] = names[alias]
        if "split" in names and not part:
            roles["split"] = names["split"]
        roles["y"] = _target(path, names, headers=headers, roles=roles, options=options)
        places[part] = roles
    if "" in places:
        return {"": places[""]}
    if "train" not in places:
        raise InputError(
            f"{path} must contain inputs and targets as x and y, or x_train, y_train, x_test and "
            f"y_test, but it contains: {some(list(headers), 12) or 'nothing'}."
        )
    return places


def _target(
    path: str,
    names: dict[str, str],
    *,
    headers: Mapping[str, ArrayHeader],
    roles: dict[str, str],
    options: ReadOptions,
) -> str:
    """Name of the array of targets: the one given, one with a usual name, or the only candidate."""
    if options.target is not None:
        if options.target.lower() in names:
            chosen = names[options.target.lower()]
            if chosen in roles.values():
                raise InputError(
                    f"--target {shown(options.target)} names an array that is part of the input "
                    f"of {path}: choose another."
                )
            return chosen
        raise InputError(
            f"{path} has no array '{shown(options.target)}' for --target; "
            f"it contains: {some(list(headers), 12)}."
        )
    known = next((alias for alias in TARGET_NAMES if alias in names), None)
    if known is not None:
        return names[known]
    length = headers[roles["x"]].shape[:1]
    candidates = [
        name
        for alias, name in names.items()
        if alias not in NO_TARGETS
        and name not in roles.values()
        and headers[name].shape[:1] == length
    ]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        raise InputError(
            f"{path} has several arrays that could be the target: "
            f"choose with --target, one of {some(candidates, 12)}."
        )
    raise InputError(
        f"{path} has inputs '{roles['x']}' but no targets: there is no array called y; "
        f"it contains: {some(list(headers), 12)}."
    )


def _parts(places: Places, raw: RawDataset) -> list[str]:
    """Parts to read, training first; adds notes on the others."""
    if "" in places:
        return [""]
    test, unused = choose_parts(list(places))
    if test == "validation":
        raw.notes.append("There is no test part: the validation part is used for testing.")
    if unused:
        raw.notes.append("The validation part is not used.")
    if test is None:
        return ["train"]
    return ["train", test]


def _check_lengths(path: str, names: dict[str, str], arrays: dict[str, np.ndarray]) -> None:
    n = arrays["x"].shape[:1]
    for role, array in arrays.items():
        if array.ndim == 0 or array.shape[:1] != n:
            raise InputError(
                f"Every array of {path} must have one row per sample, "
                f"but '{names['x']}' has shape {arrays['x'].shape} and "
                f"'{names[role]}' {array.shape}."
            )


def _join(path: str, parts: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Concatenates training and test arrays."""
    if len(parts) == 1:
        return parts[0]
    joined = {}
    for role in parts[0]:
        both = [part[role] for part in parts if role in part]
        if len(both) < 2 or not _can_join(*both):
            raise InputError(
                f"The training and test parts of {path} must have the same arrays of the same "
                f"shape, but '{role}' differs."
            )
        joined[role] = np.concatenate(both)
    return joined


def _can_join(a: np.ndarray, b: np.ndarray) -> bool:
    are_strings = {array.dtype.kind in "US" for array in (a, b)}
    return a.shape[1:] == b.shape[1:] and len(are_strings) == 1


def _apply_split(
    path: str, arrays: dict[str, np.ndarray], raw: RawDataset
) -> dict[str, np.ndarray]:
    """Selects training and test samples by the array 'split'.

    Its values are train, validation and test, or 0, 1 and 2.
    """
    words = np.array([_text(word).lower() for word in arrays.pop("split").ravel()])
    if len(words) != len(arrays["x"]) or not set(words) <= set(_SPLIT):
        raise InputError(
            f"The array 'split' of {path} must be train, validation or test (or 0, 1, 2) "
            "for every sample."
        )
    part = np.array([_SPLIT[word] for word in words])
    test, unused = choose_parts(sorted(set(part)))
    if test is None or "train" not in part:
        return arrays
    keep = (part == "train") | (part == test)
    raw.notes.append(
        "The test samples are those marked in the array 'split' "
        f"({int((part == test).sum())} of {int(keep.sum())})."
    )
    if unused:
        raw.notes.append(f"The validation part ({int((~keep).sum())} samples) is not used.")
    raw.test = part[keep] == test
    return {role: array[keep] for role, array in arrays.items()}


def _convert(arrays: dict[str, np.ndarray], options: ReadOptions, raw: RawDataset) -> RawDataset:
    """Converts arrays by role to the inputs and targets of `raw`."""
    x = arrays["x"]
    y = arrays["y"]
    layout = layouts.find_layout(x.shape, x.dtype, options.kind)
    if x.dtype.byteorder not in "=|":
        x = x.astype(x.dtype.newbyteorder("="))
    x, note = layouts.numbers(x, layout.kind)
    inputs: Any = layouts.arrange(x, layout)
    raw.kind = layout.kind
    raw.notes.append(layout.note)
    if note:
        raw.notes.append(note)
    masks = None
    if layout.kind == "images":
        masks = _as_masks(y, inputs, options)
    if options.size is not None:
        inputs = _resized(inputs, options, raw)
    if masks is not None:
        raw.kind = "masks"
        y = masks
        if options.size is not None:
            y = pictures.resize_masks(torch.from_numpy(masks), options.size).numpy()
    raw.shape = tuple(inputs.shape[1:])
    if layout.kind == "points" and ("count" in arrays or "charges" in arrays):
        inputs = _padded(inputs, arrays)
        raw.notes.append("Point clouds are padded: a mask marks the valid points.")
        if "charges" in inputs:
            raw.notes.append(f"Points are atoms with the atomic numbers {_species(inputs)}.")
    raw.inputs = inputs
    raw.targets = y
    return raw


def _resized(x: Tensor, options: ReadOptions, raw: RawDataset) -> Tensor:
    if raw.kind != "images" or options.size is None:
        raise InputError(f"A size is for images, but the inputs are {raw.kind}: leave --size out.")
    if tuple(x.shape[2:]) == options.size:
        return x
    before = (x.shape[2], x.shape[3])
    raw.notes.append(pictures.describe_resizing(before, before, options.size))
    return pictures.resize(x, options.size)


def _as_masks(y: np.ndarray, x: Tensor, options: ReadOptions) -> np.ndarray | None:
    """Targets as masks of class numbers, (N, H, W); None if they are not masks."""
    if y.ndim == 4 and y.shape[1] == 1:
        y = y[:, 0]
    elif y.ndim == 4 and y.shape[3] == 1:
        y = y[..., 0]
    expected = options.task == "segmentation" or options.kind == "masks"
    if y.ndim != 3 and not expected:
        return None
    if y.shape != (len(x), *x.shape[2:]):
        raise InputError(
            f"Masks must have the size of their images, {tuple(x.shape[2:])}, "
            f"but targets have shape {y.shape}."
        )
    if options.task not in (None, "segmentation"):
        raise InputError(
            f"Targets of shape {y.shape} are masks, which is segmentation, not {options.task}."
        )
    if y.dtype.kind == "f" and np.abs(y).max() > 2**31:
        raise InputError(f"Masks must contain class numbers, but contain {np.abs(y).max():g}.")
    if y.dtype.kind not in "biuf":
        raise InputError(f"Masks must contain class numbers, but are of type {y.dtype}.")
    if y.dtype.kind == "f" and not (y == np.floor(y)).all():
        raise InputError(
            f"Masks must contain class numbers, but are of type {y.dtype} with fractions."
        )
    return y


def _padded(positions: Tensor, arrays: dict[str, np.ndarray]) -> dict[str, Tensor]:
    """Padded point clouds: positions (N, P, 3), mask (N, P) and, for molecules, charges (N, P)."""
    n, points, _ = positions.shape
    cloud = {"positions": positions, "mask": torch.ones(n, points, dtype=torch.bool)}
    if "count" in arrays:
        cloud["mask"] = _mask(arrays["count"], n, points)
    if "charges" in arrays:
        charges = arrays["charges"]
        if charges.shape != (n, points) or charges.dtype.kind not in "iu":
            raise InputError(
                f"Charges must be integers of shape ({n}, {points}), "
                f"but are {charges.dtype} {charges.shape}."
            )
        if charges.size and (charges.min() < 0 or charges.max() > HEAVIEST):
            raise InputError(
                f"Charges are atomic numbers, 0 to {HEAVIEST}, "
                f"but go from {charges.min()} to {charges.max()}."
            )
        cloud["charges"] = torch.from_numpy(charges.astype(np.int64))
        _match(cloud, "count" in arrays)
    return cloud


def _mask(count: np.ndarray, n: int, points: int) -> Tensor:
    """Mask of the valid points, (n, points), from numbers of points, (n,), or from a mask."""
    if count.shape == (n,) and count.dtype.kind in "iu":
        if count.min() < 1 or count.max() > points:
            raise InputError(
                f"Numbers of points must be from 1 to {points}, "
                f"but go from {count.min()} to {count.max()}."
            )
        return torch.arange(points)[None] < torch.from_numpy(count.astype(np.int64))[:, None]
    is_binary = count.dtype.kind in "biuf" and bool(((count == 0) | (count == 1)).all())
    if count.shape == (n, points) and is_binary:
        return torch.from_numpy(count.astype(bool))
    raise InputError(
        f"Numbers of points are integers ({n},), and a mask is of 0 and 1, ({n}, {points}), "
        f"but got {count.dtype} {count.shape}."
    )


def _match(cloud: dict[str, Tensor], counted: bool) -> None:
    """Validates charges against the mask; without one (`counted` is false), derives the mask."""
    charged = cloud["charges"] > 0
    if not counted:
        cloud["mask"] = charged
    empty = ~cloud["mask"].any(1)
    if empty.any():
        raise InputError(f"Sample {int(empty.nonzero()[0])} has no points: remove it.")
    wrong = (charged & ~cloud["mask"]).any(1)
    if wrong.any():
        i = int(wrong.nonzero()[0])
        raise InputError(
            "Charges must be 0 where there is no point, "
            f"but sample {i} has {int(cloud['mask'][i].sum())} points and "
            f"charges for {int(charged[i].sum())}."
        )


def _species(cloud: dict[str, Tensor]) -> str:
    return some([str(number) for number in cloud["charges"][cloud["mask"]].unique().tolist()], 12)


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return str(value)
