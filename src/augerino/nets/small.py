"""A small convolutional network for images: the default of `learn`."""

import itertools

from torch import Tensor, nn


class SmallCNN(nn.Module):
    """Four 3×3 convolutions, global average pooling and a linear head.

    Each convolution is followed by batch norm and ReLU; max pooling halves the image in between.

    Shape: (B, channels, H, W) -> (B, n_outputs), for any H and W.

    Args:
        channels: channels of the input.
        n_outputs: outputs of the head.
        width: channels of the first convolution; the others have 2, 4 and 4 times as many.
    """

    def __init__(self, channels: int, n_outputs: int, width: int = 16) -> None:
        super().__init__()
        self._settings = {"channels": channels, "n_outputs": n_outputs, "width": width}
        widths = [channels, width, 2 * width, 4 * width, 4 * width]
        layers: list[nn.Module] = []
        for before, after in itertools.pairwise(widths):
            layers += [
                nn.Conv2d(before, after, 3, padding=1, bias=False),
                nn.BatchNorm2d(after),
                nn.ReLU(inplace=True),
                nn.MaxPool2d(2, ceil_mode=True),
            ]
        self.features = nn.Sequential(*layers[:-1])  # no pooling after the last convolution
        self.head = nn.Linear(widths[-1], n_outputs)

    def settings(self) -> dict[str, int]:
        """Returns the constructor's arguments."""
        return dict(self._settings)

    def forward(self, x: Tensor) -> Tensor:
        """(B, channels, H, W) -> (B, n_outputs)"""
        return self.head(self.features(x).mean(dim=(2, 3)))
