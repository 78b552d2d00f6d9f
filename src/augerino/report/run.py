"""The files of a run as the page needs them. What is missing or of the wrong kind is left out; what is damaged is told."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augerino.errors import InputError
from augerino.report.gallery import Gallery, read_gallery
from augerino.report.values import count, entries, items, number, numbers, pair, records, text
from augerino.runtime import files

ANSWERS = ("symmetry", "full", "none", "undecided")


@dataclass(frozen=True)
class Estimate:
    """A mean and its 95 % interval."""

    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Change:
    """How held-out loss and accuracy change when one coordinate reaches elsewhere than learned."""

    text: str
    loss: Estimate | None
    accuracy: Estimate | None


@dataclass(frozen=True)
class Profile:
    """The change of the held-out loss as a function of one extent, with a band."""

    extents: list[float]
    loss: list[float]
    low: list[float] | None
    high: list[float] | None


@dataclass(frozen=True)
class Shape:
    """One coordinate's distribution: uniform from a to b, normal around a with deviation b, or 1 with probability a."""

    kind: str
    a: float
    b: float


@dataclass(frozen=True)
class Coordinate:
    """One coordinate's answer and what it rests on; numbers in the coordinate's own unit."""

    name: str
    unit: str
    start: float | None
    learned: float | None
    limit: float | None
    start_text: str
    learned_text: str
    answer: str | None
    sentence: str
    interval: tuple[float, float] | None
    true: float | None
    support: tuple[float, float] | None
    discrete: bool
    off: Change | None
    wider: Change | None
    profile: Profile | None
    shape: Shape | None  # as learned
    start_shape: Shape | None


@dataclass(frozen=True)
class Model:
    """How well one model does on held-out data; low and high bound the accuracy, or the loss where there is none."""

    name: str
    copies: int | None
    loss: float | None
    accuracy: float | None
    low: float | None
    high: float | None
    items: int | None
    mean_iou: Estimate | None = None

    @property
    def score(self) -> float | None:
        return self.loss if self.accuracy is None else self.accuracy


@dataclass(frozen=True)
class ClassRow:
    """One class: how many held-out items, and the accuracy of each model by its name; for masks its intersection over union."""

    name: str
    items: int | None
    scores: dict[str, float]


@dataclass(frozen=True)
class Orbit:
    """What the model says while one input moves along one coordinate; `outputs[i]` belongs to `values[i]`."""

    title: str
    coordinate: str
    values: list[float]
    outputs: list[list[float]]
    truth: int | None


@dataclass(frozen=True)
class Run:
    """Everything the page shows of one run."""

    label: str
    task: str
    class_names: list[str]
    coordinates: list[Coordinate]
    models: list[Model]
    per_class: list[ClassRow]
    orbits: list[Orbit]
    losses: list[float]
    spreads: dict[str, list[float]]  # after each epoch
    gallery: Gallery | None
    result: Mapping[str, Any]  # the rest, as it was read: configuration, data, versions

    @property
    def accuracy_name(self) -> str:
        """What an accuracy is the share of, in a word."""
        return "pixel accuracy" if self.task == "segmentation" else "accuracy"

    def coordinate(self, name: str) -> Coordinate | None:
        return next(
            (coordinate for coordinate in self.coordinates if coordinate.name == name), None
        )


def read_run(path: str | Path, label: str | None = None) -> Run:
    """Reads a finished run folder, or says in one sentence why there is nothing to show."""
    folder = Path(path)
    result = _read_result(folder)
    if "version" not in result:
        result = _from_first_version(result)
    names = [text(name) for name in items(result.get("class_names"))]
    shapes = _shapes(_optional(folder / "policy.json", "policy"))
    coordinates = [entry for entry in records(result.get("coordinates")) if text(entry.get("name"))]
    if len(shapes) != len(coordinates):
        shapes = [None] * len(coordinates)
    epochs = records(_optional(folder / "history.json", "history"))
    losses = numbers([epoch.get("loss") for epoch in epochs]) or []
    spreads = {
        text(c["name"]): numbers([entries(e.get("extent")).get(text(c["name"])) for e in epochs])
        for c in coordinates
    }
    return Run(
        label=label or folder.resolve().name or str(folder),
        task=text(result.get("task"), "classification"),
        class_names=names,
        coordinates=[
            _coordinate(entry, shape) for entry, shape in zip(coordinates, shapes, strict=True)
        ],
        models=[_model(entry) for entry in records(result.get("models"))],
        per_class=[
            row
            for entry in records(result.get("per_class"))
            if (row := _class_row(entry, names)).scores
        ],
        orbits=[
            orbit for entry in records(result.get("orbits")) if (orbit := _orbit(entry)) is not None
        ],
        losses=losses,
        spreads={name: curve for name, curve in spreads.items() if curve is not None},
        gallery=read_gallery(folder / "gallery"),
        result=result,
    )


def _read_result(folder: Path) -> dict[str, Any]:
    file = folder / "result.json"
    if not file.is_file():
        if not (folder / "config.json").is_file():
            raise InputError(
                f"{folder} is not a run folder: it has neither result.json nor config.json."
            )
        command = (
            "run"
            if "experiment" in entries(_optional(folder / "config.json", "run configuration"))
            else "learn"
        )
        again = shlex.join(["augerino", command, "--resume", str(folder)])
        raise InputError(
            f"{folder} is not finished, so there is nothing to report yet: go on with it by `{again}`."
        )
    result = files.read_json(file, "result")
    if isinstance(result, dict) and "experiment" in result:
        raise InputError(
            f"{folder} is a run of an experiment, whose table is in {file}; a report is made of runs of `augerino learn`."
        )
    if not isinstance(result, dict) or not ("coordinates" in result or "bounds" in result):
        raise InputError(
            f"{file} is not the result of a run: it names no coordinates. Restore it from a copy or learn again."
        )
    if (count(result.get("version")) or 0) > 2:
        raise InputError(
            f"{file} is of version {result['version']}, but this augerino reads version 2: update augerino."
        )
    return result


def _optional(file: Path, what: str) -> Any:
    return files.read_json(file, what) if file.exists() else None


def _from_first_version(old: dict[str, Any]) -> dict[str, Any]:
    """What the first version of result.json held, in the words of the second; it measured no evidence."""
    start, true, metrics = (
        entries(old.get("start")),
        entries(old.get("true")),
        entries(old.get("metrics")),
    )
    sentences = [text(sentence) for sentence in items(old.get("verdicts"))]
    bounds = entries(old.get("bounds"))
    coordinates = [
        {
            **{"name": name, "learned": learned, "start": start.get(name), "true": true.get(name)},
            "sentence": next(
                (sentence for sentence in sentences if sentence.startswith(f"{name}:")), ""
            ),
        }
        for name, learned in bounds.items()
    ]
    model = {"name": "learned", "copies": metrics.get("copies"), "loss": metrics.get("test_loss")}
    model |= {"accuracy": metrics.get("test_accuracy"), "items": metrics.get("test_items")}
    orbits = [
        {"title": title, **entries(orbit)} for title, orbit in entries(old.get("orbits")).items()
    ]
    return {
        **old,
        "coordinates": coordinates,
        "models": [model] if metrics else [],
        "orbits": orbits,
    }


def _coordinate(entry: dict[str, Any], shape: Shape | None) -> Coordinate:
    learned, start, support = (
        number(entry.get("learned")),
        number(entry.get("start")),
        pair(entry.get("support")),
    )
    discrete = entry.get("discrete") is True
    if shape is None and discrete and learned is not None:
        shape = Shape("flip", min(max(learned / 2, 0.0), 1.0), 0.0)
    elif shape is None and learned is not None:
        low, high = support or (-abs(learned), abs(learned))
        shape = Shape("uniform", low, high)
    answer, evidence = text(entry.get("answer")), entries(entry.get("evidence"))
    return Coordinate(
        name=text(entry["name"]),
        unit=text(entry.get("unit")),
        start=start,
        learned=learned,
        limit=number(entry.get("limit")),
        start_text=text(entry.get("start_text")),
        learned_text=text(entry.get("learned_text")),
        answer=answer if answer in ANSWERS else None,
        sentence=text(entry.get("sentence")),
        interval=pair(entry.get("interval")),
        true=number(entry.get("true")),
        support=support,
        discrete=discrete,
        off=_change(evidence.get("off")),
        wider=_change(evidence.get("wider")),
        profile=_profile(evidence.get("profile")),
        shape=shape,
        start_shape=_start_shape(shape, learned, start),
    )


