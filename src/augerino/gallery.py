"""Real examples moved along each coordinate, inside the learned extent and beyond it, with what the model says at each step."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from augerino import files, tree
from augerino.augmentation import Augmentation
from augerino.diagnostics.evaluation import evaluation_mode
from augerino.frames import draw, reduced, strip
from augerino.models import InvariantModel

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
    """Writes gallery.json and one PNG strip per example and coordinate into a folder.

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
    device = model.augmentation.limits.device
    examples = tree.map(lambda leaf: leaf[:EXAMPLES].to(device), examples)
    count, names = tree.batch_size(examples), model.augmentation.names
    steps = [_steps(model.augmentation, i, frames) for i in range(len(names))]
    most = _BYTES // max(count * len(names), 1)
    strips = []
    for e in range(count):
        x = _item(examples, e)
        truth = None if truths is None else truths[e]
        for i, step in enumerate(steps):
            t = torch.zeros(len(step["values"]), len(names), device=device)
            t[:, i] = torch.tensor(step["values"], device=device)
            pictures, predictions = _look(model, x, t, truth, task, kind)
            data, width, height = strip(pictures, most)
            file = f"{e}-{i}.png"
            files.write_atomically(folder / file, data)
            strips.append(
                {"example": e, "coordinate": i, "file": file, "width": width, "height": height, "predictions": predictions}
            )
    files.write_json(
        folder / "gallery.json",
        {
            "version": VERSION,
            "kind": kind,
            "task": task,
            "class_names": list(class_names),
            "examples": [{"truth": None if truths is None else _plain(truths[e], task)} for e in range(count)],
            "coordinates": steps,
            "strips": strips,
        },
    )


