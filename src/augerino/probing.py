"""Finds how far each coordinate reaches by asking items that the weights have not seen, instead of following a gradient.

The gradient of the paper's objective sees the items that the network is being fitted to. A network that has them by heart finds
every pose it has not been shown costly, so bounds shrink; and a penalty that grows with a bound lets the widest starve the
others. Here each bound asks one question of items held back from the weights, apart from all others: is the outermost shell
of the range that the network trains on worse than the whole of it? While it is not, the bound grows; where it is, it shrinks.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from augerino import distributed, tree
from augerino.augmentation import Element
from augerino.diagnostics.evaluation import evaluation_mode
from augerino.diagnostics.items import chance, judge
from augerino.distributions import Bernoulli, LearnedDistribution, Product, Uniform
from augerino.errors import InputError
from augerino.models import InvariantModel

SHELL = 1.25  # the shell is what lies beyond the bound divided by this: the outer fifth
PACE = 0.25  # how far the logarithm of a bound moves in one round at most
ROUNDS = 60  # questions in a whole training, those of the wait and of the end included
WAIT = 0.15  # share of the training before the first question: the network must know something to be asked
SETTLED = 0.8  # share of the training after which bounds stay
AVERAGED = 0.7  # and they stay at their mean since here
KNOWS = 0.05  # a network that is not better than chance by this share of it is not asked, and its bounds shrink
LEAST = 1e-4  # of its limit: a bound below this is nothing, and need not shrink further


class Probe:
    """Moves the bounds of an augmentation between training steps; for `train(..., tuner=probe)`.

    In each round the held-back items are judged under draws of the augmentation as it is, and again with one coordinate
    redrawn from its outermost shell, all else the same. A bound grows where the rise of their loss is below the tolerance,
    and shrinks where it is above, each by as much as it is. While the network knows nothing there is nothing to ask, and all
    bounds shrink: they may be what keeps it from learning. A flip counts as a bound on its probability, whose limit is a
    half, and its shell is to be mirrored.

    Of several processes each asks its share of the items. The means are those of all together, and what the first process makes
    of them is copied to the others, so that bounds are the same everywhere, bit for bit.

    Args:
        model: whose augmentation is moved: `Uniform` boxes and `Bernoulli` flips.
        x, y: items that the weights are not trained on, a few hundred or more.
        steps: of the whole training.
        tolerance: the rise of the loss that ends an extent, as a share of what the network knows: of how much better it is
            than the best guess that does not look at the input.
        chunk: items at once.
    """

    def __init__(
        self, model: InvariantModel, x: Any, y: Tensor, *, steps: int, tolerance: float = 0.03, chunk: int = 500
    ) -> None:
        if not 0 < tolerance < 1:
            raise InputError(f"tolerance is a share of what the network knows, between 0 and 1, but got {tolerance}.")
        where = next(model.parameters()).device
        own = slice(distributed.rank(), None, distributed.world())
        self.model, self.x, self.y = model, tree.map(lambda leaf: leaf[own].to(where), x), y[own].to(where)
        self.steps, self.tolerance, self.chunk = steps, tolerance, chunk
        self._chance = chance(y)
        self._parts = list(_movable(model.augmentation.distribution))
        limits = model.augmentation.limits.cpu().double()
        discrete = torch.cat([torch.full((part.size,), part.discrete) for part in self._parts] or [torch.zeros(0).bool()])
        self._discrete = discrete.tolist()
        start = self._bounds()
        self._limits = torch.where(discrete, 0.5, torch.where(limits.isfinite(), limits, 1e3 * start))
        self._taken = 0
        self._kept: list[Tensor] = []  # logarithms of the bounds since `AVERAGED`
        self._moves: list[Tensor] = []  # and how the rounds since then moved them

    @property
    def settled(self) -> bool:
        """Whether the bounds stay as they are from now on."""
        return self._taken >= SETTLED * self.steps

    @property
    def unfinished(self) -> tuple[str, ...]:
        """Coordinates that were still growing, without having come to their limit, when they had to settle."""
        if not self._moves:
            return ()
        growing = (torch.stack(self._moves).mean(dim=0) > 0.5) & (self._bounds() < 0.95 * self._limits)
        return tuple(name for name, still in zip(self.model.augmentation.names, growing.tolist(), strict=True) if still)

    def step(self) -> None:
        """To be called after every training step."""
        self._taken += 1
        share, before = self._taken / self.steps, (self._taken - 1) / self.steps
        if before < SETTLED <= share and self._kept:
            self._set(torch.stack(self._kept).mean(dim=0).exp())
        asked = int(share * ROUNDS) > int(before * ROUNDS)
        if not self._parts or not asked or share < WAIT or share >= SETTLED:
            return
        move = self._ask()
        slower = min(1.0, max(0.2, (SETTLED - share) / (SETTLED - 0.5)))
        bounds = (self._bounds() * (PACE * slower * move).exp()).minimum(self._limits).maximum(LEAST * self._limits)
        self._set(bounds)
        if share >= AVERAGED:
            self._kept.append(bounds.log())
            self._moves.append(move)

    def _ask(self) -> Tensor:
        """Which way each bound should go: from -1, the shell is far too costly, to 1, it costs nothing.   returns (k,)"""
        distributed.copy_from_first(*self.model.buffers())  # all judge the same network, batch norms included
        t = self.model.augmentation.sample(len(self.y)).t.detach()
        with evaluation_mode(self.model):
            whole = self._loss(t)
            known = self._chance - distributed.mean(self._loss(torch.zeros_like(t)))
            if known < KNOWS * self._chance:  # too wide to learn anything, as far as can be told
                return torch.full((t.shape[1],), -0.5, dtype=torch.float64)
            rises = [distributed.mean(self._loss(self._in_shell(t, i)) - whole) for i in range(t.shape[1])]
        return (1 - torch.tensor(rises, dtype=torch.float64) / (self.tolerance * known)).clamp(-1, 1)

    def _in_shell(self, t: Tensor, i: int) -> Tensor:
        """The same draws, but one coordinate in its outermost shell, on either side."""
        t = t.clone()
        if self._discrete[i]:
            t[:, i] = 1.0
            return t
        draw, side = torch.rand_like(t[:, i]), torch.randint_like(t[:, i], 2) * 2 - 1
        t[:, i] = side * self._bounds()[i].item() * (1 + (SHELL - 1) * draw) / SHELL
        return t

    def _loss(self, t: Tensor) -> Tensor:
        parts = []
        for rows in torch.arange(len(t), device=t.device).split(self.chunk):
            g = Element(self.model.augmentation.transform, t[rows])
            parts.append(judge(self.model.average_over(tree.map(lambda leaf: leaf[rows], self.x), g), self.y[rows]).loss)  # noqa: B023
        return torch.cat(parts).double().cpu()

    def _bounds(self) -> Tensor:
        values = [part.probability if isinstance(part, Bernoulli) else part.bound for part in self._parts]
        return torch.cat(values).detach().double().cpu() if values else torch.zeros(0, dtype=torch.float64)

    def _set(self, bounds: Tensor) -> None:
        for part, values in zip(self._parts, bounds.split([part.size for part in self._parts]), strict=True):
            if isinstance(part, Bernoulli):
                part.probability = values
            else:
                part.bound = values
            distributed.copy_from_first(*part.parameters())

    def state_dict(self) -> dict[str, Any]:
        """What a resume needs; the bounds themselves are the model's."""
        return {"taken": self._taken, "kept": self._kept, "moves": self._moves}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        rounds = [*state["kept"], *state["moves"]]
        if type(state["taken"]) is not int or any(
            (row.dtype, row.shape) != (torch.float64, self._limits.shape) for row in rounds
        ):
            raise ValueError("the rounds of probing are not as they should be")
        self._taken, self._kept, self._moves = state["taken"], list(state["kept"]), list(state["moves"])


def parts_of(distribution: LearnedDistribution) -> Iterator[LearnedDistribution]:
    """The single distributions side by side in one."""
    if isinstance(distribution, Product):
        for part in distribution.parts:
            yield from parts_of(part)  # type: ignore[arg-type]
    else:
        yield distribution


def _movable(distribution: LearnedDistribution) -> Iterator[Uniform | Bernoulli]:
    for part in parts_of(distribution):
        if not isinstance(part, Uniform | Bernoulli):
            raise InputError(f"Probing moves the bounds of Uniform and Bernoulli, but got a {type(part).__name__}.")
        yield part
