r"""Networks averaged over an augmentation: the paper's two equations.

Invariant: \(\bar f(x) = E_g f(g x)\). Equivariant: \(f_{eq}(x) = E_g\, g^{-1} f(g x)\).
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
    """An averaging rule for the predictions of several copies: `after(mean(before(y)))`.

    The output has the same meaning for any number of copies, in training and in evaluation.

    Args:
        name: unique name, as stored in files.
        before: function of the outputs of the network, (B, ...).
        after: function of the mean.
        alone: computes `after(before(y))` for a single copy without its rounding error.
    """

    name: str
    before: Callable[[Tensor], Tensor]
    after: Callable[[Tensor], Tensor]
    alone: Callable[[Tensor], Tensor]

    def __call__(self, y: Tensor) -> Tensor:
        """Averages stacked copies.   y: (n, B, ...)   returns (B, ...)"""
        stacked = self.before(y.flatten(0, 1)).unflatten(0, y.shape[:2])
        return self.after(stacked.mean(0))


def _same(y: Tensor) -> Tensor:
    return y


def _log_prob(y: Tensor) -> Tensor:
    if y.dtype in (torch.bfloat16, torch.float16):
        y = y.float()
    return y.log_softmax(dim=1)


def _prob(y: Tensor) -> Tensor:
    return _log_prob(y).exp()


def _log(p: Tensor) -> Tensor:
    return p.clamp_min(torch.finfo(p.dtype).tiny).log()


#: The mean of the outputs, for regression.
mean = Average("mean", before=_same, after=_same, alone=_same)
#: The mean of log-probabilities, from class scores (B, classes, ...), for `F.nll_loss`: the paper's
#: Eq. 2, where the loss of the mean is the mean of the losses. Not renormalized: a class to which
#: one copy assigns a very low probability keeps a low score.
mean_log_prob = Average("mean_log_prob", before=_log_prob, after=_same, alone=_log_prob)
#: The log of the mean probability, from class scores, for `F.nll_loss`: an ensemble average.
mean_prob = Average("mean_prob", before=_prob, after=_log, alone=_log_prob)

AVERAGES = {rule.name: rule for rule in (mean, mean_log_prob, mean_prob)}


class InvariantModel(nn.Module):
    r"""The augmentation-averaged model \(\bar f(x) = E_{g \sim \mu_\theta} f(g x)\).

    Reference: Benton et al. (2020), Eq. 1.

    Args:
        net: any network that maps a batch of inputs to one tensor, (B, ...).
        augmentation: the distribution of g.
        train_copies: number of g per input in training. For `mean_log_prob`, 1 is enough: the
            gradient is an unbiased estimate.
        test_copies: number of g per input in evaluation.
        average: `mean`, `mean_log_prob` or `mean_prob`.
        chunk: largest number of inputs per call of the network. It limits memory and does not
            change the results of evaluation. By default, all copies are computed in one call,
            except in evaluation on a CPU: there, one call per copy is faster.

    Example:
        >>> from augerino import Affine2d, Uniform
        >>> net = nn.Sequential(nn.Flatten(), nn.Linear(64, 3))
        >>> augmentation = Augmentation(Affine2d("rotate"), Uniform([0.5]))
        >>> model = InvariantModel(net, augmentation, average=mean_log_prob)
        >>> model(torch.rand(5, 1, 8, 8)).shape
        torch.Size([5, 3])
    """

    moves_outputs = False  # whether outputs transform with g

    @property
    def followed(self) -> tuple[str, ...]:
        """The coordinates under which outputs are equivariant: none, as outputs are invariant."""
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
        counts = {"train_copies": train_copies, "test_copies": test_copies, "chunk": chunk}
        for name, value in counts.items():
            if value is not None and value < 1:
                raise InputError(f"{name} must be at least 1, but got {value}.")
        if not isinstance(average, Average):
            raise InputError(
                "average must be one of ag.mean, ag.mean_log_prob and ag.mean_prob, "
                f"but got {average!r}."
            )
        self.net = net
        self.augmentation = augmentation
        self.average = average
        self.train_copies = train_copies
        self.test_copies = test_copies
        self.chunk = chunk

    def forward(self, x: Any) -> Tensor:
        """Averages the predictions over newly sampled elements.   x: (B, ...)   returns (B, ...)

        Training enumerates the outcomes of flips, so that the gradient of their probability is
        exact. Evaluation samples them.
        """
        if self.training:
            copies = self.train_copies
            g, weight = self.augmentation.enumerate_discrete(tree.batch_size(x) * copies)
            return self._average(x, g, copies=copies, weight=weight)
        copies = self.test_copies
        g = self.augmentation.sample(tree.batch_size(x) * copies)
        return self._average(x, g, copies=copies)

    def average_over(self, x: Any, g: Element, copies: int = 1) -> Tensor:
        """Averages the predictions over given elements.

        Args:
            x: inputs, (B, ...).
            g: elements with coordinates (copies * B, k), ordered copy by copy.
            copies: number of elements per input.

        Returns:
            averaged predictions, (B, ...).
        """
        return self._average(x, g, copies=copies)

    def _average(self, x: Any, g: Element, *, copies: int, weight: Tensor | None = None) -> Tensor:
        """Averages over elements (m * copies * B, k), with the probabilities of m outcomes, (m,).

        Without probabilities, m is 1.
        """
        batch = tree.batch_size(x)
        stacked = copies
        row_weight = None
        if weight is not None:
            stacked = copies * weight.shape[0]
            row_weight = weight.repeat_interleave(batch * copies)
        size = self._chunk_size(x, batch, batch * stacked)
        if size < batch * stacked:
            total, seen = self._predict_in_chunks(x, g, weight=row_weight, size=size)
        elif stacked == 1 and not self.moves_outputs:
            return self.average.alone(self._outputs(g(x)))
        else:
            y, coverage = self._predict(tree.repeat(x, stacked), g, row_weight)
            total = _sum_copies(y, stacked)
            seen = None
            if coverage is not None:
                seen = _sum_copies(coverage, stacked)
        if seen is None:
            return self.average.after(total / copies)
        return self.average.after(self._weighted_mean(total, seen, x))

    def _chunk_size(self, x: Any, batch: int, rows: int) -> int:
        """The number of inputs per call of the network."""
        if self.chunk is not None:
            return self.chunk
        evaluating = not self.training and not torch.is_grad_enabled()
        if evaluating and eager(*tree.leaves(x)):
            return batch
        return rows

    def _predict(self, x: Any, g: Element, weight: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Predicts each row in the frame of its input.

        Returns predictions times coverage and weight, (rows, ...), and coverage times weight.
        Coverage is None if everything is covered.
        """
        y, coverage = self._transform_back(self.average.before(self._outputs(g(x))), g)
        if weight is None:
            return y, coverage
        if coverage is not None:
            coverage = _times(coverage, weight)
        return _times(y, weight), coverage

    def _outputs(self, x: Any) -> Tensor:
        """Runs the network and validates its output."""
        rows = tree.batch_size(x)
        y = self.net(x)
        if not isinstance(y, Tensor) or y.dim() == 0 or y.shape[0] != rows:
            got = type(y).__name__
            if isinstance(y, Tensor):
                got = str(tuple(y.shape))
            raise InputError(
                f"The network must return one tensor with {rows} rows, one per input, "
                f"but returned {got}."
            )
        if not (y.is_floating_point() or y.is_complex()):
            raise InputError(
                "The network must return numbers that have a mean, such as class scores, "
                f"but returned {y.dtype}."
            )
        return y

    def _transform_back(self, y: Tensor, g: Element) -> tuple[Tensor, Tensor | None]:
        """Applies the inverse of g to outputs; returns them times coverage, and coverage."""
        return y, None

    def _predict_in_chunks(
        self, x: Any, g: Element, *, weight: Tensor | None, size: int
    ) -> tuple[Tensor, Tensor | None]:
        """Computes the sums of `_predict` over the copies of each input, `size` rows at a time."""
        batch = tree.batch_size(x)
        total: Tensor | None = None
        seen: Tensor | None = None
        for start in range(0, g.t.shape[0], size):
            rows = slice(start, start + size)
            part = Element(g.transform, g.t[rows])
            items = torch.arange(start, start + part.t.shape[0], device=part.t.device) % batch
            inputs = x if size == batch else _take(x, items)
            part_weight = None if weight is None else weight[rows]
            y, coverage = self._predict(inputs, part, part_weight)
            if total is None:
                total = y.new_zeros(batch, *y.shape[1:])
            total = total.index_add(0, items, y)
            if coverage is None:
                continue
            if seen is None:
                seen = coverage.new_zeros(batch, *coverage.shape[1:])
            seen = seen.index_add(0, items, coverage)
        assert total is not None
        return total, seen

    def _weighted_mean(self, total: Tensor, seen: Tensor, x: Any) -> Tensor:
        return total / seen

    def with_nodes(self, nodes: int = 16) -> "FixedNodes":
        """Returns a deterministic version of the model, averaged over fixed elements."""
        return FixedNodes(self, nodes)

    def extra_repr(self) -> str:
        """The numbers of copies and the averaging rule."""
        return (
            f"train_copies={self.train_copies}, test_copies={self.test_copies}, "
            f"average={self.average.name}"
        )


