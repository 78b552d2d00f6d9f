"""What a finished `learn` measures, writes and says."""

import dataclasses
import datetime
import math
import platform
import shlex
import shutil
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Subset

from augerino import tree
from augerino.app import console as screen
from augerino.app.figures import write_ranges
from augerino.app.given import Given
from augerino.app.run_folder import RunFolder
from augerino.coordinate import Coordinate
from augerino.data.arrays import Batches, check
from augerino.data.readers.streams import StreamLoader
from augerino.diagnostics import (
    CoordinateEvidence,
    Estimate,
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
from augerino.diagnostics.examples import write_gallery
from augerino.diagnostics.items import has_valid_target
from augerino.learning.learn import Learned, draw_items
from augerino.learning.recipe import Recipe
from augerino.report.page import write_report
from augerino.runtime import distributed
from augerino.saving.pretrained import save_pretrained

EVIDENCE_ITEMS = 1000
EXAMPLES = 6
SHARED = 50  # held-out items that a process should have for its own, to share them at all
ORBITS = 2  # examples that are followed along each coordinate
ORBIT_NODES = 16
MOST_CLASSES = 20  # whose curves an orbit keeps


@dataclass(frozen=True)
class Outcome:
    """Everything that was trained in one run."""

    folder: RunFolder
    recipe: Recipe
    given: Given
    learned: Learned
    refit: Learned | None
    baseline: Learned | None
    others: list[Learned]  # of further seeds

    @property
    def delivered(self) -> Learned:
        """Whose model and policy the run hands over."""
        return self.refit or self.learned


def write_outcome(outcome: Outcome) -> None:
    """Measures, writes every file of the run, result.json last but for the report that is made from it, and prints the answer.

    Of several processes each judges its share of the held-out items, and the first one does the rest.
    """
    folder, given, learned = outcome.folder, outcome.given, outcome.learned
    with torch.random.fork_rng():
        torch.manual_seed(outcome.recipe.seed)
        with screen.console.status("Asking held-out data ..."):
            judged = _judge_models(outcome)
            first = distributed.is_first()
            distributed.leave()  # together, while all are here: the rest takes as long as it takes
            if not first:
                return
            evidence = learned.evidence(given.test, EVIDENCE_ITEMS)
            orbits = _orbits(outcome)
        examples, truths = _examples(given)
        write_gallery(
            folder.path / "gallery",
            learned.model,
            examples,
            truths,
            given.class_names,
            given.task,
            given.kind,
        )
    scores = [score(name, copies, found) for name, (copies, found) in judged.items()]
    true = {name: value for name, value in given.true.items() if name in learned.extent}
    verdicts = learned.verdicts(true, evidence)
    learned.model.cpu()
    write_ranges(folder.figures / "ranges.png", learned.augmentation, learned.start, true)
    shutil.rmtree(
        folder.model, ignore_errors=True
    )  # half of one, where an earlier try was interrupted
    example = tree.map(lambda leaf: leaf[:1], examples)
    delivered = outcome.delivered
    save_pretrained(
        delivered.model.cpu(),
        folder.model,
        example=example if isinstance(example, Tensor) else None,
    )
    result = {
        "version": 2,
        "kind": given.kind,
        "task": given.task,
        "class_names": list(given.class_names),
        "coordinates": [
            _coordinate(learned, verdict, evidence, given.true) for verdict in verdicts
        ],
        "findings": {
            "items": evidence.n_items,
            "chance": evidence.chance,
            "known": dataclasses.asdict(evidence.information),
        },
        "models": [_score(entry) for entry in scores],
        "per_class": _classes(given, judged),
        "orbits": orbits,
        "data": {
            "path": given.path,
            "fingerprint": given.fingerprint,
            "train_items": given.train_items,
            "test_items": given.test_items,
            "shape": list(given.shape),
            "notes": list(given.notes),
        },
        "bounds": learned.extent,
        "recipe": dataclasses.asdict(outcome.recipe),
        "asked": outcome.learned.n_probe_items,
        "command": folder.read_config().get("command", ""),
        "seed": outcome.recipe.seed,
        "seeds": _seeds(outcome),
        "seconds": round(_seconds(learned), 2),
        "versions": {
            "augerino": version("augerino"),
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
    }
    folder.write_results(learned.history, delivered.policy, result)
    report = write_report([folder.path])
    _say(outcome, verdicts, scores, str(report))


def _judge_models(outcome: Outcome) -> dict[str, tuple[int, ItemResults]]:
    """Every model on every held-out item: without augmentation, and those with it at one copy and at the test copies."""
    judged: dict[str, tuple[int, ItemResults]] = {}
    if outcome.baseline is not None:
        judged["no augmentation"] = (1, _judge(outcome.baseline.model, outcome))
    models = {"learned": outcome.learned.model} | (
        {"refit": outcome.refit.model} if outcome.refit is not None else {}
    )
    for title, model in models.items():
        for count in dict.fromkeys((1, outcome.recipe.test_copies)):
            model.test_copies = count
            judged[f"{title}, {count} {'copy' if count == 1 else 'copies'}"] = (
                count,
                _judge(model, outcome),
            )
    return judged


def _judge(model: torch.nn.Module, outcome: Outcome) -> ItemResults:
    """Judges every held-out item, together with the other processes where there are many items."""
    if outcome.given.test_items < SHARED * distributed.world():
        return evaluate_items(model, _test_batches(outcome))
    return ItemResults.concatenate(
        distributed.gather(
            evaluate_items(model, _test_batches(outcome, distributed.rank(), distributed.world()))
        )
    )


def _test_batches(outcome: Outcome, part: int = 0, parts: int = 1) -> Any:
    """The held-out items, or one of several parts of them that lie together."""
    test, items = outcome.given.test, outcome.given.test_items
    chosen = torch.arange(items * part // parts, items * (part + 1) // parts)
    if isinstance(test, tuple):
        x, y = test
        return (check(*batch) for batch in Batches(x, y, 256, shuffle=False, items=chosen))
    loader = StreamLoader(
        test if parts == 1 else Subset(test, chosen.tolist()),
        256,
        num_workers=outcome.recipe.workers,
    )
    return (check(*batch) for batch in loader)


def _examples(given: Given) -> tuple[Any, Tensor]:
    """A few held-out items, of as many classes as there are."""
    x, y = draw_items(given.test, 200)
    chosen = list(range(len(y)))
    if given.task == "classification":
        rank = [
            int((y[:i] == y[i]).sum()) for i in chosen
        ]  # the first of every class, then the second, ...
        chosen.sort(key=lambda i: (rank[i], int(y[i])))
    elif given.task == "segmentation":
        something = has_valid_target(y).tolist()
        chosen.sort(key=lambda i: not something[i])
    items = torch.tensor(chosen[:EXAMPLES])
    return tree.map(lambda leaf: leaf[items], x), y[items]


def _orbits(outcome: Outcome) -> list[dict[str, Any]]:
    """What the model says of a few held-out items as they move along each continuous coordinate."""
    given, augmentation = outcome.given, outcome.learned.augmentation
    if given.task == "segmentation":
        return []
    x, y = _examples(given)
    found, model = (
        [],
        outcome.learned.model.with_nodes(ORBIT_NODES),
    )  # fixed, or the curves would flicker
    for coordinate in augmentation.coordinates:
        if coordinate.discrete:
            continue
        reach = coordinate.max_abs
        limit = coordinate.limit
        span = min(limit, max(2 * reach, 0.25 * limit if math.isfinite(limit) else 2 * reach))
        for e in range(min(ORBITS, len(y))):
            item = tree.map(lambda leaf, e=e: leaf[e].to(outcome.recipe.device), x)  # type: ignore[misc]
            curve = orbit(
                model,
                item,
                augmentation.transform,
                coordinate.name,
                torch.linspace(-span, span, 49),
                probabilities=given.task == "classification",
            )
            found.append(
                _shorten(curve, given, int(y[e]) if given.task == "classification" else None)
            )
    return found


def _shorten(curve: Orbit, given: Given, truth: int | None) -> dict[str, Any]:
    title = given.class_names[truth] if truth is not None else "an example"
    outputs = [[round(value, 5) for value in row[:MOST_CLASSES]] for row in curve.outputs]
    if (
        len(given.class_names) > MOST_CLASSES and truth is not None
    ):  # the true class against all others
        outputs = [[round(row[truth], 5)] for row in curve.outputs]
    return {
        "title": title,
        "coordinate": curve.coordinate,
        "values": [round(value, 5) for value in curve.values],
        "outputs": outputs,
        "truth": truth if len(given.class_names) <= MOST_CLASSES else 0,
    }


def _coordinate(
    learned: Learned, verdict: Verdict, evidence: Evidence, true: dict[str, float]
) -> dict[str, Any]:
    augmentation, name = learned.augmentation, verdict.coordinate
    i = augmentation.names.index(name)
    coordinate = augmentation.coordinates[i]
    low, high = (end[i].item() for end in augmentation.distribution.support)
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
        "true": true.get(name),
        "support": [low, high] if math.isfinite(low) and math.isfinite(high) else None,
        "discrete": coordinate.discrete,
        "evidence": _evidence(coordinate, evidence.coordinates[name]),
    }


def _evidence(coordinate: Coordinate, found: CoordinateEvidence) -> dict[str, Any]:
    def text(extent: float) -> str:
        if coordinate.discrete:
            return "all mirrored" if extent else "none mirrored"
        return coordinate.unit.extent(extent)

    def change(
        extent: float, text: str, loss: Estimate, accuracy: Estimate | None
    ) -> dict[str, Any]:
        return {
            "extent": extent,
            "text": text,
            "loss": dataclasses.asdict(loss),
            "accuracy": None if accuracy is None else dataclasses.asdict(accuracy),
        }

    return {
        "off": change(0.0, "switched off", found.off, found.off_accuracy),
        "wider": change(
            found.wider_extent, text(found.wider_extent), found.wider, found.wider_accuracy
        ),
        "profile": {
            "extents": found.extents,
            "texts": [text(extent) for extent in found.extents],
            "loss": [rise.mean for rise in found.rise],
            "low": [rise.low for rise in found.rise],
            "high": [rise.high for rise in found.rise],
        },
        "tolerance": found.tolerance,
        "reach": found.edge,
    }


def _score(entry: Score) -> dict[str, Any]:
    shown = entry.accuracy or entry.loss
    accuracy = None if entry.accuracy is None else entry.accuracy.mean
    return {
        "name": entry.name,
        "copies": entry.copies,
        "loss": entry.loss.mean,
        "accuracy": accuracy,
        "low": shown.low,
        "high": shown.high,
        "mean_iou": None if entry.mean_iou is None else dataclasses.asdict(entry.mean_iou),
        "items": entry.n_items,
    }


def _classes(given: Given, judged: dict[str, tuple[int, ItemResults]]) -> list[dict[str, Any]]:
    """How each model does class by class: its accuracy or, for masks, its intersection over union."""
    pixels = {name: found.pixels for name, (_, found) in judged.items() if found.pixels is not None}
    if pixels:
        shares, counts = (
            {name: found.iou() for name, found in pixels.items()},
            next(iter(pixels.values())).items_per_class(),
        )
        return [
            {
                "class": title,
                "items": counts[i],
                "iou": {name: share[i] for name, share in shares.items()},
            }
            for i, title in enumerate(given.class_names)
        ]
    if given.task != "classification":
        return []
    rows = {
        name: per_class(found.scores.correct, found.targets, len(given.class_names))
        for name, (_, found) in judged.items()
        if found.scores.correct is not None and found.targets is not None
    }
    return [
        {
            "class": title,
            "items": next(iter(rows.values()))[i][0],
            "accuracy": {name: row[i][1] for name, row in rows.items()},
        }
        for i, title in enumerate(given.class_names)
    ]


def _seeds(outcome: Outcome) -> list[dict[str, Any]]:
    if not outcome.others:
        return []
    found = []
    for i, learned in enumerate([outcome.learned, *outcome.others]):
        learned.model.test_copies = outcome.recipe.test_copies
        with torch.random.fork_rng():
            torch.manual_seed(outcome.recipe.seed + i)
            accuracy = score(
                "",
                outcome.recipe.test_copies,
                evaluate_items(learned.model, _test_batches(outcome)),
            ).accuracy
        found.append(
            {
                "seed": outcome.recipe.seed + i,
                "learned": learned.extent,
                "accuracy": None if accuracy is None else accuracy.mean,
            }
        )
    return found


def _seconds(learned: Learned) -> float:
    return sum(record.seconds for record in learned.history.epochs)


def _say(outcome: Outcome, verdicts: list[Verdict], scores: list[Score], report: str) -> None:
    screen.print_verdicts(verdicts)
    screen.print_scores(scores, outcome.given.task)
    if outcome.others:
        screen.print_seeds(
            outcome.learned.augmentation,
            [outcome.learned.extent, *(o.extent for o in outcome.others)],
        )
    asked, form = (
        outcome.learned.n_probe_items,
        "torchvision" if outcome.given.kind in ("images", "masks") else "policy",
    )
    mover = f"asking {asked} held-back items" if asked else "the gradient"
    screen.console.print(
        f"\nTrained in {_seconds(outcome.learned):.0f} s, bounds moved by {mover}. Report: {report}\n"
        f"Take it elsewhere:  {shlex.join(['augerino', 'export', str(outcome.folder.path), '--to', form])}",
        soft_wrap=True,
    )