def _start_shape(shape: Shape | None, learned: float | None, start: float | None) -> Shape | None:
    """The distribution that training started from: of the same kind, around the identity."""
    if shape is None or start is None:
        return None
    if (
        shape.kind == "flip"
    ):  # a spread is twice the smaller probability; an extent may also be given as the probability
        is_probability = learned is not None and abs(learned - shape.a) < abs(
            learned - 2 * min(shape.a, 1 - shape.a)
        )
        return Shape("flip", min(max(start if is_probability else start / 2, 0.0), 1.0), 0.0)
    return (
        Shape("normal", 0.0, abs(start))
        if shape.kind == "normal"
        else Shape("uniform", min(shape.a, 0.0) and -abs(start), abs(start))
    )


def _estimate(value: Any) -> Estimate | None:
    entry = entries(value)
    mean = number(entry.get("mean"))
    return (
        None
        if mean is None
        else Estimate(mean, number(entry.get("low")), number(entry.get("high")))
    )


def _change(value: Any) -> Change | None:
    entry = entries(value)
    loss, accuracy = _estimate(entry.get("loss")), _estimate(entry.get("accuracy"))
    return (
        None
        if loss is None and accuracy is None
        else Change(text(entry.get("text")), loss, accuracy)
    )


def _profile(value: Any) -> Profile | None:
    entry = entries(value)
    extents, loss, low, high = (
        numbers(entry.get(key)) for key in ("extents", "loss", "low", "high")
    )
    if extents is None or loss is None or len(extents) != len(loss) or len(loss) < 2:
        return None
    order = sorted(range(len(extents)), key=extents.__getitem__)
    band = [
        [curve[i] for i in order] if curve and len(curve) == len(loss) else None
        for curve in (low, high)
    ]
    return Profile([extents[i] for i in order], [loss[i] for i in order], *band)


def _model(entry: dict[str, Any]) -> Model:
    values = {key: number(entry.get(key)) for key in ("loss", "accuracy", "low", "high")}
    counted, overlap = count(entry.get("items")), _estimate(entry.get("mean_iou"))
    return Model(
        text(entry.get("name"), "model"),
        count(entry.get("copies")),
        items=counted,
        mean_iou=overlap,
        **values,
    )


def _class_row(entry: dict[str, Any], names: list[str]) -> ClassRow:
    label = entry.get("class")
    index = count(label)
    name = names[index] if index is not None and index < len(names) else text(label, "?")
    scores = {
        text(model): number(score)
        for model, score in entries(entry.get("iou") or entry.get("accuracy")).items()
    }
    return ClassRow(
        name,
        count(entry.get("items")),
        {model: score for model, score in scores.items() if score is not None},
    )


def _orbit(entry: dict[str, Any]) -> Orbit | None:
    values = numbers(entry.get("values"))
    outputs = [numbers(row) for row in items(entry.get("outputs"))]
    rows = [row for row in outputs if row is not None]
    if (
        values is None
        or len(values) < 2
        or len(values) != len(rows)
        or len({len(row) for row in rows}) != 1
    ):
        return None
    return Orbit(
        text(entry.get("title")),
        text(entry.get("coordinate")),
        values,
        rows,
        count(entry.get("truth")),
    )


def _shapes(policy: Any) -> list[Shape | None]:
    """One shape per coordinate of a policy, in order."""
    return _shapes_of(entries(entries(policy).get("distribution")), depth=0)


def _shapes_of(part: dict[str, Any], depth: int) -> list[Shape | None]:
    settings, kind = entries(part.get("settings")), part.get("kind")
    if kind == "Product" and depth < 8:
        return [
            shape
            for inner in records(settings.get("distributions"))
            for shape in _shapes_of(inner, depth + 1)
        ]
    if kind == "Uniform":
        return [
            Shape("uniform", -abs(bound), abs(bound))
            for bound in numbers(settings.get("bound")) or []
        ]
    if kind == "Interval":
        ends = zip(
            numbers(settings.get("low")) or [], numbers(settings.get("high")) or [], strict=False
        )
        return [Shape("uniform", min(low, high), max(low, high)) for low, high in ends]
    if kind == "Gaussian":
        rows = [numbers(row) or [] for row in items(settings.get("scale_tril"))]
        loc = numbers(settings.get("loc")) or []
        return [
            Shape("normal", mean, sum(v * v for v in row) ** 0.5)
            for mean, row in zip(loc, rows, strict=False)
        ]
    if kind == "Bernoulli":
        return [
            Shape("flip", min(max(p, 0.0), 1.0), 0.0)
            for p in numbers(settings.get("probability")) or []
        ]
    return []
