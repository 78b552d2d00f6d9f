"""Results of `augerino learn`: evaluates the models, writes the run folder, prints verdicts."""

import shlex
import shutil
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from augerino import plots, tree
from augerino.app import console as screen
from augerino.app.run_folder import RunFolder
from augerino.data import Dataset
from augerino.diagnostics import score
from augerino.learning import outcome as measuring
from augerino.learning import result
from augerino.learning.learned import Learned
from augerino.learning.recipe import Recipe
from augerino.report import write_report
from augerino.runtime import distributed
from augerino.saving.pretrained import save_pretrained


@dataclass(frozen=True)
class Trained:
    """The trainings of one run."""

    folder: RunFolder
    recipe: Recipe
    dataset: Dataset
    learned: Learned
    baselines: dict[str, Learned]  # by name; `learned` itself, if its policy is no augmentation
    others: list[Learned]  # one per further seed
    interrupted: str  # the step in which the time limit was reached; empty if there was none
    resume_command: str


def write_outcome(trained: Trained) -> None:
    """Evaluates the models, writes the files of the run and prints the verdicts.

    result.json and report.html are written last. Each of several processes evaluates a slice of
    the held-out samples; the first process does the rest.
    """
    folder = trained.folder.path
    with screen.console.status("Measuring on held-out data ..."):
        evaluated = measuring.evaluate_models(
            trained.learned,
            trained.baselines,
            dataset=trained.dataset,
            recipe=trained.recipe,
            shared=True,
        )
        is_first = distributed.is_first()
        distributed.leave()  # the rest may take longer than the timeout of the other processes
        if not is_first:
            return
        outcome = measuring.measure(
            trained.learned, trained.dataset, evaluated, n_items=measuring.EVIDENCE_ITEMS
        )
        result.write_examples(folder, outcome)
    trained.learned.ranges_model.cpu()
    _write_figure(trained)
    _save_model(trained, outcome.examples)
    more = {
        "command": trained.folder.read_config().get("command", ""),
        "seeds": _seeds(trained),
        "interrupted": trained.interrupted,
    }
    result.write_result(folder, outcome, more=more)
    report = write_report([folder])
    if not trained.interrupted:
        for path in folder.glob("trial-*.safetensors"):  # needed only to resume the policy step
            path.unlink()
    _print(trained, outcome, str(report))


def _write_figure(trained: Trained) -> None:
    """Draws the start, the learned range and the true extent of every coordinate as a PNG file."""
    learned = trained.learned
    true = {
        name: extent
        for name, extent in trained.dataset.true_extent.items()
        if name in learned.extent
    }
    height = 0.9 + 0.42 * len(learned.augmentation.coordinates)
    with plots.style():
        figure, axes = plots.figure(1, 1, 7.5, height)
        plots.draw_ranges(axes[0], learned.augmentation, learned.start, true)
        axes[0].legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
        figure.savefig(trained.folder.figures / "ranges.png")


def _save_model(trained: Trained, examples: Any) -> None:
    folder = trained.folder.model
    shutil.rmtree(folder, ignore_errors=True)  # an interrupted run may leave it incomplete
    example = tree.take(examples, slice(1))
    save_pretrained(
        trained.learned.model.cpu(),
        folder,
        example=example if isinstance(example, Tensor) else None,
    )


def _seeds(trained: Trained) -> list[dict[str, Any]]:
    """Extents and accuracy of every seed, if there are several."""
    if not trained.others:
        return []
    recipe = trained.recipe
    entries = []
    for i, learned in enumerate([trained.learned, *trained.others]):
        learned.model.test_copies = recipe.test_copies
        with torch.random.fork_rng():
            torch.manual_seed(recipe.seed + i)
            results = measuring.evaluate_test_part(learned.model, trained.dataset, recipe)
        accuracy = score("", recipe.test_copies, results).accuracy
        entries.append(
            {
                "seed": recipe.seed + i,
                "learned": learned.extent,
                "accuracy": None if accuracy is None else accuracy.mean,
            }
        )
    return entries


def _print(trained: Trained, outcome: measuring.Outcome, report: str) -> None:
    learned = trained.learned
    screen.print_payoff(outcome.payoff, learned)
    screen.print_scores(outcome.scores, trained.dataset.task)
    screen.print_verdicts(outcome.verdicts)
    if trained.others:
        bounds = [learned.extent, *(other.extent for other in trained.others)]
        screen.print_seeds(learned.augmentation, bounds)
    has_images = trained.dataset.kind in ("images", "masks")
    source = trained.folder.path
    if learned.choice is not None and not learned.choice.augmentation.names:
        source /= "ranges.json"  # there is no policy to export, but there are ranges
    command = ["augerino", "export", str(source), "--to"]
    export = shlex.join([*command, "torchvision" if has_images else "policy"])
    method = "the gradient"
    if learned.n_probe_items:
        method = f"probing with {learned.n_probe_items} held-out training samples"
    screen.console.print()
    screen.say(f"Trained in {learned.seconds:.0f} s, extents learned by {method}.")
    screen.say(f"Report: {report}")
    screen.say(f"Export: {export}")
    if trained.interrupted:
        screen.say(
            f"The time limit was reached while {trained.interrupted}: this result is preliminary. "
            f"Complete it with:  {trained.resume_command}"
        )
