"""Many image files: looked over once, then decoded into memory if they are small together, or read from disk as needed."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler, Sampler, Subset

from augerino.data.batches import count_batches
from augerino.data.readers.naming import shown, some
from augerino.data.readers.pictures import Form, Header, UnreadableImage, decode, read_header
from augerino.data.readers.raw import Progress, ReadOptions
from augerino.data.readers.shard_sampler import N_MIXED, ShardSampler
from augerino.data.readers.sizes import describe_resizing
from augerino.errors import InputError
from augerino.runtime import distributed

Bad = dict[str, str]  # unreadable images: their names, and the sentence about each
MEND = "Repair or remove it, or skip bad files with --skip-bad."
LOOKED = 2000  # images whose headers are read beforehand, if shards are larger than MEMORY
MEMORY = 512 * 2**20  # bytes of decoded images that are held in memory; more is read from disk


class Pictures(ABC):
    """Encoded images by number. A subclass says how many there are, what each is called, and opens one.

    Images in shards (`ShardedPictures`) are read a few shards at a time.

    Attributes:
        shard_ends: index after the last image of each shard; None if the images are not in shards.
        n_mixed: shards that a random order mixes.
        n_bytes: size of all shards together.
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
    """Image files below a folder. Their names are kept as one block of bytes, which worker processes share instead of copying."""

    def __init__(self, root: str | Path, names: Sequence[str]) -> None:
        encoded = [os.fsencode(name) for name in names]
        self.root = str(root)
        self.block = b"".join(encoded)
        self.ends = np.cumsum([len(name) for name in encoded], dtype=np.int64)

    def __len__(self) -> int:
        return len(self.ends)

    def name(self, i: int) -> str:
        return os.fsdecode(self.block[int(self.ends[i - 1]) if i else 0 : int(self.ends[i])])

    def open(self, i: int) -> BinaryIO:
        return open_file(Path(self.root, self.name(i)), self.name(i))


def open_file(path: Path, name: str) -> BinaryIO:
    """Opens a regular file; a pipe or a device of that name could make reading wait for ever."""
    try:
        if not path.is_file():
            raise FileNotFoundError(2, "it is not a file")
        return open(path, "rb")
    except (OSError, ValueError) as error:
        raise UnreadableImage(
            f"{shown(name)} cannot be read: {getattr(error, 'strerror', None) or error}."
        ) from error


class ImageStream(Dataset[tuple[Tensor, Tensor]]):
    """A map-style dataset that decodes image k when it is asked for, and holds names and targets only.

    Args:
        pictures: the encoded images.
        form: what each is brought to.
        targets: by the number of the image: a tensor, or masks that are read from disk as well.
        order: the numbers of the images that belong to this dataset.
    """

    def __init__(self, pictures: Pictures, form: Form, targets: Any, order: np.ndarray) -> None:
        self.pictures, self.form, self.targets, self.order = pictures, form, targets, order

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, k: int) -> tuple[Tensor, Tensor]:
        i = int(self.order[k])
        return self.image(i), self.targets[i]

    def only(self, items: Tensor) -> "ImageStream":
        """Some of the samples; of images in shards in the order of the shards."""
        chosen = self.order[items.numpy()]
        return ImageStream(
            self.pictures,
            self.form,
            self.targets,
            chosen if self.pictures.shard_ends is None else np.sort(chosen),
        )

    @property
    def shards(self) -> np.ndarray | None:
        """The shard of each sample, (n,); None if the images are not in shards."""
        return (
            None
            if self.pictures.shard_ends is None
            else np.searchsorted(self.pictures.shard_ends, self.order, side="right")
        )

    def image(self, i: int) -> Tensor:
        with skipping({}, False, self.pictures.name(i)), self.pictures.open(i) as file:
            return decode(file, self.pictures.name(i), self.form)


