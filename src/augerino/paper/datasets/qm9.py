"""QM9 (Ramakrishnan et al. 2014): 130,831 small organic molecules with their properties, ready to be learned.

Looked for in a folder of the user's, then in the cache, each time in this order:

- `dsgdb9nsd.xyz.tar.bz2`, the archive as published, with `uncharacterized.txt` beside it. It is read once, without the 3,054
  molecules that failed the authors' consistency check, and kept in the cache as one `.npz`;
- `train.npz`, `valid.npz` and `test.npz`, as Cormorant (Anderson et al. 2019) and EGNN (Satorras et al. 2021) prepare them:
  `positions` (N, P, 3) in angstrom, `charges` (N, P), `num_atoms` (N,), and arrays `homo`, `lumo`, `U0`, ... in the published
  units, with `U0_thermo` and so on where the energies of free atoms are;
- `qm9.npz`, then `qm9_small.npz`: the same arrays in one file, which may have a `split` of 0 train, 1 validation, 2 test.

What is in none of them is downloaded.
"""

import difflib
import hashlib
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from augerino.data import downloads as cache
from augerino.data.readers import archives
from augerino.data.readers.naming import shown
from augerino.data.readers.raw import Progress
from augerino.errors import InputError
from augerino.paper.datasets import gdb9
from augerino.paper.datasets.molecules import check_molecules
from augerino.runtime.files import write_atomically

HARTREE_IN_MEV = 27211.386245988  # CODATA 2018
MOLECULES, TRAIN, TEST = 130_831, 100_000, 13_083  # the rest, 17,748, is for validation
ENERGIES = ("homo", "lumo", "gap", "zpve", "u0", "u", "h", "g")
ATOMIZED = ("u0", "u", "h", "g")  # taken relative to the free atoms
UNITS = {
    **dict.fromkeys(ENERGIES, "meV"),
    **{
        "mu": "D",
        "alpha": "bohr³",
        "r2": "bohr²",
        "cv": "cal/(mol K)",
        "a": "GHz",
        "b": "GHz",
        "c": "GHz",
    },
}
_FIGSHARE = (
    "https://ndownloader.figshare.com/files/",
    "https://springernature.figshare.com/ndownloader/files/",
)
_REMOTES = {
    "dsgdb9nsd.xyz.tar.bz2": (
        "3195389",
        "3a63848ac80691bdb8d41834b575afad345b9300d7a2db0c38adb7f6eaa8360c",
    ),
    "uncharacterized.txt": (
        "3195404",
        "3aa5115d540b356de94791d4a74c3bf1ed91c469ecf52a4f5d7cc0506fe02e24",
    ),
    "atomref.txt": ("3195395", "af739d4a0fbe894a56f346ad6045ee1b74c58f8a8c9ef3fbfed920c9ad8b00f9"),
}
_ARCHIVE, _LEFT_OUT, _REFERENCES = _REMOTES
_PARTS = ("train", "valid", "test")
_VERSION = 1  # of what is kept in the cache

Arrays = dict[str, np.ndarray]
Pair = tuple[dict[str, Tensor], Tensor]


@dataclass(frozen=True)
class Molecules:
    """Three parts, each a pair (inputs, y), and how to read y.

    Inputs are a dict of positions (N, P, 3) in angstrom, charges (N, P), which are atomic numbers, and a mask (N, P), true where
    there is an atom; padding is zero. y (N, 1) is the target less `mean`, in multiples of `scale`: the mean over the training
    part, and the mean absolute deviation from it, which is the error of a constant guess.
    """

    train: Pair
    validation: Pair
    test: Pair
    target: str
    unit: str  # of mean and scale, and of errors
    mean: float
    scale: float
    notes: tuple[str, ...]

    def error(self, prediction: Tensor, y: Tensor) -> float:
        """The mean absolute error of predictions of y, in `unit`."""
        return self.scale * (prediction - y).abs().mean().item()


