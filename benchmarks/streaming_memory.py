"""Peak memory of reading many images from disk: single files, tar shards, or a parquet file.

    python -m benchmarks.streaming_memory [--images 100000] [--side 64] [--workers 2]
                                          [--skip-bad] [--format tar]

Writes the images into a temporary folder, reads them once in another process, and prints the peak
memory of that process and of its largest worker, the memory of torch alone, and the size of the
decoded images.
"""

import argparse
import io
import json
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np


def pictures(count: int, side: int) -> Iterator[bytes]:
    """PNG files of noise in coarse blocks: as large as photographs, and fast to write."""
    from PIL import Image

    random = np.random.default_rng(0)
    for _ in range(count):
        blocks = random.integers(0, 256, (side // 4, side // 4, 3), dtype=np.uint8)
        file = io.BytesIO()
        Image.fromarray(blocks.repeat(4, 0).repeat(4, 1)).save(file, "PNG", compress_level=1)
        yield file.getvalue()


def write_images(folder: Path, count: int, side: int) -> None:
    """Writes pictures of two classes, one per file."""
    for i, data in enumerate(pictures(count, side)):
        place = folder / "ab"[i % 2] / f"{i // 2 // 1000:03d}" / f"{i:06d}.png"
        if i % 2000 < 2:
            place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


def write_shards(folder: Path, count: int, side: int, each: int = 1000) -> None:
    """Writes the same pictures in tar files of a thousand."""
    drawn = pictures(count, side)
    for first in range(0, count, each):
        with tarfile.open(folder / f"{first // each:06d}.tar", "w") as tar:
            for i in range(first, min(first + each, count)):
                contents = {f"{i:08d}.png": next(drawn), f"{i:08d}.cls": b"%d" % (i % 2)}
                for name, data in contents.items():
                    member = tarfile.TarInfo(name)
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))


def write_parquet(folder: Path, count: int, side: int, each: int = 1000) -> None:
    """The same in one parquet file, in row groups of a thousand."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    drawn = pictures(count, side)
    schema = pa.schema({"image": pa.struct({"bytes": pa.binary()}), "label": pa.int64()})
    with pq.ParquetWriter(folder / "train.parquet", schema) as writer:
        for first in range(0, count, each):
            numbers = range(first, min(first + each, count))
            images = [{"bytes": next(drawn)} for _ in numbers]
            columns = {"image": images, "label": [i % 2 for i in numbers]}
            writer.write_table(pa.table(columns, schema=schema))


WRITERS = {"files": write_images, "tar": write_shards, "parquet": write_parquet}


def peak(who: int) -> float:
    """Peak memory in megabytes."""
    return resource.getrusage(who).ru_maxrss / 1024


def read(folder: str, workers: int, skip_bad: bool) -> None:
    """One pass over all images, as training does it."""
    from torch.utils.data import TensorDataset

    from augerino.data import open_dataset
    from augerino.data.readers.streams import StreamLoader

    found = {"imported_mb": peak(resource.RUSAGE_SELF)}
    began = time.perf_counter()
    source = open_dataset(folder, skip_bad=skip_bad)
    found |= {"opened_mb": peak(resource.RUSAGE_SELF), "open_seconds": time.perf_counter() - began}
    began = time.perf_counter()
    images = 0
    for part in (source.train, source.test):
        dataset = TensorDataset(*part) if isinstance(part, tuple) else part
        for x, _ in StreamLoader(dataset, batch_size=128, shuffle=True, num_workers=workers):
            images += len(x)
    found |= {
        "peak_mb": peak(resource.RUSAGE_SELF),
        "worker_mb": peak(resource.RUSAGE_CHILDREN),
        "images": images,
        "pass_seconds": time.perf_counter() - began,
        "notes": source.notes,
    }
    print(json.dumps(found))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, default=100_000)
    parser.add_argument("--side", type=int, default=64)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--skip-bad", action="store_true")
    parser.add_argument("--format", choices=WRITERS, default="files")
    parser.add_argument("--read", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read:
        read(arguments.read, arguments.workers, arguments.skip_bad)
        return
    with tempfile.TemporaryDirectory() as folder:
        WRITERS[arguments.format](Path(folder), arguments.images, arguments.side)
        command = [sys.executable, "-m", "benchmarks.streaming_memory"]
        command += ["--read", folder, "--workers", str(arguments.workers)]
        if arguments.skip_bad:
            command.append("--skip-bad")
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found = json.loads(done.stdout)
    decoded = arguments.images * 3 * arguments.side**2 / 2**20
    print(
        f"{found['images']} images of {arguments.side}×{arguments.side}: {decoded:.0f} MB decoded"
    )
    print(f"imported   {found['imported_mb']:5.0f} MB")
    print(f"opened     {found['opened_mb']:5.0f} MB   {found['open_seconds']:.0f} s")
    print(
        f"read once  {found['peak_mb']:5.0f} MB   {found['pass_seconds']:.0f} s   "
        f"largest worker {found['worker_mb']:.0f} MB"
    )
    print("\n".join(found["notes"]))


if __name__ == "__main__":
    main()
