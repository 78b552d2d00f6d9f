"""A trained model measured on held-out data: scores, evidence and verdicts, orbits, examples."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from augerino import tree
from augerino.coordinate import LearnedCoordinate
from augerino.data import Dataset
from augerino.data.batches import CheckedBatches
from augerino.data.loading import draw_samples, make_loader
from augerino.diagnostics import (
    Evidence,
    ItemResults,
    Orbit,
    Score,
    Verdict,
    evaluate_items,
    orbit,
    per_class,
    score,
)
from augerino.diagnostics.items import has_valid_target
from augerino.learning.payoff import BASELINE, Payoff, measure_payoff
from augerino.learning.recipe import Recipe
from augerino.models import InvariantModel
from augerino.runtime import distributed

if TYPE_CHECKING:
    from augerino.learning.learned import Learned

EVIDENCE_ITEMS = 1000  # held-out samples for the evidence behind each verdict
EXAMPLES = 6  # held-out samples in the report
EXAMPLES_DRAWN = 200  # held-out samples from which the examples are chosen
BATCH_SIZE = 256
MIN_SLICE = 50  # held-out samples per process; with fewer, each process evaluates all of them
ORBITS = 2  # examples that are followed along each coordinate
ORBIT_NODES = 16  # fixed elements of the averaged model, so that its curves are smooth
ORBIT_VALUES = 49  # coordinate values per orbit
MAX_CLASSES = 20  # maximum number of curves per orbit


@dataclass(frozen=True)
class Evaluated:
    """One model on all held-out samples, averaged over `copies` copies."""

    name: str
    copies: int
    results: ItemResults
    is_baseline: bool

    @property
    def score(self) -> Score:
        return score(self.name, self.copies, self.results)


@dataclass(frozen=True)
class Outcome:
    """Measurements of a trained model; `result.write_result` writes them to files.

    Args:
        learned: the trained model.
        dataset: dataset with the held-out part.
        scores: scores of each compared model.
        per_class: accuracy, or for masks intersection over union, of each model by class.
        evidence: the effect of each coordinate on the held-out loss.
        verdicts: one per coordinate.
        payoff: how much the learned model gains over the baseline; None without a baseline.
        orbits: predictions of the first examples along each continuous coordinate.
        examples: a few held-out inputs.
        targets: targets of the examples.
    """

    learned: "Learned"
    dataset: Dataset
    scores: list[Score]
    per_class: list[dict[str, Any]]
    evidence: Evidence
    verdicts: list[Verdict]
    payoff: Payoff | None
    orbits: list[dict[str, Any]]
    examples: Any
    targets: Tensor


def evaluate_models(
    learned: "Learned",
    baselines: "Mapping[str, Learned] | None" = None,
    *,
    dataset: Dataset,
    recipe: Recipe,
    shared: bool = False,
) -> list[Evaluated]:
    """Evaluates the baselines and the learned model on all held-out samples.

    Args:
        learned: the learned model, evaluated on one copy and on several.
        baselines: models to compare with, by name; those with augmentation are evaluated on
            several copies.
        dataset: dataset with a test part.
        recipe: seed, test copies and workers.
        shared: whether each of several processes evaluates a slice; all of them must call this.
    """
    baselines = baselines or {}
    compared = [
        (name, baseline.model, recipe.test_copies if baseline.model.augmentation.names else 1)
        for name, baseline in baselines.items()
        if baseline is not learned
    ]
    if baselines.get(BASELINE) is learned:
        compared.append((BASELINE, learned.model, 1))
    else:
        compared += learned.views()
    evaluated = []
    with _seeded(recipe.seed):
        for name, model, copies in compared:
            kept = model.test_copies
            model.test_copies = copies
            results = _evaluate(model, dataset, recipe, shared=shared)
            model.test_copies = kept
            evaluated.append(Evaluated(name, copies, results, is_baseline=name in baselines))
    return evaluated


def measure(
    learned: "Learned",
    dataset: Dataset,
    evaluated: list[Evaluated],
    *,
    n_items: int = EVIDENCE_ITEMS,
) -> Outcome:
    """Measures the evidence for each coordinate, and summarizes the evaluated models."""
    with _seeded(learned.recipe.seed):
        evidence = learned.evidence(dataset.test, n_items)
        examples, targets = _choose_examples(dataset)
        orbits = _orbits(learned, dataset, examples=examples, targets=targets)
    names = learned.augmentation.names
    true = {name: extent for name, extent in dataset.true_extent.items() if name in names}
    return Outcome(
        learned=learned,
        dataset=dataset,
        scores=[entry.score for entry in evaluated],
        per_class=_per_class(dataset, evaluated),
        evidence=evidence,
        verdicts=learned.verdicts(true, evidence),
        payoff=measure_payoff(
            learned,
            evaluated[-1].results,
            {entry.name: entry.results for entry in evaluated if entry.is_baseline},
        ),
        orbits=orbits,
        examples=examples,
        targets=targets,
    )


def evaluate_test_part(model: InvariantModel, dataset: Dataset, recipe: Recipe) -> ItemResults:
    """Evaluates a model on all held-out samples, in this process."""
    return evaluate_items(model, _test_loader(dataset, recipe))


def _evaluate(
    model: InvariantModel, dataset: Dataset, recipe: Recipe, *, shared: bool
) -> ItemResults:
    n_processes = distributed.world()
    if not shared or dataset.n_test < MIN_SLICE * n_processes:
        return evaluate_test_part(model, dataset, recipe)
    loader = _test_loader(dataset, recipe)
    if n_processes > 1:
        start = dataset.n_test * distributed.rank() // n_processes
        end = dataset.n_test * (distributed.rank() + 1) // n_processes
        loader = loader.only(torch.arange(start, end), shuffle=False)
    return ItemResults.concatenate(distributed.gather(evaluate_items(model, loader)))


def _test_loader(dataset: Dataset, recipe: Recipe) -> CheckedBatches:
    return make_loader(dataset.test, BATCH_SIZE, shuffle=False, workers=recipe.workers)


def _choose_examples(dataset: Dataset) -> tuple[Any, Tensor]:
    """A few held-out samples, of as many classes as possible."""
    x, y = draw_samples(dataset.test, EXAMPLES_DRAWN)
    order = list(range(len(y)))
    if dataset.task == "classification":
        # The first sample of every class, then the second of every class, and so on.
        rank = [int((y[:i] == y[i]).sum()) for i in order]
        order.sort(key=lambda i: (rank[i], int(y[i])))
    elif dataset.task == "segmentation":
        is_valid = has_valid_target(y).tolist()
        order.sort(key=lambda i: not is_valid[i])
    chosen = torch.tensor(order[:EXAMPLES])
    return tree.take(x, chosen), y[chosen]


def _orbits(
    learned: "Learned", dataset: Dataset, *, examples: Any, targets: Tensor
) -> list[dict[str, Any]]:
    """Predictions of the first examples as functions of each continuous coordinate."""
    if dataset.task == "segmentation":
        return []
    augmentation = learned.augmentation
    device = next(learned.ranges_model.parameters()).device
    model = learned.ranges_model.with_nodes(ORBIT_NODES)
    is_classification = dataset.task == "classification"
    orbits = []
    for coordinate in augmentation.coordinates:
        if coordinate.discrete:
            continue
        span = _span(coordinate)
        values = torch.linspace(-span, span, ORBIT_VALUES)
        for e in range(min(ORBITS, len(targets))):
            example = tree.map(lambda leaf, e=e: leaf[e].to(device), examples)  # type: ignore[misc]
            curve = orbit(
                model,
                example,
                transform=augmentation.transform,
                coordinate=coordinate.name,
                values=values,
                probabilities=is_classification,
            )
            label = int(targets[e]) if is_classification else None
            orbits.append(_orbit_entry(curve, dataset, label))
    return orbits


def _span(coordinate: LearnedCoordinate) -> float:
    """Half-range of an orbit: twice the learned range, within the limit of the coordinate."""
    span = 2 * coordinate.max_abs
    if math.isfinite(coordinate.limit):
        span = max(span, 0.25 * coordinate.limit)
    return min(coordinate.limit, span)


def _orbit_entry(curve: Orbit, dataset: Dataset, label: int | None) -> dict[str, Any]:
    """Entry of one orbit in result.json; with more than `MAX_CLASSES`, the true class only."""
    has_many_classes = len(dataset.class_names) > MAX_CLASSES
    if has_many_classes and label is not None:
        outputs = [[row[label]] for row in curve.outputs]
    else:
        outputs = [list(row[:MAX_CLASSES]) for row in curve.outputs]
    return {
        "title": "an example" if label is None else dataset.class_names[label],
        "coordinate": curve.coordinate,
        "values": [round(value, 5) for value in curve.values],
        "outputs": [[round(value, 5) for value in row] for row in outputs],
        "truth": 0 if has_many_classes else label,
    }


def _per_class(dataset: Dataset, evaluated: list[Evaluated]) -> list[dict[str, Any]]:
    """Accuracy of each model by class or, for masks, intersection over union."""
    if dataset.task == "segmentation":
        return _iou_per_class(dataset, evaluated)
    if dataset.task != "classification":
        return []
    n_classes = len(dataset.class_names)
    rows = {}
    for entry in evaluated:
        correct = entry.results.scores.correct
        targets = entry.results.targets
        if correct is not None and targets is not None:
            rows[entry.name] = per_class(correct, targets, n_classes)
    counts = next(iter(rows.values()))
    return [
        {
            "class": class_name,
            "items": counts[i][0],
            "accuracy": {name: row[i][1] for name, row in rows.items()},
        }
        for i, class_name in enumerate(dataset.class_names)
    ]


def _iou_per_class(dataset: Dataset, evaluated: list[Evaluated]) -> list[dict[str, Any]]:
    pixels = {
        entry.name: entry.results.pixels for entry in evaluated if entry.results.pixels is not None
    }
    ious = {name: found.iou() for name, found in pixels.items()}
    counts = next(iter(pixels.values())).items_per_class()
    return [
        {
            "class": class_name,
            "items": counts[i],
            "iou": {name: iou[i] for name, iou in ious.items()},
        }
        for i, class_name in enumerate(dataset.class_names)
    ]


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seeds torch inside the block, and restores its generators after it."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield
