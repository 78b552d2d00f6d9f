"""`Learned`: the result of `learn`, with methods that evaluate it on held-out data."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from augerino import diagnostics, models
from augerino.augmentation import Augmentation
from augerino.data import Dataset
from augerino.data.arrays import Kind, Task
from augerino.data.loading import draw_samples, first_batch, make_loader
from augerino.diagnostics import Evaluation, Evidence, Verdict
from augerino.errors import InputError
from augerino.learning import outcome, result
from augerino.learning.averaging import EvaluationCopies, averaged_model, single_view
from augerino.learning.defaults import task_of
from augerino.learning.probe import refit_fraction
from augerino.learning.race import Race
from augerino.learning.recipe import Recipe
from augerino.objective import Objective
from augerino.report import write_report
from augerino.saving.policy import Policy
from augerino.training.state import History

FINDING = "finding the ranges"  # the first step


@dataclass(frozen=True, eq=False)
class Choice:
    """The result of the policy step.

    Args:
        race: the trials of all candidate policies.
        augmentation: the chosen policy, which the final model is trained with.
        copies: how the final model averages its predictions.
        history: one record per epoch of the final training.
        seconds: duration of the trials and of the final training.
    """

    race: Race
    augmentation: Augmentation
    copies: EvaluationCopies
    history: History
    seconds: float

    @property
    def name(self) -> str:
        """The chosen policy in a few words."""
        return self.race.winner.name


@dataclass(frozen=True, eq=False)
class Learned:
    """A trained model with the learned ranges, the chosen policy and the history of the training.

    Args:
        model: averaged model.
        objective: objective of the training that found the ranges.
        history: one record per epoch of that training.
        start: extent of each coordinate before the training.
        dataset: training data; its test part is the default of methods that need held-out data.
        recipe: settings of the training.
        n_outputs: outputs of the network: one per class, or one per value of a target.
        unfinished: coordinates whose extents were still moving at the end.
        n_probe_items: number of held-out samples used by the probe; 0 for the method "gradient".
        task_score: information / maximum on these samples when the extents were fixed; None for
            the method "gradient".
        finder: model that was trained to find the ranges; None if that is `model` itself.
        choice: the policy of the final model; None if there was no policy step.
        interrupted: the step in which the time limit was reached; empty if all were completed.
    """

    model: models.InvariantModel
    objective: Objective
    history: History
    start: dict[str, float]
    dataset: Dataset = field(repr=False)
    recipe: Recipe = field(repr=False)
    n_outputs: int
    unfinished: tuple[str, ...] = ()
    n_probe_items: int = 0
    task_score: float | None = None
    finder: models.InvariantModel | None = field(default=None, repr=False)
    choice: Choice | None = None
    interrupted: str = ""

    @property
    def ranges_model(self) -> models.InvariantModel:
        """The model that was trained on the learned ranges; verdicts refer to it."""
        return self.model if self.finder is None else self.finder

    @property
    def task(self) -> Task:
        return self.dataset.task

    @property
    def kind(self) -> Kind:
        return self.dataset.kind

    @property
    def augmentation(self) -> Augmentation:
        """The augmentation with the learned ranges."""
        return self.ranges_model.augmentation

    @property
    def policy(self) -> Policy:
        """The policy that `model` was trained with; the learned ranges without a policy step."""
        return Policy.of(self.augmentation if self.choice is None else self.choice.augmentation)

    @property
    def extent(self) -> dict[str, float]:
        """Learned extent of each coordinate by name, in the unit of the coordinate."""
        return self.augmentation.extent

    @property
    def seconds(self) -> float:
        """Duration of all trainings in seconds, without the baseline."""
        finding = sum(record.seconds for record in self.history.epochs)
        return finding + (0.0 if self.choice is None else self.choice.seconds)

    def views(self, name: str = "learned") -> list[tuple[str, models.InvariantModel, int]]:
        """Name, model and number of copies of each way to evaluate: one copy, then several."""
        if not self.model.augmentation.names:
            return [(name, self.model, 1)]
        copies = self.model.test_copies
        several = (f"{name}, {copies} copies", self.model, copies)
        if self.choice is None:
            single = (f"{name}, 1 copy", self.model, 1)
            return [single] if copies == 1 else [single, several]
        plain = averaged_model(self.model.net, single_view(), task=self.task, recipe=self.recipe)
        return [(f"{name}, single view", plain, 1), several]

    def for_refit(self) -> Augmentation:
        """Fixed augmentation with the learned ranges and a rate per coordinate, for a new model.

        Use it as `learn(net, data, augmentation=learned.for_refit())`; see
        `Augmentation.with_rates`. The rates decrease with `task_score` (`refit_fraction`).
        """
        return self.augmentation.with_rates(refit_fraction(self.task_score))

    def verdicts(
        self, true: Mapping[str, float] | None = None, evidence: Evidence | None = None
    ) -> list[Verdict]:
        """One verdict per coordinate, based on `evidence` from held-out data if it is given."""
        output_name = "masks" if self.task == "segmentation" else "outputs"
        return diagnostics.verdicts(
            self.augmentation,
            start=self.start,
            true=None if true is None else dict(true),
            evidence=evidence,
            unfinished=self.unfinished,
            interrupted=self.interrupted == FINDING,
            followed=self.ranges_model.followed,
            output_name=output_name,
        )

    def evidence(self, data: Any = None, n_items: int = 500, seed: int = 0) -> Evidence:
        """Measures the effect of each coordinate on the loss of held-out data.

        Args:
            data: a `Dataset`, of which the test part is used, or data as for `learn`; by default
                the dataset of the training.
            n_items: maximum number of samples, drawn at random.
            seed: seed of the draw.
        """
        if n_items < 1:
            raise InputError(f"n_items must be at least 1, but got n_items={n_items}.")
        x, y = draw_samples(self._held_out(data), n_items, seed)
        self._check_task(y)
        return diagnostics.gather_evidence(self.ranges_model, x, y, seed=seed)

    def check(self, data: Any = None, n_items: int = 500, seed: int = 0) -> str:
        """One verdict per line from held-out data, as text; arguments as for `evidence`."""
        evidence = self.evidence(data, n_items, seed)
        return "\n".join(verdict.sentence for verdict in self.verdicts(evidence=evidence))

    def evaluate(self, data: Any = None, batch_size: int = 256) -> Evaluation:
        """Loss and accuracy on held-out data; `data` as for `evidence`."""
        loader = make_loader(self._held_out(data), batch_size, shuffle=False)
        self._check_task(first_batch(loader)[1])
        loader.expect(n_outputs=self.n_outputs)
        return diagnostics.evaluate(self.model, self.objective.loss, loader)

    def report(
        self, path: str | Path, *, test: Any = None, n_items: int = outcome.EVIDENCE_ITEMS
    ) -> Path:
        """Writes the HTML report of `augerino learn` from held-out data and returns its path.

        Args:
            path: file to write, such as "report.html"; replaces an earlier report, but no other
                file.
            test: held-out data as for `learn`; by default the test part of the training dataset.
            n_items: maximum number of samples for the evidence behind each verdict.
        """
        dataset = replace(self.dataset, test=self._held_out(test))
        evaluated = outcome.evaluate_models(self, dataset=dataset, recipe=self.recipe)
        measured = outcome.measure(self, dataset, evaluated, n_items=n_items)
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary, "data")  # title of the page if the data have no path
            result.write_examples(folder, measured)
            result.write_result(folder, measured)
            return write_report([folder], path)

    def _held_out(self, data: Any) -> Any:
        """Returns `data` as held-out data: the test part if it is a `Dataset`, else all of it."""
        if data is None:
            data = self.dataset
        if not isinstance(data, Dataset):
            return data
        if data.test is None:
            raise InputError(
                "The dataset has no test part: pass held-out data, as in "
                "learned.check((x, y)) or learned.report(path, test=(x, y))."
            )
        return data.test

    def _check_task(self, y: Tensor) -> None:
        """Raises an error if the targets are for another task than that of the training."""
        if task_of(y) != self.task:
            raise InputError(
                f"The model was trained for {self.task}, but targets of {y.dtype} "
                f"{tuple(y.shape)} are for {task_of(y)}."
            )

    def __str__(self) -> str:
        sentences = [verdict.sentence for verdict in self.verdicts()]
        hint = "learned.check()" if self.dataset.test is not None else "learned.check(data)"
        return "\n".join([*sentences, f"(as trained; {hint} checks on held-out data)"])
