"""Examples moved along each coordinate, within the learned range and beyond, with predictions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from augerino import tree
from augerino.coordinate import LearnedCoordinate, StrengthUnit, discrete_unit
from augerino.diagnostics.frames import UNKNOWN, draw, draw_labels, label_key, reduced, strip
from augerino.models import InvariantModel, evaluation_mode
from augerino.runtime import files

if TYPE_CHECKING:
    from PIL.Image import Image

VERSION = 1
MAX_EXAMPLES = 6
MAX_BYTES = 1_600_000  # of all strips together; base64 in the report adds a third
MAX_BATCH = 8_000_000  # numbers in one batch through the model
MIN_RANGE = 0.25  # an example moves at least this fraction of the limit (of 1 without a limit)
MAX_VALUES = 4  # values of a regression that are shown


def write_gallery(
    folder: Path,
    model: InvariantModel,
    examples: Any,
    truths: Tensor | None,
    class_names: Sequence[str],
    task: str,
    kind: str,
    *,
    frames: int = 13,
) -> None:
    """Writes gallery.json and one PNG strip per example and coordinate into a folder.

    For masks also writes strips of the predicted and the true mask, to be laid over the image.

    Args:
        folder: created if it does not exist.
        model: evaluated in evaluation mode with a fixed seed; its mode is restored.
        examples: a batch of inputs, of which the first six are shown.
        truths: targets: labels (B,), values (B, ...) or masks (B, H, W); None if unknown.
        class_names: of a classification or segmentation.
        task: classification, regression or segmentation.
        kind: images, masks, signals, points or values; selects how an input is drawn.
        frames: steps of a continuous coordinate; odd, so that the middle one is the input itself.
    """
    folder.mkdir(parents=True, exist_ok=True)
    device = model.augmentation.distribution.extent.device
    examples = tree.to(tree.take(examples, slice(MAX_EXAMPLES)), device)
    n_examples = tree.batch_size(examples)
    axes = [_axis(coordinate, frames) for coordinate in model.augmentation.coordinates]
    n_coordinates = len(axes)
    max_bytes = MAX_BYTES // max(n_examples * n_coordinates, 1)
    strips = []
    classes = set[int]()
    for example in range(n_examples):
        x = tree.take(examples, slice(example, example + 1))
        truth = None if truths is None else truths[example]
        for index, axis in enumerate(axes):
            t = torch.zeros(len(axis["values"]), n_coordinates, device=device)
            t[:, index] = torch.tensor(axis["values"], device=device)
            shown = _predict_frames(model, x, t, truth, task)
            name = f"{example}-{index}"
            size = _write_strip(folder / f"{name}.png", draw(kind, shown.inputs), max_bytes)
            entry = {
                "example": example,
                "coordinate": index,
                "file": f"{name}.png",
                "width": size[0],
                "height": size[1],
            }
            for layer, labels in shown.masks.items():
                path = folder / f"{name}-{layer}.png"
                _write_strip(path, draw_labels(labels), max_bytes // 2)
                classes |= set(labels.unique().tolist()) - {UNKNOWN}
            if shown.masks:
                entry["masks"] = {layer: f"{name}-{layer}.png" for layer in shown.masks}
            strips.append({**entry, "predictions": shown.predictions})
    files.write_json(
        folder / "gallery.json",
        {
            "version": VERSION,
            "kind": kind,
            "task": task,
            "class_names": list(class_names),
            "legend": [_legend_entry(label) for label in sorted(classes)],
            "examples": [{"truth": _target(truths, i, task)} for i in range(n_examples)],
            "coordinates": axes,
            "strips": strips,
        },
    )


def _write_strip(path: Path, frames: "list[Image]", max_bytes: int) -> tuple[int, int]:
    """Writes frames as one PNG and returns the width and height of a frame."""
    data, width, height = strip(frames, max_bytes)
    files.write_atomically(path, data)
    return width, height


def _legend_entry(label: int) -> dict[str, Any]:
    color, is_chequered = label_key(label)
    return {"class": label, "color": color, "chequered": is_chequered}


def _axis(coordinate: LearnedCoordinate, count: int) -> dict[str, Any]:
    """The values at which one coordinate is shown: up to the learned edges, and as far beyond."""
    if coordinate.discrete:
        return {
            "name": coordinate.name,
            "values": [0.0, 1.0],
            "texts": ["as it is", discrete_unit(coordinate.unit).outcome],
            "inside": [True, not coordinate.is_negligible],
            "discrete": True,
        }
    is_one_sided = isinstance(coordinate.unit, StrengthUnit)  # -t would show the same as t
    low = 0.0 if is_one_sided else min(0.0, coordinate.low)
    high = coordinate.max_abs if is_one_sided else max(0.0, coordinate.high)
    edges = [edge for edge in (low, high) if edge != 0] or [-MIN_RANGE, MIN_RANGE]
    values = {0.0}
    for edge in edges:
        values.update(_values_towards(edge, coordinate.limit, max(1, (count - 1) // len(edges))))
    points = sorted(values)
    slack = 1e-6 * max(abs(low), abs(high))
    return {
        "name": coordinate.name,
        "values": points,
        "texts": [coordinate.unit.value(value) for value in points],
        "inside": [low - slack <= value <= high + slack for value in points],
        "discrete": False,
    }


def _values_towards(edge: float, limit: float, count: int) -> list[float]:
    """Values from 0 to a learned edge and beyond, half of them on each part.

    All are on one part where the other is too short to show.
    """
    sign = math.copysign(1.0, edge)
    edge = min(abs(edge), limit)
    scale = limit if math.isfinite(limit) else 1.0
    end = min(limit, max(2 * edge, MIN_RANGE * scale))
    if edge < 0.1 * end:
        n_inside = 0
    elif edge > 0.97 * end:
        n_inside = count
    else:
        n_inside = min(count - 1, max(1, count // 2))
    n_beyond = count - n_inside
    inside = [edge * (i + 1) / n_inside for i in range(n_inside)]
    start = inside[-1] if inside else 0.0
    beyond = [start + (end - start) * (i + 1) / n_beyond for i in range(n_beyond)]
    return [sign * value for value in (*inside, *beyond)]


@dataclass(frozen=True)
class _Frames:
    """One example at every value of a coordinate.

    Attributes:
        inputs: moved inputs, reduced in size, (F, ...).
        predictions: one JSON object per frame.
        masks: predicted and true label maps (F, H, W) by name; empty unless a segmentation.
    """

    inputs: Tensor
    predictions: list[dict[str, Any]]
    masks: dict[str, Tensor]


def _predict_frames(
    model: InvariantModel, x: Any, t: Tensor, truth: Tensor | None, task: str
) -> _Frames:
    """Moves one example by each row of t and predicts, a few rows at a time to bound memory."""
    numbers_per_frame = sum(leaf.numel() for leaf in tree.leaves(x)) * model.test_copies
    rows_at_once = max(1, MAX_BATCH // max(numbers_per_frame, 1))
    inputs: list[Tensor] = []
    predictions: list[dict[str, Any]] = []
    masks: dict[str, list[Tensor]] = {}
    with evaluation_mode(model), torch.random.fork_rng():
        torch.manual_seed(0)
        for rows in t.split(rows_at_once):
            moved = model.augmentation.transform(_expand(x, len(rows)), rows)
            outputs = model(moved).float()
            largest = max(tree.leaves(moved), key=lambda leaf: leaf.dim())
            inputs.append(reduced(largest.detach().cpu()))
            if task != "segmentation":
                predictions += _predictions(outputs, task)
                continue
            layers = _mask_layers(model, outputs, truth, rows)
            predictions += _agreements(outputs, layers.get("true"))
            for name, labels in layers.items():
                small = reduced(labels[:, None].float().cpu(), mode="nearest")
                masks.setdefault(name, []).append(small[:, 0].long())
    return _Frames(
        inputs=torch.cat(inputs),
        predictions=predictions,
        masks={name: torch.cat(parts) for name, parts in masks.items()},
    )


def _expand(x: Any, n: int) -> Any:
    return tree.map(lambda leaf: leaf.expand(n, *leaf.shape[1:]), x)


def _predictions(outputs: Tensor, task: str) -> list[dict[str, Any]]:
    """The values of a regression, or the most probable class, of each frame."""
    if task == "regression":
        return [{"values": _finite_values(row)} for row in outputs]
    top = outputs.softmax(dim=1).max(dim=1)
    pairs = zip(top.indices.tolist(), top.values.tolist(), strict=True)
    return [{"class": label, "probability": _finite(value)} for label, value in pairs]


def _agreements(outputs: Tensor, true: Tensor | None) -> list[dict[str, Any]]:
    """The fraction of known pixels with the correct class in each frame; None without any."""
    if true is None:
        return [{} for _ in outputs]
    known = (true != UNKNOWN).flatten(1)
    correct = (_predicted_labels(outputs) == true).flatten(1) & known
    counts = zip(correct.sum(dim=1).tolist(), known.sum(dim=1).tolist(), strict=True)
    return [{"agreement": count / total if total else None} for count, total in counts]


def _mask_layers(
    model: InvariantModel, outputs: Tensor, truth: Tensor | None, t: Tensor
) -> dict[str, Tensor]:
    """The predicted mask of each frame and the moved true mask, (F, H, W) each.

    Pixels from outside the image are unknown. A pixel of the moved mask gets the class that
    covers most of it.
    """
    if truth is None:
        labels = torch.zeros(outputs.shape[-2:], dtype=torch.long, device=t.device)
    else:
        labels = truth.long().to(t.device)
    classes = labels.unique()
    inside = torch.ones_like(labels)[None].bool()
    planes = torch.cat([labels == classes[:, None, None], inside]).float()
    action = getattr(model, "action", model.augmentation.transform)
    moved = action(planes.expand(len(t), *planes.shape), t)
    layers = {"predicted": _predicted_labels(outputs)}
    if truth is not None:
        layers["true"] = classes[moved[:, :-1].argmax(dim=1)]
    outside = moved[:, -1] < 0.5
    return {name: mask.masked_fill(outside, UNKNOWN) for name, mask in layers.items()}


def _predicted_labels(outputs: Tensor) -> Tensor:
    """The most probable class, or the sign of a single score.   (F, classes, H, W) -> (F, H, W)"""
    if outputs.shape[1] == 1:
        return (outputs[:, 0] > 0).long()
    return outputs.argmax(dim=1)


def _target(truths: Tensor | None, index: int, task: str) -> Any:
    """A target as JSON; None for masks, which are in the strips, and for unknown targets."""
    if truths is None or task == "segmentation":
        return None
    if task == "classification":
        return int(truths[index])
    return _finite_values(truths[index])


def _finite_values(values: Tensor) -> list[float | None]:
    return [_finite(value) for value in values.flatten().tolist()[:MAX_VALUES]]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
