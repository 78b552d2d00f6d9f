"""Learns extents from samples held out from the weights, instead of following a gradient.

The gradient of the paper's objective is taken on the samples that the network is fitted to. A network that has memorised
them pays for every unseen pose, so ranges shrink; and a penalty that grows with an extent lets the widest range displace the
others. A probe instead compares, on held-out samples and for each coordinate separately, the loss in the outermost shell
of a range with the loss in its centre. While the difference is below a tolerance the range grows; otherwise it shrinks.
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

_UNKNOWING = -0.5  # move of all extents while the network knows nothing
_GROWING = 0.5  # mean move above which an extent was still growing when it was fixed


class Probe:
    """Moves the extents of an augmentation between training steps; for `iter_epochs(..., tuner=probe)`.

    Each round measures the held-out samples once with every coordinate drawn from the centre of its range, and once per
    coordinate with that one drawn from the shell of its range, all else the same. `ProbeSettings` has the formulas.

    Unless the network has solved its task, coordinates whose shells cost something divide the tolerance among them, since small
    costs add up; those without a cost take no part. A network that knows little moves extents little. If it still
    knows nothing after a good part of the training, all extents shrink: they may be what keeps it from learning. The shell of
    a coordinate that is 0 or 1 is the value 1, and its extent is 2 min(p, 1 - p).

    The network is trained on ranges wider than those under test, so that a shell lies well inside of what it has seen.
    That shows how wide a range may be, but not where labels change: beyond a true extent e, a network trained up to w
    confuses samples from 2 e - w on, since those of the other label come to meet them. So when the extents are fixed, the
    loss is measured level by level, and each extent becomes the mean of w and of where the loss begins to rise.

    With several processes, each measures its slice of the samples. The means are those of all samples, and the first
    process's parameters are copied to the others, so that they are the same bit for bit.

    Args:
        model: whose augmentation is moved. Its distributions need a finite range and a settable `extent`.
        x: inputs that the weights are not trained on, a few hundred or more.
        y: their targets.
        steps: of the whole training.
        tolerance: rise of the loss that ends a range, as a fraction of the information that the network has about the
            targets (`InformationScore`).
        chunk: samples at once.
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
                "tolerance is a share of what the network knows, between 0 and 1, "
                f"but got {tolerance}."
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
        self._moves: list[Tensor] = []  # of the same rounds
        self._task_score = 0.0

    @property
    def settled(self) -> bool:
        """Whether the extents are fixed from now on."""
        return self._steps_taken >= self.settings.stop * self.steps

    @property
    def task_score(self) -> float:
        """I / I_max of the network on these samples when the extents were fixed, from 0 to 1."""
        return self._task_score

    @property
    def unfinished(self) -> tuple[str, ...]:
        """Coordinates that were still growing, below their limits, when the extents were fixed.

        All of them, if there were too few rounds to tell, or the network knew nothing even then.
        """
        names = self.model.augmentation.names
        if not self._moves:
            return names
        growing = torch.stack(self._moves).mean(dim=0) > _GROWING
        below_limit = self._extent < FULL * self._limits
        still = (growing & below_limit).tolist()
        return tuple(name for name, grows in zip(names, still, strict=True) if grows)

    def step(self) -> None:
        """Counts a training step, and runs a round where one is due. To be called after every step."""
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
        """Moves the extents once.   now: fraction of the training that is over"""
        settings = self.settings
        move = self._measure_move(now)
        remaining = (settings.stop - now) / (settings.stop - settings.slow_from)
        pace = min(1.0, max(settings.min_pace, remaining))
        moved = self._extent * (settings.max_step * pace * move).exp()
        self._extent = moved.minimum(self._limits).maximum(settings.min_extent * self._limits)
        self._train_on(self._widened())
        if now >= settings.average_from:
            self._log_extents.append(self._extent.log())
            self._moves.append(move)

    def _measure_move(self, now: float) -> Tensor:
        """The direction of each extent: from -1, the shell costs far too much, to 1, it costs nothing.   returns (k,)"""
        settings = self.settings
        score = self._score
        distributed.copy_from_first(*self.model.buffers())  # the same batch norms in all processes
        t = self._draw_centre()
        with evaluation_mode(self.model):
            information = score.information(self._mean_error(torch.zeros_like(t)))
            if information <= settings.min_score * score.most:
                move = _UNKNOWING if now > settings.shrink_from else 0.0
                return torch.full_like(self._extent, move)
            centre = score.residual(self._mean_error(t))
            shells = [
                score.residual(self._mean_error(self._draw_shell(t, i))) for i in range(t.shape[1])
            ]
        slack = min(centre - score.least, settings.centre_slack_cap * information)
        allowed = self.tolerance * (information + settings.centre_slack * slack)
        rises = torch.tensor(shells, dtype=torch.float64) - centre
        costs = rises.maximum(-rises / settings.improvement_discount) / allowed
        costs *= sharing(costs) ** unsolved_fraction(information / score.most, settings)
        most = min(1.0, 2 * information / score.most)
        return (settings.gain * (1 - costs)).clamp(-1, 1).minimum(torch.tensor(most))

    def _fix(self) -> None:
        """Fixes the extents: the mean of the last rounds, corrected by where the loss rises along each range."""
        self._extent = torch.stack(self._log_extents).mean(dim=0).exp()
        trained = self._widened()
        self._train_on(trained)
        distributed.copy_from_first(*self.model.buffers())
        t = self._draw_centre()
        side = torch.randint_like(t[:, 0], 2) * 2 - 1
        found = self._extent.clone()
        with evaluation_mode(self.model):
            information = self._score.information(self._mean_error(torch.zeros_like(t)))
            if information <= self.settings.min_score * self._score.most:
                self._moves.clear()  # nothing was found out
            else:
                self._task_score = float(information / self._score.most)
                partial = ~self._discrete & (self._extent < FULL * self._limits)
                for i in partial.nonzero().flatten().tolist():
                    edge = self._edge(i, side, trained[i].item())
                    found[i] = trained[i] * self._end_of_range(t, i, edge, information)
        self._extent = found
        self._train_on(found)

    def _end_of_range(self, t: Tensor, i: int, edge: Tensor, information: float) -> float:
        """Where the range of coordinate i ends, as a fraction of its edge, (n,), which is trained on."""
        levels = self.settings.levels
        level = (torch.arange(levels, dtype=torch.float64) + 0.5) / levels
        values = []
        for middle in level.tolist():
            t_i = t.clone()
            t_i[:, i] = edge * (middle + (torch.rand_like(edge) - 0.5) / levels)
            values.append(self._score.residual(self._mean_error(t_i)))
        begins, rise = changepoint(level, torch.tensor(values))
        if rise > self.settings.min_rise * self.tolerance * information:
            return (1 + begins) / 2
        return 1.0

    def _widened(self) -> Tensor:
        """The extents to train on while those under test are measured."""
        widened = self.settings.widening * self._extent + self.settings.margin * self._limits
        widened = widened.minimum(2 * self._extent).minimum(self._limits)
        return torch.where(self._discrete, self._extent, widened)

    def _draw_centre(self) -> Tensor:
        """Samples every coordinate from the centre of its range under test.   returns (n, k)"""
        t = self.model.augmentation.sample(len(self.y)).t.detach()
        factor = self.settings.centre * self._extent / self._trained_extent()
        return t * torch.where(self._discrete, 1.0, factor).to(t)

    def _draw_shell(self, t: Tensor, i: int) -> Tensor:
        """The samples t with coordinate i drawn from the shell of its range instead, on either side."""
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
        """The end of the range of coordinate i at an extent: the upper end where side is 1, the lower where -1."""
        coordinate = self.model.augmentation.coordinates[i]
        upper = extent * (coordinate.high / coordinate.extent)
        lower = extent * (coordinate.low / coordinate.extent)
        return torch.where(side > 0, upper, lower)

    def _mean_error(self, t: Tensor) -> Tensor:
        """The mean error over all samples, each moved by its own coordinates.   returns () or (outputs,)"""
        transform = self.model.augmentation.transform
        errors = []
        for rows in torch.arange(len(t), device=t.device).split(self.chunk):
            x = tree.map(lambda leaf: leaf[rows], self.x)  # noqa: B023
            prediction = self.model.average_over(x, Element(transform, t[rows]))
            errors.append(self._score.errors(prediction, self.y[rows]))
        return distributed.mean(torch.cat(errors))

    def _trained_extent(self) -> Tensor:
        """The extents of the augmentation, which the network is trained on.   returns (k,), float64"""
        return self.model.augmentation.distribution.extent.detach().double().cpu()

    def _train_on(self, extent: Tensor) -> None:
        distribution = self.model.augmentation.distribution
        distribution.extent = extent
        distributed.copy_from_first(*distribution.parameters())

    def state_dict(self) -> dict[str, Any]:
        """The state that a resumed training needs; the extents that are trained on are part of the model."""
        return {
            "steps_taken": self._steps_taken,
            "extent": self._extent,
            "log_extents": self._log_extents,
            "moves": self._moves,
            "task_score": self._task_score,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores `state_dict()`; a state of other types or shapes raises ValueError."""
        kinds = (type(state["steps_taken"]), type(state["task_score"]))
        rows = [state["extent"], *state["log_extents"], *state["moves"]]
        wanted = (torch.float64, self._limits.shape)
        if kinds != (int, float) or any((row.dtype, row.shape) != wanted for row in rows):
            raise ValueError("the state of the probe has other types or shapes")
        self._steps_taken = state["steps_taken"]
        self._extent = state["extent"]
        self._log_extents = list(state["log_extents"])
        self._moves = list(state["moves"])
        self._task_score = state["task_score"]


def unsolved_fraction(task_score: float, settings: ProbeSettings) -> float:
    """1 for a task score up to `unsolved_score`, 0 from `solved_score` on, linear in between."""
    span = settings.solved_score - settings.unsolved_score
    return min(1.0, max(0.0, (settings.solved_score - task_score) / span))


def refit_fraction(task_score: float | None, settings: ProbeSettings | None = None) -> float:
    """The fraction for `Augmentation.with_rates` when a new model is trained on the learned ranges.

    1/2 for an unsolved task or an unknown score, 1/8 for a solved one, linear in between: the less there is left to learn,
    the more the difficulty of moved inputs weighs.
    """
    if task_score is None:
        return 0.5
    return 0.125 * (1 + 3 * unsolved_fraction(task_score, settings or ProbeSettings()))


def sharing(costs: Tensor) -> float:
    """Among how many coordinates the tolerance is divided: about the largest m such that m of them cost 1/m or more.

    With the costs in decreasing order, max over m of m min(m cost_m, 1), and at least 1. Then all together cost no more than
    the tolerance. Coordinates without a cost take no part.

    Args:
        costs: (k,) in units of the whole tolerance.

    Example:
        >>> [round(sharing(torch.tensor(costs)), 2) for costs in ([1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.4, 0.5, 0.0])]
        [1.0, 2.0, 1.6]
    """
    costs = costs.sort(descending=True).values.clamp_min(0)
    m = torch.arange(1, len(costs) + 1)
    return max(1.0, float((m * (m * costs).clamp_max(1)).max()))


def distribution_obstacle(distribution: LearnedDistribution) -> str | None:
    """Why a distribution cannot be probed, as a sentence without its full stop; None if it can."""
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
    """The extent at which the range comes to its limit; without a limit, a thousand times the extent."""
    if coordinate.discrete:
        return coordinate.limit
    if math.isinf(coordinate.limit):
        return 1e3 * coordinate.extent
    return coordinate.limit * (coordinate.extent / coordinate.max_abs)
