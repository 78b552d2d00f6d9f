"""A small convolutional network that suits most images: the default of `learn`."""

import itertools

from torch import Tensor, nn


class SmallCNN(nn.Module):
    """Four 3×3 convolutions with batch norm, halving the image while it has room, then global mean and a linear head.

    Args:
        channels: of the input.
        outputs: of the head.
        width: channels of the first layer; the later ones have 2, 4 and 4 times as many.
    """

    def __init__(self, channels: int, outputs: int, width: int = 16) -> None:
        super().__init__()
        self._settings = {"channels": channels, "outputs": outputs, "width": width}
        layers: list[nn.Module] = []
        widths = [channels, width, 2 * width, 4 * width, 4 * width]
        for before, after in itertools.pairwise(widths):
            layers += [
                nn.Conv2d(before, after, 3, padding=1, bias=False),
                nn.BatchNorm2d(after),
                nn.ReLU(inplace=True),
            ]
            layers += [nn.MaxPool2d(2, ceil_mode=True)]
        self.features = nn.Sequential(*layers[:-1])
        self.head = nn.Linear(widths[-1], outputs)

    def settings(self) -> dict[str, int]:
        """The constructor's arguments."""
        return dict(self._settings)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x).mean(dim=(2, 3)))