def _steps(augmentation: Augmentation, index: int, count: int) -> dict[str, Any]:
    """Where one coordinate is looked at: up to the learned ends, and as far again beyond them."""
    name, distribution = augmentation.names[index], augmentation.distribution
    unit, limit = augmentation.transform.unit(name), augmentation.limits[index].item()
    low, high = (end[index].item() for end in distribution.support)
    if low == 0 and high == 1 and _is_discrete(augmentation, index):
        likely = distribution.reach[index].item() > 0.02
        return {"name": name, "values": [0.0, 1.0], "texts": ["as it is", "flipped"], "inside": [True, likely], "discrete": True}
    if not (math.isfinite(low) and math.isfinite(high)):  # a normal distribution: two standard deviations
        middle = float(distribution().mean[index].detach())
        reach = 2 * distribution.spread[index].item()
        low, high = min(0.0, middle - reach), max(0.0, middle + reach)
    sides = [side for side in (low, high) if side != 0] or [-_FLOOR, _FLOOR]
    each = max(1, (count - 1) // len(sides))
    points = sorted({0.0, *(point for side in sides for point in _side(side, limit, each))})
    slack = 1e-6 * max(abs(low), abs(high))
    inside = [low - slack <= value <= high + slack for value in points]
    return {"name": name, "values": points, "texts": [unit.value(v) for v in points], "inside": inside, "discrete": False}


def _side(end: float, limit: float, count: int) -> list[float]:
    """From the identity to a learned end and past it: half of the steps each, or all on one part where the other is empty."""
    sign, end = math.copysign(1.0, end), min(abs(end), limit)
    far = min(limit, max(2 * end, _FLOOR * (limit if math.isfinite(limit) else 1.0)))
    within = 0 if end < 0.1 * far else count if end > 0.97 * far else min(count - 1, max(1, count // 2))
    near = [end * (i + 1) / within for i in range(within)]
    start = near[-1] if near else 0.0
    beyond = [start + (far - start) * (i + 1) / (count - within) for i in range(count - within)]
    return [sign * value for value in (*near, *beyond)]


def _is_discrete(augmentation: Augmentation, index: int) -> bool:
    """Whether a coordinate is 0 or 1, found in the part of the distribution that owns it."""
    parts = getattr(augmentation.distribution, "parts", [augmentation.distribution])
    owners = [part for part in parts for _ in range(part.size)]
    return bool(owners[index].discrete)


def _item(batch: Any, index: int) -> Any:
    return tree.map(lambda leaf: leaf[index : index + 1], batch)


def _look(
    model: InvariantModel, x: Any, t: Tensor, truth: Tensor | None, task: str, kind: str
) -> "tuple[list[Image], list[dict[str, Any]]]":
    """One example at every step: its pictures and the model's predictions, a few at a time, so that memory stays bounded."""
    numbers = sum(leaf.numel() for leaf in tree.leaves(x)) * model.test_copies
    shown, masks, predictions = list[Tensor](), list[tuple[Tensor, Tensor | None]](), list[dict[str, Any]]()
    with evaluation_mode(model), torch.random.fork_rng():
        torch.manual_seed(0)
        for part in t.split(max(1, _AT_ONCE // max(numbers, 1))):
            moved = model.augmentation.transform(_repeat(x, len(part)), part)
            outputs = model(moved).float()
            true = _move_mask(model, truth, part, outputs.shape[1]) if task == "segmentation" else None
            predictions += _told(outputs, true, task)
            shown.append(reduced(max(tree.leaves(moved), key=lambda leaf: leaf.dim()).detach().cpu()))
            if task == "segmentation":
                masks.append((_reduced_labels(_labels(outputs)), None if true is None else _reduced_labels(true)))
    both = None
    if masks:
        true_parts = [true for _, true in masks if true is not None]
        both = torch.cat([predicted for predicted, _ in masks]), torch.cat(true_parts) if true_parts else None
    return draw(kind, torch.cat(shown), both), predictions


def _repeat(x: Any, n: int) -> Any:
    return tree.map(lambda leaf: leaf.expand(n, *leaf.shape[1:]), x)


def _told(outputs: Tensor, true: Tensor | None, task: str) -> list[dict[str, Any]]:
    """What the model says of each of several inputs, as JSON can hold it."""
    if task == "regression":
        return [{"values": [_finite(value) for value in row[:4]]} for row in outputs.flatten(1).tolist()]
    if task == "classification":
        top = outputs.softmax(dim=1).max(dim=1)
        pairs = zip(top.indices.tolist(), top.values.tolist(), strict=True)
        return [{"class": label, "probability": _finite(value)} for label, value in pairs]
    probability = (
        outputs.softmax(dim=1) if outputs.shape[1] > 1 else torch.cat([torch.sigmoid(-outputs), torch.sigmoid(outputs)], 1)
    )
    sure = probability.max(dim=1).values.flatten(1).mean(1).tolist()
    if true is None:
        return [{"confidence": _finite(value)} for value in sure]
    agree = (_labels(outputs) == true).float().flatten(1).mean(1).tolist()
    return [{"confidence": _finite(value), "agreement": share} for value, share in zip(sure, agree, strict=True)]


def _labels(outputs: Tensor) -> Tensor:
    """The predicted mask: the best class, or the sign of a single score.   (F, classes, H, W) -> (F, H, W)"""
    return outputs.argmax(dim=1) if outputs.shape[1] > 1 else (outputs[:, 0] > 0).long()


def _reduced_labels(labels: Tensor) -> Tensor:
    return reduced(labels[:, None].float().cpu(), mode="nearest")[:, 0].long()


def _move_mask(model: InvariantModel, truth: Tensor | None, t: Tensor, classes: int) -> Tensor | None:
    """The true mask moved as its image is; what comes in from outside is class 0.   (H, W) -> (F, H, W)"""
    if truth is None:
        return None
    classes = max(classes, 2)
    known = truth.long().clamp(0, classes - 1).to(t.device)
    one_hot = torch.nn.functional.one_hot(known, classes).permute(2, 0, 1).float()
    action = getattr(model, "action", model.augmentation.transform)
    return action(one_hot.expand(len(t), *one_hot.shape), t).argmax(dim=1)


def _plain(truth: Tensor, task: str) -> Any:
    """A target as JSON can hold it; a mask is in the pictures already."""
    if task == "segmentation":
        return None
    return int(truth) if task == "classification" else [_finite(value) for value in truth.flatten().tolist()[:4]]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
