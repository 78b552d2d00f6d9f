"""The loss as a function of the network's weights and of nothing else."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from augerino import tree
from augerino.errors import InputError
from augerino.models import InvariantModel, evaluation_mode


class LossSurface:
    r"""The mean loss over given items as a function of a network's weights: \(L(w) = \frac1N \sum_i \ell(f_w(x_i), y_i)\).

    Everything else is held fixed. The model is in evaluation mode, so batch norm uses the statistics that training left, and
    dropout is off. Whatever the model draws is drawn from the same seed at every call, so an averaged model sees the same
    elements g each time. The weights are all that the network trains, those of batch norm among them; the bounds of an
    augmentation are not.

    Args:
        model: any network, or an averaged model, of which the network inside is meant.
        loss: the mean over a batch of predictions and targets, as `F.nll_loss`.
        x: inputs, (N, ...), or a tree of them; bytes are scaled to [0, 1].
        y: targets, (N, ...).
        copies: how many elements an averaged model draws for each item; its `test_copies` by default.
        seed: of these draws.
        batch_size: items at once. It changes which element an item is given, and no law of it.

    Example:
        >>> surface = LossSurface(nn.Linear(2, 1), nn.functional.mse_loss, torch.ones(5, 2), torch.ones(5, 1))
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
                f"There must be one target per input, and at least one, but got {tree.batch_size(x)} and {len(y)}."
            )
        if batch_size < 1 or (copies is not None and copies < 1):
            raise InputError(
                f"batch_size and copies must be at least 1, but got {batch_size} and {copies}."
            )
        if copies is not None and not isinstance(model, InvariantModel):
            raise InputError(
                f"A {type(model).__name__} draws no copies: leave copies out, or give an InvariantModel."
            )
        net, own = (
            (model.net, model.test_copies) if isinstance(model, InvariantModel) else (model, 1)
        )
        self.model, self.loss, self.x, self.y = model, loss, x, y
        self.copies, self.seed, self.batch_size = copies or own, seed, batch_size
        self.weights: list[Tensor] = [weight for weight in net.parameters() if weight.requires_grad]
        if not self.weights:
            raise InputError(
                f"The {type(net).__name__} has no weights that are trained, so its loss has no surface."
            )

    @property
    def size(self) -> int:
        """How many weights there are."""
        return sum(weight.numel() for weight in self.weights)

    def predictions(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Predictions and targets, batch by batch, with gradients where the caller has them on."""
        wanted, like = torch.is_grad_enabled(), self.weights[0]
        for number, items in enumerate(torch.arange(len(self.y)).split(self.batch_size)):
            x, y = _take(self.x, items, like), self.y[items].to(like.device)
            with (
                evaluation_mode(self.model),
                torch.random.fork_rng(),
                torch.set_grad_enabled(wanted),
            ):
                torch.manual_seed(self.seed + number)
                prediction = self._predict(x)
            yield prediction, y

    def _predict(self, x: Any) -> Tensor:
        if not isinstance(self.model, InvariantModel):
            return self.model(x)
        with torch.no_grad():  # bounds are no weights
            g = self.model.augmentation.sample(tree.batch_size(x) * self.copies)
        return self.model.average_over(x, g, self.copies)

    def losses(self) -> Iterator[Tensor]:
        """The loss of each batch times its share of the items: they add up to the mean loss."""
        for prediction, y in self.predictions():
            yield self.loss(prediction, y) * (len(y) / len(self.y))

    def mean(self) -> float:
        """The mean loss at the weights as they are."""
        with torch.no_grad():
            return sum(float(loss) for loss in self.losses())


def _take(x: Any, items: Tensor, like: Tensor) -> Any:
    def scaled(leaf: Tensor) -> Tensor:
        part = leaf[items].to(like.device)
        return part.to(like.dtype) / 255 if part.dtype == torch.uint8 else part

    return tree.map(scaled, x)