class StreamLoader(DataLoader[tuple[Tensor, Tensor]]):
    """A DataLoader that ends at once when an image cannot be read, and leaves out a last batch of one if it shuffles.

    torch raises a worker's error in a reference cycle that holds the iterator; when it is collected at last, its queues are gone
    before the workers can be told to stop, and each is waited for five seconds.
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
        self.shared, self.together = shared, batch_size
        processes = distributed.world() if shared else 1
        lone = shuffle and count_batches(len(dataset), batch_size, processes) < -(
            -len(dataset) // batch_size
        )
        shards = dataset.shards if shuffle and isinstance(dataset, ImageStream) else None
        if shards is not None:
            readers = {
                "processes": processes,
                "process": distributed.rank() if shared else 0,
                "workers": max(num_workers, 1),
            }
            near = ShardSampler(shards, batch_size, n_mixed=dataset.pictures.n_mixed, **readers)
            super().__init__(dataset, batch_sampler=near, num_workers=num_workers)
        elif processes == 1:
            super().__init__(
                dataset, batch_size, shuffle=shuffle, num_workers=num_workers, drop_last=lone
            )
        else:
            batches = BatchSampler(RandomSampler(dataset), batch_size, drop_last=lone)
            super().__init__(
                dataset, batch_sampler=ProcessSliceSampler(batches), num_workers=num_workers
            )

    def only(
        self, items: Tensor, *, batch_size: int | None = None, shuffle: bool = True
    ) -> "StreamLoader":
        """A loader of some items only."""
        size, shared = batch_size or self.together, self.shared and shuffle
        some = (
            self.dataset.only(items)
            if isinstance(self.dataset, ImageStream)
            else Subset(self.dataset, items.tolist())
        )
        return StreamLoader(
            some, size, shuffle=shuffle, num_workers=self.num_workers, shared=shared
        )

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        iterator = super().__iter__()
        try:
            yield from iterator
        except UnreadableImage as error:
            error.__traceback__ = None  # opens the cycle
            sentence = str(error)
            del iterator
        else:
            return
        raise UnreadableImage(sentence)


class ProcessSliceSampler(Sampler[list[int]]):
    """This process's slice of every batch, so that it loads no other samples. All processes must draw the same order."""

    def __init__(self, batches: BatchSampler) -> None:
        self.batches = batches

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[list[int]]:
        for batch in self.batches:
            yield batch[distributed.rank() :: distributed.world()]


class Loaded(NamedTuple):
    """Images looked over: a tensor of those that can be read, or a stream; which those are; and what there is to say."""

    images: Tensor | ImageStream
    form: Form
    kept: np.ndarray
    notes: list[str]


def load(pictures: Pictures, options: ReadOptions, *, beside: int = 0) -> Loaded:
    """Looks at the headers of all images, agrees on a form, and decodes them into memory if they fit.

    Without `skip_bad` an image that is read from disk is first decoded when it is needed; with it every image is decoded once
    beforehand, since a dataset has to know how many items it holds.

    Args:
        pictures: the encoded images.
        options: size, and whether unreadable images are skipped.
        beside: bytes a pixel that are held with each image, for its mask.
    """
    bad: Bad = {}
    looked, headers = _read_headers(pictures, options, bad)
    form = _agree(pictures, looked, headers, options)
    notes = _describe(headers, form, options)
    kept = looked
    if len(looked) + len(bad) < len(pictures):
        notes.append(
            f"Sizes and colours are those of {len(looked)} of the {len(pictures)} images: the others must have the same."
        )
        unread = np.setdiff1d(_looked(pictures), looked)
        kept = np.setdiff1d(np.arange(len(pictures)), unread)
    fits = len(kept) * (form.size_in_bytes + beside * form.height * form.width) <= MEMORY
    images: Tensor | ImageStream = ImageStream(pictures, form, None, kept)
    if fits or options.skip_bad:
        store = torch.empty((len(kept) if fits else 0, *form.shape), dtype=form.dtype)
        good = _decode_all(pictures, form, kept, store, options, bad)
        images = store if fits else images
        if len(good) < len(kept):
            images = (
                store[torch.from_numpy(good)]
                if fits
                else ImageStream(pictures, form, None, kept[good])
            )
            kept = kept[good]
    if len(kept) == 0:
        raise InputError(
            f"None of the {len(pictures)} images can be read: {next(iter(bad.values()))}"
        )
    if bad:
        notes.append(
            f"{len(bad)} bad {'file' if len(bad) == 1 else 'files'} skipped: {some(list(bad))}."
        )
    if not fits:
        notes.append(
            f"The {len(kept)} images are more than {MEMORY // 2**20} MB decoded: they are read from disk as needed."
        )
    return Loaded(images, form, kept, notes)


