"""A compact rotation-invariant network: group convolutions over C_n with steerable filters.

Filters are sums of Gaussian rings times circular harmonics. A rotated filter is again such a sum,
so it is sampled exactly, not interpolated. Features have one channel per orientation; a rotation of
the input permutes these channels cyclically. The maximum over orientations and the mean over
positions are therefore invariant: exactly for quarter turns of square images.

Reference: Weiler and Cesa (2019), "General E(2)-Equivariant Steerable CNNs".
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

RING_WIDTH = 0.6  # standard deviation of a Gaussian ring, in pixels
MAX_FREQUENCY = 2  # highest frequency of the circular harmonics


def filter_basis(kernel: int, orientations: int) -> Tensor:
    """The basis filters, rotated to every orientation: (orientations, basis, kernel, kernel)."""
    half = (kernel - 1) / 2
    side = torch.arange(kernel, dtype=torch.float64) - half
    y, x = torch.meshgrid(side, side, indexing="ij")
    radius = torch.hypot(x, y)
    steps = torch.arange(orientations, dtype=torch.float64)
    rotation = steps * (2 * math.pi / orientations)
    angle = torch.atan2(y, x) - rotation[:, None, None]  # (orientations, kernel, kernel)
    filters = []
    for ring in range(int(half) + 1):
        profile = torch.exp(-((radius - ring) ** 2) / (2 * RING_WIDTH**2))
        filters.append(profile * torch.ones_like(angle))
        # A ring of r pixels resolves frequencies up to about r without aliasing, the centre only 0.
        for frequency in range(1, min(ring, MAX_FREQUENCY) + 1):
            ringed = profile * (radius > 0)  # the centre pixel has no direction
            filters.append(ringed * torch.cos(frequency * angle))
            filters.append(ringed * torch.sin(frequency * angle))
    basis = torch.stack(filters, dim=1)
    norm = basis[0].flatten(1).norm(dim=1)
    return (basis / norm[None, :, None, None]).float()


class GroupConv(nn.Module):
    """A convolution that commutes with rotations by multiples of 2π/n.

    Shape: (B, before·m, H, W) -> (B, after·n, H, W), with m = 1 for an image (the lifting
    convolution) and m = n for features. Channels are ordered (channel, orientation).

    Reference: Cohen and Welling (2016), "Group Equivariant Convolutional Networks".

    Args:
        before: channels of the input.
        after: channels of the output.
        orientations: n.
        lifting: whether the input is an image.
        kernel: side of the filters in pixels.
    """

    basis: Tensor

    def __init__(
        self, before: int, after: int, *, orientations: int, lifting: bool, kernel: int = 5
    ) -> None:
        super().__init__()
        self.orientations = orientations
        self.register_buffer("basis", filter_basis(kernel, orientations), persistent=False)
        n_inputs = 1 if lifting else orientations
        n_basis = self.basis.shape[1]
        scale = (2 / (before * n_inputs * n_basis)) ** 0.5
        self.weight = nn.Parameter(torch.randn(after, before, n_inputs, n_basis) * scale)

    def forward(self, x: Tensor) -> Tensor:
        """(B, before·m, H, W) -> (B, after·n, H, W)"""
        rotated = []
        for j in range(self.orientations):
            # The filter from orientation i to orientation j is that of i - j, rotated by j.
            weight = self.weight.roll(j, dims=2)
            rotated.append(torch.einsum("oaib,bkl->oaikl", weight, self.basis[j]))
        filters = torch.stack(rotated, dim=1)  # (after, n, before, m, k, k)
        kernel = filters.shape[-1]
        filters = filters.reshape(-1, x.shape[1], kernel, kernel)
        return F.conv2d(x, filters, padding=kernel // 2)


class OrientationNorm(nn.Module):
    """Batch norm with statistics and scale shared by the orientations of a channel.

    Shape: (B, channels·n, H, W) -> (B, channels·n, H, W).
    """

    def __init__(self, channels: int, orientations: int) -> None:
        super().__init__()
        self.orientations = orientations
        self.norm = nn.BatchNorm3d(channels)

    def forward(self, x: Tensor) -> Tensor:
        """(B, channels·n, H, W) -> (B, channels·n, H, W)"""
        split = x.unflatten(1, (-1, self.orientations))
        return self.norm(split).flatten(1, 2)


class CentredPool(nn.Module):
    """Average pooling by 2 that commutes with quarter turns, for even and odd sides.

    Shape: (B, C, H, W) -> (B, C, ⌈H/2⌉, ⌈W/2⌉).
    """

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, C, ⌈H/2⌉, ⌈W/2⌉)"""
        if x.shape[-1] % 2 == 0 and x.shape[-2] % 2 == 0:
            return F.avg_pool2d(x, 2)
        return F.avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=False)


class SteerableCNN(nn.Module):
    """Four group convolutions, invariant pooling and a two-layer head.

    The pooling is the maximum over orientations and the mean over positions.

    Shape: (B, channels, H, W) -> (B, n_outputs).

    Args:
        channels: channels of the input.
        n_outputs: outputs of the head.
        width: channels of the first two layers; the last two have twice as many.
        orientations: n of C_n, a multiple of 4.
    """

    def __init__(
        self, channels: int, n_outputs: int, width: int = 6, orientations: int = 8
    ) -> None:
        super().__init__()
        self._settings = {
            "channels": channels,
            "n_outputs": n_outputs,
            "width": width,
            "orientations": orientations,
        }
        self.orientations = orientations
        widths = [channels, width, width, 2 * width, 2 * width]
        layers: list[nn.Module] = []
        for i in range(4):
            convolution = GroupConv(
                widths[i], widths[i + 1], orientations=orientations, lifting=i == 0
            )
            norm = OrientationNorm(widths[i + 1], orientations)
            layers += [convolution, norm, nn.ReLU(inplace=True)]
            if i < 2:
                layers.append(CentredPool())
        self.features = nn.Sequential(*layers)
        self.head = nn.Sequential(
            nn.Linear(widths[-1], 4 * width),
            nn.ReLU(inplace=True),
            nn.Linear(4 * width, n_outputs),
        )

    def settings(self) -> dict[str, int]:
        """Returns the constructor's arguments."""
        return dict(self._settings)

    def forward(self, x: Tensor) -> Tensor:
        """(B, channels, H, W) -> (B, n_outputs)"""
        features = self.features(x).unflatten(1, (-1, self.orientations))
        invariant = features.amax(dim=2).mean(dim=(2, 3))
        return self.head(invariant)
