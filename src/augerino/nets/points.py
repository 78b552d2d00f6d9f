"""A small network for point clouds: the same layers for every point, then pooling over points."""

import itertools
from collections.abc import Mapping

import torch
from torch import Tensor, nn


class SmallPointNet(nn.Module):
    """Three layers shared by all points, mean and max pooling over points, then two layers.

    Takes positions (B, N, 3), or a dict with "positions" and optionally a "mask" (B, N), true at
    real points, and "features" (B, N, features). Returns (B, n_outputs). Neither the order of the
    points nor padding changes the output. Positions are absolute, so that no invariance is built
    in.

    Reference: Zaheer et al. (2017), "Deep Sets"; Qi et al. (2017), "PointNet".

    Args:
        n_outputs: outputs of the head.
        width: outputs of the first layer; the next two have 2 and 4 times as many.
        features: numbers given with each point besides its position.
    """

    def __init__(self, n_outputs: int, width: int = 16, features: int = 0) -> None:
        super().__init__()
        self._settings = {"n_outputs": n_outputs, "width": width, "features": features}
        widths = [3 + features, width, 2 * width, 4 * width]
        layers: list[nn.Module] = []
        for before, after in itertools.pairwise(widths):
            layers += _layer(before, after)
        self.points = nn.Sequential(*layers)
        self.head = nn.Sequential(
            *_layer(8 * width, 4 * width),
            nn.Linear(4 * width, n_outputs),
        )
        self.features = features

    def settings(self) -> dict[str, int]:
        """Returns the constructor's arguments."""
        return dict(self._settings)

    def forward(self, x: Tensor | Mapping[str, Tensor]) -> Tensor:
        """(B, N, 3), or a dict of tensors -> (B, n_outputs)"""
        cloud = {"positions": x} if isinstance(x, Tensor) else x
        points = cloud["positions"]
        if self.features:
            points = torch.cat([points, cloud["features"].to(points)], dim=-1)
        mask = cloud.get("mask")
        if mask is None:
            is_real = torch.ones_like(points[..., 0], dtype=torch.bool)
        else:
            is_real = mask.bool()
        if self.training and mask is not None:  # padding must not enter batch norm
            rows = self.points(points[is_real])
            values = rows.new_zeros(*is_real.shape, rows.shape[-1])
            values = values.masked_scatter(is_real[..., None], rows)
        else:
            rows = self.points(points.flatten(0, 1))
            values = rows.unflatten(0, is_real.shape) * is_real[..., None]
        n_points = is_real.sum(dim=1, keepdim=True).clamp_min(1)
        mean = values.sum(dim=1) / n_points
        maximum = values.amax(dim=1)  # values are at least 0 after ReLU, so padding is never larger
        return self.head(torch.cat([mean, maximum], dim=1))


def _layer(before: int, after: int) -> list[nn.Module]:
    return [
        nn.Linear(before, after, bias=False),
        nn.BatchNorm1d(after),
        nn.ReLU(inplace=True),
    ]
