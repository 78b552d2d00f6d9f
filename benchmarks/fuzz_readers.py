"""Damages files of every readable kind: each must be read or rejected with a one-line error.

    python -m benchmarks.fuzz_readers [--cases 20000] [--seed 0] [--seconds 20]
                                      [--kinds policy,checkpoint,npz] [--out FILE.json]

Prints how many cases of each kind were read and rejected, the rise of memory, and every case with
another outcome (a crash, a hang), with the seed that repeats it.
"""

import argparse
import io
import json
import signal
import sys
import tempfile
import time
import traceback
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from augerino.data import open_dataset
from augerino.data.readers import streams
from augerino.errors import InputError, NonFiniteLoss
from benchmarks import fuzz_state, memory

MAX_MEMORY_RISE = 500  # MB, for reading small damaged files


class Victim(NamedTuple):
    """A valid dataset, and the file of it that is damaged.

    Attributes:
        path: of the dataset.
        file: that is damaged.
        repair: "png" or "npz", to correct the checksums, so that the damage gets past them.
        read: reads the path; by default as a dataset.
        harm: damages the content of the file; by default byte by byte.
    """

    path: Path
    file: Path
    repair: str | None = None
    read: Callable[[Path], None] | None = None
    harm: Callable[[bytes, np.random.Generator], bytes] | None = None


def make_good(root: Path) -> dict[str, Victim]:
    """Writes one small dataset of each kind."""
    random = np.random.default_rng(0)
    victims = {}
    pictures = [
        Image.fromarray(random.integers(0, 256, (16, 16, 3), dtype=np.uint8)) for _ in range(6)
    ]
    options = {
        "tif": {"compression": "tiff_lzw"},
        "gif": {},
        "png": {},
        "jpg": {"exif": _tags()},
        "webp": {},
        "bmp": {},
        "tiff": {},
    }
    for ending, extra in options.items():
        folder = root / ending
        for i, picture in enumerate(pictures):
            place = folder / "ab"[i % 2] / f"{i}.{ending}"
            place.parent.mkdir(parents=True, exist_ok=True)
            (picture.convert("P") if ending == "gif" else picture).save(place, **extra)
        victims[ending] = Victim(folder, folder / "a" / f"0.{ending}")
    victims["png, repaired"] = victims["png"]._replace(repair="png")
    fine = root / "png16"
    for i in range(6):
        place = fine / "ab"[i % 2] / f"{i}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.integers(0, 65536, (8, 8), dtype=np.uint16)).save(place)
    victims["png of 16 bits"] = Victim(fine, fine / "a" / "0.png", "png")
    pairs = root / "pairs"
    for i, picture in enumerate(pictures):
        for what, image in (
            ("images", picture),
            ("masks", Image.fromarray(random.integers(0, 3, (16, 16), dtype=np.uint8))),
        ):
            (pairs / what).mkdir(parents=True, exist_ok=True)
            image.save(pairs / what / f"{i}.png")
    (pairs / "classes.txt").write_text("sky\nroad\ncar\n")
    victims["mask"] = Victim(pairs, pairs / "masks" / "0.png", "png")
    victims["class names"] = Victim(pairs, pairs / "classes.txt")
    listed = root / "listed"
    listed.mkdir()
    for i, picture in enumerate(pictures):
        picture.save(listed / f"{i}.png")
    (listed / "labels.csv").write_text(
        "file,label,split\n"
        + "".join(f"{i}.png,{i % 2},{'train' if i < 4 else 'test'}\n" for i in range(6))
    )
    victims["csv"] = Victim(listed, listed / "labels.csv")
    x = random.integers(0, 256, (8, 6, 6, 3), dtype=np.uint8)
    y = np.arange(8) % 2
    np.savez_compressed(root / "a.npz", x=x, y=y, class_names=["cat", "dog"])
    victims["npz"] = Victim(root / "a.npz", root / "a.npz")
    victims["npz, repaired"] = Victim(root / "a.npz", root / "a.npz", "npz")
    clouds = {
        "positions": random.normal(size=(8, 5, 3)),
        "num_atoms": np.arange(8) % 5 + 1,
        "gap": random.normal(size=8),
    }
    np.savez(root / "clouds.npz", **clouds, split=np.array([0, 0, 0, 0, 1, 1, 2, 2]))
    victims["npz of clouds"] = Victim(root / "clouds.npz", root / "clouds.npz", "npz")
    (root / "pair").mkdir()
    np.save(root / "pair" / "x.npy", random.normal(size=(8, 2, 20)))
    np.save(root / "pair" / "y.npy", y.astype(float))
    victims["npy"] = Victim(root / "pair", root / "pair" / "x.npy")
    victims["npy of targets"] = Victim(root / "pair", root / "pair" / "y.npy")
    for name, state in fuzz_state.make_good(root / "state").items():
        victims[name] = Victim(state.path, state.file, read=state.read)
        victims[f"{name}, by values"] = Victim(
            state.path, state.file, read=state.read, harm=state.harm
        )
    return victims


def _tags() -> Image.Exif:
    tags = Image.Exif()
    tags[0x0112] = 6
    return tags


