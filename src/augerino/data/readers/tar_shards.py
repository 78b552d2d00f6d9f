"""Folders of tar shards, as webdataset writes them: `key.jpg` beside `key.cls` or `key.json`. Nothing is unpacked or unpickled.

Shards are looked over once, header by header, for where each picture begins and what its label is; the pictures themselves
stay on disk and are read one by one. So what is in memory is some twenty bytes a picture, however large the shards are.
"""

import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from augerino.data.readers import streams
from augerino.data.readers.naming import (
    PARTS,
    TARGET_NAMES,
    choose_parts,
    parts_by_name,
    shown,
    some,
)
from augerino.data.readers.pictures import EXTENSIONS, UnreadableImage
from augerino.data.readers.raw import RawDataset, ReadOptions
from augerino.data.readers.sharded import ShardedPictures
from augerino.data.readers.streams import report
from augerino.data.readers.tarballs import Careful
from augerino.errors import InputError

LARGEST_PICTURE = 2**28  # bytes
LARGEST_LABEL = 2**16
_MISSING = object()


def find_shards(folder: Path) -> list[str]:
    """The names of the tar files of a folder, and of the folders in it that are parts."""
    below = [file for file in folder.glob("*/*.tar") if file.parent.name.lower() in PARTS]
    found = sorted(
        os.path.relpath(file, folder) for file in (*folder.glob("*.tar"), *below) if file.is_file()
    )
    if not found and (
        packed := sorted(
            file.name for file in folder.glob("*") if file.name.endswith((".tar.gz", ".tgz"))
        )
    ):
        raise InputError(
            f"{shown(packed[0])} is compressed, and can only be read from its beginning: unpack it into a .tar."
        )
    return found


def read(path: Path, options: ReadOptions) -> RawDataset:
    """Reads a folder of shards, or one: images with a class or a quantity each. Names of files or folders tell parts apart."""
    root = path if path.is_dir() else path.parent
    files = parts_by_name(find_shards(path)) if path.is_dir() else {"train": [path.name]}
    notes: list[str] = []
    if len(files) > 1 and "train" not in files:
        raise InputError(f"{shown(path)} has no shard for training, but for: {some(list(files))}.")
    test, unused = choose_parts(list(files))
    if test == "validation":
        notes.append("There is no test part: the validation part is used for testing.")
    if unused:
        notes.append(f"Parts that are not used: {some(unused)}.")
    parts = (
        ["train"] + ([test] if test is not None and "train" in files else [])
        if "train" in files
        else list(files)
    )
    names = [name for part in parts for name in files[part]]
    indexed = []
    for i, name in enumerate(names):
        indexed.append(_index(root / name, name, options.target))
        report(options.on_progress, i + 1, len(names))
    pictures = TarPictures(root, names, indexed)
    loaded = streams.load(pictures, options)
    raw = RawDataset(
        "images",
        loaded.images,
        None,
        loaded.form.shape,
        notes=[*notes, *loaded.notes],
        root=root,
        files=names,
    )
    raw.targets = _targets([shard.labels for shard in indexed])[loaded.kept]
    if len(parts) > 1:
        raw.test = loaded.kept >= sum(
            len(shard.labels) for shard in indexed[: len(files[parts[0]])]
        )
    return raw


class TarPictures(ShardedPictures):
    """Images at known offsets of tar files."""

    n_open = 64

    def __init__(self, root: Path, shards: list[str], indexed: "list[_Shard]") -> None:
        self.root = str(root)
        self.shards = shards
        self.offsets = np.concatenate([shard.offsets for shard in indexed])
        self.sizes = np.concatenate([shard.sizes for shard in indexed])
        lengths = [len(shard.offsets) for shard in indexed]
        super().__init__(lengths, n_bytes=int(self.sizes.sum(dtype=np.int64)))

    def open_shard(self, number: int) -> BinaryIO:
        return open(Path(self.root, self.shards[number]), "rb")

    def close_shard(self, opened: BinaryIO) -> None:
        opened.close()

    def name(self, i: int) -> str:
        shard, place = self.locate(i)
        return f"picture {place} of {self.shards[shard]}"

    def open(self, i: int) -> BinaryIO:
        shard, _ = self.locate(i)
        size = int(self.sizes[i])
        try:
            data = _read_at(self.shard(shard), size, int(self.offsets[i]))
        except OSError as error:
            raise UnreadableImage(
                f"{shown(self.name(i))} cannot be read: {error.strerror or error}."
            ) from error
        if len(data) < size:
            raise UnreadableImage(
                f"{shown(self.name(i))} is cut off: the shard has become shorter."
            )
        return io.BytesIO(data)


def _read_at(file: BinaryIO, size: int, offset: int) -> bytes:
    if hasattr(
        os, "pread"
    ):  # processes that were forked share a file's position, but need none here
        return os.pread(file.fileno(), size, offset)
    file.seek(offset)
    return file.read(size)


class _Shard(NamedTuple):
    offsets: np.ndarray
    sizes: np.ndarray
    labels: np.ndarray


