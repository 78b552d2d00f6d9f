"""A network averaged over an augmentation: the paper's two equations.

invariant     f_bar(x) = E_g        f(g x)
equivariant   f_eq(x)  = E_g  g^-1  f(g x)
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from augerino import tree
from augerino.augmentation import Augmentation, Element
from augerino.errors import InputError
from augerino.lie.eager import eager
from augerino.transforms import Compose, Identity, Transform


@dataclass(frozen=True)
class Average:
    """How the predictions of several copies become one: `after(mean(before(y)))`.

    The output is of the same kind for any number of copies, in training and in evaluation. Calling the rule averages
    stacked copies.   y: (n, B, ...) -> (B, ...)
    """

    name: str
    before: Callable[[Tensor], Tensor]
    after: Callable[[Tensor], Tensor]
    alone: Callable[
        [Tensor], Tensor
    ]  # what one copy becomes: `after(before(y))` without its rounding

    def __call__(self, y: Tensor) -> Tensor:
        stacked = self.before(y.flatten(0, 1)).unflatten(0, y.shape[:2])
        return self.after(stacked.mean(0))


def _same(y: Tensor) -> Tensor:
    return y


def _log_prob(y: Tensor) -> Tensor:
    return (
        y.float().log_softmax(dim=1)
        if y.dtype in (torch.bfloat16, torch.float16)
        else y.log_softmax(dim=1)
    )


def _prob(y: Tensor) -> Tensor:
    return _log_prob(y).exp()


def _log(p: Tensor) -> Tensor:
    return p.clamp_min(torch.finfo(p.dtype).tiny).log()


#: The mean of the outputs themselves, for regression.
mean = Average("mean", _same, _same, _same)
#: Class scores (B, classes, ...) to the mean of log-probabilities, for `F.nll_loss`: the paper's Eq. 2, where the loss of the
#: mean is the mean of the losses. Not renormalised: a copy that is certain of another class keeps its veto.
mean_log_prob = Average("mean_log_prob", _log_prob, _same, _log_prob)
#: Class scores to the log of the mean probability, for `F.nll_loss`: an ensemble's vote.
mean_prob = Average("mean_prob", _prob, _log, _log_prob)

AVERAGES = {rule.name: rule for rule in (mean, mean_log_prob, mean_prob)}


class InvariantModel(nn.Module):
    r"""The augmentation-averaged model \(\bar f(x) = E_{g \sim \mu_\theta} f(g x)\) (Benton et al. 2020, Eq. 1).

    Args:
        net: any network; it sees a batch of moved inputs and returns one tensor (B, ...).
        augmentation: draws g.
        train_copies: how many g per input in training; 1 trains the expectation exactly for log-probabilities.
        test_copies: how many in evaluation.
        average: `mean`, `mean_log_prob` or `mean_prob`.
        chunk: at most this many inputs run through the net at once; bounds memory in evaluation, changes no result there. By
            default all copies at once, but on a CPU that evaluates, one copy of the batch after the other, which is faster there.

    Example:
        >>> from augerino import Affine2d, Uniform
        >>> net = nn.Sequential(nn.Flatten(), nn.Linear(64, 3))
        >>> model = InvariantModel(net, Augmentation(Affine2d("rotate"), Uniform([0.5])), average=mean_log_prob)
        >>> model(torch.rand(5, 1, 8, 8)).shape
        torch.Size([5, 3])
    """

    moves_outputs = False

    @property
    def followed(self) -> tuple[str, ...]:
        """The coordinates that outputs follow: none, an answer stays the same however the input is moved."""
        return ()

    def __init__(
        self,
        net: nn.Module,
        augmentation: Augmentation,
        *,
        train_copies: int = 1,
        test_copies: int = 4,
        average: Average = mean,
        chunk: int | None = None,
    ) -> None:
        super().__init__()
        for name, value in (
            ("train_copies", train_copies),
            ("test_copies", test_copies),
            ("chunk", chunk),
        ):
            if value is not None and value < 1:
                raise InputError(f"{name} must be at least 1, but got {value}.")
        if not isinstance(average, Average):
            raise InputError(
                f"average is one of ag.mean, ag.mean_log_prob and ag.mean_prob, but got {average!r}."
            )
        self.net, self.augmentation, self.average = net, augmentation, average
        self.train_copies, self.test_copies, self.chunk = train_copies, test_copies, chunk

    def forward(self, x: Any) -> Tensor:
        """The prediction averaged over fresh draws.

        Training counts flips out, so that their probability learns from its exact gradient; evaluation draws them.
        """
        copies = self.train_copies if self.training else self.test_copies
        n = tree.batch_size(x) * copies
        g, odds = (
            self.augmentation.enumerate_discrete(n)
            if self.training
            else (self.augmentation.sample(n), None)
        )
        return self._average(x, g, copies, odds)

    def average_over(self, x: Any, g: Element, copies: int = 1) -> Tensor:
        """The prediction averaged over given elements, (copies * B, k): copy after copy, one element an input."""
        return self._average(x, g, copies, None)

    def _average(self, x: Any, g: Element, copies: int, odds: Tensor | None) -> Tensor:
        """`odds` is the probability of each branch of discrete outcomes, where they are counted out; a branch has all copies."""
        batch = tree.batch_size(x)
        stacked = copies if odds is None else copies * odds.shape[0]
        weight = None if odds is None else odds.repeat_interleave(batch * copies)
        size = self._at_once(x, batch, batch * stacked)
        if size < batch * stacked:
            total, seen = self._predict_in_chunks(x, g, weight, batch, size)
        elif stacked == 1 and not self.moves_outputs:
            return self.average.alone(self._outputs(g(x)))
        else:
            y, part = self._predict(tree.repeat(x, stacked), g, weight)
            total, seen = (
                _sum_copies(y, stacked),
                None if part is None else _sum_copies(part, stacked),
            )
        return self.average.after(
            total / copies if seen is None else self._weighted_mean(total, seen, x)
        )

    def _at_once(self, x: Any, batch: int, rows: int) -> int:
        """How many inputs run through the net at once."""
        if self.chunk is not None:
            return self.chunk
        evaluating = not self.training and not torch.is_grad_enabled()
        return batch if evaluating and eager(*tree.leaves(x)) else rows

    def _predict(self, x: Any, g: Element, odds: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """One prediction per copy in the frame of its input, weighted by how much was seen and counts, and that weight."""
        y, seen = self._bring_back(self.average.before(self._outputs(g(x))), g)
        if odds is None:
            return y, seen
        return _times(y, odds), None if seen is None else _times(seen, odds)

    def _outputs(self, x: Any) -> Tensor:
        rows, y = tree.batch_size(x), self.net(x)
        if not isinstance(y, Tensor) or y.dim() == 0 or y.shape[0] != rows:
            got = tuple(y.shape) if isinstance(y, Tensor) else type(y).__name__
            raise InputError(
                f"The network must return one tensor with {rows} rows, one per input, but returned {got}."
            )
        if not (y.is_floating_point() or y.is_complex()):
            raise InputError(
                f"The network must return numbers that have a mean, such as class scores, but returned {y.dtype}."
            )
        return y

    def _bring_back(self, y: Tensor, g: Element) -> tuple[Tensor, Tensor | None]:
        return y, None

    def _predict_in_chunks(
        self, x: Any, g: Element, odds: Tensor | None, batch: int, size: int
    ) -> tuple[Tensor, Tensor | None]:
        total: Tensor | None = None
        seen: Tensor | None = None
        for start in range(0, g.t.shape[0], size):
            part = Element(g.transform, g.t[start : start + size])
            items = torch.arange(start, start + part.t.shape[0], device=part.t.device) % batch
            inputs = x if size == batch else _take(x, items)
            y, weight = self._predict(
                inputs, part, None if odds is None else odds[start : start + size]
            )
            total = (y.new_zeros(batch, *y.shape[1:]) if total is None else total).index_add(
                0, items, y
            )
            if weight is not None:
                seen = (
                    weight.new_zeros(batch, *weight.shape[1:]) if seen is None else seen
                ).index_add(0, items, weight)
        assert total is not None
        return total, seen

    def _weighted_mean(self, total: Tensor, seen: Tensor, x: Any) -> Tensor:
        return total / seen

    def with_nodes(self, nodes: int = 16) -> "FixedNodes":
        """The same model over fixed elements: the same answer every time."""
        return FixedNodes(self, nodes)

    def extra_repr(self) -> str:
        return f"train_copies={self.train_copies}, test_copies={self.test_copies}, average={self.average.name}"


def _take(x: Any, items: Tensor) -> Any:
    return tree.map(lambda leaf: leaf[items], x)


def _times(y: Tensor, weight: Tensor) -> Tensor:
    return y * weight.to(y.dtype).reshape(-1, *[1] * (y.dim() - 1))


def _sum_copies(y: Tensor, copies: int) -> Tensor:
    return y if copies == 1 else y.reshape(copies, y.shape[0] // copies, *y.shape[1:]).sum(0)


class EquivariantModel(InvariantModel):
    r"""The model \(f_{eq}(x) = E_{g \sim \mu_\theta}\, g^{-1} f(g x)\) (Benton et al. 2020, Section 3.1).

    What a warp pushed out of the frame comes back empty and says nothing, so the mean is weighted by coverage, g^-1 g 1:
    what survives there and back. A place that no copy saw keeps, in evaluation, the un-augmented prediction, that of the
    identity element. In training it predicts what scores of 0 say, all classes alike (0 for a regression), and sends no
    gradient anywhere: there is no evidence to learn from, and the network need not run a second time.

    The other arguments are those of `InvariantModel`.

    Args:
        action: how g acts on outputs; the augmentation's own transform by default (see `transforms.actions` for others).

    Example:
        >>> from augerino import Affine2d, Uniform
        >>> model = EquivariantModel(nn.Identity(), Augmentation(Affine2d("rotate"), Uniform([0.5])), test_copies=8)
        >>> model.eval()(torch.ones(1, 1, 8, 8)).shape
        torch.Size([1, 1, 8, 8])
    """

    moves_outputs = True

    def __init__(
        self,
        net: nn.Module,
        augmentation: Augmentation,
        *,
        action: Transform | None = None,
        **options: Any,
    ) -> None:
        super().__init__(net, augmentation, **options)
        self.action = augmentation.transform if action is None else action
        if self.action.names != augmentation.names:
            raise InputError(
                f"The action's coordinates ({', '.join(self.action.names)}) must be those of the augmentation "
                f"({', '.join(augmentation.names)}), in the same order."
            )
        lacking = self.action.without_inverse()
        if lacking is not None:
            raise InputError(
                f"{lacking} has no inverse, which EquivariantModel needs to bring outputs back: write {lacking}.inverse(y, t), "
                "pass an action in which outputs stay as they are under it, or use InvariantModel."
            )

    def _outputs(self, x: Any) -> Tensor:
        y = super()._outputs(x)
        if self.action.in_pixels and isinstance(x, Tensor) and y.shape[2:] != x.shape[2:]:
            raise InputError(
                f"{type(self.action).__name__} moves by pixels, so the network must return maps of the size that it sees, "
                f"{tuple(x.shape[2:])}, but returned {tuple(y.shape)}: scale its output up, or use Affine2d."
            )
        return y

    @property
    def followed(self) -> tuple[str, ...]:
        """The coordinates that outputs follow: those under which the action moves anything."""
        return _moving(self.action)

    def _bring_back(self, y: Tensor, g: Element) -> tuple[Tensor, Tensor | None]:
        h = g.on(self.action)
        try:
            back, seen = h.inv(y), h.coverage(y)
        except InputError as error:
            raise InputError(
                f"The network's output does not match how g acts on it: {error}"
            ) from error
        if seen is None:
            return back, None
        visibility = self.action.visibility(y, g.t)
        if (
            visibility is not None
        ):  # a value at the rim is that of what was seen, not darkened by what was not
            back = back / visibility.clamp_min(1e-6)
        return back * seen, seen

    def _weighted_mean(self, total: Tensor, seen: Tensor, x: Any) -> Tensor:
        unseen = seen < 1e-3
        y = total / seen.clamp_min(1e-3)
        if self.training:
            return torch.where(unseen, self.average.before(torch.zeros_like(total)), y)
        if not torch.compiler.is_compiling() and not bool(
            unseen.any()
        ):  # a graph cannot wait and see
            return y
        return torch.where(unseen, self._unaugmented(x), y)

    def _unaugmented(self, x: Any) -> Tensor:
        """The prediction of the identity element, before `after`, in chunks too."""
        if self.chunk is None:
            return self._still(x)
        items = torch.arange(tree.batch_size(x), device=next(tree.leaves(x)).device).split(
            self.chunk
        )
        return torch.cat([self._still(_take(x, part)) for part in items])

    def _still(self, x: Any) -> Tensor:
        # Not the bare net: a transform with a margin shows it a larger canvas, and the action crops what it says.
        t = self.augmentation.distribution.extent.detach().new_zeros(
            tree.batch_size(x), len(self.augmentation.names)
        )
        identity = Element(self.augmentation.transform, t)
        return identity.on(self.action).inv(self.average.before(self._outputs(identity(x))))


def _moving(action: Transform) -> tuple[str, ...]:
    if isinstance(action, Compose):
        return tuple(name for part in action.parts for name in _moving(part))  # type: ignore[arg-type]
    return () if isinstance(action, Identity) else action.names


class FixedNodes(nn.Module):
    r"""A model averaged over the same few elements for every input: \(\tfrac1n \sum_i f(g_i x)\), no randomness left.

    The elements are spread evenly over the distribution (`LearnedDistribution.nodes`), so the mean is nearer to the expectation
    than that of as many random ones. They are those of the distribution as it is now: make it anew after more training.

    Args:
        model: an `InvariantModel` or `EquivariantModel`; its network is shared, not copied.
        nodes: how many elements.

    Example:
        >>> from augerino import Affine2d, Uniform
        >>> model = InvariantModel(nn.Flatten(), Augmentation(Affine2d("rotate"), Uniform([0.5]))).eval()
        >>> fixed, x = model.with_nodes(8), torch.rand(2, 1, 8, 8)
        >>> torch.equal(fixed(x), fixed(x))
        True
    """

    t: Tensor

    def __init__(self, model: InvariantModel, nodes: int = 16) -> None:
        super().__init__()
        self.model = model
        self.register_buffer("t", model.augmentation.quadrature_element(nodes).t)
        self.training = model.training

    def forward(self, x: Any) -> Tensor:
        nodes, batch = self.t.shape[0], tree.batch_size(x)
        t = self.t[:, None].expand(nodes, batch, -1).reshape(nodes * batch, -1)
        return self.model.average_over(x, Element(self.model.augmentation.transform, t), nodes)

    def extra_repr(self) -> str:
        return f"nodes={self.t.shape[0]}"


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients, and back to what it was."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes:  # each to its own: a frozen part stays frozen
            module.training = training
