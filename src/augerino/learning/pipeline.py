"""The steps of `learn`: find the ranges, choose a policy, train the final model, average it."""

import copy
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from augerino import tree
from augerino.augmentation import Augmentation
from augerino.data.batches import CheckedBatches
from augerino.data.loading import first_batch, make_loader
from augerino.diagnostics import evaluate_items
from augerino.diagnostics.items import ItemScores
from augerino.errors import NonFiniteLoss
from augerino.learning.averaging import (
    EvaluationCopies,
    averaged_model,
    choose_copies,
    evaluation_candidates,
    single_view,
)
from augerino.learning.candidates import Candidate, standard_candidates
from augerino.learning.defaults import no_augmentation
from augerino.learning.learned import FINDING, Choice, Learned
from augerino.learning.race import (
    Race,
    Trial,
    calibrated_loss,
    count_parts,
    run_race,
    split_samples,
)
from augerino.learning.recipe import Recipe
from augerino.learning.setup import Setup
from augerino.models import InvariantModel, evaluation_mode
from augerino.runtime import distributed
from augerino.runtime.deadline import Deadline

MIN_STEPS = 200  # of a trial; fewer tell nothing, since batch norm has no statistics yet
MIN_SAMPLES = 24  # training samples; fewer cannot tell policies apart
MAX_JUDGED = 2000  # held-out samples that judge a trial

# prepare(recipe, augmentation, items) -> Setup, with a network in its initial state
Prepare = Callable[[Recipe, Augmentation, Tensor | None], Setup]
# train(name, setup, title) -> Learned; the name is that of its checkpoint
Train = Callable[[str, Setup, str], Learned]


class OutOfTime(Exception):
    """Raised when the time limit is reached in a training or before it.

    Args:
        step: the step that was not completed, in a few words.
        partial: the model as trained so far; None if the training had not started.
    """

    def __init__(self, step: str, partial: Learned | None) -> None:
        super().__init__(step)
        self.step = step
        self.partial = partial


