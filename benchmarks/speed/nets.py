"""The networks whose training steps are timed."""

from torch import Tensor, nn

from augerino.nets.layer13 import Layer13
from augerino.nets.small import SmallCNN


class Block(nn.Module):
    """A residual block of two 3×3 convolutions."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(before, after, 3, stride, 1, bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU(inplace=True),
            nn.Conv2d(after, after, 3, 1, 1, bias=False),
            nn.BatchNorm2d(after),
        )
        self.shortcut: nn.Module = nn.Identity()
        if before != after or stride != 1:
            self.shortcut = nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
            )

    def forward(self, x: Tensor) -> Tensor:
        return (self.body(x) + self.shortcut(x)).relu()


def resnet18(n_outputs: int) -> nn.Module:
    """ResNet-18 (He et al. 2016), 11 million weights."""
    stem = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
    ]
    widths = [
        (64, 64, 1),
        (64, 64, 1),
        (64, 128, 2),
        (128, 128, 1),
        (128, 256, 2),
        (256, 256, 1),
        (256, 512, 2),
        (512, 512, 1),
    ]
    blocks = [Block(*width) for width in widths]
    return nn.Sequential(
        *stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, n_outputs)
    )


#: name: network, shape of a batch
NETS = {
    "13 layers, width 32": (lambda: Layer13(3, 10, width=32), (64, 3, 32, 32)),
    "4 convolutions, width 32": (lambda: SmallCNN(1, 10, width=32), (128, 1, 28, 28)),
    "4 convolutions, width 8 (the default)": (lambda: SmallCNN(1, 10, width=8), (128, 1, 28, 28)),
    "ResNet-18": (lambda: resnet18(10), (32, 3, 96, 96)),
}