def qm9(
    folder: str | Path | None = None,
    *,
    target: str = "homo",
    seed: int = 0,
    train: int | None = None,
    validation: int | None = None,
    test: int | None = None,
    centre: bool = False,
    on_progress: Progress | None = None,
) -> Molecules:
    """Loads QM9 with one property as the target: energies in meV, those of whole molecules relative to their free atoms.

    Args:
        folder: where the data may be.
        target: the property, one of `UNITS`.
        seed: of the split where the files have none, and of which molecules are taken where not all are.
        train: how many molecules to train on; None takes all. `validation` and `test` likewise.
        centre: moves the mean position of each molecule's atoms to the origin. As published they are some 1.6 angstrom off it.
        on_progress: called with how many bytes of the archive are read, of how many, when that is read for the first time.
    """
    target = check_target(target)
    arrays, notes = _find(folder, target, on_progress)
    inputs = _inputs(arrays, centre)
    values = _values(arrays, target, folder, notes)
    places = list(_split(arrays, seed, notes).values())
    wanted = {"train": train, "validation": validation, "test": test}
    for i, (name, count) in enumerate(wanted.items()):
        if count is not None:
            if not 1 <= count <= len(places[i]):
                raise InputError(
                    f"There are {len(places[i])} molecules for {name}, but {count} were asked for."
                )
            places[i] = np.sort(np.random.default_rng([seed, i]).permutation(places[i])[:count])
    mean = float(values[places[0]].mean())
    scale = float(np.abs(values[places[0]] - mean).mean()) or 1.0
    y = torch.from_numpy((values - mean) / scale).float()[:, None]
    parts = []
    for place in places:
        index = torch.from_numpy(place)
        parts.append(({key: value[index] for key, value in inputs.items()}, y[index]))
    return Molecules(parts[0], parts[1], parts[2], target, UNITS[target], mean, scale, tuple(notes))


def check_target(target: str) -> str:
    """A known property, in lower case; or a sentence that lists them."""
    known = target.lower()
    if known not in UNITS:
        near = difflib.get_close_matches(known, UNITS, n=1)
        hint = f"Did you mean '{near[0]}'? " if near else ""
        raise InputError(
            f"QM9 has no property '{shown(target)}'. {hint}It has: {', '.join(UNITS)}."
        )
    return known


def _find(
    folder: str | Path | None, target: str, on_progress: Progress | None
) -> tuple[Arrays, list[str]]:
    """The arrays that are needed, from the first form there is."""
    for place in ([Path(folder)] if folder is not None else []) + [cache.cache_folder()]:
        if (place / _ARCHIVE).is_file():
            return _read_archive(place / _ARCHIVE, folder, on_progress)
        if all((place / f"{part}.npz").is_file() for part in _PARTS):
            parts = [_read_npz(place / f"{part}.npz", target) for part in _PARTS]
            for i, part in enumerate(parts):
                part["split"] = np.full(len(part["positions"]), i)
            return _joined(parts), [
                f"QM9 is read from {', '.join(f'{part}.npz' for part in _PARTS)}."
            ]
        for name in ("qm9.npz", "qm9_small.npz"):
            if (place / name).is_file():
                return _read_npz(place / name, target), [f"QM9 is read from {name}."]
    return _read_archive(_fetched(_ARCHIVE, folder), folder, on_progress)


def _fetched(name: str, folder: str | Path | None) -> Path:
    number, sha256 = _REMOTES[name]
    return cache.find(name, folder) or cache.fetch(
        cache.Remote(name, [base + number for base in _FIGSHARE], sha256)
    )


def _read_archive(
    path: Path, folder: str | Path | None, on_progress: Progress | None
) -> tuple[Arrays, list[str]]:
    """Reads the archive, or what was kept of it the first time."""
    left_out = gdb9.read_left_out(_fetched(_LEFT_OUT, folder))
    digest = hashlib.sha256(f"{_VERSION} {sorted(left_out)}".encode())
    with open(path, "rb") as file:
        while chunk := file.read(cache.CHUNK):
            digest.update(chunk)
    kept = cache.cache_folder() / f"qm9-{digest.hexdigest()[:16]}.npz"
    if kept.is_file():
        return archives.load_npz(kept, list(archives.npz_headers(kept))), [
            f"QM9 is read from {path.name}, as kept in the cache."
        ]
    arrays = gdb9.read_archive(path, left_out, on_progress)
    notes = [
        f"QM9 is read from {path.name}: {len(arrays['index'])} molecules, without those in {_LEFT_OUT}."
    ]
    content = io.BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(kept, content.getvalue())
    except (OSError, InputError) as error:  # only the next reading is slower for it
        notes.append(f"It could not be kept in the cache: {error}")
    return arrays, notes


