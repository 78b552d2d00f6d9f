"""QM9 (Ramakrishnan et al. 2014): 130,831 small organic molecules with their properties.

Searches the user's folder, then the cache, for these forms in order, and downloads the archive if
none is found:

- `dsgdb9nsd.xyz.tar.bz2`, the published archive, with `uncharacterized.txt` beside it. It is read
  once, without the 3,054 molecules that failed the authors' consistency check, and stored in the
  cache as one `.npz`;
- `train.npz`, `valid.npz` and `test.npz`, as prepared by Cormorant (Anderson et al. 2019) and EGNN
  (Satorras et al. 2021): `positions` (N, P, 3) in angstrom, `charges` (N, P), `num_atoms` (N,),
  arrays `homo`, `lumo`, `U0`, ... in the published units, and `U0_thermo`, ... for free atoms;
- `qm9.npz`, then `qm9_small.npz`: the same arrays in one file, optionally with a `split` of
  0 train, 1 validation, 2 test.
"""

import difflib
import hashlib
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from augerino.data import downloads
from augerino.data.published import gdb9
from augerino.data.published.lookup import search_folders
from augerino.data.published.molecule_checks import check_molecules
from augerino.data.readers import archives
from augerino.data.readers.naming import shown
from augerino.data.readers.raw import Progress
from augerino.errors import InputError
from augerino.runtime.files import write_atomically

