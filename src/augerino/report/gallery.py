"""The gallery of a run read back: which strips there are and what the model said at each step. Files outside it are refused."""

import base64
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augerino.errors import InputError
from augerino.report.values import count, entries, items, number, records, text
from augerino.runtime import files

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_LARGEST = 4_000_000  # bytes of one strip
_COLOR = re.compile("#[0-9a-f]{6}")
LAYERS = ("predicted", "true")  # masks that may lie over a picture


@dataclass(frozen=True)
class Step:
    """One frame: where it is, whether within the learned extent, what the model said, and whether that is right."""

    place: str
    inside: bool
    said: str
    right: bool | None


@dataclass(frozen=True)
class Strip:
    """One example moved along one coordinate: its frames side by side in one PNG, and its steps."""

    example: int
    coordinate: str
    image: str  # a data: address
    masks: list[
        tuple[str, str]
    ]  # what lies over it: "predicted" or "true", and a data: address of the same frames
    width: int
    height: int
    steps: list[Step]
    start: int  # the step at which the input is as it is
    discrete: bool


@dataclass(frozen=True)
class Key:
    """A class of the masks and how it is drawn."""

    name: str
    color: str
    chequered: bool


@dataclass(frozen=True)
class Gallery:
    """All strips, what each example truly is, and the classes of masks."""

    kind: str
    truths: list[str]
    strips: list[Strip]
    legend: list[Key]


def read_gallery(folder: Path) -> Gallery | None:
    """Reads gallery.json and the strips that it names; None where there is none."""
    index = folder / "gallery.json"
    if not index.is_file():
        return None
    data = files.read_json(index, "gallery")
    if not isinstance(data, dict):
        raise InputError(f"{index} is not a gallery. Delete it to make the report without one.")
    names = [text(name) for name in items(data.get("class_names"))]
    task = text(data.get("task"), "classification")
    truths = [entry.get("truth") for entry in records(data.get("examples"))]
    axes = records(data.get("coordinates"))
    strips = []
    for entry in records(data.get("strips")):
        example, axis = count(entry.get("example")), count(entry.get("coordinate"))
        if example is None or axis is None or example >= len(truths) or axis >= len(axes):
            continue
        steps = _steps(axes[axis], records(entry.get("predictions")), truths[example], names, task)
        width, height = count(entry.get("width")), count(entry.get("height"))
        if not steps or not width or not height:
            continue
        image = _image(folder, entry.get("file"))
        values = [number(value) for value in items(axes[axis].get("values"))]
        start = next((i for i, value in enumerate(values[: len(steps)]) if value == 0), 0)
        name, discrete = text(axes[axis].get("name")), axes[axis].get("discrete") is True
        layers = entries(entry.get("masks"))
        masks = [(layer, _image(folder, layers[layer])) for layer in LAYERS if layer in layers]
        strips.append(Strip(example, name, image, masks, width, height, steps, start, discrete))
    if not strips:
        return None
    legend = [
        key for entry in records(data.get("legend")) if (key := _key(entry, names)) is not None
    ]
    return Gallery(
        text(data.get("kind")), [_truth(value, names, task) for value in truths], strips, legend
    )


def _key(entry: dict[str, Any], names: list[str]) -> Key | None:
    label, color = count(entry.get("class")), text(entry.get("color"))
    if label is None or not _COLOR.fullmatch(color):
        return None
    return Key(
        names[label] if label < len(names) else f"class {label}",
        color,
        entry.get("chequered") is True,
    )


def _image(folder: Path, name: Any) -> str:
    """A strip's PNG as a data: address. Only plain names of files that lie in the gallery itself are opened."""
    index = folder / "gallery.json"
    if (
        not isinstance(name, str)
        or Path(name).name != name
        or "\\" in name
        or "\x00" in name
        or name in ("", ".", "..")
    ):
        raise InputError(
            f"{index} names {name!r}, which is not a file of the gallery: nothing outside it is read."
        )
    file = folder / name
    if file.resolve().parent != folder.resolve():
        raise InputError(
            f"{index} names {name!r}, which leads out of the gallery: nothing outside it is read."
        )
    try:
        if file.stat().st_size > _LARGEST:
            raise InputError(
                f"{file} is too large for a strip of a gallery ({file.stat().st_size} bytes)."
            )
        data = file.read_bytes()
    except OSError as error:
        raise InputError(
            f"Cannot read the gallery's {file}: {error.strerror or error}. Learn again, or delete {index}."
        ) from error
    if not data.startswith(_SIGNATURE):
        raise InputError(
            f"{file} is not a PNG picture. Learn again, or delete {index} to make the report without its gallery."
        )
    return "data:image/png;base64," + base64.b64encode(data).decode()


def _steps(
    axis: dict[str, Any], predictions: list[dict[str, Any]], truth: Any, names: list[str], task: str
) -> list[Step]:
    places, inside = items(axis.get("texts")), items(axis.get("inside"))
    values = [number(value) for value in items(axis.get("values"))]
    rows = zip(places, values, inside, predictions, strict=False)
    return [
        Step(
            "as it is" if value == 0 else text(place),
            within is True,
            *_said(said, truth, names, task),
        )
        for place, value, within, said in rows
    ]


def _said(
    prediction: dict[str, Any], truth: Any, names: list[str], task: str
) -> tuple[str, bool | None]:
    if task == "segmentation":
        agreement = number(prediction.get("agreement"))
        return "" if agreement is None else f"{100 * agreement:.1f}\u202f% of pixels right", None
    if task == "regression":
        says, known = _listed(prediction.get("values")), _listed(truth)
        return f"predicts {says}{f', true is {known}' if known else ''}" if says else "", None
    label, probability = count(prediction.get("class")), number(prediction.get("probability"))
    if label is None:
        return "", None
    name = names[label] if label < len(names) else f"class {label}"
    share = "" if probability is None else f" {100 * probability:.0f}\u202f%"
    true = count(truth)
    return f"{name}{share}", None if true is None else label == true


def _truth(value: Any, names: list[str], task: str) -> str:
    if task == "regression":
        return _listed(value)
    label = count(value)
    return "" if label is None else names[label] if label < len(names) else f"class {label}"


def _listed(value: Any) -> str:
    return ", ".join(
        f"{found:.3g}" for entry in items(value) if (found := number(entry)) is not None
    )
