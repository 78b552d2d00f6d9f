"""A compact rotation-invariant network: group convolutions over C_n with steerable filters (Weiler and Cesa 2019).

Filters are sums of Gaussian rings times circular harmonics, so a filter turned by any angle is again such a sum, sampled
exactly and not interpolated. Features carry one channel per orientation; turning the input permutes them cyclically, and
the maximum over orientations and the mean over places are invariant. For quarter turns of square images this is exact.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def filter_basis(kernel: int, orientations: int) -> Tensor:
    """The basis filters turned to every orientation, (orientations, basis, kernel, kernel)."""
    half = (kernel - 1) / 2
    side = torch.arange(kernel, dtype=torch.float64) - half
    y, x = torch.meshgrid(side, side, indexing="ij")
    radius, angle = torch.hypot(x, y), torch.atan2(y, x)
    turns = torch.arange(orientations, dtype=torch.float64) * (2 * math.pi / orientations)
    turned = []
    for ring in range(int(half) + 1):
        profile = torch.exp(-((radius - ring) ** 2) / (2 * 0.6**2))
        # A ring of r pixels holds frequencies up to about r without aliasing; the centre holds none.
        for frequency in range(0, 1 if ring == 0 else min(ring + 1, 3)):
            phase = frequency * (angle[None] - turns[:, None, None])
            waves = [torch.cos(phase)] if frequency == 0 else [torch.cos(phase), torch.sin(phase)]
            inside = (
                profile if frequency == 0 else profile * (radius > 0)
            )  # the very centre has no direction
            turned += [inside * wave for wave in waves]
    basis = torch.stack(turned, dim=1)
    return (basis / basis[0].flatten(1).norm(dim=1)[None, :, None, None]).float()


class GroupConv(nn.Module):
    """A convolution that commutes with rotations by multiples of 2π/n.   (B, C·m, H, W) -> (B, C'·n, H, W)

    m is 1 for an image (the lifting convolution) and n for features; channels are ordered (channel, orientation).
    """

    basis: Tensor

    def __init__(
        self, before: int, after: int, *, orientations: int, lifting: bool, kernel: int = 5
    ) -> None:
        super().__init__()
        self.orientations, self.incoming = orientations, 1 if lifting else orientations
        self.register_buffer("basis", filter_basis(kernel, orientations), persistent=False)
        count = self.basis.shape[1]
        scale = (2 / (before * self.incoming * count)) ** 0.5
        self.weight = nn.Parameter(torch.randn(after, before, self.incoming, count) * scale)

    def forward(self, x: Tensor) -> Tensor:
        # A filter for output orientation j sees input orientation i through its weight for i - j, turned by j.
        turned = [
            torch.einsum("oaib,bkl->oaikl", self.weight.roll(j, dims=2), self.basis[j])
            for j in range(self.orientations)
        ]
        filters = torch.stack(turned, dim=1)  # (after, n, before, m, k, k)
        kernel = filters.shape[-1]
        return F.conv2d(x, filters.reshape(-1, x.shape[1], kernel, kernel), padding=kernel // 2)


class OrientationNorm(nn.Module):
    """Batch norm whose statistics and scale are shared by the orientations of a channel."""

    def __init__(self, channels: int, orientations: int) -> None:
        super().__init__()
        self.orientations, self.norm = orientations, nn.BatchNorm3d(channels)

    def forward(self, x: Tensor) -> Tensor:
        split = x.unflatten(1, (-1, self.orientations))
        return self.norm(split).flatten(1, 2)


class CentredPool(nn.Module):
    """Halves an image so that a quarter turn before is a quarter turn after, for even and odd sides."""

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[-1] % 2 == 0 and x.shape[-2] % 2 == 0:
            return F.avg_pool2d(x, 2)
        return F.avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=False)


class SteerableCNN(nn.Module):
    """Four group convolutions, the maximum over orientations and the mean over places, then a linear head.

    Args:
        channels: of the input.
        outputs: of the head.
        width: channels (times orientations) of the first layer; the later ones have 1, 2 and 2 times as many.
        orientations: n of C_n, a multiple of 4.
    """

    def __init__(self, channels: int, outputs: int, width: int = 6, orientations: int = 8) -> None:
        super().__init__()
        self._settings = {
            "channels": channels,
            "outputs": outputs,
            "width": width,
            "orientations": orientations,
        }
        self.orientations = orientations
        layers: list[nn.Module] = []
        widths = [channels, width, width, 2 * width, 2 * width]
        for i in range(4):
            layers += [
                GroupConv(widths[i], widths[i + 1], orientations=orientations, lifting=i == 0)
            ]
            layers += [OrientationNorm(widths[i + 1], orientations), nn.ReLU(inplace=True)]
            if i < 2:
                layers += [CentredPool()]
        self.features = nn.Sequential(*layers)
        self.head = nn.Sequential(
            nn.Linear(widths[-1], 4 * width), nn.ReLU(inplace=True), nn.Linear(4 * width, outputs)
        )

    def settings(self) -> dict[str, int]:
        """The constructor's arguments."""
        return dict(self._settings)

    def forward(self, x: Tensor) -> Tensor:
        features = self.features(x).unflatten(1, (-1, self.orientations))
        return self.head(features.amax(dim=2).mean(dim=(2, 3)))