HARTREE_IN_MEV = 27211.386245988  # CODATA 2018
MOLECULES = 130_831
TRAIN = 100_000
TEST = 13_083  # the other 17,748 are for validation
ENERGIES = ("homo", "lumo", "gap", "zpve", "u0", "u", "h", "g")
ATOMIZED = ("u0", "u", "h", "g")  # measured relative to the free atoms
UNITS = dict.fromkeys(ENERGIES, "meV") | {
    "mu": "D",
    "alpha": "bohr³",
    "r2": "bohr²",
    "cv": "cal/(mol K)",
    "a": "GHz",
    "b": "GHz",
    "c": "GHz",
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
_ARCHIVE, _EXCLUDED, _REFERENCES = _REMOTES
_PARTS = ("train", "valid", "test")
_VERSION = 1  # format version of the file in the cache

Arrays = dict[str, np.ndarray]
Pair = tuple[dict[str, Tensor], Tensor]


@dataclass(frozen=True)
class Molecules:
    """Train, validation and test pairs (inputs, y), and the normalization of y.

    Inputs are a dict of positions (N, P, 3) in angstrom, charges (N, P), which are atomic numbers,
    and a mask (N, P), true for atoms; padding is zero. y = (target - mean) / scale, (N, 1). `mean`
    is the mean over the training part, and `scale` the mean absolute deviation from it, which is
    the error of a constant prediction.
    """

    train: Pair
    validation: Pair
    test: Pair
    target: str
    unit: str  # unit of mean, scale and errors
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
    """Loads QM9 with one property as the target.

    Energies are in meV. Those in `ATOMIZED` are relative to the free atoms of the molecule.

    Args:
        folder: folder to search before the cache.
        target: the property, one of `UNITS`.
        seed: seed of the split if the files have none, and of the choice of molecules.
        train: number of training molecules; None takes all.
        validation: number of validation molecules; None takes all.
        test: number of test molecules; None takes all.
        centre: moves the mean position of each molecule's atoms to the origin. In the published
            files it is about 1.6 angstrom away.
        on_progress: called with the number of bytes read and the size of the archive while it is
            read for the first time.
    """
    target = check_target(target)
    arrays, notes = _find(folder, target, on_progress)
    inputs = _inputs(arrays, centre)
    values = _values(arrays, target, folder, notes)
    counts = {"train": train, "validation": validation, "test": test}
    indices = _split(arrays, seed, notes)
    for i, (name, count) in enumerate(counts.items()):
        if count is not None:
            indices[name] = _choose(indices[name], count, name, seed=[seed, i])
    train_values = values[indices["train"]]
    mean = float(train_values.mean())
    scale = float(np.abs(train_values - mean).mean()) or 1.0
    y = torch.from_numpy((values - mean) / scale).float()[:, None]

    def part(name: str) -> Pair:
        index = torch.from_numpy(indices[name])
        return {key: value[index] for key, value in inputs.items()}, y[index]

    return Molecules(
        train=part("train"),
        validation=part("validation"),
        test=part("test"),
        target=target,
        unit=UNITS[target],
        mean=mean,
        scale=scale,
        notes=tuple(notes),
    )


def _choose(indices: np.ndarray, count: int, part: str, seed: list[int]) -> np.ndarray:
    """`count` random indices, sorted."""
    if not 1 <= count <= len(indices):
        raise InputError(
            f"There are {len(indices)} molecules for {part}, but {count} were requested."
        )
    return np.sort(np.random.default_rng(seed).permutation(indices)[:count])


def check_target(target: str) -> str:
    """The property in lower case; raises `InputError` if QM9 does not have it."""
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
    """The required arrays from the first form that is found, and notes on the source."""
    for place in search_folders(folder):
        if (place / _ARCHIVE).is_file():
            return _read_archive(place / _ARCHIVE, folder, on_progress)
        if all((place / f"{part}.npz").is_file() for part in _PARTS):
            parts = [_read_npz(place / f"{part}.npz", target) for part in _PARTS]
            for i, part in enumerate(parts):
                part["split"] = np.full(len(part["positions"]), i)
            names = ", ".join(f"{part}.npz" for part in _PARTS)
            return _joined(parts), [f"QM9 is read from {names}."]
        for name in ("qm9.npz", "qm9_small.npz"):
            if (place / name).is_file():
                return _read_npz(place / name, target), [f"QM9 is read from {name}."]
    return _read_archive(_fetched(_ARCHIVE, folder), folder, on_progress)


def _fetched(name: str, folder: str | Path | None) -> Path:
    path = downloads.find(name, folder)
    if path is not None:
        return path
    number, sha256 = _REMOTES[name]
    addresses = [base + number for base in _FIGSHARE]
    return downloads.fetch(downloads.Remote(name, addresses, sha256))


def _read_archive(
    path: Path, folder: str | Path | None, on_progress: Progress | None
) -> tuple[Arrays, list[str]]:
    """Reads the archive, or its contents from the cache if it was read before."""
    excluded = gdb9.read_excluded(_fetched(_EXCLUDED, folder))
    digest = hashlib.sha256(f"{_VERSION} {sorted(excluded)}".encode())
    with open(path, "rb") as file:
        while chunk := file.read(downloads.CHUNK):
            digest.update(chunk)
    cached = downloads.cache_folder() / f"qm9-{digest.hexdigest()[:16]}.npz"
    if cached.is_file():
        arrays = archives.load_npz(cached, list(archives.npz_headers(cached)))
        return arrays, [f"QM9 is read from {path.name}, as stored in the cache."]
    arrays = gdb9.read_archive(path, excluded, on_progress)
    notes = [
        f"QM9 is read from {path.name}: {len(arrays['index'])} molecules, "
        f"without those in {_EXCLUDED}."
    ]
    content = io.BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]
    try:
        cached.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(cached, content.getvalue())
    except (OSError, InputError) as error:  # the next reading is slower, nothing else
        notes.append(f"It could not be stored in the cache: {error}")
    return arrays, notes


