"""Loading of many encoded images: decoded into memory if they fit, otherwise read on demand."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler, Subset

from augerino.data.batches import count_batches
from augerino.data.process_slices import ProcessSliceSampler
from augerino.data.readers.naming import shown, some
from augerino.data.readers.pictures import (
    Form,
    Header,
    UnreadableImage,
    decode,
    describe_resizing,
    read_header,
)
from augerino.data.readers.raw import Progress, ReadOptions
from augerino.data.readers.shard_sampler import N_MIXED, ShardSampler
from augerino.errors import InputError
from augerino.runtime import distributed
from augerino.runtime.files import open_regular

Bad = dict[str, str]  # name of each unreadable image -> error message
HINT = "Repair or remove it, or skip unreadable files with --skip-bad."
MAX_HEADERS = 2000  # headers read in advance, if the shards are larger than MEMORY
MEMORY = 512 * 2**20  # bytes of decoded images; larger datasets are read on demand


class Pictures(ABC):
    """Encoded images by index. Subclasses must implement `__len__`, `name` and `open`.

    Images in shards (`ShardedPictures`) are read a few shards at a time.

    Attributes:
        shard_ends: index after the last image of each shard; None if the images are not in shards.
        n_mixed: number of shards that a random order mixes.
        n_bytes: total size of all shards.
    """

    shard_ends: np.ndarray | None = None
    n_mixed: int = N_MIXED
    n_bytes: int = 0

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def name(self, i: int) -> str: ...

    @abstractmethod
    def open(self, i: int) -> BinaryIO: ...


class Files(Pictures):
    """Image files below a folder.

    The names are stored as one block of bytes, which worker processes share instead of copying.
    """

    def __init__(self, root: str | Path, names: Sequence[str]) -> None:
        encoded = [os.fsencode(name) for name in names]
        self.root = str(root)
        self.block = b"".join(encoded)
        self.ends = np.cumsum([len(name) for name in encoded], dtype=np.int64)

    def __len__(self) -> int:
        return len(self.ends)

    def name(self, i: int) -> str:
        start = int(self.ends[i - 1]) if i else 0
        return os.fsdecode(self.block[start : int(self.ends[i])])

    def open(self, i: int) -> BinaryIO:
        return open_file(Path(self.root, self.name(i)), self.name(i))


def open_file(path: Path, name: str) -> BinaryIO:
    """Opens a regular file; rejects pipes and devices, on which reading could block forever."""
    try:
        return open_regular(path)
    except (OSError, ValueError) as error:
        raise UnreadableImage(
            f"{shown(name)} cannot be read: {getattr(error, 'strerror', None) or error}."
        ) from error


class ImageStream(Dataset[tuple[Tensor, Tensor]]):
    """A map-style dataset that decodes images on access; only names and targets are in memory.

    Args:
        pictures: the encoded images.
        form: shape and dtype of the decoded images.
        targets: indexed by image: a tensor, or masks that are read from disk as well.
        order: indices of the images in this dataset, (n,).
    """

    def __init__(self, pictures: Pictures, form: Form, targets: Any, order: np.ndarray) -> None:
        self.pictures = pictures
        self.form = form
        self.targets = targets
        self.order = order

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, k: int) -> tuple[Tensor, Tensor]:
        i = int(self.order[k])
        return self.image(i), self.targets[i]

    def only(self, items: Tensor) -> "ImageStream":
        """The samples with indices `items`; images in shards are sorted by shard."""
        chosen = self.order[items.numpy()]
        if self.pictures.shard_ends is not None:
            chosen = np.sort(chosen)
        return ImageStream(self.pictures, form=self.form, targets=self.targets, order=chosen)

    @property
    def shards(self) -> np.ndarray | None:
        """The shard of each sample, (n,); None if the images are not in shards."""
        if self.pictures.shard_ends is None:
            return None
        return np.searchsorted(self.pictures.shard_ends, self.order, side="right")

    def image(self, i: int) -> Tensor:
        """Decodes image i, (C, H, W)."""
        with skipping({}, False, self.pictures.name(i)), self.pictures.open(i) as file:
            return decode(file, self.pictures.name(i), self.form)


class StreamLoader(DataLoader[tuple[Tensor, Tensor]]):
    """A DataLoader that stops immediately at an unreadable image.

    If it shuffles, it drops a last batch that is too small for batch norm.

    torch raises a worker's error inside a reference cycle that includes the iterator. When the
    cycle is collected, the queues are gone before the workers receive the signal to stop, and torch
    waits five seconds for each of them. `__iter__` breaks the cycle.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        *,
        shuffle: bool = False,
        num_workers: int = 0,
        shared: bool = False,
    ) -> None:
        self.shared = shared
        self.together = batch_size  # samples per batch, of all processes together
        process = 0
        processes = 1
        if shared:
            process = distributed.rank()
            processes = distributed.world()
        n_batches = -(-len(dataset) // batch_size)
        drop_last = shuffle and count_batches(len(dataset), batch_size, processes) < n_batches
        shards = None
        if shuffle and isinstance(dataset, ImageStream):
            shards = dataset.shards
        if shards is not None:
            sampler = ShardSampler(
                shards,
                batch_size,
                process=process,
                processes=processes,
                workers=max(num_workers, 1),
                n_mixed=dataset.pictures.n_mixed,
            )
            super().__init__(dataset, batch_sampler=sampler, num_workers=num_workers)
        elif processes == 1:
            super().__init__(
                dataset,
                batch_size,
                shuffle=shuffle,
                num_workers=num_workers,
                drop_last=drop_last,
            )
        else:
            batches = BatchSampler(RandomSampler(dataset), batch_size, drop_last=drop_last)
            super().__init__(
                dataset, batch_sampler=ProcessSliceSampler(batches), num_workers=num_workers
            )

    def only(
        self, items: Tensor, *, batch_size: int | None = None, shuffle: bool = True
    ) -> "StreamLoader":
        """A loader of the samples with indices `items`."""
        if isinstance(self.dataset, ImageStream):
            subset: Any = self.dataset.only(items)
        else:
            subset = Subset(self.dataset, items.tolist())
        return StreamLoader(
            subset,
            batch_size or self.together,
            shuffle=shuffle,
            num_workers=self.num_workers,
            shared=self.shared and shuffle,
        )

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        iterator = super().__iter__()
        try:
            yield from iterator
        except UnreadableImage as error:
            error.__traceback__ = None  # breaks the cycle
            message = str(error)
            del iterator
        else:
            return
        raise UnreadableImage(message)


class Loaded(NamedTuple):
    """Images in memory or on disk, with their common form."""

    images: Tensor | ImageStream  # the readable images; (n, C, H, W) in memory
    form: Form
    kept: np.ndarray  # (n,), indices of the readable images
    notes: list[str]


def load(pictures: Pictures, options: ReadOptions, *, beside: int = 0) -> Loaded:
    """Reads image headers, chooses a common form, and decodes the images if they fit in memory.

    Images that do not fit are decoded on access. With `skip_bad` they are also decoded once in
    advance, to count the readable ones.

    Args:
        pictures: the encoded images.
        options: size, and whether unreadable images are skipped.
        beside: additional bytes per pixel, for a mask.
    """
    bad: Bad = {}
    readable, headers = _read_headers(pictures, options, bad)
    form = _choose_form(pictures, readable, headers, options)
    notes = _describe(headers, options)
    kept = readable
    if len(readable) + len(bad) < len(pictures):
        notes.append(
            f"Sizes and colours are those of {len(readable)} of the {len(pictures)} images: "
            "the others must have the same."
        )
        unreadable = np.setdiff1d(_choose_headers(pictures), readable)
        kept = np.setdiff1d(np.arange(len(pictures)), unreadable)
    fits = len(kept) * (form.size_in_bytes + beside * form.height * form.width) <= MEMORY
    decoded = torch.empty((0, *form.shape), dtype=form.dtype)
    if fits:
        decoded = torch.empty((len(kept), *form.shape), dtype=form.dtype)
    if fits or options.skip_bad:
        good = _decode_all(pictures, form, kept=kept, out=decoded, options=options, bad=bad)
        if len(good) < len(kept):
            kept = kept[good]
            if fits:
                decoded = decoded[torch.from_numpy(good)]
    if len(kept) == 0:
        raise InputError(
            f"None of the {len(pictures)} images can be read: {next(iter(bad.values()))}"
        )
    if bad:
        skipped = f"{len(bad)} unreadable files"
        if len(bad) == 1:
            skipped = "1 unreadable file"
        notes.append(f"{skipped} skipped: {some(list(bad))}.")
    if fits:
        return Loaded(decoded, form=form, kept=kept, notes=notes)
    notes.append(
        f"The {len(kept)} images exceed {MEMORY // 2**20} MB when decoded: "
        "they are read from disk as needed."
    )
    stream = ImageStream(pictures, form=form, targets=None, order=kept)
    return Loaded(stream, form=form, kept=kept, notes=notes)


def _read_headers(
    pictures: Pictures, options: ReadOptions, bad: Bad
) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the images with a readable header, (n,), and their headers, (n, 5)."""
    chosen = _choose_headers(pictures)
    rows = np.zeros((len(chosen), len(Header._fields)), dtype=np.int32)
    kept = []
    for place, i in enumerate(chosen.tolist()):
        with skipping(bad, options.skip_bad, pictures.name(i)), pictures.open(i) as file:
            rows[place] = read_header(file, pictures.name(i), resize=options.size is not None)
            kept.append(place)
        report(options.on_progress, place + 1, len(chosen))
    if kept:
        return chosen[kept], rows[kept]
    if bad:
        reason = next(iter(bad.values()))
        raise InputError(f"None of the {len(chosen)} images can be read: {reason}")
    raise InputError("There are no images.")


def _choose_headers(pictures: Pictures) -> np.ndarray:
    """Indices of the headers to read in advance: all, or a few per shard if shards are large."""
    if pictures.shard_ends is None or pictures.n_bytes <= MEMORY or len(pictures) <= MAX_HEADERS:
        return np.arange(len(pictures))
    n_each = max(1, MAX_HEADERS // len(pictures.shard_ends))
    starts = np.concatenate([[0], pictures.shard_ends[:-1]])
    ends = np.minimum(starts + n_each, pictures.shard_ends)
    return np.concatenate([np.arange(start, end) for start, end in zip(starts, ends, strict=True)])


def _choose_form(
    pictures: Pictures, kept: np.ndarray, headers: np.ndarray, options: ReadOptions
) -> Form:
    """The common form of all images.   kept: (n,)   headers: (n, 5)"""
    sizes = headers[:, :2]
    size = options.size
    if size is None:
        other = (sizes != sizes[0]).any(axis=1).nonzero()[0]
        if len(other):
            first_name = shown(pictures.name(int(kept[0])))
            other_name = shown(pictures.name(int(kept[other[0]])))
            h0, w0 = sizes[0]
            h1, w1 = sizes[other[0]]
            raise InputError(
                f"Images must be of one size, but {first_name} has {h0}×{w0} and "
                f"{other_name} {h1}×{w1} pixels: "
                f"choose one size for all, as in --size {min(h0, w0)}."
            )
        size = int(sizes[0, 0]), int(sizes[0, 1])
    channels = 3
    if headers[:, 2].all():
        channels = 1
    return Form(
        channels=channels,
        height=size[0],
        width=size[1],
        resize=options.size is not None,
        fine=bool(headers[:, 3].any()),
    )


def _describe(headers: np.ndarray, options: ReadOptions) -> list[str]:
    """Notes on the conversions of the images.   headers: (n, 5)"""
    sizes = headers[:, :2]
    n = len(headers)
    n_grey, n_fine, n_clear = (int(np.count_nonzero(headers[:, i])) for i in (2, 3, 4))
    notes = []
    if 0 < n_grey < n:
        notes.append(
            f"Grey and colour images are mixed ({n_grey} of {n} are grey): "
            "all are converted to RGB."
        )
    if n_fine:
        notes.append(f"{n_fine} of {n} images have 16 bits per value: divided by 65535.")
    if n_clear:
        notes.append(f"Transparent pixels of {n_clear} images are composited over black.")
    if options.size is not None and (sizes != options.size).any():
        low_height, low_width = sizes.min(axis=0).tolist()
        high_height, high_width = sizes.max(axis=0).tolist()
        notes.append(
            describe_resizing((low_height, low_width), (high_height, high_width), options.size)
        )
    return notes


def _decode_all(
    pictures: Pictures,
    form: Form,
    *,
    kept: np.ndarray,
    out: Tensor,
    options: ReadOptions,
    bad: Bad,
) -> np.ndarray:
    """Decodes all images, into `out` unless it is empty; returns the positions of readable ones."""
    good = []
    for place, i in enumerate(kept.tolist()):
        with skipping(bad, options.skip_bad, pictures.name(i)), pictures.open(i) as file:
            image = decode(file, pictures.name(i), form)
            if len(out):
                out[place] = image
            good.append(place)
        report(options.on_progress, place + 1, len(kept))
    return np.array(good, dtype=np.int64)


@contextmanager
def skipping(bad: Bad, skip: bool, name: str) -> Iterator[None]:
    """Records an unreadable image in `bad` if `skip`; otherwise adds a hint to its error."""
    try:
        yield
    except UnreadableImage as error:
        if not skip:
            raise UnreadableImage(f"{error} {HINT}") from error
        bad[name] = str(error)


def report(on_progress: Progress | None, done: int, total: int) -> None:
    """Calls `on_progress` about a hundred times in total."""
    if on_progress is not None and (done == total or done % max(1, total // 100) == 0):
        on_progress(done, total)
