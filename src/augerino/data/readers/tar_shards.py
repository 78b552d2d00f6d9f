"""Tar shards in the webdataset format: `key.jpg` beside `key.cls` or `key.json`.

Shards are indexed in one pass over their headers: offset, size and label of every image, about
twenty bytes each. The images stay on disk and are read on demand. Nothing is unpacked or unpickled.
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
    """Names of the tar files in a folder and in its train, validation and test folders."""
    below = [file for file in folder.glob("*/*.tar") if file.parent.name.lower() in PARTS]
    files = [file for file in (*folder.glob("*.tar"), *below) if file.is_file()]
    if files:
        return sorted(os.path.relpath(file, folder) for file in files)
    names = sorted(file.name for file in folder.glob("*"))
    compressed = next((name for name in names if name.endswith((".tar.gz", ".tgz"))), None)
    if compressed is not None:
        raise InputError(
            f"{shown(compressed)} is compressed and cannot be read at random positions: "
            "decompress it into a .tar."
        )
    return []


def read(path: Path, options: ReadOptions) -> RawDataset:
    """Reads a shard, or a folder of shards: images with a class or a regression target each.

    The parts are recognised by the names of files and folders.
    """
    if path.is_dir():
        root = path
        files = parts_by_name(find_shards(path))
    else:
        root = path.parent
        files = {"train": [path.name]}
    notes: list[str] = []
    if len(files) > 1 and "train" not in files:
        raise InputError(
            f"{shown(path)} has no shard for training, but shards for: {some(list(files))}."
        )
    test, unused = choose_parts(list(files))
    if test == "validation":
        notes.append("There is no test part: the validation part is used for testing.")
    if unused:
        notes.append(f"Parts that are not used: {some(unused)}.")
    parts = list(files)
    if "train" in files:
        parts = [part for part in ("train", test) if part is not None]
    names = [name for part in parts for name in files[part]]
    indexed = []
    for i, name in enumerate(names):
        indexed.append(_index(root / name, name, options.target))
        report(options.on_progress, i + 1, len(names))
    pictures = TarPictures(root, names, indexed)
    loaded = streams.load(pictures, options)
    raw = RawDataset(
        kind="images",
        inputs=loaded.images,
        targets=_targets([shard.labels for shard in indexed])[loaded.kept],
        shape=loaded.form.shape,
        notes=[*notes, *loaded.notes],
        root=root,
        files=names,
    )
    if len(parts) > 1:
        train_shards = indexed[: len(files[parts[0]])]
        n_train = sum(len(shard.labels) for shard in train_shards)
        raw.test = loaded.kept >= n_train
    return raw


class TarPictures(ShardedPictures):
    """Images at known offsets in tar files."""

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
                f"{shown(self.name(i))} is truncated: the shard has become shorter."
            )
        return io.BytesIO(data)


def _read_at(file: BinaryIO, size: int, offset: int) -> bytes:
    # Forked processes share the position of an open file; pread does not use it.
    if hasattr(os, "pread"):
        return os.pread(file.fileno(), size, offset)
    file.seek(offset)
    return file.read(size)


class _Shard(NamedTuple):
    """Offset, size and label of every image in a shard, each (n,)."""

    offsets: np.ndarray
    sizes: np.ndarray
    labels: np.ndarray


def _index(path: Path, name: str, target: str | None) -> _Shard:
    """Indexes a shard in one pass over its headers."""
    pictures: dict[str, tuple[int, int]] = {}
    labels: dict[str, Any] = {}
    try:
        with open(path, "rb") as file:
            length = os.fstat(file.fileno()).st_size
            careful: Any = Careful(file)
            with tarfile.open(fileobj=careful, mode="r:") as tar:
                for member in tar:
                    tar.members.clear()  # type: ignore[attr-defined]  # tarfile would keep them all
                    _add(
                        member,
                        file,
                        length=length,
                        shard=name,
                        target=target,
                        pictures=pictures,
                        labels=labels,
                    )
                _check_end(file, tar.offset, name)
    except InputError:
        raise
    except Exception as error:  # tarfile may raise any exception for a damaged header
        lines = (str(error) or type(error).__name__).splitlines()
        raise InputError(
            f"{shown(name)} is not a readable tar file without compression: {shown(lines[0])}."
        ) from error
    if not pictures:
        raise InputError(
            f"The shard {shown(name)} contains no images: "
            "expected members such as 0001.jpg beside 0001.cls."
        )
    missing = next((key for key in pictures if key not in labels), None)
    if missing is not None:
        key = shown(missing)
        field = f"{', '.join(TARGET_NAMES[:3])}, ..."
        if target:
            field = f"'{shown(target)}'"
        raise InputError(
            f"The shard {shown(name)} has no label for {key}: "
            f"expected {key}.cls, or {key}.json with a field {field}."
        )
    positions = np.array(list(pictures.values()), dtype=np.int64)
    return _Shard(
        offsets=positions[:, 0],
        sizes=positions[:, 1].astype(np.int32),
        labels=_array([labels[key] for key in pictures], name),
    )


def _check_end(file: BinaryIO, offset: int, name: str) -> None:
    """Raises `InputError` unless the last member is followed by a block of zeros."""
    file.seek(offset)
    end = file.read(512)
    if len(end) == 512 and not any(end):
        return
    fault = "is truncated"
    if end:
        fault = "is damaged"
    raise InputError(
        f"The shard {shown(name)} {fault} at byte {offset}: copy it again, or remove it."
    )


def _add(
    member: tarfile.TarInfo,
    file: BinaryIO,
    *,
    length: int,
    shard: str,
    target: str | None,
    pictures: dict[str, tuple[int, int]],
    labels: dict[str, Any],
) -> None:
    """Adds a member to `pictures` or `labels`; ignores other members.

    Args:
        member: header of the member.
        file: the open shard.
        length: size of the shard in bytes.
        shard: name of the shard, for error messages.
        target: field of the JSON labels.
        pictures: key -> (offset, size).
        labels: key -> label.
    """
    folders, _, base = member.name.rpartition("/")
    if not member.isreg() or not base or base.startswith("."):
        return
    if member.name.startswith("/") or ".." in folders.split("/") or "\\" in member.name:
        raise InputError(
            f"The shard {shown(shard)} has a member whose name leads out of the archive, "
            f"{shown(member.name)}: remove it."
        )
    if member.offset_data + -(-member.size // 512) * 512 > length:  # contents fill whole blocks
        raise InputError(
            f"The shard {shown(shard)} is truncated within {shown(member.name)}: "
            "copy it again, or remove it."
        )
    stem, _, ending = base.partition(".")
    key = stem
    if folders:
        key = f"{folders}/{stem}"
    ending = ending.lower()
    is_picture = f".{ending}" in EXTENSIONS
    if is_picture or ending in ("cls", "json"):
        most = LARGEST_LABEL
        if is_picture:
            most = LARGEST_PICTURE
        if member.size > most or member.sparse is not None:
            raise InputError(
                f"{shown(member.name)} in {shown(shard)} has {member.size} bytes, "
                f"more than the limit of {most}."
            )
    if is_picture:
        if key in pictures:
            raise InputError(
                f"The shard {shown(shard)} has two images named {shown(key)}: "
                "give each a unique name."
            )
        pictures[key] = (member.offset_data, member.size)
    elif ending in ("cls", "json"):
        file.seek(member.offset_data)
        value = _label(
            file.read(member.size),
            ending,
            target=target,
            name=f"{shown(member.name)} in {shown(shard)}",
        )
        preferred = "json"
        if target is None:
            preferred = "cls"
        if value is not _MISSING and (key not in labels or ending == preferred):
            labels[key] = value


def _label(data: bytes, ending: str, *, target: str | None, name: str) -> Any:
    """Parses a label: a class number, a class name or a regression target.

    A JSON object is replaced by its field `target`, or by the first field with a usual name.
    """
    if ending == "cls":
        return _text_label(data, target=target, name=name)
    try:
        value = json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is not readable as JSON: {shown(error)}.") from error
    if isinstance(value, dict):
        fields = [*TARGET_NAMES, "cls"]
        if target is not None:
            fields = [target]
        value = next((value[field] for field in fields if field in value), _MISSING)
    if value is not _MISSING and (
        isinstance(value, bool) or not isinstance(value, int | float | str)
    ):
        raise InputError(
            f"{name} must contain a number or a name, but contains a {type(value).__name__}."
        )
    return value


def _text_label(data: bytes, *, target: str | None, name: str) -> Any:
    """Parses the label in a `.cls` member, which has no named fields."""
    try:
        text = data.decode().strip()
    except ValueError as error:
        raise InputError(f"{name} is not readable as text: {shown(error)}.") from error
    if target is not None:
        return _MISSING
    if _is_whole(text):
        return int(text)
    return text


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isdecimal() and len(text) < 16


def _array(labels: list[Any], name: str) -> np.ndarray:
    """Labels as int64 or float64 if all are numbers, otherwise as strings."""
    if not all(isinstance(label, int | float) for label in labels):
        return np.array([shown(label) for label in labels])
    dtype: type = np.float64
    if all(isinstance(label, int) for label in labels):
        dtype = np.int64
    try:
        return np.array(labels, dtype=dtype)
    except OverflowError as error:
        raise InputError(f"A label in {shown(name)} is a number out of range.") from error


def _targets(parts: list[np.ndarray]) -> np.ndarray:
    if any(part.dtype.kind == "U" for part in parts):
        parts = [part.astype(str) for part in parts]
    return np.concatenate(parts)
