"""FC-DenseNet: dense blocks on the way down and up, class scores for every pixel.

Reference: Jégou, Drozdzal, Vazquez, Romero, Bengio (2017), "The One Hundred Layers Tiramisu".
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

# Settings may come from a damaged file; larger networks are certainly a mistake.
_MAX_BLOCKS = 21
_MAX_LAYERS = 64


class _Layer(nn.Module):
    """Batch norm, ReLU, convolution and dropout over the concatenation of several feature maps.

    (B, c_i, H, W), ... -> (B, after, H, W)
    """

    def __init__(
        self, before: int, after: int, kernel: int, *, dropout: float, checkpointing: bool
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
        activated = F.relu(self.norm(stacked), inplace=True)
        return self.dropout(self.convolution(activated))

    def _contexts(self) -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
        return nullcontext(), self._frozen_statistics()

    @contextmanager
    def _frozen_statistics(self) -> Iterator[None]:
        """Keeps the running statistics unchanged while checkpointing recomputes the layer."""
        norm = self.norm
        momentum = norm.momentum
        count = norm.num_batches_tracked.clone()  # type: ignore[union-attr]
        norm.momentum = 0.0
        try:
            yield
        finally:
            norm.momentum = momentum
            norm.num_batches_tracked.copy_(count)  # type: ignore[union-attr]


class _DenseBlock(nn.Module):
    """Layers that each take the input of the block and the outputs of all layers before them."""

    def __init__(
        self, before: int, growth: int, n_layers: int, *, dropout: float, checkpointing: bool
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList()
        for i in range(n_layers):
            layer = _Layer(
                before + i * growth, growth, 3, dropout=dropout, checkpointing=checkpointing
            )
            self.layers.append(layer)

    def forward(self, x: Tensor) -> list[Tensor]:
        """Returns the input and the output of each layer, (B, before or growth, H, W)."""
        maps = [x]
        for layer in self.layers:
            maps.append(layer(*maps))
        return maps


class FCDenseNet(nn.Module):
    """A fully convolutional DenseNet, for images of any size.

    A convolution; dense blocks, each followed by max pooling; a dense block at the bottom. On the
    way up, a transposed convolution enlarges the new maps of the block below. They are cropped to
    the maps of the same scale, concatenated with them, and passed to a dense block. Odd sides are
    halved upwards.

    Shape: (B, channels, H, W) -> (B, n_outputs, H, W).

    Reference: Jégou et al. (2017), Tables 1 and 2; biases, He initialisation and dropout as there.

    Args:
        channels: channels of the input.
        n_outputs: classes or values per pixel.
        growth: output maps of each layer of a dense block.
        layers: layers of each dense block: down, bottom, up. An odd number of entries.
        first: maps of the first convolution.
        dropout: dropout probability after each convolution inside.
        checkpointing: recompute the inside of layers in the backward pass, which needs less memory
            and gives the same result.

    Example:
        >>> net = FCDenseNet(3, 11, growth=4, layers=(2, 2, 2), first=8)
        >>> net(torch.rand(2, 3, 9, 14)).shape
        torch.Size([2, 11, 9, 14])
    """

    def __init__(
        self,
        channels: int,
        n_outputs: int,
        growth: int = 16,
        layers: Sequence[int] = (5,) * 11,
        first: int = 48,
        dropout: float = 0.2,
        checkpointing: bool = False,
    ) -> None:
        super().__init__()
        layers = list(layers)
        _validate_layers(layers)
        self._settings: dict[str, Any] = {
            "channels": channels,
            "n_outputs": n_outputs,
            "growth": growth,
            "layers": layers,
            "first": first,
            "dropout": dropout,
            "checkpointing": checkpointing,
        }
        options: dict[str, Any] = {"dropout": dropout, "checkpointing": checkpointing}
        depth = len(layers) // 2
        self.first = nn.Conv2d(channels, first, 3, padding=1)
        self.down = nn.ModuleList()
        self.shrink = nn.ModuleList()
        self.enlarge = nn.ModuleList()
        self.up = nn.ModuleList()
        width = first
        skips = []
        for n_layers in layers[:depth]:
            self.down.append(_DenseBlock(width, growth, n_layers, **options))
            width += growth * n_layers
            skips.append(width)
            self.shrink.append(_Layer(width, width, 1, **options))
        self.bottom = _DenseBlock(width, growth, layers[depth], **options)
        new = growth * layers[depth]
        width += new
        for n_layers in layers[depth + 1 :]:
            self.enlarge.append(nn.ConvTranspose2d(new, new, 3, stride=2))
            width = skips.pop() + new
            self.up.append(_DenseBlock(width, growth, n_layers, **options))
            new = growth * n_layers
            width += new
        self.head = nn.Conv2d(width, n_outputs, 1)
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.ConvTranspose2d):
                nn.init.kaiming_uniform_(module.weight, nonlinearity="relu")
                nn.init.zeros_(module.bias)  # type: ignore[arg-type]

    def settings(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**self._settings, "layers": list(self._settings["layers"])}

    def forward(self, x: Tensor) -> Tensor:
        """(B, channels, H, W) -> (B, n_outputs, H, W)"""
        x = self.first(x)
        skips = []
        for block, shrink in zip(self.down, self.shrink, strict=True):
            skips.append(torch.cat(block(x), dim=1))
            x = F.max_pool2d(shrink(skips[-1]), 2, ceil_mode=True)
        maps = self.bottom(x)
        for enlarge, block in zip(self.enlarge, self.up, strict=True):
            skip = skips.pop()
            enlarged = enlarge(torch.cat(maps[1:], dim=1))
            maps = block(torch.cat([_centre_crop(enlarged, skip), skip], dim=1))
        return self.head(torch.cat(maps, dim=1))


def _validate_layers(layers: list[int]) -> None:
    is_odd = len(layers) % 2 == 1 and len(layers) <= _MAX_BLOCKS
    if not is_odd or not all(1 <= n_layers <= _MAX_LAYERS for n_layers in layers):
        raise ValueError(
            f"layers must be an odd number of counts, one per dense block, at most {_MAX_BLOCKS} "
            f"of 1 to {_MAX_LAYERS} each, but got {layers[: _MAX_BLOCKS + 1]}"
        )


def _centre_crop(x: Tensor, like: Tensor) -> Tensor:
    """The centre of x, with the height and width of `like`."""
    height, width = like.shape[-2:]
    top = (x.shape[-2] - height) // 2
    left = (x.shape[-1] - width) // 2
    return x[..., top : top + height, left : left + width]


def fc_densenet56(channels: int, n_outputs: int, **options: Any) -> FCDenseNet:
    """FC-DenseNet56: growth 12, four layers per block, 1.4 million weights (1.5 in the paper)."""
    return FCDenseNet(channels, n_outputs, growth=12, layers=(4,) * 11, **options)


def fc_densenet67(channels: int, n_outputs: int, **options: Any) -> FCDenseNet:
    """FC-DenseNet67: growth 16, five layers per block, 3.5 million weights.

    Benton et al. (2020) use this one.
    """
    return FCDenseNet(channels, n_outputs, growth=16, layers=(5,) * 11, **options)


def fc_densenet103(channels: int, n_outputs: int, **options: Any) -> FCDenseNet:
    """FC-DenseNet103: growth 16, four to fifteen layers per block, 9.4 million weights."""
    layers = (4, 5, 7, 10, 12, 15, 12, 10, 7, 5, 4)
    return FCDenseNet(channels, n_outputs, growth=16, layers=layers, **options)


def fc_densenet_small(channels: int, n_outputs: int, **options: Any) -> FCDenseNet:
    """A network for a CPU: growth 8, two or three layers per block, 0.1 million weights.

    It is too small to need dropout.
    """
    defaults = {"growth": 8, "layers": (2, 2, 3, 3, 3, 2, 2), "first": 16, "dropout": 0.0}
    return FCDenseNet(channels, n_outputs, **{**defaults, **options})


#: The networks by name, for `--net`.
NAMED: dict[str, Callable[..., FCDenseNet]] = {
    make.__name__: make
    for make in (fc_densenet_small, fc_densenet56, fc_densenet67, fc_densenet103)
}