@dataclass(frozen=True)
class Pipeline:
    """The steps of `learn` after the set-up.

    Args:
        setup: set-up of the first step, which finds the ranges.
        prepare: builds the set-up of another training.
        train: runs a training.
        deadline: time limit of all trainings.
        seconds: duration of each training so far.
    """

    setup: Setup
    prepare: Prepare
    train: Train
    deadline: Deadline = field(default_factory=Deadline)
    seconds: list[float] = field(default_factory=list)

    @property
    def chooses(self) -> bool:
        """Whether there is a policy step: ranges are learned, and not by the paper's method."""
        recipe = self.setup.recipe
        if recipe.trial_length == 0 or recipe.method == "gradient":
            return False
        if self.setup.dataset.n_train < MIN_SAMPLES or not self.setup.can_subset:
            return False
        return bool(self.setup.start) and self.setup.learns

    @property
    def _fixed(self) -> Recipe:
        """The recipe of a training whose augmentation is fixed."""
        return self.setup.recipe.but(method="auto", theta_every=1)

    def run(self, title: str = "") -> Learned:
        """Runs all steps and returns the final model with the ranges and the policy.

        If the time limit is reached, returns the model at hand: the one that finds the ranges, or
        the final one with fewer epochs. `Learned.interrupted` then names the incomplete step.
        """
        try:
            found = self._find(title)
        except OutOfTime as stop:
            if stop.partial is None:
                raise
            return replace(stop.partial, interrupted=stop.step)
        if not self.chooses:
            return found
        try:
            race, copies = self.choose(found.augmentation)
        except OutOfTime as stop:
            return replace(found, interrupted=stop.step)
        return self._finish(found, race, copies)

    def _find(self, title: str) -> Learned:
        """Trains the model that finds the ranges."""
        setup = self.setup
        if self.chooses:
            # This model is not the final one, so its training ends when the ranges are fixed.
            setup = replace(setup, n_epochs=setup.method.settled_after or setup.n_epochs)
        found = self._train("checkpoint", setup, title, step=FINDING)
        if not self.chooses:
            return found
        return replace(found, model=copy.deepcopy(found.model))  # its network is trained again

    def _finish(self, found: Learned, race: Race, copies: EvaluationCopies) -> Learned:
        """Trains the final model with the chosen policy."""
        policy = race.winner.candidate.augmentation
        setup = self.prepare(self._fixed, policy, None)
        title = f"final model: {race.winner.name}"
        interrupted = ""
        try:
            final = self._train("final", setup, title, step="training the final model")
        except OutOfTime as stop:
            if stop.partial is None:
                return replace(found, interrupted=stop.step)
            final = stop.partial
            interrupted = stop.step
        model = averaged_model(final.model.net, copies, task=found.task, recipe=self.setup.recipe)
        choice = Choice(
            race=race,
            augmentation=policy,
            copies=copies,
            history=final.history,
            seconds=sum(self.seconds) - found.seconds,
        )
        return replace(
            found, model=model, finder=found.model, choice=choice, interrupted=interrupted
        )

    def baseline(self, learned: Learned) -> Learned:
        """Trains without augmentation; returns the final model if that is its policy already.

        Raises `OutOfTime` if the time limit is reached.
        """
        if learned.choice is not None and not learned.choice.augmentation.names:
            return learned
        setup = self.prepare(self._fixed, no_augmentation(), None)
        title = "baseline without augmentation"
        return self._train("baseline", setup, title, step="training the baseline")

    def standard_baseline(self, learned: Learned) -> dict[str, Learned]:
        """Trains with the field's standard augmentation; returns its name and the model.

        Empty if that is the policy of the final model, or if this kind of data has no standard.
        Raises `OutOfTime` if the time limit is reached.
        """
        dataset = self.setup.dataset
        loader = make_loader(dataset.train, self.setup.recipe.batch_size, shuffle=False)
        candidates = standard_candidates(dataset.kind, first_batch(loader)[0])
        if not candidates:
            return {}
        standard = candidates[0]
        if learned.choice is not None and learned.choice.name == standard.name:
            return {}
        setup = self.prepare(self._fixed, standard.augmentation, None)
        title = f"baseline: {standard.name}"
        return {standard.name: self._train("standard", setup, title, step="training the baseline")}

    def repeat(self, name: str, setup: Setup, title: str) -> Learned:
        """Finds the ranges again with another set-up; raises `OutOfTime` like `baseline`."""
        return self._train(name, setup, title, step="training further seeds")

    def _train(self, name: str, setup: Setup, title: str, *, step: str) -> Learned:
        is_first = not self.seconds
        if self.deadline.is_over() and not is_first:
            raise OutOfTime(step, None)
        trained = self.train(name, setup, title)
        self.seconds.append(trained.seconds)
        if len(trained.history.epochs) < setup.n_epochs:
            raise OutOfTime(step, trained)
        return trained

    def choose(self, found: Augmentation) -> tuple[Race, EvaluationCopies]:
        """Runs the trials of the policy step, then chooses the test copies of the winner."""
        dataset = self.setup.dataset
        loader = make_loader(
            dataset.train, self.setup.recipe.batch_size, shuffle=False, workers=self._fixed.workers
        )
        trained, judged = self._split(loader)
        batches = loader.only(judged, shuffle=False)
        nets: dict[str, Any] = {}
        recipe = self._trial_recipe()
        numbers = itertools.count(1)

        def run(candidate: Candidate) -> Trial:
            n = next(numbers)
            title = f"trial {n}: {candidate.name}"
            setup = self.prepare(recipe, candidate.augmentation, trained)
            try:
                learned = self._train(f"trial-{n}", setup, title, step="comparing policies")
            except NonFiniteLoss:
                return Trial(candidate, None)
            nets[candidate.name] = learned.model.net
            return Trial(candidate, self._judge(learned.model.net, single_view(), batches))

        x = first_batch(loader)[0]
        race = run_race(found, kind=dataset.kind, x=x, run=run)
        candidates = evaluation_candidates(race.winner.candidate.augmentation, recipe.test_copies)
        net = nets.get(race.winner.name)
        if net is None or len(candidates) == 1:
            return race, candidates[0]
        return race, choose_copies(candidates, lambda c: self._judge(net, c, batches).loss)

    @property
    def _n_parts(self) -> int:
        return count_parts(self.setup.recipe.trial_length, self.setup.dataset.n_train)

    def _trial_recipe(self) -> Recipe:
        """The recipe of a trial: `trial_length` of the steps, on a part of the samples."""
        setup = self.setup
        n_full = setup.n_epochs * setup.n_steps
        n_steps = max(setup.recipe.trial_length * n_full, min(MIN_STEPS, n_full))
        n_batches = max(1, setup.n_steps / self._n_parts)
        return self._fixed.but(epochs=max(1, round(n_steps / n_batches)))

    def _split(self, loader: CheckedBatches) -> tuple[Tensor, Tensor]:
        """Indices of the samples that trials train on and are judged on."""
        n = self.setup.dataset.n_train
        with torch.random.fork_rng():
            torch.manual_seed(self.setup.recipe.seed)
            trained, judged = split_samples(loader.labels, n, self._n_parts)
            judged = judged[torch.randperm(len(judged))[:MAX_JUDGED]].sort().values
        distributed.copy_from_first(trained, judged)
        return trained, judged

    def _judge(self, net: Any, copies: EvaluationCopies, batches: CheckedBatches) -> ItemScores:
        """Loss and accuracy of each held-out sample; the loss of classes is calibrated."""
        task = self.setup.dataset.task
        model = averaged_model(net, copies, task=task, recipe=self.setup.recipe)
        with torch.random.fork_rng():
            torch.manual_seed(self.setup.recipe.seed)
            if task != "classification":
                return evaluate_items(model, batches).scores
            log_prob, y = _predict(model, batches)
        correct = (log_prob.argmax(dim=1) == y).double()
        return ItemScores(loss=calibrated_loss(log_prob, y), correct=correct)


def _predict(model: InvariantModel, batches: CheckedBatches) -> tuple[Tensor, Tensor]:
    """Log-probabilities (n, classes) and labels (n,) of all samples, on the CPU."""
    device = next(model.parameters()).device
    predictions = []
    labels = []
    with evaluation_mode(model):
        for batch in batches:
            x, y = tree.to(batch, device)
            predictions.append(model(x).cpu())
            labels.append(y.cpu())
    return torch.cat(predictions), torch.cat(labels)
