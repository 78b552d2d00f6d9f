"""Reads the gallery of a run: strips, and the model's outputs at each step."""

import base64
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augerino.errors import InputError
from augerino.report.result_reader import count, entries, items, number, records, text
from augerino.runtime import files

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_LARGEST = 4_000_000  # bytes of one strip
_COLOR = re.compile("#[0-9a-f]{6}")
LAYERS = ("predicted", "true")  # masks that may cover an image


@dataclass(frozen=True)
class Step:
    """One frame of a strip: its position, and the model's output there."""

    place: str
    inside: bool
    output: str
    correct: bool | None


@dataclass(frozen=True)
class Strip:
    """One example transformed along one coordinate: its frames side by side in one PNG."""

    example: int
    coordinate: str
    image: str  # a data: URL
    masks: list[tuple[str, str]]  # the layer and a data: URL with the same frames
    width: int
    height: int
    steps: list[Step]
    start: int  # the step that leaves the input unchanged
    discrete: bool


@dataclass(frozen=True)
class Key:
    """A class of the masks and its colour."""

    name: str
    color: str
    chequered: bool


@dataclass(frozen=True)
class Gallery:
    """All strips, the true class or value of each example, and the classes of masks."""

    kind: str
    truths: list[str]
    strips: list[Strip]
    legend: list[Key]


def read_gallery(folder: Path) -> Gallery | None:
    """Reads gallery.json and its strips; None if there are none."""
    index = folder / "gallery.json"
    if not index.is_file():
        return None
    data = files.read_json(index, "gallery")
    if not isinstance(data, dict):
        raise InputError(f"{index} is not a gallery. Delete it to make the report without one.")
    reader = _Reader(
        folder=folder,
        names=[text(name) for name in items(data.get("class_names"))],
        task=text(data.get("task"), "classification"),
        truths=[entry.get("truth") for entry in records(data.get("examples"))],
        axes=records(data.get("coordinates")),
    )
    strips = [reader.strip(entry) for entry in records(data.get("strips"))]
    known = [strip for strip in strips if strip is not None]
    if not known:
        return None
    legend = [reader.key(entry) for entry in records(data.get("legend"))]
    return Gallery(
        kind=text(data.get("kind")),
        truths=[reader.truth(value) for value in reader.truths],
        strips=known,
        legend=[key for key in legend if key is not None],
    )


@dataclass(frozen=True)
class _Reader:
    """Reads the entries of gallery.json, which refer to each other by position."""

    folder: Path
    names: list[str]
    task: str
    truths: list[Any]
    axes: list[dict[str, Any]]

    def strip(self, entry: dict[str, Any]) -> Strip | None:
        """A strip, or None if its entry is incomplete."""
        example = count(entry.get("example"))
        position = count(entry.get("coordinate"))
        if example is None or example >= len(self.truths):
            return None
        if position is None or position >= len(self.axes):
            return None
        axis = self.axes[position]
        steps = self._steps(axis, records(entry.get("predictions")), self.truths[example])
        width = count(entry.get("width"))
        height = count(entry.get("height"))
        if not steps or not width or not height:
            return None
        layers = entries(entry.get("masks"))
        return Strip(
            example=example,
            coordinate=text(axis.get("name")),
            image=_image(self.folder, entry.get("file")),
            masks=[(name, _image(self.folder, layers[name])) for name in LAYERS if name in layers],
            width=width,
            height=height,
            steps=steps,
            start=_first_zero(items(axis.get("values"))[: len(steps)]),
            discrete=axis.get("discrete") is True,
        )

    def key(self, entry: dict[str, Any]) -> Key | None:
        """An entry of the legend, or None without a class and a colour."""
        label = count(entry.get("class"))
        color = text(entry.get("color"))
        if label is None or not _COLOR.fullmatch(color):
            return None
        return Key(self._class_name(label), color, chequered=entry.get("chequered") is True)

    def truth(self, value: Any) -> str:
        """The true class or value of an example as text."""
        if self.task == "regression":
            return _listed(value)
        label = count(value)
        if label is None:
            return ""
        return self._class_name(label)

    def _steps(
        self, axis: dict[str, Any], predictions: list[dict[str, Any]], truth: Any
    ) -> list[Step]:
        steps = []
        columns = (items(axis.get(name)) for name in ("texts", "values", "inside"))
        for place, value, inside, prediction in zip(*columns, predictions, strict=False):
            output, correct = self._output(prediction, truth)
            position = text(place)
            if number(value) == 0:
                position = "unchanged"
            steps.append(
                Step(place=position, inside=inside is True, output=output, correct=correct)
            )
        return steps

    def _output(self, prediction: dict[str, Any], truth: Any) -> tuple[str, bool | None]:
        """The model's output as text, and whether it is correct, if that can be decided."""
        if self.task == "segmentation":
            return _mask_output(prediction), None
        if self.task == "regression":
            return _value_output(prediction, truth), None
        label = count(prediction.get("class"))
        if label is None:
            return "", None
        name = self._class_name(label)
        probability = number(prediction.get("probability"))
        true_label = count(truth)
        correct = None
        if true_label is not None:
            correct = label == true_label
        if probability is None:
            return name, correct
        return f"{name} {_percent(probability, 0)}", correct

    def _class_name(self, label: int) -> str:
        if label < len(self.names):
            return self.names[label]
        return f"class {label}"


def _mask_output(prediction: dict[str, Any]) -> str:
    agreement = number(prediction.get("agreement"))
    if agreement is None:
        return ""
    return f"{_percent(agreement, 1)} of pixels correct"


def _value_output(prediction: dict[str, Any], truth: Any) -> str:
    predicted = _listed(prediction.get("values"))
    true_value = _listed(truth)
    if not predicted:
        return ""
    if not true_value:
        return f"predicted {predicted}"
    return f"predicted {predicted}, true {true_value}"


def _first_zero(values: list[Any]) -> int:
    return next((i for i, value in enumerate(values) if number(value) == 0), 0)


def _percent(fraction: float, digits: int) -> str:
    return f"{100 * fraction:.{digits}f}\u202f%"


def _listed(value: Any) -> str:
    found = (number(entry) for entry in items(value))
    return ", ".join(f"{entry:.3g}" for entry in found if entry is not None)


def _image(folder: Path, name: Any) -> str:
    """The PNG of a strip as a data: URL. Only files directly in the gallery are opened."""
    index = folder / "gallery.json"
    if not _is_plain_name(name):
        raise InputError(
            f"{index} names {name!r}, which is not a file of the gallery. "
            "Files outside it are not read."
        )
    file = folder / name
    if file.resolve().parent != folder.resolve():
        raise InputError(
            f"{index} names {name!r}, which leads out of the gallery. "
            "Files outside it are not read."
        )
    try:
        data = files.read_bytes(file, _LARGEST)
    except OSError as error:
        raise InputError(
            f"Cannot read {file}: {error.strerror or error}. Learn again, or delete {index}."
        ) from error
    if not data.startswith(_SIGNATURE):
        raise InputError(
            f"{file} is not a PNG image. "
            f"Learn again, or delete {index} to make the report without it."
        )
    return "data:image/png;base64," + base64.b64encode(data).decode()


def _is_plain_name(name: Any) -> bool:
    if not isinstance(name, str) or name in ("", ".", ".."):
        return False
    return Path(name).name == name and "\\" not in name and "\x00" not in name
