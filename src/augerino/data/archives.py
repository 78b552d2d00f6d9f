"""Reading `.npz` archives of a known shape, without pickles and without trusting them."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from augerino.errors import InputError


def read_npz(path: Path, wanted: Mapping[str, tuple[int | None, ...]]) -> dict[str, np.ndarray]:
    """The wanted arrays of an archive, each read once; None in a shape stands for any length."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            missing = sorted(set(wanted) - set(archive.files))
            if missing:
                raise InputError(f"{path} has no array '{missing[0]}'; it holds: {', '.join(archive.files) or 'nothing'}.")
            arrays = {name: archive[name] for name in wanted}
    except InputError:
        raise
    except (OSError, ValueError, EOFError, AttributeError, TypeError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is not a readable .npz archive: {error}.") from error
    for name, shape in wanted.items():
        got = arrays[name].shape
        if len(got) != len(shape) or any(want not in (None, have) for want, have in zip(shape, got, strict=False)):
            said = "(" + ", ".join("any" if want is None else str(want) for want in shape) + ")"
            raise InputError(f"The array '{name}' in {path} should have shape {said}, but has {got}.")
    return arrays
