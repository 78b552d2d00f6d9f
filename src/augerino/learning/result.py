"""Files with the measurements of a training, from which `augerino.report` builds its page."""

import dataclasses
import datetime
import math
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from augerino.coordinate import Coordinate, discrete_unit
from augerino.diagnostics import CoordinateEvidence, Estimate, Score, Verdict
from augerino.diagnostics.examples import write_gallery
from augerino.learning.outcome import Outcome
from augerino.runtime import files
from augerino.saving.policy import Policy

VERSION = 2  # of the format of result.json


def write_examples(folder: Path, outcome: Outcome) -> None:
    """Writes transformed examples of each coordinate to `gallery/` in a folder."""
    write_gallery(
        folder / "gallery",
        outcome.learned.ranges_model,
        examples=outcome.examples,
        truths=outcome.targets,
        class_names=outcome.dataset.class_names,
        task=outcome.dataset.task,
        kind=outcome.dataset.kind,
    )


def write_result(
    folder: Path,
    outcome: Outcome,
    *,
    more: Mapping[str, Any] | None = None,
) -> None:
    """Writes history.json, policy.json, ranges.json and, last, result.json, which ends a run.

    Args:
        folder: existing folder.
        outcome: the measurements.
        more: entries to add to result.json.
    """
    learned = outcome.learned
    files.write_json(folder / "history.json", learned.history.to_json())
    learned.policy.save(folder / "policy.json")
    Policy.of(learned.augmentation).save(folder / "ranges.json")
    files.write_json(folder / "result.json", {**result(outcome), **(more or {})})


def result(outcome: Outcome) -> dict[str, Any]:
    """The content of result.json."""
    learned = outcome.learned
    dataset = outcome.dataset
    evidence = outcome.evidence
    return {
        "version": VERSION,
        "kind": dataset.kind,
        "task": dataset.task,
        "class_names": list(dataset.class_names),
        "coordinates": [_coordinate(outcome, verdict) for verdict in outcome.verdicts],
        "findings": {
            "items": evidence.n_items,
            "chance": evidence.chance,
            "known": dataclasses.asdict(evidence.information),
        },
        "models": [_model(entry) for entry in outcome.scores],
        "payoff": _payoff(outcome),
        "policy": _policy(outcome),
        "per_class": outcome.per_class,
        "orbits": outcome.orbits,
        "data": {
            "path": dataset.path,
            "fingerprint": dataset.fingerprint,
            "train_items": dataset.n_train,
            "test_items": dataset.n_test,
            "shape": list(dataset.shape),
            "notes": list(dataset.notes),
        },
        "bounds": learned.extent,
        "recipe": dataclasses.asdict(learned.recipe),
        "n_probe_items": learned.n_probe_items,
        "seed": learned.recipe.seed,
        "seconds": round(learned.seconds, 2),
        "versions": {
            "augerino": version("augerino"),
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
    }


def _payoff(outcome: Outcome) -> dict[str, Any] | None:
    """Entry of the gain over no augmentation."""
    payoff = outcome.payoff
    if payoff is None:
        return None
    return {**dataclasses.asdict(payoff), "sentence": payoff.sentence}


def _policy(outcome: Outcome) -> dict[str, Any] | None:
    """Entry of the policy step: the chosen policy, the test copies and all trials."""
    choice = outcome.learned.choice
    if choice is None:
        return None
    race = choice.race
    none = race.trials[0]
    trials = []
    for trial in race.trials:
        gain = trial.gain_over(none)
        trials.append(
            {
                "name": trial.name,
                "loss": trial.loss if math.isfinite(trial.loss) else None,
                "accuracy": trial.accuracy,
                "gain": None if gain is None else dataclasses.asdict(gain),
            }
        )
    samples = {"images": "images", "masks": "images", "signals": "signals", "points": "clouds"}
    noun = samples.get(outcome.dataset.kind, "samples")
    return {
        "name": choice.name,
        "sentence": outcome.learned.policy.sentence(noun),
        "copies": choice.copies.copies,
        "copies_text": choice.copies.text,
        "standard": race.standard,
        "items": 0 if none.scores is None else len(none.scores.loss),
        "trials": trials,
    }


def _coordinate(outcome: Outcome, verdict: Verdict) -> dict[str, Any]:
    """Entry of one coordinate."""
    augmentation = outcome.learned.augmentation
    name = verdict.coordinate
    i = augmentation.names.index(name)
    coordinate = augmentation.coordinates[i]
    low, high = (end[i].item() for end in augmentation.distribution.support)
    is_bounded = math.isfinite(low) and math.isfinite(high)
    return {
        "name": name,
        "unit": coordinate.unit.symbol,
        "start": verdict.start,
        "learned": verdict.learned,
        "limit": coordinate.limit if math.isfinite(coordinate.limit) else None,
        "start_text": verdict.start_text,
        "learned_text": verdict.learned_text,
        "answer": verdict.answer,
        "sentence": verdict.sentence,
        "interval": verdict.interval,
        "true": outcome.dataset.true_extent.get(name),
        "support": [low, high] if is_bounded else None,
        "discrete": coordinate.discrete,
        "evidence": _evidence(coordinate, outcome.evidence.coordinates[name]),
    }


def _evidence(coordinate: Coordinate, found: CoordinateEvidence) -> dict[str, Any]:
    def text(extent: float) -> str:
        if coordinate.discrete:
            return f"{'all' if extent else 'none'} {discrete_unit(coordinate.unit).participle}"
        return coordinate.unit.extent(extent)

    return {
        "off": _change(
            extent=0.0,
            text="switched off",
            loss=found.off,
            accuracy=found.off_accuracy,
        ),
        "wider": _change(
            extent=found.wider_extent,
            text=text(found.wider_extent),
            loss=found.wider,
            accuracy=found.wider_accuracy,
        ),
        "profile": {
            "extents": found.extents,
            "texts": [text(extent) for extent in found.extents],
            "loss": [rise.mean for rise in found.rise],
            "low": [rise.low for rise in found.rise],
            "high": [rise.high for rise in found.rise],
        },
        "tolerance": found.tolerance,
        "edge": found.edge,
    }


def _change(
    *, extent: float, text: str, loss: Estimate, accuracy: Estimate | None
) -> dict[str, Any]:
    """Entry of the loss and accuracy when one coordinate is set to an extent."""
    return {
        "extent": extent,
        "text": text,
        "loss": dataclasses.asdict(loss),
        "accuracy": None if accuracy is None else dataclasses.asdict(accuracy),
    }


def _model(entry: Score) -> dict[str, Any]:
    """Entry of one compared model; low and high are of the accuracy or, without one, the loss."""
    interval = entry.accuracy or entry.loss
    return {
        "name": entry.name,
        "copies": entry.copies,
        "loss": entry.loss.mean,
        "accuracy": None if entry.accuracy is None else entry.accuracy.mean,
        "low": interval.low,
        "high": interval.high,
        "mean_iou": None if entry.mean_iou is None else dataclasses.asdict(entry.mean_iou),
        "items": entry.n_items,
    }