def _read_npz(path: Path, target: str) -> Arrays:
    headers = archives.npz_headers(path)
    names = {name.lower(): name for name in headers}
    for name in ("positions", "charges", "num_atoms"):
        if name not in names:
            raise InputError(
                f"{shown(path)} should hold molecules, but has no array '{name}'; "
                f"it holds: {', '.join(headers)}."
            )
    if target not in names:
        known = [name for name in UNITS if name in names]
        raise InputError(
            f"{shown(path)} has no property '{target}'; it has: {', '.join(known) or 'none'}."
        )
    quantities = [name for name in (target, f"{target}_thermo") if name in names]
    optional = [name for name in ("index", "split") if name in names]
    wanted = ["positions", "charges", "num_atoms", *optional, *quantities]
    loaded = archives.load_npz(path, [names[name] for name in wanted])
    arrays = {name: loaded[names[name]] for name in wanted}
    check_molecules(shown(path), arrays, quantities)
    unknown = set(np.unique(arrays["charges"]).tolist()) - {0, *gdb9.ELEMENTS.values()}
    if unknown:
        raise InputError(
            f"{shown(path)} should hold molecules of {', '.join(gdb9.ELEMENTS)}, "
            f"but has an atom of charge {min(unknown):g}."
        )
    return arrays


def _joined(parts: list[Arrays]) -> Arrays:
    """Concatenates parts, padded to the largest molecule of all."""
    largest = max(part["charges"].shape[1] for part in parts)

    def padded(array: np.ndarray, name: str) -> np.ndarray:
        if name not in ("positions", "charges"):
            return array
        padding = [(0, 0), (0, largest - array.shape[1]), (0, 0)]
        return np.pad(array, padding[: array.ndim])

    names = [name for name in parts[0] if all(name in part for part in parts)]
    return {name: np.concatenate([padded(part[name], name) for part in parts]) for name in names}


def _inputs(arrays: Arrays, centre: bool) -> dict[str, Tensor]:
    positions = torch.from_numpy(arrays["positions"].astype(np.float32))
    count = torch.from_numpy(arrays["num_atoms"].astype(np.int64))
    mask = torch.arange(positions.shape[1]) < count[:, None]
    positions = torch.where(mask[..., None], positions, 0.0)
    if centre:
        center = positions.sum(1, keepdim=True) / count[:, None, None]
        positions = torch.where(mask[..., None], positions - center, 0.0)
    return {
        "positions": positions,
        "charges": torch.from_numpy(arrays["charges"].astype(np.int64)),
        "mask": mask,
    }


def _values(arrays: Arrays, target: str, folder: str | Path | None, notes: list[str]) -> np.ndarray:
    """The target of every molecule in its unit, (N,)."""
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
    """Indices of the train, validation and test molecules: as in the files, or drawn.

    A drawn split has 100,000 / 17,748 / 13,083 molecules, or the same proportions.
    """
    n = len(arrays["positions"])
    if "split" in arrays:
        parts = _stored_split(arrays["split"].ravel(), n)
        origin = "as in the files"
    else:
        parts = _drawn_split(n, seed)
        origin = f"drawn with seed {seed}"
    names = ("train", "validation", "test")
    sizes = [f"{len(part)} {name}" for name, part in zip(names, parts, strict=True)]
    notes.append(f"Split {origin}: {', '.join(sizes)}.")
    return dict(zip(names, parts, strict=True))


def _stored_split(split: np.ndarray, n: int) -> list[np.ndarray]:
    if len(split) != n or set(np.unique(split).tolist()) != {0, 1, 2}:
        raise InputError(
            "The array 'split' of QM9 must hold 0 for train, 1 for validation or 2 for test "
            "for every molecule."
        )
    return [np.flatnonzero(split == part) for part in range(3)]


def _drawn_split(n: int, seed: int) -> list[np.ndarray]:
    train = TRAIN if n >= MOLECULES else round(n * TRAIN / MOLECULES)
    test = round(n * TEST / MOLECULES)
    if min(train, test, n - train - test) < 1:
        raise InputError(f"QM9 is split into three parts, but there are only {n} molecules.")
    order = np.random.default_rng(seed).permutation(n)
    return [np.sort(part) for part in np.split(order, [train, n - test])]
