"""The 13-layer convolutional network of the paper (Laine and Aila 2016, Table 5)."""

from torch import Tensor, nn


def _block(before: int, after: int, kernel: int = 3, padding: int = 1) -> list[nn.Module]:
    return [
        nn.Conv2d(before, after, kernel, padding=padding, bias=False),
        nn.BatchNorm2d(after),
        nn.LeakyReLU(0.1, inplace=True),
    ]


class Layer13(nn.Module):
    """Three blocks of three convolutions, global average pooling and a linear head.

    Max pooling and dropout follow the first two blocks.

    Shape: (B, channels, H, W) -> (B, n_outputs).

    Reference: Laine and Aila (2016), "Temporal Ensembling for Semi-Supervised Learning", Table 5.

    Args:
        channels: channels of the input.
        n_outputs: outputs of the head.
        width: channels k of the first block, 128 in the paper; the others have 2k, and 4k, 2k, k.
        dropout: dropout probability after each pooling.
    """

    def __init__(
        self, channels: int, n_outputs: int, width: int = 128, dropout: float = 0.5
    ) -> None:
        super().__init__()
        self._settings: dict[str, int | float] = {
            "channels": channels,
            "n_outputs": n_outputs,
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
        self.head = nn.Linear(k, n_outputs)

    def settings(self) -> dict[str, int | float]:
        """Returns the constructor's arguments."""
        return dict(self._settings)

    def forward(self, x: Tensor) -> Tensor:
        """(B, channels, H, W) -> (B, n_outputs)"""
        return self.head(self.features(x).mean(dim=(2, 3)))
