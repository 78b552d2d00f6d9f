"""FC-DenseNet, "The One Hundred Layers Tiramisu" (Jégou et al. 2017): dense blocks on the way down and up, a score a pixel."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

_MOST_BLOCKS, _MOST_LAYERS = (
    21,
    64,
)  # settings may come from a file; a network beyond these is nobody's wish


class _Layer(nn.Module):
    """Batch norm, ReLU, convolution, dropout, over all the maps there are so far."""

    def __init__(
        self, before: int, after: int, kernel: int, dropout: float, checkpointing: bool = False
    ) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(before)
        self.convolution = nn.Conv2d(before, after, kernel, padding=kernel // 2)
        self.dropout = nn.Dropout(dropout)
        self.checkpointing = checkpointing

    def forward(self, *maps: Tensor) -> Tensor:
        if not (self.checkpointing and self.training and torch.is_grad_enabled()):
            return self._forward(*maps)
        result: Tensor = checkpoint(
            self._forward, *maps, use_reentrant=False, context_fn=self._contexts
        )
        return result

    def _forward(self, *maps: Tensor) -> Tensor:
        stacked = maps[0] if len(maps) == 1 else torch.cat(maps, dim=1)
        return self.dropout(self.convolution(F.relu(self.norm(stacked), inplace=True)))

    def _contexts(self) -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
        return nullcontext(), self._again()

    @contextmanager
    def _again(self) -> Iterator[None]:
        """What is computed a second time, for its gradient, is not counted a second time in the running statistics."""
        momentum, count = self.norm.momentum, self.norm.num_batches_tracked.clone()  # type: ignore[union-attr]
        self.norm.momentum = 0.0
        try:
            yield
        finally:
            self.norm.momentum = momentum
            self.norm.num_batches_tracked.copy_(count)  # type: ignore[union-attr]


class _DenseBlock(nn.Module):
    """Layers that each see the block's input and all that the layers before them made."""

    def __init__(
        self, before: int, growth: int, layers: int, dropout: float, checkpointing: bool
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            _Layer(before + i * growth, growth, 3, dropout, checkpointing) for i in range(layers)
        )

    def forward(self, x: Tensor) -> list[Tensor]:
        """The input and then the new maps, one tensor a layer."""
        maps = [x]
        for layer in self.layers:
            maps.append(layer(*maps))
        return maps