def _take(x: Any, items: Tensor) -> Any:
    return tree.map(lambda leaf: leaf[items], x)


def _times(y: Tensor, weight: Tensor) -> Tensor:
    """Multiplies each row by its weight.   y: (n, ...)   weight: (n,)"""
    return y * weight.to(y.dtype).reshape(-1, *[1] * (y.dim() - 1))


def _sum_copies(y: Tensor, copies: int) -> Tensor:
    """Sums over copies.   y: (copies * B, ...)   returns (B, ...)"""
    if copies == 1:
        return y
    return y.reshape(copies, y.shape[0] // copies, *y.shape[1:]).sum(0)


class EquivariantModel(InvariantModel):
    r"""The equivariant model \(f_{eq}(x) = E_{g \sim \mu_\theta}\, g^{-1} f(g x)\).

    The mean is weighted by coverage, \(g^{-1} g 1\): the fraction of each pixel that is still in
    the frame after g and \(g^{-1}\). A pixel that no copy covers gets, in evaluation, the
    prediction of the identity element. In training it gets the prediction of zero scores (all
    classes equal, or 0 for regression) without a gradient, so that the network runs only once.

    Reference: Benton et al. (2020), Section 3.1.

    Args:
        net: any network whose outputs transform with g.
        augmentation: the distribution of g.
        action: the action of g on outputs; by default that of the augmentation's transform. See
            `transforms.actions` for others.
        options: the other arguments of `InvariantModel`.

    Example:
        >>> from augerino import Affine2d, Uniform
        >>> augmentation = Augmentation(Affine2d("rotate"), Uniform([0.5]))
        >>> model = EquivariantModel(nn.Identity(), augmentation, test_copies=8)
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
                f"The action's coordinates ({', '.join(self.action.names)}) must be those of the "
                f"augmentation ({', '.join(augmentation.names)}), in the same order."
            )
        lacking = self.action.without_inverse()
        if lacking is not None:
            raise InputError(
                f"{lacking} has no inverse, which EquivariantModel needs to transform outputs "
                f"back: write {lacking}.inverse(y, t), pass an action that leaves outputs "
                "unchanged, or use InvariantModel."
            )

    def _outputs(self, x: Any) -> Tensor:
        y = super()._outputs(x)
        if self.action.in_pixels and isinstance(x, Tensor) and y.shape[2:] != x.shape[2:]:
            raise InputError(
                f"{type(self.action).__name__} translates by pixels, so the network must return "
                f"maps of the size of its input, {tuple(x.shape[2:])}, "
                f"but returned {tuple(y.shape)}: upsample its output, or use Affine2d."
            )
        return y

    @property
    def followed(self) -> tuple[str, ...]:
        """The coordinates under which outputs are equivariant: those with a non-trivial action."""
        return _nontrivial(self.action)

    def _transform_back(self, y: Tensor, g: Element) -> tuple[Tensor, Tensor | None]:
        h = g.on(self.action)
        try:
            back = h.inv(y)
            coverage = h.coverage(y)
        except InputError as error:
            raise InputError(
                f"The network's output does not match how g acts on it: {error}"
            ) from error
        if coverage is None:
            return back, None
        visibility = self.action.visibility(y, g.t)
        if visibility is not None:
            # Interpolation mixes values at the edge with zeros from outside of the frame.
            back = back / visibility.clamp_min(1e-6)
        return back * coverage, coverage

    def _weighted_mean(self, total: Tensor, seen: Tensor, x: Any) -> Tensor:
        uncovered = seen < 1e-3
        y = total / seen.clamp_min(1e-3)
        if self.training:
            return torch.where(uncovered, self.average.before(torch.zeros_like(total)), y)
        # A compiled graph cannot branch on data.
        if not torch.compiler.is_compiling() and not bool(uncovered.any()):
            return y
        return torch.where(uncovered, self._unaugmented(x), y)

    def _unaugmented(self, x: Any) -> Tensor:
        """Predicts with the identity element, without `average.after`, in chunks.   (B, ...)"""
        if self.chunk is None:
            return self._predict_identity(x)
        items = torch.arange(tree.batch_size(x), device=next(tree.leaves(x)).device)
        chunks = items.split(self.chunk)
        return torch.cat([self._predict_identity(_take(x, chunk)) for chunk in chunks])

    def _predict_identity(self, x: Any) -> Tensor:
        # The transform is applied even though it is the identity: with padding it enlarges the
        # canvas, and the action crops the output.
        extent = self.augmentation.distribution.extent.detach()
        t = extent.new_zeros(tree.batch_size(x), len(self.augmentation.names))
        identity = Element(self.augmentation.transform, t)
        return identity.on(self.action).inv(self.average.before(self._outputs(identity(x))))


def _nontrivial(action: Transform) -> tuple[str, ...]:
    """The names of the coordinates whose action is not the identity."""
    if isinstance(action, Compose):
        parts = [_nontrivial(part) for part in action.parts]  # type: ignore[arg-type]
        return tuple(name for names in parts for name in names)
    if isinstance(action, Identity):
        return ()
    return action.names


class FixedNodes(nn.Module):
    r"""A deterministic average over n fixed elements, \(\tfrac1n \sum_i f(g_i x)\).

    The elements are spread evenly over the distribution (`LearnedDistribution.quadrature_points`),
    so that the mean is closer to the expectation than that of n random elements. They are computed
    once, from the current distribution: create a new object after further training.

    Args:
        model: an `InvariantModel` or `EquivariantModel`; its network is shared, not copied.
        nodes: number of elements, n.

    Example:
        >>> from augerino import Affine2d, Uniform
        >>> augmentation = Augmentation(Affine2d("rotate"), Uniform([0.5]))
        >>> model = InvariantModel(nn.Flatten(), augmentation).eval()
        >>> fixed = model.with_nodes(8)
        >>> x = torch.rand(2, 1, 8, 8)
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
        """Averages the predictions over the nodes.   x: (B, ...)   returns (B, ...)"""
        nodes = self.t.shape[0]
        batch = tree.batch_size(x)
        t = self.t[:, None].expand(nodes, batch, -1).reshape(nodes * batch, -1)
        return self.model.average_over(x, Element(self.model.augmentation.transform, t), nodes)

    def extra_repr(self) -> str:
        """The number of nodes."""
        return f"nodes={self.t.shape[0]}"


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Context manager: evaluation mode without gradients; restores the modes on exit."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        # Modules are restored individually: a frozen part may have been in evaluation mode before.
        for module, training in modes:
            module.training = training
