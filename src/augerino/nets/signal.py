"""A small convolutional network for signals: `SmallCNN` in one dimension."""

import itertools

from torch import Tensor, nn


class SmallSignalNet(nn.Module):
    """Four convolutions over seven samples, global average pooling and a linear head.

    Each convolution is followed by batch norm and ReLU; max pooling quarters the signal in between.
    The receptive field is 574 samples, and the padding marks the ends of a signal. In
    signals up to about that length the network can detect the time of an event, in longer ones
    mostly its kind.

    Shape: (B, channels, T) -> (B, n_outputs), for any T.

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
                nn.Conv1d(before, after, 7, padding=3, bias=False),
                nn.BatchNorm1d(after),
                nn.ReLU(inplace=True),
                nn.MaxPool1d(4, ceil_mode=True),
            ]
        self.features = nn.Sequential(*layers[:-1])  # no pooling after the last convolution
        self.head = nn.Linear(widths[-1], n_outputs)

    def settings(self) -> dict[str, int]:
        """Returns the constructor's arguments."""
        return dict(self._settings)

    def forward(self, x: Tensor) -> Tensor:
        """(B, channels, T) -> (B, n_outputs)"""
        return self.head(self.features(x).mean(dim=2))
