"""Real examples moved along each coordinate, inside the learned extent and beyond it, with what the model says at each step."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from augerino import tree
from augerino.augmentation import Augmentation
from augerino.diagnostics.frames import UNKNOWN, draw, draw_labels, label_key, reduced, strip
from augerino.models import InvariantModel, evaluation_mode
from augerino.runtime import files

if TYPE_CHECKING:
    from PIL.Image import Image

VERSION = 1
EXAMPLES = 6  # at most
_BYTES = 1_600_000  # of all strips together; a page holds them as base64, a third larger
_AT_ONCE = 8_000_000  # numbers in one batch that goes through the model
_FLOOR = 0.25  # of the limit (or of 1): how far an example is moved at least, where hardly anything was learned


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
    """Writes gallery.json and one PNG strip per example and coordinate into a folder; for masks also one of the predicted and one
    of the true mask, to lay over it.

    Args:
        folder: is made where it does not exist.
        model: learned; predicts in evaluation mode with a seed of its own, and is left as it was.
        examples: a batch of inputs, of which the first six are shown.
        truths: their targets: classes (B,), values (B, ...) or masks (B, H, W); None where they are not known.
        class_names: of a classification or segmentation.
        task: classification, regression or segmentation.
        kind: images, masks, signals, points or values: how an input is drawn.
        frames: how many steps a continuous coordinate has; odd, so that the middle one is the input as it is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    device = model.augmentation.distribution.extent.device
    examples = tree.map(lambda leaf: leaf[:EXAMPLES].to(device), examples)
    count, names = tree.batch_size(examples), model.augmentation.names
    steps = [_steps(model.augmentation, i, frames) for i in range(len(names))]
    most = _BYTES // max(count * len(names), 1)
    strips, shown = [], set[int]()
    for e in range(count):
        x = _item(examples, e)
        truth = None if truths is None else truths[e]
        for i, step in enumerate(steps):
            t = torch.zeros(len(step["values"]), len(names), device=device)
            t[:, i] = torch.tensor(step["values"], device=device)
            pictures, predictions, masks = _look(model, x, t, truth, task, kind)
            data, width, height = strip(pictures, most)
            entry = {
                "example": e,
                "coordinate": i,
                "file": f"{e}-{i}.png",
                "width": width,
                "height": height,
            }
            files.write_atomically(folder / f"{e}-{i}.png", data)
            for layer, labels in masks.items():
                files.write_atomically(
                    folder / f"{e}-{i}-{layer}.png", strip(draw_labels(labels), most // 2)[0]
                )
                shown |= set(labels.unique().tolist()) - {UNKNOWN}
            layers = {"masks": {layer: f"{e}-{i}-{layer}.png" for layer in masks}} if masks else {}
            strips.append({**entry, **layers, "predictions": predictions})
    files.write_json(
        folder / "gallery.json",
        {
            "version": VERSION,
            "kind": kind,
            "task": task,
            "class_names": list(class_names),
            "legend": [
                {"class": c, "color": label_key(c)[0], "chequered": label_key(c)[1]}
                for c in sorted(shown)
            ],
            "examples": [
                {"truth": None if truths is None else _plain(truths[e], task)} for e in range(count)
            ],
            "coordinates": steps,
            "strips": strips,
        },
    )


def _steps(augmentation: Augmentation, index: int, count: int) -> dict[str, Any]:
    """Where one coordinate is looked at: up to the learned ends, and as far again beyond them."""
    coordinate = augmentation.coordinates[index]
    if coordinate.discrete:
        return {
            "name": coordinate.name,
            "values": [0.0, 1.0],
            "texts": ["as it is", "flipped"],
            "inside": [True, not coordinate.is_negligible],
            "discrete": True,
        }
    low = min(0.0, coordinate.low)
    high = max(0.0, coordinate.high)
    sides = [side for side in (low, high) if side != 0] or [-_FLOOR, _FLOOR]
    each = max(1, (count - 1) // len(sides))
    points = sorted(
        {0.0, *(point for side in sides for point in _side(side, coordinate.limit, each))}
    )
    slack = 1e-6 * max(abs(low), abs(high))
    inside = [low - slack <= value <= high + slack for value in points]
    return {
        "name": coordinate.name,
        "values": points,
        "texts": [coordinate.unit.value(v) for v in points],
        "inside": inside,
        "discrete": False,
    }


def _side(end: float, limit: float, count: int) -> list[float]:
    """From the identity to a learned end and past it: half of the steps each, or all on one part where the other is empty."""
    sign, end = math.copysign(1.0, end), min(abs(end), limit)
    far = min(limit, max(2 * end, _FLOOR * (limit if math.isfinite(limit) else 1.0)))
    within = (
        0 if end < 0.1 * far else count if end > 0.97 * far else min(count - 1, max(1, count // 2))
    )
    near = [end * (i + 1) / within for i in range(within)]
    start = near[-1] if near else 0.0
    beyond = [start + (far - start) * (i + 1) / (count - within) for i in range(count - within)]
    return [sign * value for value in (*near, *beyond)]


def _item(batch: Any, index: int) -> Any:
    return tree.map(lambda leaf: leaf[index : index + 1], batch)


def _look(
    model: InvariantModel, x: Any, t: Tensor, truth: Tensor | None, task: str, kind: str
) -> "tuple[list[Image], list[dict[str, Any]], dict[str, Tensor]]":
    """One example at every step: its pictures, the model's predictions, and the masks to lay over (F, H, W).

    A few steps at a time, so that memory stays bounded.
    """
    numbers = sum(leaf.numel() for leaf in tree.leaves(x)) * model.test_copies
    shown, predictions, masks = list[Tensor](), list[dict[str, Any]](), dict[str, list[Tensor]]()
    with evaluation_mode(model), torch.random.fork_rng():
        torch.manual_seed(0)
        for part in t.split(max(1, _AT_ONCE // max(numbers, 1))):
            moved = model.augmentation.transform(_repeat(x, len(part)), part)
            outputs = model(moved).float()
            shown.append(
                reduced(max(tree.leaves(moved), key=lambda leaf: leaf.dim()).detach().cpu())
            )
            if task == "segmentation":
                layers = _masks(model, outputs, truth, part)
                predictions += _compared(outputs, layers)
                for name, labels in layers.items():
                    masks.setdefault(name, []).append(_reduced_labels(labels))
            else:
                predictions += _told(outputs, task)
    return (
        draw(kind, torch.cat(shown)),
        predictions,
        {name: torch.cat(labels) for name, labels in masks.items()},
    )


def _repeat(x: Any, n: int) -> Any:
    return tree.map(lambda leaf: leaf.expand(n, *leaf.shape[1:]), x)


def _told(outputs: Tensor, task: str) -> list[dict[str, Any]]:
    """What the model says of each of several inputs, as JSON can hold it."""
    if task == "regression":
        return [
            {"values": [_finite(value) for value in row[:4]]} for row in outputs.flatten(1).tolist()
        ]
    top = outputs.softmax(dim=1).max(dim=1)
    pairs = zip(top.indices.tolist(), top.values.tolist(), strict=True)
    return [{"class": label, "probability": _finite(value)} for label, value in pairs]


def _compared(outputs: Tensor, layers: dict[str, Tensor]) -> list[dict[str, Any]]:
    """For each frame the share of pixels whose class is right, of those that are known; None where none is."""
    if "true" not in layers:
        return [{} for _ in outputs]
    known = (layers["true"] != UNKNOWN).flatten(1)
    right = (_labels(outputs) == layers["true"]).flatten(1) & known
    pairs = zip(right.sum(dim=1).tolist(), known.sum(dim=1).tolist(), strict=True)
    return [{"agreement": count / total if total else None} for count, total in pairs]


def _masks(
    model: InvariantModel, outputs: Tensor, truth: Tensor | None, t: Tensor
) -> dict[str, Tensor]:
    """The predicted mask of each frame, and the true one moved along; both unknown where the picture did not reach.

    A pixel of the moved mask has the class that fills most of it.   (H, W) -> (F, H, W) each
    """
    there = (
        (truth if truth is not None else outputs.new_zeros(outputs.shape[-2:])).long().to(t.device)
    )
    classes = there.unique()
    planes = torch.cat(
        [there == classes[:, None, None], torch.ones_like(there)[None].bool()]
    ).float()
    action = getattr(model, "action", model.augmentation.transform)
    moved = action(planes.expand(len(t), *planes.shape), t)
    outside = moved[:, -1] < 0.5
    layers = {"predicted": _labels(outputs)} | (
        {} if truth is None else {"true": classes[moved[:, :-1].argmax(dim=1)]}
    )
    return {name: labels.masked_fill(outside, UNKNOWN) for name, labels in layers.items()}


def _labels(outputs: Tensor) -> Tensor:
    """The predicted mask: the best class, or the sign of a single score.   (F, classes, H, W) -> (F, H, W)"""
    return outputs.argmax(dim=1) if outputs.shape[1] > 1 else (outputs[:, 0] > 0).long()


def _reduced_labels(labels: Tensor) -> Tensor:
    return reduced(labels[:, None].float().cpu(), mode="nearest")[:, 0].long()


def _plain(truth: Tensor, task: str) -> Any:
    """A target as JSON can hold it; a mask is in the pictures already."""
    if task == "segmentation":
        return None
    return (
        int(truth)
        if task == "classification"
        else [_finite(value) for value in truth.flatten().tolist()[:4]]
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
