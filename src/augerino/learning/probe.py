"""Learns extents on held-out samples, instead of by the gradient of the paper's objective.

The gradient is computed on the training samples. A network that has memorized them pays for every
unseen pose, so that ranges shrink. And with a regularizer that is quadratic in the extents, the
widest range dominates. A probe instead compares, on held-out samples and for each coordinate
separately, the loss in the outermost shell of a range with the loss in its centre. If the
difference is below a tolerance, the range grows; otherwise it shrinks.
"""

import math
from typing import Any

import torch
from torch import Tensor

from augerino import tree
from augerino.augmentation import Element
from augerino.coordinate import FULL, LearnedCoordinate
from augerino.distributions import LearnedDistribution, parts_of
from augerino.errors import InputError
from augerino.learning.changepoint import changepoint
from augerino.learning.information import InformationScore
from augerino.learning.probe_settings import ProbeSettings
from augerino.models import InvariantModel, evaluation_mode
from augerino.runtime import distributed

_SHRINK = -0.5  # update of all extents while the network has no information about the targets
_POSITIVE = 1e-30  # extents are above 0 in float32, whatever the settings
_GROWING = 0.5  # mean update above which an extent was still growing when it was fixed


class Probe:
    r"""Updates the extents of an augmentation between training steps, on held-out samples.

    Pass it to the training loop: `iter_epochs(..., tuner=probe)`.

    Each round computes the held-out loss once with every coordinate drawn from the centre of its
    range, and once per coordinate i with coordinate i drawn from the shell of its range instead.
    For a discrete coordinate the shell is the value 1. `ProbeSettings` lists the formulas.

    Unless the task is solved, all coordinates with a positive cost divide one tolerance among them
    (`sharing`), since small costs add up. Updates are small while the network has little
    information about the targets. If it has none after a good part of the training, all extents
    shrink, since they may prevent it from learning.

    The network is trained on ranges up to \(w > e\), wider than the extent e under test, because
    it degrades at the edge of its training range. Labels then overlap: if they change at
    \(e^*\), the loss rises from \(a = 2 e^* - w\) on. When the extents are fixed, the loss is
    therefore measured along each range, and the extent becomes \((a + w) / 2\).

    With several processes, each one evaluates a slice of the samples. Means are taken over all
    samples, and parameters are copied from the first process, so that they are bit-identical.

    Args:
        model: the model whose augmentation is updated. Its distributions need a finite range and
            a settable `extent`.
        x: held-out inputs, a few hundred or more.
        y: their targets.
        steps: number of steps of the whole training.
        tolerance: rise of the loss that ends a range, as a fraction of the information that the
            network has about the targets (`InformationScore`).
        chunk: number of samples per evaluation batch.
        settings: all other constants.
    """

    def __init__(
        self,
        model: InvariantModel,
        x: Any,
        y: Tensor,
        *,
        steps: int,
        tolerance: float = 0.03,
        chunk: int = 500,
        settings: ProbeSettings | None = None,
    ) -> None:
        if not 0 < tolerance < 1:
            raise InputError(
                "tolerance is a fraction of the information that the network has, "
                f"between 0 and 1, but got {tolerance}."
            )
        obstacle = distribution_obstacle(model.augmentation.distribution)
        if obstacle is not None:
            raise InputError(f"{obstacle}.")
        device = next(model.parameters()).device
        own = slice(distributed.rank(), None, distributed.world())
        self.model = model
        self.x = tree.map(lambda leaf: leaf[own].to(device), x)
        self.y = y[own].to(device)
        self.steps = steps
        self.tolerance = tolerance
        self.chunk = chunk
        self.settings = settings or ProbeSettings()
        self._score = InformationScore(y)
        coordinates = model.augmentation.coordinates
        self._discrete = torch.tensor([c.discrete for c in coordinates], dtype=torch.bool)
        self._limits = torch.tensor([_widest(c) for c in coordinates], dtype=torch.float64)
        self._extent = self._trained_extent()  # under test, (k,)
        self._steps_taken = 0
        self._log_extents: list[Tensor] = []  # of the rounds since `average_from`
        self._updates: list[Tensor] = []  # of the same rounds
        self._task_score = 0.0

    @property
    def settled(self) -> bool:
        """Whether the extents are fixed."""
        return self._steps_taken >= self.settings.stop * self.steps

    @property
    def task_score(self) -> float:
        """I / I_max on the held-out samples when the extents were fixed, from 0 to 1."""
        return self._task_score

    @property
    def unfinished(self) -> tuple[str, ...]:
        """The coordinates that were below their limits and still growing when they were fixed.

        All coordinates, if there were too few rounds, or if the network had no information then.
        """
        names = self.model.augmentation.names
        if not self._updates:
            return names
        growing = torch.stack(self._updates).mean(dim=0) > _GROWING
        below_limit = self._extent < FULL * self._limits
        unfinished = (growing & below_limit).tolist()
        return tuple(name for name, is_ in zip(names, unfinished, strict=True) if is_)

    def step(self) -> None:
        """Counts one training step and runs a round if one is due. Call it after every step."""
        settings = self.settings
        before = self._steps_taken / self.steps
        self._steps_taken += 1
        now = self._steps_taken / self.steps
        if before < settings.stop <= now and self._log_extents:
            self._fix()
        due = int(now * settings.rounds) > int(before * settings.rounds)
        if due and settings.wait <= now < settings.stop and len(self._extent):
            self._round(now)

    def _round(self, now: float) -> None:
        """Updates the extents once.   now: elapsed fraction of the training"""
        settings = self.settings
        update = self._measure_update(now)
        remaining = (settings.stop - now) / (settings.stop - settings.slow_from)
        pace = min(1.0, max(settings.min_pace, remaining))
        updated = self._extent * (settings.max_step * pace * update).exp()
        self._extent = updated.minimum(self._limits).clamp_min(_POSITIVE)
        self._train_on(self._widened())
        if now >= settings.average_from:
            self._log_extents.append(self._extent.log())
            self._updates.append(update)

    def _measure_update(self, now: float) -> Tensor:
        """Computes the update of each extent, (k,), from -1 to shrink to 1 to grow at full pace."""
        settings = self.settings
        score = self._score
        distributed.copy_from_first(*self.model.buffers())  # the same batch norms in all processes
        t = self._draw_centre()
        with evaluation_mode(self.model):
            information = score.information(self._mean_error(torch.zeros_like(t)))
            if information <= settings.min_score * score.most:
                update = _SHRINK if now > settings.shrink_from else 0.0
                return torch.full_like(self._extent, update)
            centre = self._mean_residual(t)
            shells = [self._mean_residual(self._draw_shell(t, i)) for i in range(t.shape[1])]
        slack = min(centre - score.least, settings.centre_slack_cap * information)
        allowed = self.tolerance * (information + settings.centre_slack * slack)
        rises = torch.tensor(shells, dtype=torch.float64) - centre
        costs = rises.maximum(-rises / settings.improvement_discount) / allowed
        costs *= sharing(costs) ** unsolved_fraction(information / score.most, settings)
        largest = min(1.0, 2 * information / score.most)
        return (settings.gain * (1 - costs)).clamp(-1, 1).minimum(torch.tensor(largest))

    def _fix(self) -> None:
        """Sets the final extents: the mean of the last rounds, corrected by `_end_of_range`."""
        self._extent = torch.stack(self._log_extents).mean(dim=0).exp()
        trained = self._widened()
        self._train_on(trained)
        distributed.copy_from_first(*self.model.buffers())
        t = self._draw_centre()
        side = torch.randint_like(t[:, 0], 2) * 2 - 1
        final = self._extent.clone()
        with evaluation_mode(self.model):
            information = self._score.information(self._mean_error(torch.zeros_like(t)))
            if information <= self.settings.min_score * self._score.most:
                self._updates.clear()  # so that every coordinate is unfinished
            else:
                self._task_score = float(information / self._score.most)
                partial = ~self._discrete & (self._extent < FULL * self._limits)
                for i in partial.nonzero().flatten().tolist():
                    edge = self._edge(i, side, trained[i].item())
                    final[i] = trained[i] * self._end_of_range(t, i, edge)
        self._extent = final
        self._train_on(final)

    def _end_of_range(self, t: Tensor, i: int, edge: Tensor) -> float:
        """Estimates where the range of coordinate i ends, as a fraction of its trained range.

        t: (n, k), drawn from the centre   edge: (n,), the end of the trained range of coordinate i
        """
        levels = self.settings.levels
        level = (torch.arange(levels, dtype=torch.float64) + 0.5) / levels
        values = []
        for middle in level.tolist():
            t_i = t.clone()
            t_i[:, i] = edge * (middle + (torch.rand_like(edge) - 0.5) / levels)
            values.append(self._mean_residual(t_i))
        return (1 + changepoint(level, torch.tensor(values))) / 2

    def _widened(self) -> Tensor:
        """Computes the extents to train on, min(widening * e + margin * L, 2 e, L), (k,)."""
        widened = self.settings.widening * self._extent + self.settings.margin * self._limits
        widened = widened.minimum(2 * self._extent).minimum(self._limits)
        return torch.where(self._discrete, self._extent, widened)

    def _draw_centre(self) -> Tensor:
        """Draws every coordinate from the centre of its range under test, (n, k)."""
        t = self.model.augmentation.sample(len(self.y)).t.detach()
        factor = self.settings.centre * self._extent / self._trained_extent()
        return t * torch.where(self._discrete, 1.0, factor).to(t)

    def _draw_shell(self, t: Tensor, i: int) -> Tensor:
        """Replaces coordinate i of t, (n, k), by draws from the shell of its range."""
        t = t.clone()
        if self._discrete[i]:
            t[:, i] = 1.0
            return t
        shell = self.settings.shell
        depth = torch.rand_like(t[:, i])
        side = torch.randint_like(t[:, i], 2) * 2 - 1
        edge = self._edge(i, side, self._extent[i].item())
        t[:, i] = edge * (1 + (shell - 1) * depth) / shell
        return t

    def _edge(self, i: int, side: Tensor, extent: float) -> Tensor:
        """Computes the ends of the range of coordinate i: upper where side is 1, lower where -1.

        side: (n,)   returns (n,)
        """
        coordinate = self.model.augmentation.coordinates[i]
        upper = extent * (coordinate.high / coordinate.extent)
        lower = extent * (coordinate.low / coordinate.extent)
        return torch.where(side > 0, upper, lower)

    def _mean_error(self, t: Tensor) -> Tensor:
        """Computes the mean error over all samples transformed by t.

        t: (n, k)   returns () or (outputs,)
        """
        transform = self.model.augmentation.transform
        errors = []
        for rows in torch.arange(len(t), device=t.device).split(self.chunk):
            x = tree.map(lambda leaf: leaf[rows], self.x)  # noqa: B023
            prediction = self.model.average_over(x, Element(transform, t[rows]))
            errors.append(self._score.errors(prediction, self.y[rows]))
        return distributed.mean(torch.cat(errors))

    def _mean_residual(self, t: Tensor) -> float:
        """Computes the residual information over all samples transformed by t, (n, k), in nats."""
        return self._score.residual(self._mean_error(t))

    def _trained_extent(self) -> Tensor:
        """The extents that the network is trained on, (k,), float64."""
        return self.model.augmentation.distribution.extent.detach().double().cpu()

    def _train_on(self, extent: Tensor) -> None:
        """Sets the extents of the augmentation, in all processes."""
        distribution = self.model.augmentation.distribution
        distribution.extent = extent
        distributed.copy_from_first(*distribution.parameters())

    def state_dict(self) -> dict[str, Any]:
        """Returns the state for resuming; the trained extents are in the model's own state."""
        return {
            "steps_taken": self._steps_taken,
            "extent": self._extent,
            "log_extents": self._log_extents,
            "updates": self._updates,
            "task_score": self._task_score,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores `state_dict()`; raises ValueError if types or shapes differ."""
        kinds = (type(state["steps_taken"]), type(state["task_score"]))
        rows = [state["extent"], *state["log_extents"], *state["updates"]]
        expected = (torch.float64, self._limits.shape)
        if kinds != (int, float) or any((row.dtype, row.shape) != expected for row in rows):
            raise ValueError("the state of the probe has other types or shapes")
        self._steps_taken = state["steps_taken"]
        self._extent = state["extent"]
        self._log_extents = list(state["log_extents"])
        self._updates = list(state["updates"])
        self._task_score = state["task_score"]


def unsolved_fraction(task_score: float, settings: ProbeSettings) -> float:
    """Interpolates linearly from 1 at a task score of `unsolved_score` to 0 at `solved_score`."""
    span = settings.solved_score - settings.unsolved_score
    return min(1.0, max(0.0, (settings.solved_score - task_score) / span))


def refit_fraction(task_score: float | None, settings: ProbeSettings | None = None) -> float:
    """Computes the fraction for `Augmentation.with_rates` when a new model is trained.

    It is 1/2 for an unsolved task or an unknown score and 1/8 for a solved one, linear in between:
    the less there is left to learn, the more the difficulty of transformed inputs matters.
    """
    if task_score is None:
        return 0.5
    return 0.125 * (1 + 3 * unsolved_fraction(task_score, settings or ProbeSettings()))


def sharing(costs: Tensor) -> float:
    r"""Computes the number of coordinates that divide the tolerance among them.

    With costs in decreasing order it is \(\max(1, \max_m m \min(m c_m, 1))\): roughly the largest m
    such that m coordinates cost 1/m or more. Coordinates without a cost do not count.

    Args:
        costs: c, (k,), in units of the tolerance.

    Example:
        >>> examples = [1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.4, 0.5, 0.0]
        >>> [round(sharing(torch.tensor(costs)), 2) for costs in examples]
        [1.0, 2.0, 1.6]
    """
    costs = costs.sort(descending=True).values.clamp_min(0)
    m = torch.arange(1, len(costs) + 1)
    return max(1.0, float((m * (m * costs).clamp_max(1)).max()))


def distribution_obstacle(distribution: LearnedDistribution) -> str | None:
    """Explains why a distribution cannot be probed, without a full stop; None if it can."""
    for part in parts_of(distribution):
        low, high = part.support
        finite = bool(low.isfinite().all() and high.isfinite().all())
        settable = getattr(type(part).extent, "fset", None) is not None
        if not (finite and settable and list(part.parameters())):
            return (
                "Probing needs distributions with a finite range and a settable extent, "
                f"but got a {type(part).__name__}: draw from a Uniform, an Interval or a Bernoulli"
            )
    return None


def _widest(coordinate: LearnedCoordinate) -> float:
    """Computes the extent at which the range reaches its limit; without one, 1000 extents."""
    if coordinate.discrete:
        return coordinate.limit
    if math.isinf(coordinate.limit):
        return 1e3 * coordinate.extent
    return coordinate.limit * (coordinate.extent / coordinate.max_abs)
