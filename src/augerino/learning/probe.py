"""Finds how far each coordinate reaches by asking items that the weights have not seen, instead of following a gradient.

The gradient of the paper's objective sees the items that the network is being fitted to. A network that has them by heart finds
every pose it has not been shown costly, so bounds shrink; and a penalty that grows with a bound lets the widest starve the
others. Here each bound asks one question of items held back from the weights, apart from all others: is the outermost shell
of its range worse than the middle? While it is not, the bound grows; where it is, it shrinks.
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
from augerino.models import InvariantModel, evaluation_mode
from augerino.runtime import distributed

SHELL = 1.25  # the shell is what lies beyond the bound divided by this: the outer fifth
MIDDLE = 0.5  # what it is compared with, and where all other coordinates are meanwhile: within this share of their bounds
WIDER = 1.2  # bounds trained on, as a multiple of those asked about: at the rim of what it was shown every network is worse,
RIM = 0.03  # and so much of their limits on top of that, but never more than twice the bounds asked about
LENIENT = 4.0  # by how much what the middle leaves unsaid adds to the tolerance: who errs anyway errs a little more at the rim
UNSURE = 0.15  # of what is known: no more than this counts as unsaid there
BETTER = 2.0  # times better than what counts as worse: where the middle is all mixed up, only at the rim can labels be told again
MASTERED, HALF = (
    0.9,
    0.5,
)  # of what there is to know: from here on no rim's cost counts for the others, and up to here in full
GAIN = 2.0  # how steeply a move follows the rise: full pace up to half of the tolerance
PACE = 0.25  # how far the logarithm of a bound moves in one round at most
ROUNDS = 60  # questions in a whole training, those of the wait and of the end included
WAIT = 0.15  # share of the training before the first question: the network must know something to be asked
PATIENT = 0.3  # and before bounds shrink because it knows nothing
SETTLED = 0.8  # share of the training after which bounds stay
AVERAGED = 0.7  # and what they settle by is their mean since here
LEVELS = 16  # into how many parts a range is cut to see where the loss begins to rise
SEEN = 0.3  # of the tolerance: a rise below this is none
KNOWS = 0.05  # of what there is to know: a network that knows less is not asked
LEAST = 1e-4  # of its limit: a bound below this is nothing, and need not shrink further


class Probe:
    """Moves the bounds of an augmentation between training steps; for `iter_epochs(..., tuner=probe)`.

    In each round the held-back items are judged with every coordinate drawn from the middle of its range, and again with one
    of them drawn from its outermost shell instead, all else the same. A bound grows where the rise of their loss is below the
    tolerance, and shrinks where it is above. As long as the network has not mastered its task, the tolerance is for all together:
    bounds whose rims cost something have a share of it each, since what harms little by itself makes a hard task harder in sum;
    those that cost nothing take none. A network that knows little yet moves bounds little. If it still knows nothing when a good
    part of the training is over, all bounds shrink: they may be what keeps it from learning. The bound of a flip is its
    extent 2p, whose limit is 1, and its shell is to be mirrored.

    The network is trained on bounds wider than those asked about, so that a shell is well inside of what it has
    been shown. That tells how wide a range may be, but not quite where labels change: beyond a true extent e, a network trained
    up to w mixes up items from 2 e - w on, since those of the other label come to meet them by as much as they go. So when the
    bounds settle, the loss is read level by level, and each bound becomes the middle between where it begins to rise and w.

    Of several processes each asks its share of the items. The means are those of all together, and what the first process makes
    of them is copied to the others, so that bounds are the same everywhere, bit for bit.

    Args:
        model: whose augmentation is moved. Its distributions need a finite range and a settable `extent`.
        x: inputs that the weights are not trained on, a few hundred or more.
        y: their targets.
        steps: of the whole training.
        tolerance: the rise of the loss that ends an extent, as a share of what the network knows: of how much better it is
            than the best guess that does not look at the input (`diagnostics.yardstick`).
        chunk: items at once.
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
    ) -> None:
        if not 0 < tolerance < 1:
            raise InputError(
                f"tolerance is a share of what the network knows, between 0 and 1, but got {tolerance}."
            )
        where = next(model.parameters()).device
        own = slice(distributed.rank(), None, distributed.world())
        self.model, self.x, self.y = (
            model,
            tree.map(lambda leaf: leaf[own].to(where), x),
            y[own].to(where),
        )
        self.steps, self.tolerance, self.chunk = steps, tolerance, chunk
        self._score = InformationScore(y)
        obstacle = distribution_obstacle(model.augmentation.distribution)
        if obstacle is not None:
            raise InputError(f"{obstacle}.")
        coordinates = model.augmentation.coordinates
        self._discrete = torch.tensor([c.discrete for c in coordinates], dtype=torch.bool)
        self._asked = self._extent()
        self._limits = torch.tensor([_widest(c) for c in coordinates], dtype=torch.float64)
        self._taken = 0
        self._kept: list[Tensor] = []  # logarithms of the bounds since `AVERAGED`
        self._moves: list[Tensor] = []  # and how the rounds since then moved them
        self._task_score = 0.0

    @property
    def settled(self) -> bool:
        """Whether the bounds stay as they are from now on."""
        return self._taken >= SETTLED * self.steps

    @property
    def task_score(self) -> float:
        """information / maximum of the network on these samples when the extents were fixed, from 0 to 1."""
        return self._task_score

    @property
    def unfinished(self) -> tuple[str, ...]:
        """Coordinates that were still growing, without having come to their limit, when they had to settle.

        All of them where too few questions were asked to tell, or the network knew nothing even then.
        """
        if not self._moves:
            return self.model.augmentation.names
        growing = (torch.stack(self._moves).mean(dim=0) > 0.5) & (self._asked < FULL * self._limits)
        return tuple(
            name
            for name, still in zip(self.model.augmentation.names, growing.tolist(), strict=True)
            if still
        )

    def step(self) -> None:
        """To be called after every training step."""
        self._taken += 1
        share, before = self._taken / self.steps, (self._taken - 1) / self.steps
        if before < SETTLED <= share and self._kept:
            self._settle()
        asked = int(share * ROUNDS) > int(before * ROUNDS)
        if not len(self._asked) or not asked or share < WAIT or share >= SETTLED:
            return
        move = self._ask(share)
        slower = min(1.0, max(0.2, (SETTLED - share) / (SETTLED - 0.5)))
        self._asked = (
            (self._asked * (PACE * slower * move).exp())
            .minimum(self._limits)
            .maximum(LEAST * self._limits)
        )
        self._set(self._wider())
        if share >= AVERAGED:
            self._kept.append(self._asked.log())
            self._moves.append(move)

    def _ask(self, share: float) -> Tensor:
        """Which way each bound should go: from -1, the shell is far too costly, to 1, it costs nothing.   returns (k,)"""
        distributed.copy_from_first(
            *self.model.buffers()
        )  # all judge the same network, batch norms included
        t = self._in_middle()
        with evaluation_mode(self.model):
            known = self._score.information(self._judge(torch.zeros_like(t)))
            if known <= KNOWS * self._score.most:
                return torch.full_like(
                    self._asked, -0.5 if share > PATIENT else 0.0
                )  # too wide to learn, as far as can be told
            middle = self._score.residual(self._judge(t))
            shells = [
                self._score.residual(self._judge(self._in_shell(t, i))) for i in range(t.shape[1])
            ]
        trust = min(1.0, 2 * known / self._score.most)  # in what it finds harmless; harm is harm
        allowed = self.tolerance * (
            known + LENIENT * min(middle - self._score.least, UNSURE * known)
        )
        rises = torch.tensor(shells, dtype=torch.float64) - middle
        costs = rises.maximum(-rises / BETTER) / allowed
        costs *= sharing(costs) ** short_of_mastery(known / self._score.most)
        return (GAIN * (1 - costs)).clamp(-1, 1).minimum(torch.tensor(trust))

    def _settle(self) -> None:
        """Ends the questions: from their mean, and what the loss does along each range, to the bounds that stay."""
        self._asked = torch.stack(self._kept).mean(dim=0).exp()
        trained = self._wider()
        self._set(trained)
        distributed.copy_from_first(*self.model.buffers())
        t, parts = self._in_middle(), (torch.arange(LEVELS, dtype=torch.float64) + 0.5) / LEVELS
        side = torch.randint_like(t[:, 0], 2) * 2 - 1
        found = self._asked.clone()
        with evaluation_mode(self.model):
            known = self._score.information(self._judge(torch.zeros_like(t)))
            if known <= KNOWS * self._score.most:
                self._moves.clear()  # nothing was found out
            else:
                self._task_score = float(known / self._score.most)
            for i, (bound, limit) in enumerate(
                zip(trained.tolist(), self._limits.tolist(), strict=True)
            ):
                if (
                    self._discrete[i]
                    or self._asked[i] >= FULL * limit
                    or known <= KNOWS * self._score.most
                ):
                    continue
                values = []
                for part in parts.tolist():
                    t_i = t.clone()
                    t_i[:, i] = self._edge(i, side, bound) * (
                        part + (torch.rand_like(side) - 0.5) / LEVELS
                    )
                    values.append(self._score.residual(self._judge(t_i)))
                begins, rise = changepoint(parts, torch.tensor(values))
                found[i] = (
                    bound * (1 + begins) / 2 if rise > SEEN * self.tolerance * known else bound
                )
        self._asked = found
        self._set(found)

    def _wider(self) -> Tensor:
        """The bounds to train on while these are asked about."""
        wider = (
            (WIDER * self._asked + RIM * self._limits)
            .minimum(2 * self._asked)
            .minimum(self._limits)
        )
        return torch.where(self._discrete, self._asked, wider)

    def _in_middle(self) -> Tensor:
        """Draws for all items, every coordinate in the middle of the range asked about.   returns (n, k)"""
        t = self.model.augmentation.sample(len(self.y)).t.detach()
        return t * torch.where(self._discrete, 1.0, MIDDLE * self._asked / self._extent()).to(t)

    def _in_shell(self, t: Tensor, i: int) -> Tensor:
        """The same draws, but one coordinate in its outermost shell, on either side."""
        t = t.clone()
        if self._discrete[i]:
            t[:, i] = 1.0
            return t
        draw, side = torch.rand_like(t[:, i]), torch.randint_like(t[:, i], 2) * 2 - 1
        t[:, i] = self._edge(i, side, self._asked[i].item()) * (1 + (SHELL - 1) * draw) / SHELL
        return t

    def _edge(self, i: int, side: Tensor, extent: float) -> Tensor:
        """The end of the range of coordinate i, were its extent this: the upper end where side is 1, the lower where -1."""
        coordinate = self.model.augmentation.coordinates[i]
        upper = extent * (coordinate.high / coordinate.extent)
        lower = extent * (coordinate.low / coordinate.extent)
        return torch.where(side > 0, upper, lower)

    def _judge(self, t: Tensor) -> Tensor:
        """The mean errors of all items, each moved by its own coordinates.   returns () or (outputs,)"""
        parts = []
        for rows in torch.arange(len(t), device=t.device).split(self.chunk):
            g = Element(self.model.augmentation.transform, t[rows])
            prediction = self.model.average_over(tree.map(lambda leaf: leaf[rows], self.x), g)  # noqa: B023
            parts.append(self._score.errors(prediction, self.y[rows]))
        return distributed.mean(torch.cat(parts))

    def _extent(self) -> Tensor:
        return self.model.augmentation.distribution.extent.detach().double().cpu()

    def _set(self, extent: Tensor) -> None:
        distribution = self.model.augmentation.distribution
        distribution.extent = extent
        distributed.copy_from_first(*distribution.parameters())

    def state_dict(self) -> dict[str, Any]:
        """What a resume needs; the bounds that are trained on are the model's."""
        return {
            "taken": self._taken,
            "asked": self._asked,
            "kept": self._kept,
            "moves": self._moves,
            "task_score": self._task_score,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        rounds = [state["asked"], *state["kept"], *state["moves"]]
        if (type(state["taken"]), type(state["task_score"])) != (int, float) or any(
            (row.dtype, row.shape) != (torch.float64, self._limits.shape) for row in rounds
        ):
            raise ValueError("the rounds of probing are not as they should be")
        self._taken, self._asked, self._task_score = (
            state["taken"],
            state["asked"],
            state["task_score"],
        )
        self._kept, self._moves = list(state["kept"]), list(state["moves"])


def short_of_mastery(task_score: float) -> float:
    """1 for a network that knows half of what there is to know or less, 0 for one that has mastered it."""
    return min(1.0, max(0.0, (MASTERED - task_score) / (MASTERED - HALF)))


def refit_fraction(task_score: float | None) -> float:
    """The fraction for `Augmentation.with_rates` when a new model is trained on the learned ranges.

    1/2 for a task score up to 0.5 or unknown, 1/8 from 0.9 on, linear in between: the less there is left to learn, the more
    the difficulty of moved inputs weighs.
    """
    return 0.5 if task_score is None else 0.125 * (1 + 3 * short_of_mastery(task_score))


def sharing(costs: Tensor) -> float:
    """Among how many coordinates the tolerance is divided, so that the rims of all together cost no more than it.

    They are m if m of them cost a share 1/m of it or more. What costs nothing takes no part.

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