def _read_headers(
    pictures: Pictures, options: ReadOptions, bad: Bad
) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the images that were looked at and whose header can be read, and the headers, (n, 5)."""
    looked = _looked(pictures)
    rows = np.zeros((len(looked), len(Header._fields)), dtype=np.int32)
    kept = []
    for place, i in enumerate(looked.tolist()):
        with skipping(bad, options.skip_bad, pictures.name(i)), pictures.open(i) as file:
            rows[place] = read_header(file, pictures.name(i), resize=options.size is not None)
            kept.append(place)
        report(options.on_progress, place + 1, len(looked))
    if not kept:
        raise InputError(
            f"None of the {len(looked)} images can be read: {next(iter(bad.values()))}"
            if bad
            else "There are no images."
        )
    return looked[kept], rows[kept]


def _looked(pictures: Pictures) -> np.ndarray:
    """Images whose headers are read beforehand: all; of shards too large to be read twice, a few of each."""
    if pictures.shard_ends is None or pictures.n_bytes <= MEMORY or len(pictures) <= LOOKED:
        return np.arange(len(pictures))
    n_each = max(1, LOOKED // len(pictures.shard_ends))
    starts = np.concatenate([[0], pictures.shard_ends[:-1]])
    ends = np.minimum(starts + n_each, pictures.shard_ends)
    return np.concatenate([np.arange(start, end) for start, end in zip(starts, ends, strict=True)])


def _agree(pictures: Pictures, kept: np.ndarray, headers: np.ndarray, options: ReadOptions) -> Form:
    sizes, grey, fine = headers[:, :2], headers[:, 2], headers[:, 3]
    size = options.size
    if size is None:
        other = (sizes != sizes[0]).any(axis=1).nonzero()[0]
        if len(other):
            (h0, w0), (h1, w1) = sizes[0], sizes[other[0]]
            raise InputError(
                f"Images must be of one size, but {shown(pictures.name(int(kept[0])))} has {h0}×{w0} and "
                f"{shown(pictures.name(int(kept[other[0]])))} {h1}×{w1} pixels: give one for all, as in --size {min(h0, w0)}."
            )
        size = int(sizes[0, 0]), int(sizes[0, 1])
    return Form(
        1 if grey.all() else 3, *size, resize=options.size is not None, fine=bool(fine.any())
    )


def _describe(headers: np.ndarray, form: Form, options: ReadOptions) -> list[str]:
    sizes, grey, fine, clear = headers[:, :2], headers[:, 2], headers[:, 3], headers[:, 4]
    notes = []
    if grey.any() and not grey.all():
        notes.append(
            f"Grey and colour images are mixed ({int(grey.sum())} of {len(grey)} are grey): all are made RGB."
        )
    if fine.any():
        notes.append(
            f"{int(fine.sum())} of {len(fine)} images have 16 bits a value: divided by 65535."
        )
    if clear.any():
        notes.append(f"Transparent pixels of {int(clear.sum())} images are laid over black.")
    if options.size is not None and (sizes != options.size).any():
        low, high = (
            (int(sides[0]), int(sides[1])) for sides in (sizes.min(axis=0), sizes.max(axis=0))
        )
        notes.append(describe_resizing(low, high, options.size))
    return notes


def _decode_all(
    pictures: Pictures, form: Form, kept: np.ndarray, store: Tensor, options: ReadOptions, bad: Bad
) -> np.ndarray:
    """Decodes every image, into the store if it has room; returns the places of those that could be."""
    good = []
    for place, i in enumerate(kept.tolist()):
        with skipping(bad, options.skip_bad, pictures.name(i)), pictures.open(i) as file:
            image = decode(file, pictures.name(i), form)
            if len(store):
                store[place] = image
            good.append(place)
        report(options.on_progress, place + 1, len(kept))
    return np.array(good, dtype=np.int64)


@contextmanager
def skipping(bad: Bad, skip: bool, name: str) -> Iterator[None]:
    """Notes an unreadable image and goes on, or, where none is to be skipped, says what can be done."""
    try:
        yield
    except UnreadableImage as error:
        if not skip:
            raise UnreadableImage(f"{error} {MEND}") from error
        bad[name] = str(error)


def report(on_progress: Progress | None, done: int, total: int) -> None:
    """Tells progress about a hundred times in all."""
    if on_progress is not None and (done == total or done % max(1, total // 100) == 0):
        on_progress(done, total)
