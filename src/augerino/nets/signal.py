"""A small convolutional network for signals: the twin of `SmallCNN` in one dimension."""

import itertools

from torch import Tensor, nn


class SmallSignalNet(nn.Module):
    """Four convolutions over seven samples with batch norm, quartering the signal in between, then mean and a linear head.

    Signals (B, channels, T) of any length T. The last layer sees 574 samples and knows from the padding where a signal ends, so
    up to about that length the network can tell *when* something happens; in longer ones mostly what.

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
                nn.Conv1d(before, after, 7, padding=3, bias=False),
                nn.BatchNorm1d(after),
                nn.ReLU(inplace=True),
            ]
            layers += [nn.MaxPool1d(4, ceil_mode=True)]
        self.features = nn.Sequential(*layers[:-1])
        self.head = nn.Linear(widths[-1], outputs)

    def settings(self) -> dict[str, int]:
        """The constructor's arguments."""
        return dict(self._settings)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x).mean(dim=2))
