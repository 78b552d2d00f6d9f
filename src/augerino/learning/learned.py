"""`Learned`: the result of `learn`, and the measurements that can be made of it."""

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
from augerino.learning.defaults import task_of
from augerino.learning.probe import refit_fraction
from augerino.learning.recipe import Recipe
from augerino.objective import Objective
from augerino.report import write_report
from augerino.saving.policy import Policy
from augerino.training.state import History


@dataclass(frozen=True, eq=False)
class Learned:
    """A trained model with its learned augmentation, and how it got there.

    Args:
        model: the averaged model.
        objective: that it was trained on.
        history: one record per epoch.
        start: extent of each coordinate before the training.
        dataset: that it was trained on. Methods that need held-out data use its test part unless given others.
        recipe: the settings of the training.
        n_outputs: of the network: one per class, or one per number of a target.
        unfinished: coordinates whose extents were still moving at the end.
        n_probe_items: held-out samples that moved the extents; 0 if the gradient did.
        task_score: information / maximum on these when the extents were fixed; None if the gradient moved them.
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

    @property
    def task(self) -> Task:
        return self.dataset.task

    @property
    def kind(self) -> Kind:
        return self.dataset.kind

    @property
    def augmentation(self) -> Augmentation:
        return self.model.augmentation

    @property
    def policy(self) -> Policy:
        return Policy.of(self.augmentation)

    @property
    def extent(self) -> dict[str, float]:
        """The learned extent of each coordinate by name, in the coordinate's own unit."""
        return self.augmentation.extent

    @property
    def seconds(self) -> float:
        """Time that the training took."""
        return sum(record.seconds for record in self.history.epochs)

    def for_refit(self) -> Augmentation:
        """The learned ranges with a rate per coordinate, for training a new model on them.

        `learn(net, data, augmentation=learned.for_refit())`; see `Augmentation.with_rates`. The higher the score of the
        network on its task, the lower the rates (`refit_fraction`).
        """
        return self.augmentation.with_rates(refit_fraction(self.task_score))

    def verdicts(
        self, true: Mapping[str, float] | None = None, evidence: Evidence | None = None
    ) -> list[Verdict]:
        """One verdict per coordinate; with `evidence` from held-out data, on what it shows."""
        output_name = "masks" if self.task == "segmentation" else "outputs"
        return diagnostics.verdicts(
            self.augmentation,
            self.start,
            None if true is None else dict(true),
            evidence,
            unfinished=self.unfinished,
            followed=self.model.followed,
            output_name=output_name,
        )

    def evidence(self, data: Any = None, n_items: int = 500, seed: int = 0) -> Evidence:
        """Measures how each coordinate changes the loss of held-out data.

        Args:
            data: a `Dataset`, or data as for `learn`; by default the dataset that was learned from. Of a `Dataset` the test
                part is used.
            n_items: at most this many samples are drawn.
            seed: of the draw.
        """
        if n_items < 1:
            raise InputError(f"n_items must be at least 1, but got n_items={n_items}.")
        x, y = draw_samples(self._held_out(data), n_items, seed)
        self._check_task(y)
        return diagnostics.gather_evidence(self.model, x, y, seed=seed)

    def check(self, data: Any = None, n_items: int = 500, seed: int = 0) -> str:
        """One sentence per coordinate, on the evidence of held-out data; arguments as for `evidence`."""
        evidence = self.evidence(data, n_items, seed)
        return "\n".join(verdict.sentence for verdict in self.verdicts(evidence=evidence))

    def evaluate(self, data: Any = None, batch_size: int = 256) -> Evaluation:
        """Loss and accuracy on held-out data, given as to `evidence`."""
        loader = make_loader(self._held_out(data), batch_size, shuffle=False)
        self._check_task(first_batch(loader)[1])
        loader.expect(n_outputs=self.n_outputs)
        return diagnostics.evaluate(self.model, self.objective.loss, loader)

    def report(
        self, path: str | Path, *, test: Any = None, n_items: int = outcome.EVIDENCE_ITEMS
    ) -> Path:
        """Writes the HTML report of `augerino learn`, measured on held-out data, and returns its path.

        Args:
            path: file to write, such as "report.html"; an earlier report is replaced, any other file is not.
            test: held-out data as for `learn`; by default the test part of the dataset that was learned from.
            n_items: at most this many samples for the evidence behind each verdict.
        """
        dataset = replace(self.dataset, test=self._held_out(test))
        models_by_name = {"learned": self.model}
        evaluated = outcome.evaluate_models(models_by_name, dataset, self.recipe)
        measured = outcome.measure(self, dataset, evaluated, n_items=n_items)
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary, "data")  # names the page if the data have no path
            result.write_examples(folder, measured)
            result.write_result(folder, measured)
            return write_report([folder], path)

    def _held_out(self, data: Any) -> Any:
        """Held-out data: as given, or the test part of a `Dataset`."""
        if data is None:
            data = self.dataset
        if not isinstance(data, Dataset):
            return data
        if data.test is None:
            raise InputError(
                "There is no test part to measure on: pass held-out data, as in learned.check((x, y)) or "
                "learned.report(path, test=(x, y))."
            )
        return data.test

    def _check_task(self, y: Tensor) -> None:
        if task_of(y) != self.task:
            raise InputError(
                f"This was learned as {self.task}, but targets of {y.dtype} {tuple(y.shape)} are for {task_of(y)}."
            )

    def __str__(self) -> str:
        sentences = [verdict.sentence for verdict in self.verdicts()]
        hint = "learned.check()" if self.dataset.test is not None else "learned.check(data)"
        return "\n".join([*sentences, f"(as trained; {hint} measures held-out data)"])
