"""The loss as a function of the network's weights, with everything else fixed."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from augerino import tree
from augerino.errors import InputError
from augerino.models import InvariantModel, evaluation_mode


class LossSurface:
    r"""The mean loss \(L(w) = \frac1N \sum_i \ell(f_w(x_i), y_i)\) of a network with weights w.

    All other quantities are fixed. The model is in evaluation mode, so batch norm uses the
    statistics of the training, and dropout is off. Every call uses the same seed, so an averaged
    model draws the same elements g each time. w includes all trained weights of the network, also
    those of batch norm, but not the bounds of an augmentation.

    Args:
        model: a network, or an averaged model, whose inner network is then used.
        loss: the mean over a batch of predictions and targets, as `F.nll_loss`.
        x: inputs, (N, ...), or a tree of them; bytes are scaled to [0, 1].
        y: targets, (N, ...).
        copies: elements that an averaged model draws per item; its `test_copies` by default.
        seed: seed of these draws.
        batch_size: items per batch. It changes which element an item gets, but not its
            distribution.

    Example:
        >>> x, y = torch.ones(5, 2), torch.ones(5, 1)
        >>> surface = LossSurface(nn.Linear(2, 1), nn.functional.mse_loss, x, y)
        >>> surface.size, surface.mean() == surface.mean()
        (3, True)
    """

    def __init__(
        self,
        model: nn.Module,
        loss: Callable[[Any, Any], Tensor],
        x: Any,
        y: Tensor,
        *,
        copies: int | None = None,
        seed: int = 0,
        batch_size: int = 250,
    ) -> None:
        if tree.batch_size(x) != len(y) or len(y) == 0:
            raise InputError(
                "There must be one target per input, and at least one input, "
                f"but got {tree.batch_size(x)} inputs and {len(y)} targets."
            )
        if batch_size < 1 or (copies is not None and copies < 1):
            raise InputError(
                f"batch_size and copies must be at least 1, but got {batch_size} and {copies}."
            )
        if copies is not None and not isinstance(model, InvariantModel):
            raise InputError(
                f"A {type(model).__name__} draws no copies: omit copies, or give an InvariantModel."
            )
        net = model
        default_copies = 1
        if isinstance(model, InvariantModel):
            net = model.net
            default_copies = model.test_copies
        self.model = model
        self.loss = loss
        self.x = x
        self.y = y
        self.copies = copies or default_copies
        self.seed = seed
        self.batch_size = batch_size
        self.weights: list[Tensor] = [weight for weight in net.parameters() if weight.requires_grad]
        if not self.weights:
            raise InputError(
                f"A loss surface needs trainable weights, but the {type(net).__name__} has none."
            )

    @property
    def size(self) -> int:
        """Number of weights."""
        return sum(weight.numel() for weight in self.weights)

    def predictions(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yields predictions and targets by batch, with gradients if the caller enabled them."""
        with_gradients = torch.is_grad_enabled()
        like = self.weights[0]
        for number, items in enumerate(torch.arange(len(self.y)).split(self.batch_size)):
            x = _take(self.x, items, like)
            y = self.y[items].to(like.device)
            with (
                evaluation_mode(self.model),
                torch.random.fork_rng(),
                torch.set_grad_enabled(with_gradients),
            ):
                torch.manual_seed(self.seed + number)
                prediction = self._predict(x)
            yield prediction, y

    def _predict(self, x: Any) -> Tensor:
        if not isinstance(self.model, InvariantModel):
            return self.model(x)
        with torch.no_grad():  # bounds are not weights
            g = self.model.augmentation.sample(tree.batch_size(x) * self.copies)
        return self.model.average_over(x, g, self.copies)

    def losses(self) -> Iterator[Tensor]:
        """Yields the loss of each batch times its fraction of the items; they sum to the mean."""
        for prediction, y in self.predictions():
            yield self.loss(prediction, y) * (len(y) / len(self.y))

    def mean(self) -> float:
        """The mean loss at the current weights."""
        with torch.no_grad():
            return sum(float(loss) for loss in self.losses())


def _take(x: Any, items: Tensor, like: Tensor) -> Any:
    """The given items on the device of `like`, with bytes scaled to [0, 1]."""

    def scaled(leaf: Tensor) -> Tensor:
        part = leaf[items].to(like.device)
        if part.dtype == torch.uint8:
            return part.to(like.dtype) / 255
        return part

    return tree.map(scaled, x)