def _index(path: Path, name: str, target: str | None) -> _Shard:
    """Where the pictures of a shard lie, and their labels, in the order of the pictures."""
    pictures: dict[str, tuple[int, int]] = {}
    labels: dict[str, Any] = {}
    try:
        with open(path, "rb") as file:
            length = os.fstat(file.fileno()).st_size
            careful: Any = Careful(file)
            with tarfile.open(fileobj=careful, mode="r:") as tar:
                for member in tar:
                    tar.members.clear()  # type: ignore[attr-defined]  # tarfile would keep them all
                    _add(member, file, length, name, target, pictures, labels)
                file.seek(
                    tar.offset
                )  # where it found no further header: zeros, if the file is whole
                end = file.read(512)
                if len(end) < 512 or any(end):
                    what = "is damaged" if end else "is cut off"
                    raise InputError(
                        f"The shard {shown(name)} {what} at byte {tar.offset}: copy it again, or remove it."
                    )
    except InputError:
        raise
    except Exception as error:  # a damaged header leads tarfile to raise whatever it may
        lines = (str(error) or type(error).__name__).splitlines()
        raise InputError(
            f"{shown(name)} is not a readable tar file without compression: {shown(lines[0])}."
        ) from error
    if not pictures:
        raise InputError(
            f"The shard {shown(name)} holds no pictures: expected members such as 0001.jpg beside 0001.cls."
        )
    lacking = next((key for key in pictures if key not in labels), None)
    if lacking is not None:
        column = (
            f"a field '{shown(target)}'"
            if target
            else f"a field {', '.join(TARGET_NAMES[:3])}, ..."
        )
        raise InputError(
            f"The shard {shown(name)} has no label for {shown(lacking)}: expected {shown(lacking)}.cls, or {shown(lacking)}.json "
            f"with {column}."
        )
    where = np.array(list(pictures.values()), dtype=np.int64)
    return _Shard(
        where[:, 0], where[:, 1].astype(np.int32), _array([labels[key] for key in pictures], name)
    )


def _add(
    member: tarfile.TarInfo,
    file: BinaryIO,
    length: int,
    shard: str,
    target: str | None,
    pictures: dict[str, tuple[int, int]],
    labels: dict[str, Any],
) -> None:
    """Notes one member: a picture, a label, or nothing of interest."""
    folders, _, base = member.name.rpartition("/")
    if not member.isreg() or not base or base.startswith("."):
        return
    if member.name.startswith("/") or ".." in folders.split("/") or "\\" in member.name:
        raise InputError(
            f"The shard {shown(shard)} has a member whose name climbs out of it, {shown(member.name)}: remove it."
        )
    if member.offset_data + -(-member.size // 512) * 512 > length:  # contents fill whole blocks
        raise InputError(
            f"The shard {shown(shard)} is cut off within {shown(member.name)}: copy it again, or remove it."
        )
    stem, _, ending = base.partition(".")
    key, ending = f"{folders}/{stem}" if folders else stem, ending.lower()
    is_picture = f".{ending}" in EXTENSIONS
    if is_picture or ending in ("cls", "json"):
        most = LARGEST_PICTURE if is_picture else LARGEST_LABEL
        if member.size > most or member.sparse is not None:
            raise InputError(
                f"{shown(member.name)} in {shown(shard)} has {member.size} bytes, more than the {most} that are read."
            )
    if is_picture:
        if key in pictures:
            raise InputError(
                f"The shard {shown(shard)} has two pictures called {shown(key)}: give each a name of its own."
            )
        pictures[key] = (member.offset_data, member.size)
    elif ending in ("cls", "json"):
        file.seek(member.offset_data)
        value = _label(
            file.read(member.size), ending, target, f"{shown(member.name)} in {shown(shard)}"
        )
        if value is not _MISSING and (
            key not in labels or ending == ("cls" if target is None else "json")
        ):
            labels[key] = value


def _label(data: bytes, ending: str, target: str | None, name: str) -> Any:
    """A class number, a name or a quantity; of a JSON object the field that is asked for, or has a usual name."""
    try:
        text = data.decode()
        value = text.strip() if ending == "cls" else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{name} is not readable as {'text' if ending == 'cls' else 'JSON'}: {shown(error)}."
        ) from error
    if ending == "cls":
        return _MISSING if target is not None else int(value) if _is_whole(value) else value
    if isinstance(value, dict):
        fields = [target] if target is not None else [*TARGET_NAMES, "cls"]
        value = next((value[field] for field in fields if field in value), _MISSING)
    if value is not _MISSING and (
        isinstance(value, bool) or not isinstance(value, int | float | str)
    ):
        raise InputError(
            f"{name} should give a number or a name, but gives a {type(value).__name__}."
        )
    return value


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isdecimal() and len(text) < 16


def _array(labels: list[Any], name: str) -> np.ndarray:
    """Labels as compactly as they can be: numbers if all are."""
    if all(isinstance(label, int | float) for label in labels):
        try:
            return np.array(
                labels,
                dtype=np.int64 if all(isinstance(label, int) for label in labels) else np.float64,
            )
        except OverflowError as error:
            raise InputError(f"A label in {shown(name)} is a number out of range.") from error
    return np.array([shown(label) for label in labels])


def _targets(parts: list[np.ndarray]) -> np.ndarray:
    named = any(part.dtype.kind == "U" for part in parts)
    return np.concatenate([part.astype(str) if named else part for part in parts])