def _read_npz(path: Path, target: str) -> Arrays:
    headers = archives.npz_headers(path)
    names = {name.lower(): name for name in headers}
    for name in ("positions", "charges", "num_atoms"):
        if name not in names:
            raise InputError(
                f"{shown(path)} should hold molecules, but has no array '{name}'; it holds: {', '.join(headers)}."
            )
    if target not in names:
        known = [name for name in UNITS if name in names]
        raise InputError(
            f"{shown(path)} has no property '{target}'; it has: {', '.join(known) or 'none'}."
        )
    wanted = [
        n
        for n in ("positions", "charges", "num_atoms", "index", "split", target, f"{target}_thermo")
        if n in names
    ]
    loaded = archives.load_npz(path, [names[name] for name in wanted])
    arrays = {name: loaded[names[name]] for name in wanted}
    check_molecules(
        shown(path), arrays, [name for name in (target, f"{target}_thermo") if name in arrays]
    )
    strange = set(np.unique(arrays["charges"]).tolist()) - {0, *gdb9.ELEMENTS.values()}
    if strange:
        raise InputError(
            f"{shown(path)} should hold molecules of {', '.join(gdb9.ELEMENTS)}, but has an atom of charge {min(strange):g}."
        )
    return arrays


def _joined(parts: list[Arrays]) -> Arrays:
    """Parts one behind the other, padded to the largest molecule of all."""
    largest = max(part["charges"].shape[1] for part in parts)

    def wide(array: np.ndarray, name: str) -> np.ndarray:
        if name not in ("positions", "charges"):
            return array
        padding = [(0, 0), (0, largest - array.shape[1]), (0, 0)]
        return np.pad(array, padding[: array.ndim])

    names = [name for name in parts[0] if all(name in part for part in parts)]
    return {name: np.concatenate([wide(part[name], name) for part in parts]) for name in names}


def _inputs(arrays: Arrays, centre: bool) -> dict[str, Tensor]:
    positions = torch.from_numpy(arrays["positions"].astype(np.float32))
    count = torch.from_numpy(arrays["num_atoms"].astype(np.int64))
    mask = torch.arange(positions.shape[1]) < count[:, None]
    positions = torch.where(mask[..., None], positions, 0.0)
    if centre:
        middle = positions.sum(1, keepdim=True) / count[:, None, None]
        positions = torch.where(mask[..., None], positions - middle, 0.0)
    return {
        "positions": positions,
        "charges": torch.from_numpy(arrays["charges"].astype(np.int64)),
        "mask": mask,
    }


def _values(arrays: Arrays, target: str, folder: str | Path | None, notes: list[str]) -> np.ndarray:
    """The target of every molecule in its unit."""
    values = arrays[target].astype(np.float64)
    if target in ATOMIZED:
        if f"{target}_thermo" in arrays:
            atoms = arrays[f"{target}_thermo"].astype(np.float64)
        else:
            references = gdb9.read_references(_fetched(_REFERENCES, folder))[target]
            atoms = references[arrays["charges"].astype(np.int64)].sum(1)
        values = values - atoms
        notes.append(f"'{target}' is relative to the free atoms.")
    return values * HARTREE_IN_MEV if target in ENERGIES else values


def _split(arrays: Arrays, seed: int, notes: list[str]) -> dict[str, np.ndarray]:
    """The places of each part's molecules: as the files say, or drawn, 100,000 / 17,748 / 13,083 or in that proportion."""
    names = ("train", "validation", "test")
    n = len(arrays["positions"])
    if "split" in arrays:
        split = arrays["split"].ravel()
        if len(split) != n or not set(np.unique(split).tolist()) == {0, 1, 2}:
            raise InputError(
                "The array 'split' of QM9 must say 0 for train, 1 for validation or 2 for test for every molecule."
            )
        places = [np.flatnonzero(split == part) for part in range(3)]
        how = "as the files say"
    else:
        train = TRAIN if n >= MOLECULES else round(n * TRAIN / MOLECULES)
        test = round(n * TEST / MOLECULES)
        if min(train, test, n - train - test) < 1:
            raise InputError(f"QM9 is split into three parts, but there are only {n} molecules.")
        order = np.random.default_rng(seed).permutation(n)
        places = [np.sort(part) for part in np.split(order, [train, n - test])]
        how = f"drawn with seed {seed}"
    notes.append(
        f"Parts {how}: "
        + ", ".join(f"{len(place)} {name}" for name, place in zip(names, places, strict=True))
        + "."
    )
    return dict(zip(names, places, strict=True))