def damage(data: bytes, random: np.random.Generator) -> bytes:
    """Cuts, overwrites, inserts, removes or repeats a few bytes."""
    changed = bytearray(data)
    for _ in range(int(random.geometric(0.6))):
        if not changed:
            break
        # Half of the damage goes to the first bytes: headers are there.
        end = len(changed) if random.random() < 0.5 else min(len(changed), 100)
        at = int(random.integers(0, end))
        length = int(random.integers(1, 9))
        match int(random.integers(0, 6)):
            case 0:
                del changed[at:]
            case 1:
                changed[at] ^= 1 << int(random.integers(0, 8))
            case 2:
                noise = random.integers(0, 256, length, dtype=np.uint8)
                changed[at : at + length] = noise.tobytes()
            case 3:
                changed[at : at + length] = bytes([int(random.choice([0, 127, 128, 255]))]) * length
            case 4:
                changed[at:at] = changed[at : at + 50] * int(random.integers(1, 4))
            case 5:
                del changed[at : at + length]
    return bytes(changed)


def damage_within(data: bytes, repair: str | None, random: np.random.Generator) -> bytes:
    """Damages a file and corrects its checksums."""
    if repair == "npz":
        out = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(data)) as good, zipfile.ZipFile(out, "w") as bad:
            victim = random.choice(good.namelist())
            for name in good.namelist():
                content = good.read(name)
                bad.writestr(name, damage(content, random) if name == victim else content)
        return out.getvalue()
    changed = damage(data, random)
    return _repair_png(changed) if repair == "png" else changed


def _repair_png(data: bytes) -> bytes:
    changed = bytearray(data)
    at = 8
    while at + 12 <= len(changed):
        length = int.from_bytes(changed[at : at + 4], "big")
        if at + 12 + length > len(changed):
            break
        body = changed[at + 4 : at + 8 + length]
        changed[at + 8 + length : at + 12 + length] = zlib.crc32(bytes(body)).to_bytes(4, "big")
        at += 12 + length
    return bytes(changed)


def read_all(path: Path, **wishes: object) -> None:
    """Opens a dataset and reads every item of it."""
    source = open_dataset(path, **wishes)  # type: ignore[arg-type]
    for part in (source.train, source.test):
        if isinstance(part, streams.ImageStream):
            for i in range(len(part)):
                part[i]
    "".join(source.notes).encode()


def try_case(victim: Victim, seed: int) -> str:
    """Reads one damaged dataset: "read" or "rejected"; other errors are raised."""
    random = np.random.default_rng(seed)
    good = victim.file.read_bytes()
    memory = streams.MEMORY
    try:
        if victim.harm is not None:
            damaged = victim.harm(good, random)
        else:
            damaged = damage_within(good, victim.repair, random)
        victim.file.write_bytes(damaged)
        if victim.read is not None:
            victim.read(victim.path)
            return "read"
        streams.MEMORY = 0 if random.random() < 0.5 else memory
        read_all(
            victim.path,
            skip_bad=bool(random.random() < 0.3),
            size=8 if random.random() < 0.3 else None,
        )
        return "read"
    except (InputError, NonFiniteLoss) as error:
        text = str(error)
        text.encode()
        if "\n" in text or "Traceback" in text:
            raise AssertionError(f"not a one-line error: {text}") from error
        return "rejected"
    finally:
        victim.file.write_bytes(good)
        streams.MEMORY = memory


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=20000)
    parser.add_argument(
        "--seed", type=int, default=0, help="of the first case; the next cases count up"
    )
    parser.add_argument(
        "--seconds", type=int, default=20, help="a case that takes longer counts as a hang"
    )
    parser.add_argument("--kinds", help="only kinds whose name starts with one of these words")
    parser.add_argument("--out", type=Path, help="a file for the counts, as JSON")
    arguments = parser.parse_args()

    def hang(*_: object) -> None:
        raise TimeoutError("hangs")

    signal.signal(signal.SIGALRM, hang)
    counts: Counter[tuple[str, str]] = Counter()
    slowest = (0.0, "")
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        victims = make_good(Path(folder))
        wanted = tuple(arguments.kinds.split(",")) if arguments.kinds else ("",)
        names = [name for name in victims if name.startswith(wanted)]
        before = memory.peak()
        for seed in range(arguments.seed, arguments.seed + arguments.cases):
            name = names[seed % len(names)]
            start = time.perf_counter()
            signal.alarm(arguments.seconds)
            try:
                outcome = try_case(victims[name], seed)
            except KeyboardInterrupt:
                raise
            except BaseException:  # neither read nor rejected
                outcome = "FAILED"
                print(f"seed {seed} ({name}):\n{traceback.format_exc()}", file=sys.stderr)
            signal.alarm(0)
            counts[name, outcome] += 1
            slowest = max(slowest, (time.perf_counter() - start, f"seed {seed} ({name})"))
    rise = round(memory.peak() - before)
    for name in names:
        outcomes = ", ".join(
            f"{counts[name, outcome]} {outcome}"
            for outcome in ("read", "rejected", "FAILED")
            if counts[name, outcome]
        )
        print(f"{name:24} {outcomes}")
    failed = sum(count for (_, outcome), count in counts.items() if outcome == "FAILED")
    print(
        f"{arguments.cases} cases, {failed} failed, {time.perf_counter() - began:.0f} s, "
        f"slowest {slowest[0]:.2f} s: {slowest[1]}; memory rose by {rise} MB"
    )
    if arguments.out is not None:
        kinds = {
            name: {outcome: counts[name, outcome] for outcome in ("read", "rejected", "FAILED")}
            for name in names
        }
        summary = {
            "cases": arguments.cases,
            "seed": arguments.seed,
            "failed": failed,
            "memory_rise_mb": rise,
            "kinds": kinds,
        }
        arguments.out.write_text(json.dumps(summary, indent=2) + "\n")
    sys.exit(1 if failed or rise > MAX_MEMORY_RISE else 0)


if __name__ == "__main__":
    main()
