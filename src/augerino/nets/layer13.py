"""The 13-layer convolutional network that the paper uses throughout (Laine and Aila 2016, Table 5)."""

from torch import Tensor, nn


def _block(before: int, after: int, kernel: int = 3, padding: int = 1) -> list[nn.Module]:
    return [
        nn.Conv2d(before, after, kernel, padding=padding, bias=False),
        nn.BatchNorm2d(after),
        nn.LeakyReLU(0.1, inplace=True),
    ]


class Layer13(nn.Module):
    """Three times three convolutions with pooling and dropout in between, then global mean and a linear head.

    Args:
        channels: of the input.
        outputs: of the head.
        width: channels of the first block, 128 in the paper; the later ones have 2, 4, 2 and 1 times as many.
        dropout: after each pooling.
    """

    def __init__(self, channels: int, outputs: int, width: int = 128, dropout: float = 0.5) -> None:
        super().__init__()
        self._settings: dict[str, int | float] = {
            "channels": channels,
            "outputs": outputs,
            "width": width,
            "dropout": dropout,
        }
        k = width
        self.features = nn.Sequential(
            *_block(channels, k),
            *_block(k, k),
            *_block(k, k),
            nn.MaxPool2d(2),
            nn.Dropout(dropout),
            *_block(k, 2 * k),
            *_block(2 * k, 2 * k),
            *_block(2 * k, 2 * k),
            nn.MaxPool2d(2),
            nn.Dropout(dropout),
            *_block(2 * k, 4 * k, padding=0),
            *_block(4 * k, 2 * k, kernel=1, padding=0),
            *_block(2 * k, k, kernel=1, padding=0),
        )
        self.head = nn.Linear(k, outputs)

    def settings(self) -> dict[str, int | float]:
        """The constructor's arguments."""
        return dict(self._settings)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x).mean(dim=(2, 3)))