class FCDenseNet(nn.Module):
    """Images (B, channels, H, W) to scores (B, outputs, H, W), of any size.

    A first convolution; dense blocks with a halving after each; a dense block at the bottom; and on the way up, the new maps of
    the block below doubled by a transposed convolution, cropped about the centre to the maps of the same size on the way
    down, joined to them, and a dense block. Odd sides are halved upwards, so that any size has a way down.

    Reference: Jégou, Drozdzal, Vazquez, Romero, Bengio (2017), Tables 1 and 2; biases, He initialisation and dropout as there.

    Args:
        channels: of the input.
        outputs: classes or values per pixel.
        growth: new maps a layer makes.
        layers: per dense block, down, bottom, up: an odd number of counts.
        first: maps of the first convolution.
        dropout: after each convolution inside.
        checkpointing: whether training computes the inside of layers twice instead of keeping it: less memory, the same result.

    Example:
        >>> net = FCDenseNet(3, 11, growth=4, layers=(2, 2, 2), first=8)
        >>> net(torch.rand(2, 3, 9, 14)).shape
        torch.Size([2, 11, 9, 14])
    """

    def __init__(
        self,
        channels: int,
        outputs: int,
        growth: int = 16,
        layers: Sequence[int] = (5,) * 11,
        first: int = 48,
        dropout: float = 0.2,
        checkpointing: bool = False,
    ) -> None:
        super().__init__()
        layers = list(layers)
        if (
            len(layers) % 2 == 0
            or len(layers) > _MOST_BLOCKS
            or not all(1 <= count <= _MOST_LAYERS for count in layers)
        ):
            raise ValueError(
                f"layers must be an odd number of counts, one a dense block, at most {_MOST_BLOCKS} of 1 to {_MOST_LAYERS} each, "
                f"but got {layers[: _MOST_BLOCKS + 1]}"
            )
        self._settings: dict[str, Any] = {
            **{
                "channels": channels,
                "outputs": outputs,
                "growth": growth,
                "layers": layers,
                "first": first,
            },
            **{"dropout": dropout, "checkpointing": checkpointing},
        }
        depth, width, beside = len(layers) // 2, first, []
        self.first = nn.Conv2d(channels, first, 3, padding=1)
        self.down, self.shrink, self.enlarge, self.up = (nn.ModuleList() for _ in range(4))
        for count in layers[:depth]:
            self.down.append(_DenseBlock(width, growth, count, dropout, checkpointing))
            width += growth * count
            beside.append(width)
            self.shrink.append(_Layer(width, width, 1, dropout, checkpointing))
        self.bottom = _DenseBlock(width, growth, layers[depth], dropout, checkpointing)
        new = growth * layers[depth]
        width += new
        for count in layers[depth + 1 :]:
            self.enlarge.append(nn.ConvTranspose2d(new, new, 3, stride=2))
            width = beside.pop() + new
            self.up.append(_DenseBlock(width, growth, count, dropout, checkpointing))
            new = growth * count
            width += new
        self.head = nn.Conv2d(width, outputs, 1)
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.ConvTranspose2d):
                nn.init.kaiming_uniform_(module.weight, nonlinearity="relu")
                nn.init.zeros_(module.bias)  # type: ignore[arg-type]

    def settings(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**self._settings, "layers": list(self._settings["layers"])}

    def forward(self, x: Tensor) -> Tensor:
        x, beside = self.first(x), []
        for block, shrink in zip(self.down, self.shrink, strict=True):
            beside.append(torch.cat(block(x), dim=1))
            x = F.max_pool2d(shrink(beside[-1]), 2, ceil_mode=True)
        maps = self.bottom(x)
        for enlarge, block in zip(self.enlarge, self.up, strict=True):
            skip = beside.pop()
            maps = block(
                torch.cat([_centre(enlarge(torch.cat(maps[1:], dim=1)), skip), skip], dim=1)
            )
        return self.head(torch.cat(maps, dim=1))


def _centre(x: Tensor, like: Tensor) -> Tensor:
    """The middle of x, as high and wide as `like`."""
    height, width = like.shape[-2:]
    top, left = (x.shape[-2] - height) // 2, (x.shape[-1] - width) // 2
    return x[..., top : top + height, left : left + width]


def fc_densenet56(channels: int, outputs: int, **options: Any) -> FCDenseNet:
    """FC-DenseNet56: growth 12, four layers a block; 1.4 million weights, where its authors write 1.5."""
    return FCDenseNet(channels, outputs, growth=12, layers=(4,) * 11, **options)


def fc_densenet67(channels: int, outputs: int, **options: Any) -> FCDenseNet:
    """FC-DenseNet67, the network of Benton et al. (2020): growth 16, five layers a block, 3.5 million weights."""
    return FCDenseNet(channels, outputs, growth=16, layers=(5,) * 11, **options)


def fc_densenet103(channels: int, outputs: int, **options: Any) -> FCDenseNet:
    """FC-DenseNet103: growth 16, four to fifteen layers a block, 9.4 million weights."""
    return FCDenseNet(
        channels, outputs, growth=16, layers=(4, 5, 7, 10, 12, 15, 12, 10, 7, 5, 4), **options
    )


def fc_densenet_small(channels: int, outputs: int, **options: Any) -> FCDenseNet:
    """One for a CPU: growth 8, three halvings, two to three layers a block, 0.1 million weights, too few to need dropout."""
    return FCDenseNet(
        channels,
        outputs,
        **{"growth": 8, "layers": (2, 2, 3, 3, 3, 2, 2), "first": 16, "dropout": 0.0, **options},
    )


#: The named ones, as `--net` takes them.
NAMED: dict[str, Callable[..., FCDenseNet]] = {
    make.__name__: make
    for make in (fc_densenet_small, fc_densenet56, fc_densenet67, fc_densenet103)
}
