"""What `learn` learns from: the embedded data by name, or whatever a path holds."""

import math
from pathlib import Path
from typing import Any

from torch import Tensor

from augerino.app import console as screen
from augerino.app.given import Given
from augerino.data.arrays import IGNORE, Kind
from augerino.data.readers.source import open_source
from augerino.data.synthetic.clouds import clouds
from augerino.data.synthetic.signals import signals
from augerino.data.synthetic.sprites import CLASS_NAMES, sprites
from augerino.errors import InputError

TRAIN_ITEMS, TEST_ITEMS = 2000, 1000


def open_given(settings: dict[str, Any], seed: int) -> Given:
    """The embedded data of that name, drawn anew with the seed, or the data at that path."""
    name = str(settings["data"])
    if name in _EMBEDDED and not Path(name).exists():
        for option in ("size", "task", "kind", "target", "ignore"):
            if settings[option] is not None:
                raise InputError(f"--{option} is for data of your own; '{name}' is embedded.")
        return _EMBEDDED[name](seed)
    if not Path(name).exists():
        raise InputError(
            f"There is no data at '{name}': give a folder or a file, or one of {', '.join(_EMBEDDED)}."
        )
    with screen.reading(name) as progress:
        found = open_source(
            name,
            size=settings["size"],
            task=settings["task"],
            kind=settings["kind"],
            target=settings["target"],
            ignore=IGNORE if settings["ignore"] is None else settings["ignore"],
            seed=seed,
            test_share=settings["test_fraction"],
            skip_bad=settings["skip_bad"],
            standardize=True,
            on_progress=progress,
        )
    if settings["ignore"] is not None and found.kind != "masks":
        raise InputError(
            f"--ignore is for masks, but '{name}' holds {found.kind} without: leave it out."
        )
    outputs = len(found.class_names) if found.class_names else _outputs(found.train)
    return Given(
        Path(name).stem or "run",
        found.kind,
        found.task,
        found.train,
        found.test,
        found.class_names,
        outputs,
        found.shape,
        found.path,
        found.fingerprint,
        found.notes,
    )


def _outputs(part: Any) -> int:
    target: Tensor = part[1][0] if isinstance(part, tuple) else part[0][1]
    return target.numel()


def _sprites(seed: int) -> Given:
    train, test = sprites(TRAIN_ITEMS, seed=2 * seed), sprites(TEST_ITEMS, seed=2 * seed + 1)
    true = {"rotate": math.pi / 4}
    return _embedded(
        "sprites", "images", (train.x, train.y), (test.x, test.y), CLASS_NAMES, true, seed
    )


def _signals(seed: int) -> Given:
    train, test = signals(TRAIN_ITEMS, seed=2 * seed), signals(TEST_ITEMS, seed=2 * seed + 1)
    return _embedded(
        "signals",
        "signals",
        (train.x, train.y),
        (test.x, test.y),
        train.class_names,
        train.true,
        seed,
    )


def _clouds(seed: int) -> Given:
    train, test = clouds(TRAIN_ITEMS, seed=2 * seed), clouds(TEST_ITEMS, seed=2 * seed + 1)
    return _embedded(
        "clouds",
        "points",
        (train.x, train.y),
        (test.x, test.y),
        train.class_names,
        train.true,
        seed,
    )


def _embedded(
    name: str,
    kind: Kind,
    train: Any,
    test: Any,
    classes: tuple[str, ...],
    true: dict[str, float],
    seed: int,
) -> Given:
    shape, notes = tuple(train[0].shape[1:]), (f"embedded data, drawn with seed {seed}",)
    fingerprint = f"embedded:{name}:{seed}"
    return Given(
        name,
        kind,
        "classification",
        train,
        test,
        classes,
        len(classes),
        shape,
        name,
        fingerprint,
        notes,
        true,
    )


_EMBEDDED = {"sprites": _sprites, "signals": _signals, "clouds": _clouds}
