"""Reads the files of a run. Skips values of the wrong type; damaged files raise `InputError`."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augerino.errors import InputError
from augerino.report.gallery_reader import Gallery, read_gallery
from augerino.report.payoff_result import Payoff, PolicyChoice, read_payoff, read_policy
from augerino.report.result_reader import (
    CoordinateResult,
    Estimate,
    count,
    entries,
    items,
    number,
    numbers,
    read_coordinates,
    read_estimate,
    records,
    text,
)
from augerino.runtime import files

VERSION = 2  # newest version of result.json that can be read


@dataclass(frozen=True)
class Model:
    """Held-out metrics of one model; [low, high] is the 95 % interval of its score."""

    name: str
    copies: int | None
    loss: float | None
    accuracy: float | None
    low: float | None
    high: float | None
    n_samples: int | None
    mean_iou: Estimate | None = None

    @property
    def score(self) -> float | None:
        """The accuracy, or the loss if there is none."""
        return self.loss if self.accuracy is None else self.accuracy


@dataclass(frozen=True)
class ClassRow:
    """One class: its number of held-out samples, and the accuracy or IoU of each model by name."""

    name: str
    n_samples: int | None
    scores: dict[str, float]


@dataclass(frozen=True)
class Orbit:
    """Model outputs for one input along one coordinate; `outputs[i]` belongs to `values[i]`."""

    title: str
    coordinate: str
    values: list[float]
    outputs: list[list[float]]
    truth: int | None


@dataclass(frozen=True)
class Run:
    """Everything that the page shows of one run."""

    label: str
    task: str
    class_names: list[str]
    coordinates: list[CoordinateResult]
    models: list[Model]
    payoff: Payoff | None
    policy: PolicyChoice | None
    per_class: list[ClassRow]
    orbits: list[Orbit]
    losses: list[float]
    extents: dict[str, list[float]]  # after each epoch
    gallery: Gallery | None
    result: Mapping[str, Any]  # as read: configuration, data, versions

    @property
    def accuracy_name(self) -> str:
        """The name of the accuracy, which is computed over pixels in segmentation."""
        if self.task == "segmentation":
            return "pixel accuracy"
        return "accuracy"

    @property
    def has_payoff(self) -> bool:
        """Whether the page begins with the payoff and the policy."""
        return self.payoff is not None or self.policy is not None

    def extent_curve(self, c: CoordinateResult) -> list[float]:
        """The extent of a coordinate at the start and after each epoch; empty without a history."""
        curve = self.extents.get(c.name, [])
        if not curve or c.start is None:
            return curve
        return [c.start, *curve]

    def coordinate(self, name: str) -> CoordinateResult | None:
        """The coordinate of this name, if the run has it."""
        return next((found for found in self.coordinates if found.name == name), None)


def read_run(path: str | Path, label: str | None = None) -> Run:
    """Reads a finished run folder."""
    folder = Path(path)
    result = _read_result(folder)
    names = [text(name) for name in items(result.get("class_names"))]
    coordinates = read_coordinates(result, _optional(folder / "policy.json", "policy"))
    epochs = records(_optional(folder / "history.json", "history"))
    per_class = [_class_row(entry, names) for entry in records(result.get("per_class"))]
    orbits = [_orbit(entry) for entry in records(result.get("orbits"))]
    return Run(
        label=label or folder.resolve().name or str(folder),
        task=text(result.get("task"), "classification"),
        class_names=names,
        coordinates=coordinates,
        models=[_model(entry) for entry in records(result.get("models"))],
        payoff=read_payoff(result.get("payoff")),
        policy=read_policy(result.get("policy")),
        per_class=[row for row in per_class if row.scores],
        orbits=[orbit for orbit in orbits if orbit is not None],
        losses=numbers([epoch.get("loss") for epoch in epochs]) or [],
        extents=_extents(epochs, coordinates),
        gallery=read_gallery(folder / "gallery"),
        result=result,
    )


def _read_result(folder: Path) -> dict[str, Any]:
    file = folder / "result.json"
    if not file.is_file():
        raise _no_result(folder)
    result = files.read_json(file, "result")
    if isinstance(result, dict) and "experiment" in result:
        raise InputError(
            f"{folder} is a run of an experiment; its table is in {file}. "
            "Only runs of `augerino learn` have a report."
        )
    if not isinstance(result, dict) or "coordinates" not in result:
        raise InputError(
            f"{file} is not the result of a run: it contains no coordinates. "
            "Restore it from a copy or learn again."
        )
    version = count(result.get("version"))
    if version is not None and version > VERSION:
        raise InputError(
            f"{file} has version {version}, but this augerino reads version {VERSION}. "
            "Update augerino."
        )
    return result


def _no_result(folder: Path) -> InputError:
    config = folder / "config.json"
    if not config.is_file():
        return InputError(
            f"{folder} is not a run folder: it contains neither result.json nor config.json. "
            "Pass a folder that `augerino learn` has created."
        )
    command = "learn"
    if "experiment" in entries(files.read_json(config, "run configuration")):
        command = "run"
    again = shlex.join(["augerino", command, "--resume", str(folder)])
    return InputError(f"{folder} is not finished. Resume it with `{again}`.")


def _optional(file: Path, what: str) -> Any:
    if not file.exists():
        return None
    return files.read_json(file, what)


def _extents(
    epochs: list[dict[str, Any]], coordinates: list[CoordinateResult]
) -> dict[str, list[float]]:
    """The extent of each coordinate after each epoch, where the history is complete."""
    curves = {}
    for c in coordinates:
        curve = numbers([entries(epoch.get("extent")).get(c.name) for epoch in epochs])
        if curve is not None:
            curves[c.name] = curve
    return curves


def _model(entry: dict[str, Any]) -> Model:
    return Model(
        name=text(entry.get("name"), "model"),
        copies=count(entry.get("copies")),
        loss=number(entry.get("loss")),
        accuracy=number(entry.get("accuracy")),
        low=number(entry.get("low")),
        high=number(entry.get("high")),
        n_samples=count(entry.get("items")),
        mean_iou=read_estimate(entry.get("mean_iou")),
    )


def _class_row(entry: dict[str, Any], names: list[str]) -> ClassRow:
    name = text(entry.get("class"), "?")
    index = count(entry.get("class"))
    if index is not None and index < len(names):
        name = names[index]
    found = entries(entry.get("iou") or entry.get("accuracy"))
    scores = {text(model): number(score) for model, score in found.items()}
    return ClassRow(
        name=name,
        n_samples=count(entry.get("items")),
        scores={model: score for model, score in scores.items() if score is not None},
    )


def _orbit(entry: dict[str, Any]) -> Orbit | None:
    values = numbers(entry.get("values"))
    rows = [numbers(row) for row in items(entry.get("outputs"))]
    outputs = [row for row in rows if row is not None]
    if values is None or len(values) < 2 or len(values) != len(outputs):
        return None
    if len({len(row) for row in outputs}) != 1:
        return None
    return Orbit(
        title=text(entry.get("title")),
        coordinate=text(entry.get("coordinate")),
        values=values,
        outputs=outputs,
        truth=count(entry.get("truth")),
    )
