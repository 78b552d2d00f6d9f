"""The steps of `learn`: find the ranges, choose a policy, train the final model, average it."""

import copy
import math
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
from augerino.learning.candidates import Candidate
from augerino.learning.defaults import no_augmentation
from augerino.learning.learned import Choice, Learned
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

MIN_STEPS = 200  # of a trial; fewer tell nothing, since batch norm has no statistics yet
MIN_SAMPLES = 24  # training samples; fewer cannot tell policies apart
MAX_JUDGED = 2000  # held-out samples that judge a trial

# prepare(recipe, augmentation, items) -> Setup, with a network in its initial state
Prepare = Callable[[Recipe, Augmentation, Tensor | None], Setup]
# train(name, setup, title) -> Learned; the name is that of its checkpoint
Train = Callable[[str, Setup, str], Learned]


@dataclass(frozen=True)
class Pipeline:
    """The steps of `learn` after the set-up.

    Args:
        setup: set-up of the first step, which finds the ranges.
        prepare: builds the set-up of another training.
        train: runs a training.
        seconds: duration of each training so far.
    """

    setup: Setup
    prepare: Prepare
    train: Train
    seconds: list[float] = field(default_factory=list)

    @property
    def chooses(self) -> bool:
        """Whether there is a policy step: something is learned, not by the paper's method alone."""
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
        """Runs all steps and returns the final model with the ranges and the policy."""
        if not self.chooses:
            return self._train("checkpoint", self.setup, title)
        # This model is not the final one, so its training ends when the ranges are fixed.
        n_epochs = self.setup.method.settled_after or self.setup.n_epochs
        found = self._train("checkpoint", replace(self.setup, n_epochs=n_epochs), title)
        found = replace(found, model=copy.deepcopy(found.model))  # its network is trained again
        race, copies = self.choose(found.augmentation)
        policy = race.winner.candidate.augmentation
        setup = self.prepare(self._fixed, policy, None)
        final = self._train("final", setup, f"final model: {race.winner.name}")
        model = averaged_model(final.model.net, copies, task=found.task, recipe=self.setup.recipe)
        choice = Choice(
            race=race,
            augmentation=policy,
            copies=copies,
            history=final.history,
            seconds=sum(self.seconds) - found.seconds,
        )
        return replace(found, model=model, finder=found.model, choice=choice)

    def baseline(self, learned: Learned) -> Learned:
        """Trains without augmentation; returns the final model if that is its policy already."""
        if learned.choice is not None and not learned.choice.augmentation.names:
            return learned
        setup = self.prepare(self._fixed, no_augmentation(), None)
        return self._train("baseline", setup, "baseline without augmentation")

    def _train(self, name: str, setup: Setup, title: str) -> Learned:
        trained = self.train(name, setup, title)
        self.seconds.append(trained.seconds)
        return trained

    def choose(self, found: Augmentation) -> tuple[Race, EvaluationCopies]:
        """Runs the trials of the policy step, then chooses the test copies of the winner."""
        dataset = self.setup.dataset
        loader = make_loader(
            dataset.train, self.setup.recipe.batch_size, shuffle=False, workers=self._fixed.workers
        )
        trained, judged = self._split(loader)
        batches = loader.only(judged, shuffle=False)
        best: dict[str, Any] = {"loss": math.inf, "net": None}
        recipe = self._trial_recipe()

        def run(candidate: Candidate) -> Trial:
            n = best["n"] = best.get("n", 0) + 1
            title = f"trial {n}: {candidate.name}"
            setup = self.prepare(recipe, candidate.augmentation, trained)
            try:
                net = self._train(f"trial-{n}", setup, title).model.net
            except NonFiniteLoss:
                return Trial(candidate, None)
            trial = Trial(candidate, self._judge(net, single_view(), batches))
            if trial.loss < best["loss"]:
                best.update(loss=trial.loss, net=net)
            return trial

        x = first_batch(loader)[0]
        race = run_race(found, kind=dataset.kind, x=x, run=run)
        candidates = evaluation_candidates(race.winner.candidate.augmentation, recipe.test_copies)
        if best["net"] is None or len(candidates) == 1:
            return race, candidates[0]
        copies = choose_copies(
            candidates, lambda copies: self._judge(best["net"], copies, batches).loss
        )
        return race, copies

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
